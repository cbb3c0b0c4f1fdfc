/*
 * dnnl.c - matmuls of tiles through oneDNN, version 2 or 3
 *
 * All of oneDNN but its version (record.c).  A primitive is made for one shape
 * and kept.  Four rules make it safe and reproducible:
 *
 *  - a primitive is made while OpenMP's thread count is 1, so that its
 *    blocking never depends on the number of threads;
 *  - each thread has its own scratchpad, reorders included: two threads that
 *    execute a primitive at once would otherwise share one and give wrong
 *    results;
 *  - each thread has its own memory objects, which hold operand addresses;
 *  - a packed tile has no padding: version 2 zeroes the padding of a memory
 *    object whenever its address is set, which would write to a tile that
 *    another thread reads.
 *
 * A primitive uses the first form for which oneDNN has fast code: B packed, B
 * plain, or bf16 or fp16 widened to f32 (exact, then multiplied so).  Which
 * layouts and strides the fast code accepts depends on the processor and on
 * oneDNN's version: the AMX code of 2.6 refuses rows with gaps between them.
 * Where all of it refuses, oneDNN silently falls back to reference loops that
 * are 100 times slower.  The form depends on the shape alone.
 *
 * Version 2 has two codes for AMX.  "brg" takes dense operands and is up to
 * 1.8 times as fast for short sums; "gemm:jit" copies what it needs and is
 * faster for long ones.
 *
 * Making a primitive takes about a millisecond, since it generates code; a
 * training step uses a few dozen shapes.
 */
#include "kernels/cpu/prim.h"

#include <dnnl.h>
#include <limits.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/cpu/plans.h"

enum { SRC, WEIGHTS, DST, PAD, OPERANDS };

enum form { PACKED, PLAIN, WIDE };	/* WIDE: operands go through f32 */

struct prim {
	struct gemm_shape s;
	enum form form;
	dnnl_primitive_t prim;
	dnnl_memory_t (*mem)[OPERANDS];		/* per thread */
	size_t pad;
	dnnl_primitive_desc_t pd;
	dnnl_primitive_t pack;	/* reorder of B, when packed */
	dnnl_memory_t (*packmem)[2];	/* per thread: source, scratchpad */
};

struct prims {
	dnnl_engine_t engine;
	dnnl_stream_t *stream;	/* a thread */
	struct plans plans;
};

/* oneDNN fails only for lack of memory, or because of a bug here. */
static void
check(dnnl_status_t s, const char *what)
{
	if (s != dnnl_success)
		die("kernels: oneDNN: %s failed with status %d", what, (int)s);
}

#define CHECK(call) check(call, #call)

static void
limit_isa(enum cpu_isa isa)
{
	static const dnnl_cpu_isa_t level[] = {
		[ISA_SCALAR] = dnnl_cpu_isa_sse41,
		[ISA_AVX2] = dnnl_cpu_isa_avx2,
		[ISA_AVX512] = dnnl_cpu_isa_avx512_core,
		[ISA_AVX512_BF16] = dnnl_cpu_isa_avx512_core_bf16,
		[ISA_AMX] = dnnl_cpu_isa_avx512_core_amx,
	};

	/* Refused once a primitive exists: then the first limit stays. */
	(void)dnnl_set_max_cpu_isa(level[isa]);
}

int
prim_open(struct cpu *c, struct err *e)
{
	struct prims *d = xcalloc(1, sizeof *d);

	if (c->isa < ISA_AMX)
		limit_isa(c->isa);
	if (dnnl_engine_create(&d->engine, dnnl_cpu, 0) != dnnl_success) {
		free(d);
		return err_set(e, "kernels: oneDNN has no CPU engine");
	}
	d->stream = xcalloc((size_t)c->threads, sizeof *d->stream);
	for (int i = 0; i < c->threads; i++)
		CHECK(dnnl_stream_create(&d->stream[i], d->engine,
					 dnnl_stream_default_flags));
	c->prims = d;
	return 0;
}

static void
plan_free(struct prim *g, int threads)
{
	for (int t = 0; t < threads; t++) {
		for (int i = 0; i < OPERANDS; i++)
			dnnl_memory_destroy(g->mem[t][i]);
		for (int i = 0; g->packmem && i < 2; i++)
			dnnl_memory_destroy(g->packmem[t][i]);
	}
	free(g->mem);
	free(g->packmem);
	if (g->pack)
		dnnl_primitive_destroy(g->pack);
	dnnl_primitive_destroy(g->prim);
	dnnl_primitive_desc_destroy(g->pd);
	free(g);
}

void
prim_close(struct cpu *c)
{
	struct prims *d = c->prims;

	if (!d)
		return;
	for (size_t i = 0; i < d->plans.n; i++)
		plan_free(d->plans.v[i], c->threads);
	for (int i = 0; i < c->threads; i++)
		dnnl_stream_destroy(d->stream[i]);
	dnnl_engine_destroy(d->engine);
	plans_clear(&d->plans);
	free(d->stream);
	free(d);
}

/* --- what differs between the versions --- */

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t md_t;
typedef const_dnnl_memory_desc_t cmd_t;
enum { LONG_SUM = INT_MAX };	/* not known for this version */
#define MD_STRIDED dnnl_memory_desc_create_with_strides
#define MD_TAG dnnl_memory_desc_create_with_tag
#define MD(md) (md)

static void
md_free(md_t md)
{
	dnnl_memory_desc_destroy(md);
}

static md_t
md_copy(cmd_t from)
{
	md_t md;

	CHECK(dnnl_memory_desc_clone(&md, from));
	return md;
}

/* The best code, as version 3 sees it. */
static void
matmul_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t eng, md_t a, md_t b,
	  md_t y, dnnl_primitive_attr_t attr, const char *want)
{
	(void)want;
	CHECK(dnnl_matmul_primitive_desc_create(pd, eng, a, b, NULL, y, attr));
}

static void
append_sum(dnnl_post_ops_t po)
{
	CHECK(dnnl_post_ops_append_sum(po, 1.0f, 0, dnnl_data_type_undef));
}
#else
typedef dnnl_memory_desc_t md_t;
typedef const dnnl_memory_desc_t *cmd_t;
enum { LONG_SUM = 2500 };	/* from here on gemm:jit is faster */
#define MD_STRIDED dnnl_memory_desc_init_by_strides
#define MD_TAG dnnl_memory_desc_init_by_tag
#define MD(md) (&(md))

static void
md_free(md_t md)
{
	(void)md;
}

static md_t
md_copy(cmd_t from)
{
	return *from;
}

static const char *
impl_of(const_dnnl_primitive_desc_t pd)
{
	const char *name;

	CHECK(dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0,
					&name));
	return name;
}

/* The code named want if there is one (NULL: any), else oneDNN's choice. */
static void
matmul_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t eng, md_t a, md_t b,
	  md_t y, dnnl_primitive_attr_t attr, const char *want)
{
	dnnl_primitive_desc_iterator_t it;
	dnnl_matmul_desc_t d;

	CHECK(dnnl_matmul_desc_init(&d, &a, &b, NULL, &y));
	CHECK(dnnl_primitive_desc_iterator_create(&it, &d, attr, eng, NULL));
	*pd = dnnl_primitive_desc_iterator_fetch(it);
	while (want && !strstr(impl_of(*pd), want) &&
	       dnnl_primitive_desc_iterator_next(it) == dnnl_success) {
		dnnl_primitive_desc_t next =
			dnnl_primitive_desc_iterator_fetch(it);

		if (!strstr(impl_of(next), want)) {
			CHECK(dnnl_primitive_desc_destroy(next));
			continue;
		}
		CHECK(dnnl_primitive_desc_destroy(*pd));
		*pd = next;
	}
	CHECK(dnnl_primitive_desc_iterator_destroy(it));
}

static void
append_sum(dnnl_post_ops_t po)
{
	CHECK(dnnl_post_ops_append_sum(po, 1.0f));
}
#endif

static dnnl_memory_t
memory_new(dnnl_engine_t eng, cmd_t md)
{
	dnnl_memory_t m;

	CHECK(dnnl_memory_create(&m, md, eng, DNNL_MEMORY_NONE));
	return m;
}

/* --- plans --- */

static dnnl_data_type_t
type_of(enum kdtype dt)
{
	return dt == K_BF16 ? dnnl_bf16 : dt == K_F16 ? dnnl_f16 : dnnl_f32;
}

static md_t
md_tile(int64_t rows, int64_t cols, enum kdtype dt, int64_t ld, int transposed)
{
	dnnl_dims_t dims = { rows, cols };
	dnnl_dims_t strides = { transposed ? 1 : ld, transposed ? ld : 1 };
	md_t md;

	CHECK(MD_STRIDED(&md, 2, dims, type_of(dt), strides));
	return md;
}

static md_t
md_any(int64_t rows, int64_t cols, enum kdtype dt)
{
	dnnl_dims_t dims = { rows, cols };
	md_t md;

	CHECK(MD_TAG(&md, 2, dims, type_of(dt), dnnl_format_tag_any));
	return md;
}

/*
 * The layout of packed weights must not depend on the rows of the other
 * operand, so it is the one that oneDNN chooses for 256 rows.
 */
static struct gemm_shape
pack_shape(const struct gemm_shape *s)
{
	struct gemm_shape p = *s;

	p.m = 256;
	p.lda = s->k;
	p.ldc = s->n;
	p.cdt = s->dt;
	p.accumulate = p.ta = 0;
	return p;
}

const char *
prim_impl(const struct prim *g)
{
	const char *name;

	CHECK(dnnl_primitive_desc_query(g->pd, dnnl_query_impl_info_str, 0,
					&name));
	return name;
}

static cmd_t
md_of(const_dnnl_primitive_desc_t pd, dnnl_query_t what)
{
	return dnnl_primitive_desc_query_md(pd, what, 0);
}

/* Does B, in the layout that oneDNN chose, have as many numbers as s says? */
static int
is_unpadded(const struct prim *g)
{
	return dnnl_memory_desc_get_size(md_of(g->pd, dnnl_query_weights_md))
		== (size_t)(g->s.k * g->s.n) * kdtype_size(g->s.dt);
}

/* Plan g in its form; packed: the layout of B, NULL: oneDNN chooses. */
static void
plan_make(struct cpu *c, struct prim *g, cmd_t packed)
{
	const struct gemm_shape *s = &g->s;
	int wide = g->form == WIDE;
	enum kdtype dt = wide ? K_F32 : s->dt;
	enum kdtype cdt = wide ? K_F32 : s->cdt;
	int64_t lda = wide ? (s->ta ? s->m : s->k) : s->lda;
	int64_t ldb = wide ? (s->tb ? s->k : s->n) : s->ldb;
	int64_t ldc = wide && s->cdt != K_F32 ? s->n : s->ldc;
	dnnl_primitive_attr_t attr;
	dnnl_post_ops_t po;
	md_t a = md_tile(s->m, s->k, dt, lda, s->ta);
	md_t y = md_tile(s->m, s->n, cdt, ldc, 0);
	md_t b = g->form != PACKED ? md_tile(s->k, s->n, dt, ldb, s->tb) :
		 packed ? md_copy(packed) : md_any(s->k, s->n, dt);

	CHECK(dnnl_primitive_attr_create(&attr));
	CHECK(dnnl_primitive_attr_set_scratchpad_mode(attr,
			dnnl_scratchpad_mode_user));
	if (s->accumulate) {
		CHECK(dnnl_post_ops_create(&po));
		append_sum(po);
		CHECK(dnnl_primitive_attr_set_post_ops(attr, po));
		CHECK(dnnl_post_ops_destroy(po));
	}
	matmul_pd(&g->pd, c->prims->engine, a, b, y, attr,
		  c->isa == ISA_AMX && s->dt == K_BF16 && s->k >= LONG_SUM ?
		  "gemm:jit" : NULL);
	CHECK(dnnl_primitive_attr_destroy(attr));
	md_free(a);
	md_free(b);
	md_free(y);
}

/* Take the first form from `form` on that has fast code, or the last one. */
static void
plan_choose(struct cpu *c, struct prim *g, enum form form, cmd_t packed)
{
	enum form last = g->s.dt != K_F32 ? WIDE : PLAIN;

	for (g->form = form;; g->form++) {
		plan_make(c, g, packed);
		if (g->form == last || (!strstr(prim_impl(g), "ref") &&
					(g->form != PACKED || is_unpadded(g))))
			break;
		CHECK(dnnl_primitive_desc_destroy(g->pd));
	}
	CHECK(dnnl_primitive_create(&g->prim, g->pd));
}

/* The reorder that makes a packed tile, kept with the 256-row plan. */
static void
plan_pack(struct cpu *c, struct prim *g)
{
	dnnl_engine_t eng = c->prims->engine;
	md_t from = md_tile(g->s.k, g->s.n, g->s.dt, g->s.ldb, g->s.tb);
	cmd_t to = md_of(g->pd, dnnl_query_weights_md), pad;
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t pd;

	CHECK(dnnl_primitive_attr_create(&attr));
	CHECK(dnnl_primitive_attr_set_scratchpad_mode(attr,
			dnnl_scratchpad_mode_user));
	CHECK(dnnl_reorder_primitive_desc_create(&pd, MD(from), eng, to, eng,
						 attr));
	CHECK(dnnl_primitive_attr_destroy(attr));
	CHECK(dnnl_primitive_create(&g->pack, pd));
	pad = md_of(pd, dnnl_query_scratchpad_md);
	g->packmem = xcalloc((size_t)c->threads, sizeof *g->packmem);
	for (int t = 0; t < c->threads; t++) {
		g->packmem[t][0] = memory_new(eng, MD(from));
		g->packmem[t][1] = memory_new(eng, pad);
	}
	cpu_want(&c->want.work, dnnl_memory_desc_get_size(pad));
	CHECK(dnnl_primitive_desc_destroy(pd));
	md_free(from);
}

static void
plan_memory(struct cpu *c, struct prim *g)
{
	static const dnnl_query_t what[] = {
		dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md,
		dnnl_query_scratchpad_md,
	};
	int64_t m = g->s.m, n = g->s.n, k = g->s.k;
	size_t wide = g->form == WIDE ? 256 + 4 *
		(size_t)(m * k + k * n + (g->s.cdt != K_F32 ? m * n : 0)) : 0;

	g->mem = xcalloc((size_t)c->threads, sizeof *g->mem);
	for (int t = 0; t < c->threads; t++)
		for (int i = 0; i < OPERANDS; i++)
			g->mem[t][i] = memory_new(c->prims->engine,
						  md_of(g->pd, what[i]));
	g->pad = dnnl_memory_desc_get_size(
		md_of(g->pd, dnnl_query_scratchpad_md));
	g->pad = (g->pad + 63) & ~(size_t)63;
	cpu_want(&c->want.work, g->pad + wide + 64);
}

/*
 * Whether oneDNN can multiply numbers of a type; fp16 since version 3, with
 * sums in f32, on processors with AVX512-FP16.
 */
static int
has_type(const struct cpu *c, enum kdtype dt)
{
#if defined(__x86_64__) && DNNL_VERSION_MAJOR >= 3
	if (dt == K_F16 && c->isa == ISA_AMX)
		return __builtin_cpu_supports("avx512fp16") != 0;
#endif
	return dt == K_F32 || (dt == K_BF16 && c->isa >= ISA_AVX512_BF16);
}

static struct prim *
plan_new(struct cpu *c, const struct gemm_shape *s)
{
	struct prim *g = xcalloc(1, sizeof *g);
	int threads = omp_get_max_threads();
	enum form form = s->packed ? PACKED : PLAIN;
	cmd_t packed = NULL;

	g->s = *s;
	if (form == PACKED && s->k >= LONG_SUM)
		form = PLAIN;
	if (!has_type(c, s->dt))
		form = WIDE;
	if (form == PACKED) {
		struct gemm_shape p = pack_shape(s);
		const struct prim *of = shape_eq(&p, s) ? g : prim_plan(c, &p);

		if (of != g && of->form == PACKED)
			packed = md_of(of->pd, dnnl_query_weights_md);
		else if (of != g)
			form = PLAIN;
	}
	omp_set_num_threads(1);
	plan_choose(c, g, form, packed);
	if (g->form == PACKED && !packed)
		plan_pack(c, g);
	plan_memory(c, g);
	omp_set_num_threads(threads);
	return g;
}

const struct prim *
prim_plan(struct cpu *c, const struct gemm_shape *s)
{
	struct prim *g = plans_find(&c->prims->plans, s);

	if (g)
		return g;
	g = plan_new(c, s);
	plans_add(&c->prims->plans, g);
	c->grown++;
	return g;
}

const struct prim *
prim_nth(const struct cpu *c, size_t i, struct gemm_shape *s)
{
	const struct plans *p = &c->prims->plans;

	if (i >= p->n)
		return NULL;
	*s = ((struct prim *)p->v[i])->s;
	return p->v[i];
}

/* Widen a dense or strided tile of 16 bits to dense f32, rows in memory. */
static float *
widen(struct cpu *c, const void *p, enum kdtype dt, int64_t rows, int64_t cols,
      int64_t ld, float *to)
{
	for (int64_t i = 0; i < rows; i++)
		c->vec->cast(cpu_at(p, dt, i * ld), dt, to + i * cols, K_F32,
			     cols);
	return to + rows * cols;
}

static void
execute(struct cpu *c, const struct prim *g, int thread, const void *a,
	const void *b, void *y)
{
	dnnl_memory_t *m = g->mem[thread];
	dnnl_exec_arg_t args[] = {
		{ DNNL_ARG_SRC, m[SRC] }, { DNNL_ARG_WEIGHTS, m[WEIGHTS] },
		{ DNNL_ARG_DST, m[DST] }, { DNNL_ARG_SCRATCHPAD, m[PAD] },
	};

	CHECK(dnnl_memory_set_data_handle(m[SRC], (void *)(uintptr_t)a));
	CHECK(dnnl_memory_set_data_handle(m[WEIGHTS], (void *)(uintptr_t)b));
	CHECK(dnnl_memory_set_data_handle(m[DST], y));
	CHECK(dnnl_memory_set_data_handle(m[PAD], c->work[thread].p));
	CHECK(dnnl_primitive_execute(g->prim, c->prims->stream[thread],
				     OPERANDS, args));
}

/* Operands of 16 bits without fast code for their type. */
static void
execute_wide(struct cpu *c, const struct prim *g, int thread, const void *a,
	     const void *b, void *y)
{
	const struct gemm_shape *s = &g->s;
	float *wa = (float *)(void *)(c->work[thread].p + g->pad), *wb, *wy;

	wb = widen(c, a, s->dt, s->ta ? s->k : s->m, s->ta ? s->m : s->k,
		   s->lda, wa);
	wy = widen(c, b, s->dt, s->tb ? s->n : s->k, s->tb ? s->k : s->n,
		   s->ldb, wb);
	if (s->cdt == K_F32) {
		execute(c, g, thread, wa, wb, y);
		return;
	}
	if (s->accumulate)
		widen(c, y, s->cdt, s->m, s->n, s->ldc, wy);
	execute(c, g, thread, wa, wb, wy);
	for (int64_t i = 0; i < s->m; i++)
		c->vec->cast(wy + i * s->n, K_F32,
			     cpu_at(y, s->cdt, i * s->ldc), s->cdt, s->n);
}

void
prim_run(struct cpu *c, const struct prim *g, int thread, const void *a,
	 const void *b, void *y)
{
	if (g->form == WIDE)
		execute_wide(c, g, thread, a, b, y);
	else
		execute(c, g, thread, a, b, y);
}

int
prim_wants_dense(const struct cpu *c, const struct gemm_shape *s)
{
	return DNNL_VERSION_MAJOR < 3 && c->isa == ISA_AMX && s->packed &&
	       s->ldc != s->n && s->k < LONG_SUM;
}

int
prim_takes_packed(const struct prim *g)
{
	return g->form == PACKED;
}

size_t
prim_packed_size(const struct prim *g)
{
	return g->form != PACKED ? 0 :
	       dnnl_memory_desc_get_size(md_of(g->pd, dnnl_query_weights_md));
}

void
prim_pack(struct cpu *c, const struct prim *g, int thread, const void *b,
	  void *packed)
{
	dnnl_memory_t *m = g->packmem[thread], to = g->mem[thread][WEIGHTS];
	dnnl_exec_arg_t args[] = {
		{ DNNL_ARG_FROM, m[0] }, { DNNL_ARG_TO, to },
		{ DNNL_ARG_SCRATCHPAD, m[1] },
	};

	CHECK(dnnl_memory_set_data_handle(m[0], (void *)(uintptr_t)b));
	CHECK(dnnl_memory_set_data_handle(m[1], c->work[thread].p));
	CHECK(dnnl_memory_set_data_handle(to, packed));
	CHECK(dnnl_primitive_execute(g->pack, c->prims->stream[thread], 3,
				     args));
}

const struct prim *
prim_pack_plan(struct cpu *c, const struct gemm_shape *s)
{
	struct gemm_shape p = pack_shape(s);

	return prim_plan(c, &p);
}
