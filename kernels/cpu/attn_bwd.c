/*
 * attn_bwd.c - cpu: attention backward
 *
 * Heads are copied apart (attn.h).  Gradients of queries, keys and values are
 * summed in f32 for each query head; scores are recomputed from lse.  Queries
 * and keys are cut into units of equal length.  A pair (i, j) of a unit of
 * queries and one of keys, j <= i, adds to the gradients of i and of j.
 *
 * Two pairs may run at once if they share neither.  So the pairs of a head
 * run in phases: in phase p those with i + j = p, modulo the number of units.
 * Where heads alone are enough for MANY threads, there is one phase, and a
 * task walks all pairs of its head.  Either way the order of a sum depends on
 * the shape alone.
 *
 * Last, gradients of keys and values are summed over the query heads that
 * share them, in order, and all are rounded.
 */
#include "kernels/cpu/attn.h"

#include <string.h>

enum { MANY = 64, UNIT = 2, UNIT_ROWS = 256, ROWS = 32 };

/* Matmuls of a tile of queries with 1 or 2 tiles of keys. */
struct plans {
	const struct gemm *s;	/* scores, also do * v^T */
	const struct gemm *kv;	/* p^T * do, ds^T * q */
	const struct gemm *q;	/* ds * k */
};

struct bwd {
	struct attn x;
	const struct k_attn_bwd *a;
	int64_t unit, units;	/* tiles in a unit */
	int64_t phase;		/* -1: all */
	char *dout;		/* (B, H, Tp, D) */
	float *dq, *dk, *dv;	/* (B, H, Tp, D) */
	float *delta;		/* (B, H, Tp) */
	struct plans plan[UNIT + 1];
};

/* --- the cut into tasks, by shape alone --- */

static struct bwd
cut(int64_t b, int64_t t, int64_t h)
{
	struct bwd w = { .x = { .b = b, .t = t, .h = h } };

	for (w.unit = UNIT; w.unit > 0; w.unit--) {
		attn_tiles(&w.x, t > UNIT_ROWS ? w.unit : 1);
		if (t <= UNIT_ROWS)
			w.unit = 1;
		w.units = w.x.tp / (w.x.tile * w.unit);
		if (w.unit == 1 || b * h * ((w.units + 1) / 2) >= MANY)
			break;
	}
	return w;
}

static int
one_phase(const struct bwd *w)
{
	return w->units == 1 || w->x.b * w->x.h >= MANY;
}

/* Pairs of a phase: unit i of queries, p - i of keys. */
static int64_t
pairs(const struct bwd *w, int64_t phase)
{
	int64_t n = 0;

	for (int64_t i = 0; i < w->units; i++)
		n += (phase - i + w->units) % w->units <= i;
	return n;
}

int64_t
attn_bwd_phases(int64_t b, int64_t t, int64_t h)
{
	struct bwd w = cut(b, t, h);

	return one_phase(&w) ? 1 : w.units;
}

int64_t
attn_bwd_tasks(int64_t b, int64_t t, int64_t h, int64_t p)
{
	struct bwd w = cut(b, t, h);

	return b * h * (one_phase(&w) ? 1 : pairs(&w, p));
}

/* --- a tile of queries with up to UNIT tiles of keys --- */

static void
bwd_plans(struct bwd *w)
{
	struct attn *x = &w->x;
	int64_t d = x->d, m = x->tile;

	for (int64_t i = 1; i <= w->unit; i++) {
		int64_t n = i * m;
		struct gemm_shape s = { .m = m, .n = n, .k = d, .lda = d,
			.ldb = d, .tb = 1, .ldc = n };
		struct gemm_shape kv = { .m = n, .n = d, .k = m, .lda = n,
			.ta = 1, .ldb = d, .ldc = d, .accumulate = 1 };
		struct gemm_shape q = { .m = m, .n = d, .k = n, .lda = n,
			.ldb = d, .ldc = d, .accumulate = 1 };

		s.dt = kv.dt = q.dt = x->dt;
		s.cdt = kv.cdt = q.cdt = K_F32;
		w->plan[i] = (struct plans){ gemm_plan(x->c, &s),
			gemm_plan(x->c, &kv), gemm_plan(x->c, &q) };
	}
}

/* Offset of row t of query head h. */
static int64_t
row(const struct attn *x, int64_t b, int64_t h, int64_t t)
{
	return (b * x->h + h) * x->tp + t;
}

/* Probabilities p and gradients ds of rows t0.. and keys j0..j0+n. */
static void
softmax_rows(struct bwd *w, int64_t b, int64_t h, int64_t t0, int64_t j0,
	     int64_t n, const float *s, const float *dp, void *p, void *ds)
{
	struct attn *x = &w->x;
	const float *lse = w->a->lse + (b * x->h + h) * x->t;
	size_t width = (size_t)n * kdtype_size(x->dt);

	for (int64_t r = 0; r < x->tile; r++) {
		int64_t t = t0 + r, lo, hi = cpu_min(t + 1 - j0, n);
		void *pr = cpu_at(p, x->dt, r * n);
		void *dr = cpu_at(ds, x->dt, r * n);

		if (t >= x->t) {
			memset(pr, 0, width);
			memset(dr, 0, width);
			continue;
		}
		lo = attn_first(x, b, t) - j0;
		x->c->vec->softmax_bwd(s + r * n, dp + r * n, pr, dr, x->dt,
			x->scale, lse[t], w->delta[row(x, b, h, t)],
			lo < 0 ? 0 : lo, hi, n);
	}
}

static void
bwd_tile(struct bwd *w, int64_t b, int64_t h, int64_t t0, int64_t j0,
	 int64_t tiles, int thread)
{
	struct attn *x = &w->x;
	const struct plans *g = &w->plan[tiles];
	int64_t n = tiles * x->tile, cells = x->tile * n, kh = attn_key(x, h);
	int64_t q = row(x, b, h, t0) * x->d, kv = row(x, b, h, j0) * x->d;
	float *s = cpu_own(x->c, thread), *dp = s + cells;
	void *p = x->dt == K_F32 ? s : dp + cells;
	void *ds = x->dt == K_F32 ? (void *)dp : cpu_at(p, x->dt, cells);
	const void *dout = cpu_at(w->dout, x->dt, q);

	gemm_run(x->c, g->s, thread, attn_at(x, b, h, t0),
		 attn_at(x, b, kh, j0), s);
	gemm_run(x->c, g->s, thread, dout, attn_at(x, b, kh + x->g, j0), dp);
	softmax_rows(w, b, h, t0, j0, n, s, dp, p, ds);
	gemm_run(x->c, g->kv, thread, p, dout, w->dv + kv);
	gemm_run(x->c, g->kv, thread, ds, attn_at(x, b, h, t0), w->dk + kv);
	gemm_run(x->c, g->q, thread, ds, attn_at(x, b, kh, j0), w->dq + q);
}

/* Queries of unit i, keys of unit j: only tiles that see each other. */
static void
bwd_pair(struct bwd *w, int64_t b, int64_t h, int64_t i, int64_t j, int thread)
{
	struct attn *x = &w->x;
	int64_t len = w->unit * x->tile, j0 = j * len;

	for (int64_t k = 0; k < w->unit; k++) {
		int64_t t0 = i * len + k * x->tile;
		int64_t end = cpu_min(j0 + len, t0 + x->tile);

		if (t0 < x->t && attn_first(x, b, t0) < end)
			bwd_tile(w, b, h, t0, j0, (end - j0) / x->tile,
				 thread);
	}
}

static void
bwd_task(void *arg, int64_t n, int thread)
{
	struct bwd *w = arg;
	int64_t each = w->phase < 0 ? 1 : pairs(w, w->phase);
	int64_t head = n / each, b = head / w->x.h, h = head % w->x.h;
	int64_t left = n % each;

	for (int64_t i = 0; i < w->units; i++) {
		int64_t j = w->phase < 0 ? 0 :
			(w->phase - i + w->units) % w->units;

		if (w->phase < 0)
			for (; j <= i; j++)
				bwd_pair(w, b, h, i, j, thread);
		else if (j <= i && left-- == 0)
			bwd_pair(w, b, h, i, j, thread);
	}
}

/* --- before and after --- */

/* Zero sums, and delta, of ROWS rows of a head. */
static void
begin_task(void *arg, int64_t i, int thread)
{
	struct bwd *w = arg;
	struct attn *x = &w->x;
	int64_t blocks = (x->tp + ROWS - 1) / ROWS, head = i / blocks;
	int64_t t0 = i % blocks * ROWS, end = cpu_min(t0 + ROWS, x->tp);
	int64_t at = row(x, 0, head, t0) * x->d;
	size_t bytes = (size_t)((end - t0) * x->d) * sizeof(float);

	(void)thread;
	memset(w->dq + at, 0, bytes);
	memset(w->dk + at, 0, bytes);
	memset(w->dv + at, 0, bytes);
	for (int64_t t = t0; t < cpu_min(end, x->t); t++) {
		int64_t from = ((head / x->h * x->t + t) * x->h +
				head % x->h) * x->d;

		w->delta[row(x, 0, head, t)] = x->c->vec->dot(
			cpu_at(w->a->o, x->dt, from),
			cpu_at(w->a->dout, x->dt, from), x->dt, x->d);
	}
}

/* Key (value) head g of row t: the sum over its query heads. */
static void
end_row(struct bwd *w, float *from, int64_t b, int64_t g, int64_t t,
	int64_t to)
{
	struct attn *x = &w->x;
	int64_t rep = x->h / x->g;
	float *sum = from + row(x, b, g * rep, t) * x->d;

	for (int64_t h = g * rep + 1; h < (g + 1) * rep; h++)
		x->c->vec->row_add(sum, from + row(x, b, h, t) * x->d, 1,
				   x->d);
	attn_find_nan(x, sum, x->d);
	x->c->vec->cast(sum, K_F32, cpu_at(w->a->dqkv, x->dt, to), x->dt,
			x->d);
}

static void
end_task(void *arg, int64_t i, int thread)
{
	struct bwd *w = arg;
	struct attn *x = &w->x;
	int64_t blocks = (x->t + ROWS - 1) / ROWS, b = i / blocks, d = x->d;
	int64_t t0 = i % blocks * ROWS, end = cpu_min(t0 + ROWS, x->t);

	(void)thread;
	for (int64_t t = t0; t < end; t++) {
		int64_t to = (b * x->t + t) * (x->h + 2 * x->g) * d;

		for (int64_t h = 0; h < x->h; h++, to += d) {
			float *dq = w->dq + row(x, b, h, t) * d;

			attn_find_nan(x, dq, d);
			x->c->vec->cast(dq, K_F32, cpu_at(w->a->dqkv, x->dt,
							  to), x->dt, d);
		}
		for (int64_t g = 0; g < x->g; g++, to += d) {
			end_row(w, w->dk, b, g, t, to);
			end_row(w, w->dv, b, g, t, to + x->g * d);
		}
	}
}

static void
bwd_room(struct bwd *w)
{
	struct attn *x = &w->x;
	size_t e = kdtype_size(x->dt), rows = (size_t)(x->b * x->h * x->tp);
	size_t sum = rows * (size_t)x->d * sizeof(float);
	size_t heads = (size_t)(x->b * (x->h + 2 * x->g) * x->tp * x->d) * e;
	char *p = cpu_shared(x->c, heads + rows * (size_t)x->d * e +
			     3 * sum + rows * sizeof(float) + 6 * 64);

	x->x = cpu_carve(&p, heads);
	w->dout = cpu_carve(&p, rows * (size_t)x->d * e);
	w->dq = cpu_carve(&p, sum);
	w->dk = cpu_carve(&p, sum);
	w->dv = cpu_carve(&p, sum);
	w->delta = cpu_carve(&p, rows * sizeof(float));
	cpu_private(x->c, (size_t)(x->tile * x->tile * w->unit) *
		    (2 * sizeof(float) + 2 * e));
}

int
attn_bwd(struct kernels *k, const struct k_attn_bwd *a)
{
	struct bwd w = cut(a->b, a->t, a->h);
	struct attn *x = &w.x;
	int64_t rows = (a->t + ROWS - 1) / ROWS;

	w.a = a;
	x->c = cpu_of(k);
	x->g = a->g;
	x->d = a->d;
	x->dt = a->dt;
	x->scale = a->scale;
	x->start = a->start;
	x->window = a->window;
	bwd_room(&w);
	bwd_plans(&w);
	attn_apart(x, a->qkv, a->h + 2 * a->g, x->x);
	attn_apart(x, a->dout, a->h, w.dout);
	cpu_each(x->c, a->b * a->h * ((x->tp + ROWS - 1) / ROWS), begin_task,
		 &w);
	w.phase = one_phase(&w) ? -1 : 0;
	do {
		cpu_each(x->c, attn_bwd_tasks(a->b, a->t, a->h, w.phase),
			 bwd_task, &w);
	} while (w.phase >= 0 && ++w.phase < w.units);
	cpu_each(x->c, a->b * rows, end_task, &w);
	return x->nan;
}

void
cpu_attn_bwd(struct kernels *k, const struct k_attn_bwd *a)
{
	if (attn_bwd(k, a) || cpu_of(k)->plan_only)
		attn_bwd_masked(k, a);
}
