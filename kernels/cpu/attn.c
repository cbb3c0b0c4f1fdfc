/*
 * attn.c - cpu: attention forward and backward, and the cache
 *
 * Forward, a task is a tile of queries of one head.  Its scores against all
 * keys it may see (from the first row of its first document to its own last
 * row) are kept in scratch, so that softmax takes one pass; matmuls run over
 * blocks of at most 512 keys.  Memory is O(tile * T) per thread.
 *
 * Backward, a task is one key/value head of one sequence: it walks the query
 * heads that share it, their tiles and the blocks of keys in order, and owns
 * dk and dv (T, D) in f32, so that no two threads add to the same number.
 * Scores are recomputed from lse.
 *
 * Blocks start at multiples of 64 below the first key; keys outside a row's
 * range get probability zero.  A NaN in a result may come from such a key:
 * then attn_nan.c computes the entry again.
 */
#include "kernels/cpu/attn.h"

#include <math.h>
#include <string.h>

enum { TILE = 64, BIG_TILE = 128, BLOCK = 512, BLOCK_BWD = 256, ALIGN = 64 };

/* Matmuls of a tile, by [short last tile][keys in the block]. */
struct plans {
	const struct gemm *s[2][BLOCK + 1];	/* scores, also do * v^T */
	const struct gemm *dp[2][BLOCK + 1];
	const struct gemm *o[2][BLOCK + 1][2];	/* p * v; [1]: added */
	const struct gemm *kv[2][BLOCK + 1][2];	/* p^T * do: [0] rows of do, [1]
						   rows of q */
};

struct attn {
	struct cpu *c;
	const void *a;
	int64_t b, t, h, g, d, q;	/* q: row length of qkv */
	enum kdtype dt;
	float scale;
	const void *qkv;
	const int32_t *start;
	int64_t window;
	int64_t tile, tiles, block, ld;
	int nan;		/* set by any task */
	struct plans plans;
};

/* What a tile of queries sees: rows t0..t1 and keys j0..t1. */
struct span_of {
	int64_t t0, t1, j0;
	int last;
};

static int64_t
first_key(const struct attn *x, int64_t b, int64_t t)
{
	return k_attn_first(x->start ? x->start[b * x->t + t] : 0, x->window,
			    t);
}

static struct span_of
tile_span(const struct attn *x, int64_t b, int64_t i)
{
	struct span_of s = { .t0 = i * x->tile };

	s.t1 = cpu_min(s.t0 + x->tile, x->t);
	s.j0 = first_key(x, b, s.t0) / ALIGN * ALIGN;
	s.last = s.t1 - s.t0 < x->tile;
	return s;
}

static const void *
head_of(const struct attn *x, int64_t b, int64_t t, int64_t h)
{
	return cpu_at(x->qkv, x->dt, (b * x->t + t) * x->q + h * x->d);
}

/* Note whether the n numbers of p have a NaN. */
static void
find_nan(struct attn *x, const float *p, int64_t n)
{
	int nan = 0;

	for (int64_t i = 0; i < n; i++)
		nan |= p[i] != p[i];
	if (nan)
		__atomic_store_n(&x->nan, 1, __ATOMIC_RELAXED);
}

/* --- forward --- */

static const struct gemm *
plan(struct attn *x, int64_t m, int64_t n, int64_t k, int64_t lda, int ta,
     int64_t ldb, int tb, int64_t ldc, int accumulate)
{
	return gemm_plan(x->c, &(struct gemm_shape){
		.m = m, .n = n, .k = k, .lda = lda, .ta = ta, .ldb = ldb,
		.tb = tb, .ldc = ldc, .dt = x->dt, .cdt = K_F32,
		.accumulate = accumulate });
}

static void
fwd_block_plans(struct attn *x, int64_t m, int last, int64_t nb)
{
	struct plans *p = &x->plans;

	if (p->s[last][nb])
		return;
	p->s[last][nb] = plan(x, m, nb, x->d, x->q, 0, x->q, 1, x->ld, 0);
	for (int add = 0; add < 2; add++)
		p->o[last][nb][add] = plan(x, m, x->d, nb, x->ld, 0, x->q, 0,
					   x->d, add);
}

/* All plans, made before the team starts. */
static void
each_block(struct attn *x, void (*fn)(struct attn *, int64_t, int, int64_t))
{
	for (int64_t b = 0; b < x->b; b++)
		for (int64_t i = 0; i < x->tiles; i++) {
			struct span_of s = tile_span(x, b, i);

			for (int64_t j = s.j0; j < s.t1; j += x->block)
				fn(x, s.t1 - s.t0, s.last,
				   cpu_min(x->block, s.t1 - j));
		}
}

/* Scores of a tile become exponentials p; 1 / sum to inv, lse out. */
static void
softmax_rows(struct attn *x, const struct k_attn_fwd *a, int64_t b, int64_t h,
	     struct span_of s, const float *sc, void *p, float *inv)
{
	int64_t n = s.t1 - s.j0;

	for (int64_t t = s.t0; t < s.t1; t++) {
		int64_t r = t - s.t0;
		float max, sum;

		sum = x->c->vec->softmax(sc + r * x->ld,
			cpu_at(p, x->dt, r * x->ld), x->dt, x->scale,
			first_key(x, b, t) - s.j0, t + 1 - s.j0, n, &max);
		inv[r] = 1 / sum;
		a->lse[(b * x->h + h) * x->t + t] = x->scale * max + logf(sum);
	}
}

static void
fwd_task(void *arg, int64_t i, int thread)
{
	struct attn *x = arg;
	const struct k_attn_fwd *a = x->a;
	int64_t h = i / x->tiles % x->h, b = i / x->tiles / x->h;
	struct span_of s = tile_span(x, b, x->tiles - 1 - i % x->tiles);
	int64_t kh = x->h + h / (x->h / x->g);
	size_t cells = (size_t)(x->tile * x->ld);
	float *sc = cpu_own(x->c, thread);
	float *o = sc + cells, *inv = o + x->tile * x->d;
	void *p = x->dt == K_F32 ? sc : inv + x->tile;

	for (int64_t j = s.j0; j < s.t1; j += x->block)
		gemm_run(x->c, x->plans.s[s.last][cpu_min(x->block, s.t1 - j)],
			 thread, head_of(x, b, s.t0, h), head_of(x, b, j, kh),
			 sc + j - s.j0);
	softmax_rows(x, a, b, h, s, sc, p, inv);
	for (int64_t j = s.j0; j < s.t1; j += x->block)
		gemm_run(x->c, x->plans.o[s.last][cpu_min(x->block, s.t1 - j)]
					[j > s.j0], thread,
			 cpu_at(p, x->dt, j - s.j0),
			 head_of(x, b, j, kh + x->g), o);
	find_nan(x, o, (s.t1 - s.t0) * x->d);
	for (int64_t t = s.t0; t < s.t1; t++)
		x->c->vec->row_scale(cpu_at(a->o, x->dt,
			((b * x->t + t) * x->h + h) * x->d), x->dt,
			o + (t - s.t0) * x->d, inv[t - s.t0], x->d);
}

int
attn_fwd(struct kernels *k, const struct k_attn_fwd *a)
{
	struct attn x = {
		.c = cpu_of(k), .a = a, .b = a->b, .t = a->t, .h = a->h,
		.g = a->g, .d = a->d, .q = (a->h + 2 * a->g) * a->d,
		.dt = a->dt, .scale = a->scale, .qkv = a->qkv,
		.start = a->start, .window = a->window, .block = BLOCK,
	};

	x.tile = a->t > 512 ? BIG_TILE : TILE;
	x.tiles = (a->t + x.tile - 1) / x.tile;
	x.ld = (a->t + 63) / 64 * 64;
	each_block(&x, fwd_block_plans);
	cpu_private(x.c, (size_t)(x.tile * x.ld) * 8 +
		    (size_t)(x.tile * (x.d + 1)) * sizeof(float));
	cpu_each(x.c, a->b * a->h * x.tiles, fwd_task, &x);
	return x.nan;
}

void
cpu_attn_fwd(struct kernels *k, const struct k_attn_fwd *a)
{
	if (attn_fwd(k, a) || cpu_of(k)->plan_only)
		attn_fwd_masked(k, a);
}

/* --- backward --- */

static void
bwd_block_plans(struct attn *x, int64_t m, int last, int64_t nb)
{
	struct plans *p = &x->plans;
	int64_t d = x->d, od = x->h * d;

	if (p->s[last][nb])
		return;
	p->s[last][nb] = plan(x, m, nb, d, x->q, 0, x->q, 1, x->ld, 0);
	p->dp[last][nb] = plan(x, m, nb, d, od, 0, x->q, 1, x->ld, 0);
	for (int add = 0; add < 2; add++)
		p->o[last][nb][add] = plan(x, m, d, nb, x->ld, 0, x->q, 0, d,
					   add);
	p->kv[last][nb][0] = plan(x, nb, d, m, x->ld, 1, od, 0, d, 1);
	p->kv[last][nb][1] = plan(x, nb, d, m, x->ld, 1, x->q, 0, d, 1);
}

/* Scratch of one task. */
struct bwd {
	float *dk, *dv;		/* (T, D) */
	float *s, *dp;		/* (tile, ld) */
	float *dq;		/* (tile, D) */
	float *delta;		/* (tile) */
	void *p, *ds;		/* (tile, ld) type dt; f32: s and dp */
};

static struct bwd
bwd_scratch(struct attn *x, int thread)
{
	size_t kv = (size_t)(x->t * x->d), cells = (size_t)(x->tile * x->ld);
	struct bwd w;

	w.dk = cpu_own(x->c, thread);
	w.dv = w.dk + kv;
	w.s = w.dv + kv;
	w.dp = w.s + cells;
	w.p = x->dt == K_F32 ? w.s : w.dp + cells;
	w.ds = x->dt == K_F32 ? (void *)w.dp : cpu_at(w.p, x->dt,
						     (int64_t)cells);
	w.dq = w.dp + 2 * cells;
	w.delta = w.dq + x->tile * x->d;
	return w;
}

/* One block of keys j..j+nb for one tile of queries. */
static void
bwd_block(struct attn *x, const struct bwd *w, int64_t b, int64_t h,
	  struct span_of s, int64_t j, int thread)
{
	const struct k_attn_bwd *a = x->a;
	int64_t nb = cpu_min(x->block, s.t1 - j);
	int64_t kh = x->h + h / (x->h / x->g);
	const void *dout = cpu_at(a->dout, x->dt,
		((b * x->t + s.t0) * x->h + h) * x->d);
	const float *lse = a->lse + (b * x->h + h) * x->t;

	gemm_run(x->c, x->plans.s[s.last][nb], thread,
		 head_of(x, b, s.t0, h), head_of(x, b, j, kh), w->s);
	gemm_run(x->c, x->plans.dp[s.last][nb], thread, dout,
		 head_of(x, b, j, kh + x->g), w->dp);
	for (int64_t t = s.t0; t < s.t1; t++) {
		int64_t r = t - s.t0, at = r * x->ld;
		int64_t lo = first_key(x, b, t) - j, hi = t + 1 - j;

		lo = lo < 0 ? 0 : lo;
		x->c->vec->softmax_bwd(w->s + at, w->dp + at,
			cpu_at(w->p, x->dt, at), cpu_at(w->ds, x->dt, at),
			x->dt, x->scale, lse[t], w->delta[r], lo,
			cpu_min(hi, nb), nb);
	}
	gemm_run(x->c, x->plans.kv[s.last][nb][0], thread, w->p, dout,
		 w->dv + j * x->d);
	gemm_run(x->c, x->plans.kv[s.last][nb][1], thread, w->ds,
		 head_of(x, b, s.t0, h), w->dk + j * x->d);
	gemm_run(x->c, x->plans.o[s.last][nb][j > s.j0], thread, w->ds,
		 head_of(x, b, j, kh), w->dq);
}

static void
bwd_tile(struct attn *x, const struct bwd *w, int64_t b, int64_t h, int64_t i,
	 int thread)
{
	const struct k_attn_bwd *a = x->a;
	struct span_of s = tile_span(x, b, i);

	for (int64_t t = s.t0; t < s.t1; t++) {
		int64_t at = ((b * x->t + t) * x->h + h) * x->d;

		w->delta[t - s.t0] = x->c->vec->dot(cpu_at(a->o, x->dt, at),
			cpu_at(a->dout, x->dt, at), x->dt, x->d);
	}
	for (int64_t j = s.j0; j < s.t1; j += x->block)
		bwd_block(x, w, b, h, s, j, thread);
	find_nan(x, w->dq, (s.t1 - s.t0) * x->d);
	for (int64_t t = s.t0; t < s.t1; t++)
		x->c->vec->cast(w->dq + (t - s.t0) * x->d, K_F32,
			cpu_at(a->dqkv, x->dt,
			       (b * x->t + t) * x->q + h * x->d),
			x->dt, x->d);
}

static void
bwd_task(void *arg, int64_t i, int thread)
{
	struct attn *x = arg;
	const struct k_attn_bwd *a = x->a;
	int64_t b = i / x->g, g = i % x->g, rep = x->h / x->g;
	struct bwd w = bwd_scratch(x, thread);

	memset(w.dk, 0, (size_t)(2 * x->t * x->d) * sizeof *w.dk);
	for (int64_t h = g * rep; h < (g + 1) * rep; h++)
		for (int64_t j = 0; j < x->tiles; j++)
			bwd_tile(x, &w, b, h, j, thread);
	find_nan(x, w.dk, 2 * x->t * x->d);
	for (int64_t t = 0; t < x->t; t++) {
		int64_t at = (b * x->t + t) * x->q + (x->h + g) * x->d;

		x->c->vec->cast(w.dk + t * x->d, K_F32,
				cpu_at(a->dqkv, x->dt, at), x->dt, x->d);
		x->c->vec->cast(w.dv + t * x->d, K_F32,
				cpu_at(a->dqkv, x->dt, at + x->g * x->d),
				x->dt, x->d);
	}
}

int
attn_bwd(struct kernels *k, const struct k_attn_bwd *a)
{
	struct attn x = {
		.c = cpu_of(k), .a = a, .b = a->b, .t = a->t, .h = a->h,
		.g = a->g, .d = a->d, .q = (a->h + 2 * a->g) * a->d,
		.dt = a->dt, .scale = a->scale, .qkv = a->qkv,
		.start = a->start, .window = a->window, .block = BLOCK_BWD,
		.ld = BLOCK_BWD,
	};

	x.tile = a->t > 512 ? BIG_TILE : TILE;
	x.tiles = (a->t + x.tile - 1) / x.tile;
	each_block(&x, bwd_block_plans);
	cpu_private(x.c, (size_t)(2 * x.t * x.d + 3 * x.tile * x.ld +
				  x.tile * (x.d + 16)) * sizeof(float));
	cpu_each(x.c, a->b * a->g, bwd_task, &x);
	return x.nan;
}

void
cpu_attn_bwd(struct kernels *k, const struct k_attn_bwd *a)
{
	if (attn_bwd(k, a) || cpu_of(k)->plan_only)
		attn_bwd_masked(k, a);
}

/* --- the cache --- */

static void
put_task(void *arg, int64_t n, int thread)
{
	const struct k_kv_put *a = arg;
	int64_t q = (a->h + 2 * a->g) * a->d;
	size_t bytes = (size_t)a->d * kdtype_size(a->dt);

	(void)thread;
	for (int64_t g = 0; g < a->g; g++) {
		int64_t to = ((a->slot[n] * a->g + g) * a->p + a->pos[n]) *
			     a->d;
		int64_t from = n * q + (a->h + g) * a->d;

		memcpy(cpu_at(a->kc, a->dt, to), cpu_at(a->qkv, a->dt, from),
		       bytes);
		memcpy(cpu_at(a->vc, a->dt, to),
		       cpu_at(a->qkv, a->dt, from + a->g * a->d), bytes);
	}
}

void
cpu_kv_put(struct kernels *k, const struct k_kv_put *a)
{
	struct k_kv_put copy = *a;

	cpu_each(cpu_of(k), a->n, put_task, &copy);
}

static void
cache_task(void *arg, int64_t i, int thread)
{
	struct attn *x = arg;
	const struct k_attn_cache *a = x->a;

	x->c->vec->attn_cache(a, i / a->g, i % a->g, cpu_own(x->c, thread));
}

void
cpu_attn_cache(struct kernels *k, const struct k_attn_cache *a)
{
	struct attn x = { .c = cpu_of(k), .a = a };

	cpu_private(x.c, (size_t)(a->p + 64) * sizeof(float));
	cpu_each(x.c, a->n * a->g, cache_task, &x);
}
