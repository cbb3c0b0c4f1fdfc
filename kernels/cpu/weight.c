/*
 * weight.c - weights as tiles; see weight.h
 */
#include "kernels/cpu/weight.h"

#include <stdlib.h>

#include "base/mem.h"
#include "kernels/cpu/prim.h"

static int64_t
count(int64_t n, int64_t part)
{
	return (n + part - 1) / part;
}

static struct gemm_shape
shape_fwd(const struct kweight *w, int64_t m, int64_t j)
{
	const struct weight *p = w->priv;

	return (struct gemm_shape){
		.m = m, .n = part_len(w->out, p->fwd.part, j), .k = w->in,
		.lda = w->in, .ldb = w->in, .tb = 1, .dt = w->dt,
		.packed = p->fwd.packed != NULL,
	};
}

static struct gemm_shape
shape_bwd(const struct kweight *w, int64_t m, int64_t j, int64_t kj)
{
	const struct weight *p = w->priv;

	return (struct gemm_shape){
		.m = m, .n = part_len(w->in, p->bwd.part, j),
		.k = part_len(w->out, p->bwd.kpart, kj),
		.ldb = w->in, .dt = w->dt, .packed = p->bwd.packed != NULL,
	};
}

static const void *
plain_fwd(const struct kweight *w, int64_t j)
{
	const struct weight *p = w->priv;

	return cpu_at(w->data, w->dt, j * p->fwd.part * w->in);
}

static const void *
plain_bwd(const struct kweight *w, int64_t j, int64_t kj)
{
	const struct weight *p = w->priv;

	return cpu_at(w->data, w->dt, kj * p->bwd.kpart * w->in +
		      j * p->bwd.part);
}

/* Room for packed tiles: each as large as the first, the largest. */
static int
tiles_room(struct kernels *k, struct tiles *t, struct gemm_shape s,
	   struct err *e)
{
	struct cpu *c = cpu_of(k);

	s.packed = 1;
	t->stride = prim_packed_size(prim_pack_plan(c, &s));
	t->stride = (t->stride + 63) & ~(size_t)63;
	if (!t->stride)
		return 0;
	t->packed = c->plan_only ? cpu_shared(c, 0) :
		k->alloc(k, t->stride * (size_t)(t->n * t->kn), e);
	return t->packed ? 0 : -1;
}

/* The last tiles are smaller than the others and may stay plain. */
static void
pack_plans(struct cpu *c, struct kweight *w)
{
	struct weight *v = w->priv;
	int64_t nf = v->fwd.packed ? v->fwd.n : 0;
	int64_t n = nf + (v->bwd.packed ? v->bwd.n * v->bwd.kn : 0);

	v->pack = xcalloc((size_t)n + 1, sizeof *v->pack);
	for (int64_t i = 0; i < n; i++) {
		struct gemm_shape s = i < nf ? shape_fwd(w, ROW_TILE, i) :
			shape_bwd(w, ROW_TILE, (i - nf) / v->bwd.kn,
				  (i - nf) % v->bwd.kn);
		const struct prim *g = prim_pack_plan(c, &s);

		v->pack[i] = prim_packed_size(g) ? g : NULL;
	}
}

int
weight_open(struct kernels *k, struct kweight *w, struct err *e)
{
	struct weight *p = xcalloc(1, sizeof *p);
	struct cpu *c = cpu_of(k);

	w->priv = p;
	p->fwd.part = cpu_part(w->out, COL_TILE, 64);
	p->fwd.n = count(w->out, p->fwd.part);
	p->fwd.kpart = w->in;
	p->fwd.kn = 1;
	p->bwd.part = cpu_part(w->in, COL_TILE, 64);
	p->bwd.n = count(w->in, p->bwd.part);
	p->bwd.kpart = cpu_part(w->out, K_CHUNK, 64);
	p->bwd.kn = count(w->out, p->bwd.kpart);
	if (!c->packed || w->dt != K_BF16)
		return 0;
	if (w->use & K_USE_FWD &&
	    tiles_room(k, &p->fwd, shape_fwd(w, ROW_TILE, 0), e) < 0)
		return -1;
	if (w->use & K_USE_BWD &&
	    tiles_room(k, &p->bwd, shape_bwd(w, ROW_TILE, 0, 0), e) < 0)
		return -1;
	pack_plans(c, w);
	return 0;
}

struct kweight *
cpu_weight_new(struct kernels *k, const struct k_weight_new *a, struct err *e)
{
	struct kweight *w = host_weight_new(k, a, e);

	if (w && weight_open(k, w, e) < 0) {
		cpu_weight_free(k, &(struct k_weight_free){ w });
		return NULL;
	}
	return w;
}

void
weight_close(struct kernels *k, struct kweight *w)
{
	struct weight *p = w->priv;

	if (!cpu_of(k)->plan_only) {
		kernels_release(k, p->fwd.packed);
		kernels_release(k, p->bwd.packed);
	}
	free(p->pack);
	free(p);
}

void
cpu_weight_free(struct kernels *k, const struct k_weight_free *a)
{
	weight_close(k, a->w);
	host_weight_free(k, a->w);
}

static size_t
tiles_bytes(const struct tiles *t)
{
	return t->packed ? t->stride * (size_t)(t->n * t->kn) : 0;
}

size_t
cpu_copies(struct kernels *k, enum kdtype dt, int64_t out, int64_t in, int use)
{
	struct kweight w = { .dt = dt, .out = out, .in = in, .use = use };
	struct cpu *c = cpu_of(k);
	int before = c->plan_only;
	struct err e = {0};	/* nothing is allocated */
	struct weight *v;
	size_t n;

	c->plan_only = 1;
	weight_open(k, &w, &e);
	v = w.priv;
	n = tiles_bytes(&v->fwd) + tiles_bytes(&v->bwd);
	weight_close(k, &w);
	c->plan_only = before;
	return n;
}

struct packing {
	struct cpu *c;
	struct kweight *w;
};

static void
pack_task(void *arg, int64_t i, int thread)
{
	struct packing *p = arg;
	struct weight *v = p->w->priv;
	int64_t nf = v->fwd.packed ? v->fwd.n : 0, j = i - nf;

	if (!v->pack[i])
		return;
	if (i < nf)
		prim_pack(p->c, v->pack[i], thread, plain_fwd(p->w, i),
			  v->fwd.packed + v->fwd.stride * (size_t)i);
	else
		prim_pack(p->c, v->pack[i], thread,
			  plain_bwd(p->w, j / v->bwd.kn, j % v->bwd.kn),
			  v->bwd.packed + v->bwd.stride * (size_t)j);
}

void
cpu_weight_update(struct kernels *k, const struct k_weight_update *a)
{
	struct kweight *w = a->w;
	struct weight *v = w->priv;
	struct packing p = { cpu_of(k), w };
	int64_t n = (v->fwd.packed ? v->fwd.n : 0) +
		    (v->bwd.packed ? v->bwd.n * v->bwd.kn : 0);

	if (n == 0)
		return;
	cpu_room(p.c);
	cpu_each(p.c, n, pack_task, &p);
}

const struct gemm *
weight_plan_fwd(struct cpu *c, const struct kweight *w, int64_t m, int64_t j,
		int64_t ldc, enum kdtype cdt, int accumulate)
{
	struct gemm_shape s = shape_fwd(w, m, j);

	s.ldc = ldc;
	s.cdt = cdt;
	s.accumulate = accumulate;
	return gemm_plan(c, &s);
}

const struct gemm *
weight_plan_bwd(struct cpu *c, const struct kweight *w, int64_t m, int64_t lda,
		int64_t j, int64_t kj, int64_t ldc, enum kdtype cdt,
		int accumulate)
{
	struct gemm_shape s = shape_bwd(w, m, j, kj);

	s.lda = lda;
	s.ldc = ldc;
	s.cdt = cdt;
	s.accumulate = accumulate;
	return gemm_plan(c, &s);
}

const struct gemm *
weight_plan_bwd_first(struct cpu *c, const struct kweight *w, int64_t m,
		      int64_t lda, int64_t j, int64_t k, int64_t ldc,
		      enum kdtype cdt)
{
	struct gemm_shape s = shape_bwd(w, m, j, 0);

	s.k = k;
	s.packed = 0;
	s.lda = lda;
	s.ldc = ldc;
	s.cdt = cdt;
	return gemm_plan(c, &s);
}

const void *
weight_tile_fwd(const struct kweight *w, const struct gemm *g, int64_t j)
{
	const struct weight *p = w->priv;

	return gemm_takes_packed(g) ?
	       p->fwd.packed + p->fwd.stride * (size_t)j : plain_fwd(w, j);
}

const void *
weight_tile_bwd(const struct kweight *w, const struct gemm *g, int64_t j,
		int64_t kj)
{
	const struct weight *p = w->priv;

	return gemm_takes_packed(g) ?
	       p->bwd.packed + p->bwd.stride * (size_t)(j * p->bwd.kn + kj) :
	       plain_bwd(w, j, kj);
}
