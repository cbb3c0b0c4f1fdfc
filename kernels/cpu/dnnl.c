/*
 * dnnl.c - matmuls of tiles through oneDNN, version 2 or 3
 *
 * The only file that includes oneDNN.  A plan is a matmul primitive for one
 * shape, made once and kept.  Three rules make it safe and reproducible:
 *
 *  - a primitive is made while OpenMP's thread count is 1, so that its
 *    blocking never depends on the number of threads;
 *  - each thread has its own scratchpad: two threads that execute a primitive
 *    at once would otherwise share one and give wrong results;
 *  - each thread has its own memory objects, which hold operand addresses.
 *
 * A plan uses the first form for which oneDNN has fast code: B packed, B
 * plain, or bf16 widened to f32 (exact, then multiplied as f32).  Which
 * layouts and strides the fast code accepts depends on the processor and on
 * oneDNN's version: the AMX code of 2.6 refuses rows with gaps between them.
 * Where all of it refuses, oneDNN silently falls back to reference loops that
 * are 100 times slower.  The form depends on the shape alone.
 *
 * Making a primitive takes about a millisecond, since it generates code; a
 * training step uses a few dozen shapes.
 */
#include "kernels/cpu/cpu.h"

#include <dnnl.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SRC, WEIGHTS, DST, PAD, OPERANDS };

enum form { PACKED, PLAIN, WIDE };	/* WIDE: operands go through f32 */

struct gemm {
	struct gemm_shape s;
	enum form form;
	dnnl_primitive_t prim;
	dnnl_memory_t (*mem)[OPERANDS];		/* per thread */
	dnnl_memory_t *plain;			/* pack: source, per thread */
	size_t pad;
	dnnl_primitive_desc_t pd;
	dnnl_primitive_t pack;	/* reorder of B, when packed */
};

struct gemms {
	dnnl_engine_t engine;
	dnnl_stream_t *stream;	/* a thread */
	struct gemm **plans;
	size_t n, cap;
	struct gemm **hash;	/* 2 * cap slots */
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
gemm_open(struct cpu *c, struct err *e)
{
	struct gemms *d = xcalloc(1, sizeof *d);

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
	c->gemms = d;
	return 0;
}

static void
plan_free(struct gemm *g, int threads)
{
	for (int t = 0; t < threads; t++) {
		for (int i = 0; i < OPERANDS; i++)
			dnnl_memory_destroy(g->mem[t][i]);
		if (g->plain)
			dnnl_memory_destroy(g->plain[t]);
	}
	free(g->mem);
	free(g->plain);
	if (g->pack)
		dnnl_primitive_destroy(g->pack);
	dnnl_primitive_destroy(g->prim);
	dnnl_primitive_desc_destroy(g->pd);
	free(g);
}

void
gemm_close(struct cpu *c)
{
	struct gemms *d = c->gemms;

	if (!d)
		return;
	for (size_t i = 0; i < d->n; i++)
		plan_free(d->plans[i], c->threads);
	for (int i = 0; i < c->threads; i++)
		dnnl_stream_destroy(d->stream[i]);
	dnnl_engine_destroy(d->engine);
	free(d->plans);
	free(d->hash);
	free(d->stream);
	free(d);
}

/* --- what differs between the versions --- */

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t md_t;
typedef const_dnnl_memory_desc_t cmd_t;
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

static void
matmul_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t eng, md_t a, md_t b,
	  md_t y, dnnl_primitive_attr_t attr)
{
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

static void
matmul_pd(dnnl_primitive_desc_t *pd, dnnl_engine_t eng, md_t a, md_t b,
	  md_t y, dnnl_primitive_attr_t attr)
{
	dnnl_matmul_desc_t d;

	CHECK(dnnl_matmul_desc_init(&d, &a, &b, NULL, &y));
	CHECK(dnnl_primitive_desc_create(pd, &d, attr, eng, NULL));
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

_Static_assert(sizeof(struct gemm_shape) ==
	       6 * sizeof(int64_t) + 6 * sizeof(int), "padding in a key");

static uint64_t
shape_hash(const struct gemm_shape *s)
{
	uint64_t v[sizeof *s / sizeof(uint64_t)], h = 0;

	memcpy(v, s, sizeof v);
	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		h = (h ^ v[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
	return h;
}

static int
shape_eq(const struct gemm_shape *a, const struct gemm_shape *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* The slot of s, empty if there is no such plan. */
static struct gemm **
find(struct gemms *d, const struct gemm_shape *s)
{
	size_t mask = 2 * d->cap - 1, i = shape_hash(s) & mask;

	while (d->hash[i] && !shape_eq(&d->hash[i]->s, s))
		i = (i + 1) & mask;
	return &d->hash[i];
}

static void
grow(struct gemms *d)
{
	d->cap = d->cap ? 2 * d->cap : 64;
	d->plans = xreallocarray(d->plans, d->cap, sizeof *d->plans);
	free(d->hash);
	d->hash = xcalloc(2 * d->cap, sizeof *d->hash);
	for (size_t i = 0; i < d->n; i++)
		*find(d, &d->plans[i]->s) = d->plans[i];
}

static dnnl_data_type_t
type_of(enum kdtype dt)
{
	return dt == K_BF16 ? dnnl_bf16 : dnnl_f32;
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
gemm_impl(const struct gemm *g)
{
	const char *name;

	CHECK(dnnl_primitive_desc_query(g->pd, dnnl_query_impl_info_str, 0,
					&name));
	return name;
}

static cmd_t
md_of(const struct gemm *g, dnnl_query_t what)
{
	return dnnl_primitive_desc_query_md(g->pd, what, 0);
}

/* Plan g in its form; packed: the layout of B, NULL: oneDNN chooses. */
static void
plan_make(struct cpu *c, struct gemm *g, cmd_t packed)
{
	const struct gemm_shape *s = &g->s;
	int wide = g->form == WIDE;
	enum kdtype dt = wide ? K_F32 : s->dt;
	enum kdtype cdt = wide ? K_F32 : s->cdt;
	int64_t lda = wide ? (s->ta ? s->m : s->k) : s->lda;
	int64_t ldb = wide ? (s->tb ? s->k : s->n) : s->ldb;
	int64_t ldc = wide && s->cdt == K_BF16 ? s->n : s->ldc;
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
	matmul_pd(&g->pd, c->gemms->engine, a, b, y, attr);
	CHECK(dnnl_primitive_attr_destroy(attr));
	md_free(a);
	md_free(b);
	md_free(y);
}

/* Take the first form from `form` on that has fast code, or the last one. */
static void
plan_choose(struct cpu *c, struct gemm *g, enum form form, cmd_t packed)
{
	enum form last = g->s.dt == K_BF16 ? WIDE : PLAIN;

	for (g->form = form;; g->form++) {
		plan_make(c, g, packed);
		if (g->form == last || !strstr(gemm_impl(g), "ref"))
			break;
		CHECK(dnnl_primitive_desc_destroy(g->pd));
	}
	CHECK(dnnl_primitive_create(&g->prim, g->pd));
}

/* The reorder that makes a packed tile, kept with the 256-row plan. */
static void
plan_pack(struct cpu *c, struct gemm *g)
{
	cmd_t to = md_of(g, dnnl_query_weights_md);
	md_t from = md_tile(g->s.k, g->s.n, g->s.dt, g->s.ldb, g->s.tb);
	dnnl_primitive_desc_t pd;

	CHECK(dnnl_reorder_primitive_desc_create(&pd, MD(from),
			c->gemms->engine, to, c->gemms->engine, NULL));
	CHECK(dnnl_primitive_create(&g->pack, pd));
	CHECK(dnnl_primitive_desc_destroy(pd));
	g->plain = xcalloc((size_t)c->threads, sizeof *g->plain);
	for (int t = 0; t < c->threads; t++)
		g->plain[t] = memory_new(c->gemms->engine, MD(from));
	md_free(from);
}

static void
plan_memory(struct cpu *c, struct gemm *g)
{
	static const dnnl_query_t what[] = {
		dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md,
		dnnl_query_scratchpad_md,
	};
	int64_t m = g->s.m, n = g->s.n, k = g->s.k;
	size_t wide = g->form == WIDE ? 256 + 4 *
		(size_t)(m * k + k * n + (g->s.cdt == K_BF16 ? m * n : 0)) : 0;

	g->mem = xcalloc((size_t)c->threads, sizeof *g->mem);
	for (int t = 0; t < c->threads; t++)
		for (int i = 0; i < OPERANDS; i++)
			g->mem[t][i] = memory_new(c->gemms->engine,
						  md_of(g, what[i]));
	g->pad = dnnl_memory_desc_get_size(md_of(g, dnnl_query_scratchpad_md));
	g->pad = (g->pad + 63) & ~(size_t)63;
	for (int t = 0; t < c->threads; t++)
		cpu_scratch(&c->work[t], g->pad + wide + 64);
}

static struct gemm *
plan_new(struct cpu *c, const struct gemm_shape *s)
{
	struct gemm *g = xcalloc(1, sizeof *g);
	int threads = omp_get_max_threads();
	enum form form = s->packed ? PACKED : PLAIN;
	cmd_t packed = NULL;

	g->s = *s;
	if (s->dt == K_BF16 && c->isa < ISA_AVX512_BF16)
		form = WIDE;
	if (form == PACKED) {
		struct gemm_shape p = pack_shape(s);
		const struct gemm *of = shape_eq(&p, s) ? g : gemm_plan(c, &p);

		if (of != g && of->form == PACKED)
			packed = md_of(of, dnnl_query_weights_md);
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

const struct gemm *
gemm_plan(struct cpu *c, const struct gemm_shape *s)
{
	struct gemms *d = c->gemms;
	struct gemm **at, *g;

	if (d->cap && (at = find(d, s), *at))
		return *at;
	g = plan_new(c, s);
	if (d->n == d->cap)
		grow(d);
	*find(d, s) = g;
	d->plans[d->n++] = g;
	return g;
}

const struct gemm *
gemm_nth(const struct cpu *c, size_t i, struct gemm_shape *s)
{
	if (i >= c->gemms->n)
		return NULL;
	*s = c->gemms->plans[i]->s;
	return c->gemms->plans[i];
}

/* Widen a dense or strided tile of bf16 to dense f32, rows in memory. */
static float *
widen(struct cpu *c, const void *p, int64_t rows, int64_t cols, int64_t ld,
      float *to)
{
	for (int64_t i = 0; i < rows; i++)
		c->vec->cast(cpu_at(p, K_BF16, i * ld), K_BF16, to + i * cols,
			     K_F32, cols);
	return to + rows * cols;
}

static void
execute(struct cpu *c, const struct gemm *g, int thread, const void *a,
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
	CHECK(dnnl_primitive_execute(g->prim, c->gemms->stream[thread],
				     OPERANDS, args));
}

/* bf16 operands without fast code for bf16. */
static void
execute_wide(struct cpu *c, const struct gemm *g, int thread, const void *a,
	     const void *b, void *y)
{
	const struct gemm_shape *s = &g->s;
	float *wa = (float *)(void *)(c->work[thread].p + g->pad), *wb, *wy;

	wb = widen(c, a, s->ta ? s->k : s->m, s->ta ? s->m : s->k, s->lda, wa);
	wy = widen(c, b, s->tb ? s->n : s->k, s->tb ? s->k : s->n, s->ldb, wb);
	if (s->cdt == K_F32) {
		execute(c, g, thread, wa, wb, y);
		return;
	}
	if (s->accumulate)
		widen(c, y, s->m, s->n, s->ldc, wy);
	execute(c, g, thread, wa, wb, wy);
	for (int64_t i = 0; i < s->m; i++)
		c->vec->cast(wy + i * s->n, K_F32,
			     cpu_at(y, K_BF16, i * s->ldc), K_BF16, s->n);
}

void
gemm_run(struct cpu *c, const struct gemm *g, int thread, const void *a,
	 const void *b, void *y)
{
	if (g->form == WIDE)
		execute_wide(c, g, thread, a, b, y);
	else
		execute(c, g, thread, a, b, y);
}

int
gemm_takes_packed(const struct gemm *g)
{
	return g->form == PACKED;
}

size_t
gemm_packed_size(const struct gemm *g)
{
	return g->form != PACKED ? 0 :
	       dnnl_memory_desc_get_size(md_of(g, dnnl_query_weights_md));
}

void
gemm_pack(struct cpu *c, const struct gemm *g, int thread, const void *b,
	  void *packed)
{
	dnnl_memory_t from = g->plain[thread], to = g->mem[thread][WEIGHTS];
	dnnl_exec_arg_t args[] = {
		{ DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to },
	};

	CHECK(dnnl_memory_set_data_handle(from, (void *)(uintptr_t)b));
	CHECK(dnnl_memory_set_data_handle(to, packed));
	CHECK(dnnl_primitive_execute(g->pack, c->gemms->stream[thread], 2,
				     args));
}

const struct gemm *
gemm_pack_plan(struct cpu *c, const struct gemm_shape *s)
{
	struct gemm_shape p = pack_shape(s);

	return gemm_plan(c, &p);
}
