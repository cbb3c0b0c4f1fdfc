/*
 * attn.c - cpu: attention forward
 *
 * Heads are first copied apart (attn.h).  A task is a tile of queries of one
 * head.  Its scores against all keys it may see, from the first row of its
 * first document to its own last row, are one matmul into scratch, so that
 * softmax takes one pass; a second matmul with the values follows.  Memory is
 * O(tile * T) per thread.
 *
 * The keys of a tile begin at a multiple of `align`, so that few shapes occur;
 * keys outside a row's range get probability zero.  A NaN in a result may come
 * from such a key: then attn_nan.c computes the entry again.
 */
#include "kernels/cpu/attn.h"

#include <math.h>
#include <string.h>

enum { SMALL = 16, TILE = 64, BIG_TILE = 128, STARTS = 32, ROWS = 32 };

void
attn_find_nan(struct attn *x, const float *p, int64_t n)
{
	int nan = 0;

	for (int64_t i = 0; i < n; i++)
		nan |= p[i] != p[i];
	if (nan)
		__atomic_store_n(&x->nan, 1, __ATOMIC_RELAXED);
}

static int64_t
round_up(int64_t n, int64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

void
attn_tiles(struct attn *x, int64_t unit)
{
	x->tile = x->t > 512 ? BIG_TILE : x->t > TILE ? TILE :
		round_up(x->t, SMALL);
	x->tp = round_up(x->t, x->tile * unit);
}

struct apart {
	const struct attn *x;
	const void *rows;
	int64_t heads, blocks;
	void *to;
};

static void
apart_task(void *arg, int64_t i, int thread)
{
	const struct apart *a = arg;
	const struct attn *x = a->x;
	int64_t b = i / a->blocks, end = (i % a->blocks + 1) * ROWS, d = x->d;
	size_t bytes = (size_t)d * kdtype_size(x->dt);

	(void)thread;
	for (int64_t t = end - ROWS; t < cpu_min(end, x->tp); t++)
		for (int64_t h = 0; h < a->heads; h++) {
			void *to = cpu_at(a->to, x->dt,
				((b * a->heads + h) * x->tp + t) * d);

			if (t < x->t)
				memcpy(to, cpu_at(a->rows, x->dt,
					((b * x->t + t) * a->heads + h) * d),
				       bytes);
			else
				memset(to, 0, bytes);
		}
}

void
attn_apart(const struct attn *x, const void *rows, int64_t heads, void *to)
{
	struct apart a = { x, rows, heads, (x->tp + ROWS - 1) / ROWS, to };

	cpu_each(x->c, x->b * a.blocks, apart_task, &a);
}

/* --- forward --- */

struct fwd {
	struct attn x;
	const struct k_attn_fwd *a;
	int64_t align, tiles;
	const struct gemm **s, **o;	/* by tiles of keys, from 1 */
};

static void
fwd_plans(struct fwd *f)
{
	struct attn *x = &f->x;

	for (int64_t i = 1; i <= f->tiles; i++) {
		struct gemm_shape s = {
			.m = x->tile, .n = i * x->tile, .k = x->d,
			.lda = x->d, .ldb = x->d, .tb = 1,
			.ldc = i * x->tile, .dt = x->dt, .cdt = K_F32 };
		struct gemm_shape o = {
			.m = x->tile, .n = x->d, .k = i * x->tile,
			.lda = i * x->tile, .ldb = x->d, .ldc = x->d,
			.dt = x->dt, .cdt = K_F32 };
		const struct gemm *gs = gemm_plan(x->c, &s);
		const struct gemm *go = gemm_plan(x->c, &o);

		if (x->c->plan_only)
			continue;
		f->s[i] = gs;
		f->o[i] = go;
	}
}

/*
 * Scores of rows t0.. against keys j0..j0+n become exponentials p; 1 / sum to
 * inv, lse out.  Returns the largest score, or NaN.
 */
static float
softmax_rows(struct fwd *f, int64_t b, int64_t h, int64_t t0, int64_t j0,
	     int64_t n, const float *sc, void *p, float *inv)
{
	struct attn *x = &f->x;
	int64_t end = cpu_min(t0 + x->tile, x->t);
	float top = -INFINITY;

	for (int64_t t = t0; t < end; t++) {
		int64_t r = t - t0;
		float max, sum;

		sum = x->c->vec->softmax(sc + r * n,
			cpu_at(p, x->dt, r * n), x->dt, x->scale,
			attn_first(x, b, t) - j0, t + 1 - j0, n, &max);
		inv[r] = 1 / sum;
		f->a->lse[(b * x->h + h) * x->t + t] =
			x->scale * max + logf(sum);
		if (sum != sum)
			top = NAN;		/* and stays */
		else if (max > top)
			top = max;
	}
	if (end - t0 < x->tile)
		memset(cpu_at(p, x->dt, (end - t0) * n), 0,
		       (size_t)((t0 + x->tile - end) * n) *
		       kdtype_size(x->dt));
	return x->scale * top;
}

static void
fwd_task(void *arg, int64_t i, int thread)
{
	struct fwd *f = arg;
	struct attn *x = &f->x;
	int64_t h = i / f->tiles % x->h, b = i / f->tiles / x->h;
	int64_t t0 = (f->tiles - 1 - i % f->tiles) * x->tile;
	int64_t j0 = attn_first(x, b, t0) / f->align * f->align;
	int64_t n = t0 + x->tile - j0, key = attn_key(x, h);
	float *sc = cpu_own(x->c, thread), *inv = sc + x->tile * x->tp;
	float *o = inv + x->tile, top;
	void *p = x->dt == K_F32 ? sc : o + x->tile * x->d;

	gemm_run(x->c, f->s[n / x->tile], thread, attn_at(x, b, h, t0),
		 attn_at(x, b, key, j0), sc);
	top = softmax_rows(f, b, h, t0, j0, n, sc, p, inv);
	if (f->a->max_score)
		attn_raise(&f->a->max_score[h], top);
	gemm_run(x->c, f->o[n / x->tile], thread, p,
		 attn_at(x, b, key + x->g, j0), o);
	n = cpu_min(x->tile, x->t - t0);
	attn_find_nan(x, o, n * x->d);
	for (int64_t r = 0; r < n; r++)
		x->c->vec->row_scale(cpu_at(f->a->o, x->dt,
			((b * x->t + t0 + r) * x->h + h) * x->d), x->dt,
			o + r * x->d, inv[r], x->d);
}

int
attn_fwd(struct kernels *k, const struct k_attn_fwd *a)
{
	struct fwd f = {
		.x = { .c = cpu_of(k), .b = a->b, .t = a->t, .h = a->h,
		       .g = a->g, .d = a->d, .dt = a->dt, .scale = a->scale,
		       .start = a->start, .window = a->window },
		.a = a };
	struct attn *x = &f.x;
	size_t heads, slots;
	char *p;

	attn_tiles(x, 1);
	f.tiles = x->tp / x->tile;
	f.align = round_up((x->tp + STARTS - 1) / STARTS, x->tile);
	heads = (size_t)(a->b * (a->h + 2 * a->g) * x->tp * a->d) *
		kdtype_size(a->dt);
	slots = (size_t)(f.tiles + 1) * sizeof *f.s;
	p = cpu_shared(x->c, heads + 2 * slots + 256);
	x->x = cpu_carve(&p, heads);
	f.s = cpu_carve(&p, slots);
	f.o = cpu_carve(&p, slots);
	fwd_plans(&f);
	cpu_private(x->c, (size_t)(x->tile * (x->tp + a->d + 1)) * 4 +
		    (size_t)(x->tile * x->tp) * 4 + 64);
	attn_apart(x, a->qkv, a->h + 2 * a->g, x->x);
	for (int64_t h = 0; a->max_score && !x->c->plan_only && h < a->h; h++)
		a->max_score[h] = -INFINITY;
	cpu_each(x->c, a->b * a->h * f.tiles, fwd_task, &f);
	return x->nan;
}

void
cpu_attn_fwd(struct kernels *k, const struct k_attn_fwd *a)
{
	if (attn_fwd(k, a) || cpu_of(k)->plan_only)
		attn_fwd_masked(k, a);
}
