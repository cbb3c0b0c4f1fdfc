/*
 * real_attn.h - attention at the lengths and head sizes of real runs
 *
 * Documents of one row, boundaries at every offset within a tile, windows,
 * 1, 4 and 8 query heads per key head.  A sample of rows is compared, with
 * float64 (oracle.h) in the place of ref.  attn_bwd gets random o and lse, so
 * that it needs no forward pass.
 */
#ifndef ASSAY_KERNEL_REAL_ATTN_H
#define ASSAY_KERNEL_REAL_ATTN_H

#include "tests/kernels/oracle.h"

enum documents { ONE, OF_ONE_ROW, OF_THREE_ROWS, MIXED, SHIFTED };

struct attn_shape {
	int64_t b, t, h, g, d, window;
	enum documents documents;
};

static const struct attn_shape attn_shapes[] = {
	{ 1, 513, 4, 1, 80, 0, OF_THREE_ROWS },
	{ 1, 513, 2, 2, 64, 0, OF_ONE_ROW },
	{ 2, 513, 2, 2, 256, 300, MIXED },
	{ 1, 2048, 8, 1, 64, 0, MIXED },
	{ 1, 2048, 4, 1, 128, 0, ONE },
	{ 1, 2048, 2, 1, 80, 129, ONE },
	{ 1, 2048, 1, 1, 256, 0, MIXED },
	{ 64, 130, 2, 1, 16, 0, SHIFTED },	/* tiles of 64 rows */
	{ 128, 520, 1, 1, 8, 0, SHIFTED },	/* tiles of 128 rows */
	{ 1, 1, 8, 1, 64, 0, ONE },
	{ 3, 65, 8, 2, 128, 0, OF_ONE_ROW },
};

enum { ATTN_SHAPES = sizeof attn_shapes / sizeof *attn_shapes };
enum { ATTN_SAMPLE = 4096 };

/* The second document of sequence b starts here. */
static inline int64_t
attn_shift(const struct attn_shape *s, int64_t b)
{
	return s->t - s->b - 1 + b;
}

static inline int32_t *
attn_starts(struct kt *t, const struct attn_shape *s)
{
	int64_t n = s->b * s->t;
	int32_t *x = xreallocarray(NULL, (size_t)n, sizeof *x);

	for (int64_t i = 0; i < n; i++) {
		int64_t r = i % s->t, shift = attn_shift(s, i / s->t);

		switch (s->documents) {
		case OF_ONE_ROW:
			x[i] = (int32_t)r;
			break;
		case OF_THREE_ROWS:
			x[i] = (int32_t)(r / 3 * 3);
			break;
		case SHIFTED:
			x[i] = (int32_t)(r < shift ? 0 : shift);
			break;
		default:
			x[i] = r == 0 ? 0 : kt_int(t, 0, 200) == 0 ?
			       (int32_t)r : x[i - 1];
		}
	}
	return x;
}

/* Which rows of sequence b are compared: at most 24 to t. */
static inline int
attn_rows(struct kt *kt, const struct attn_shape *s, int64_t b, int64_t *t)
{
	static const int64_t edge[] = { 0, 1, 63, 64, 127, 128, 255, 256, 511,
		512 };
	int64_t shift = attn_shift(s, b);
	int n = 0;

	if (s->documents == SHIFTED) {
		t[0] = shift - 1;
		t[1] = shift;
		t[2] = shift + 1;
		t[3] = s->t - 1;
		return 4;
	}
	for (size_t i = 0; i < sizeof edge / sizeof *edge; i++)
		if (edge[i] < s->t)
			t[n++] = edge[i];
	t[n++] = s->t - 1;
	for (int i = 0; i < 8; i++)
		t[n++] = kt_int(kt, 0, s->t - 1);
	return n;
}

/* Rows of o (B, T, H), lse (B, H, T) and dqkv (B, T, H + 2G) to compare. */
struct attn_sample {
	int64_t o[ATTN_SAMPLE], lse[ATTN_SAMPLE], dqkv[ATTN_SAMPLE];
	int64_t n, ng;
};

static inline void
attn_sample(struct kt *kt, const struct attn_shape *s, struct attn_sample *m)
{
	int64_t t[24], heads = s->h + 2 * s->g;

	m->n = m->ng = 0;
	for (int64_t b = 0; b < s->b; b++) {
		int rows = attn_rows(kt, s, b, t);

		for (int i = 0; i < rows; i++)
			for (int64_t c = 0; c < heads; c++) {
				m->dqkv[m->ng++] =
					(b * s->t + t[i]) * heads + c;
				if (c >= s->h)
					continue;
				m->lse[m->n] = (b * s->h + c) * s->t + t[i];
				m->o[m->n++] = (b * s->t + t[i]) * s->h + c;
			}
	}
}

static inline void
attn_store(void *to, int64_t row, const double *x, int64_t d, enum kdtype dt)
{
	for (int64_t c = 0; c < d; c++)
		kt_set(to, dt, row * d + c, x[c]);
}

/* In the place of ref's entries: the sampled rows alone. */
static inline void
attn_oracle(const struct attn_sample *m, const struct k_attn_fwd *f,
	    const struct k_attn_bwd *g)
{
	int64_t n = f->b * f->t, heads = f->h + 2 * f->g;
	struct oracle a = {
		.b = f->b, .t = f->t, .h = f->h, .g = f->g, .d = f->d,
		.window = f->window, .scale = f->scale, .start = f->start,
		.qkv = oracle_numbers(f->qkv, n * heads * f->d, f->dt),
		.o = oracle_numbers(g->o, n * f->h * f->d, f->dt),
		.dout = oracle_numbers(g->dout, n * f->h * f->d, f->dt),
		.lse = oracle_numbers(g->lse, n * f->h, K_F32),
		.p = oracle_numbers(g->lse, f->t, K_F32),
	};
	double x[256], y[256];

	for (int64_t i = 0; i < m->n; i++) {
		int64_t row = m->o[i] / a.h, h = m->o[i] % a.h;

		f->lse[m->lse[i]] = (float)oracle_fwd(&a, row / a.t, h,
						      row % a.t, x);
		attn_store(f->o, m->o[i], x, a.d, f->dt);
	}
	for (int64_t i = 0; i < m->ng; i++) {
		int64_t row = m->dqkv[i] / heads, c = m->dqkv[i] % heads;

		if (c < a.h)
			oracle_dq(&a, row / a.t, c, row % a.t, x);
		else if (c < a.h + a.g)
			oracle_dkv(&a, row / a.t, c - a.h, row % a.t, x, y);
		else
			oracle_dkv(&a, row / a.t, c - a.h - a.g, row % a.t, y,
				   x);
		attn_store(g->dqkv, m->dqkv[i], x, a.d, f->dt);
	}
	free(a.qkv);
	free(a.o);
	free(a.dout);
	free(a.lse);
	free(a.p);
}

/* lse near what these scores give: log of the number of keys, and a half of
   the variance of a score. */
static inline float *
attn_lse(struct kt *t, const struct attn_shape *s, const int32_t *start)
{
	int64_t n = s->b * s->h * s->t;
	float *x = kt_normals(t, n, 0, 0.1);

	for (int64_t i = 0; i < n; i++) {
		int64_t b = i / s->t / s->h, r = i % s->t, keys = r + 1;

		if (start)
			keys -= start[b * s->t + r];
		if (s->window && keys > s->window)
			keys = s->window;
		x[i] += (float)log((double)keys) + (keys > 1 ? 2.5f : 0);
	}
	return x;
}

/* oracle: with float64 in the place of the table. */
static inline void
attn_shape_run(struct kt *t, const struct attn_shape *s, int oracle)
{
	struct kernels *k = t->k;
	int64_t n = s->b * s->t, heads = s->h + 2 * s->g, d = s->d;
	int32_t *start = NULL, *x = s->documents ? attn_starts(t, s) : NULL;
	struct attn_sample *m = xmalloc(sizeof *m);
	struct k_attn_fwd f;
	struct k_attn_bwd g;
	float *lse = kt_room(t, s->h * n, K_F32), *y = attn_lse(t, s, x);

	if (x) {
		start = kt_room(t, n, K_F32);
		kt_put(t, start, x, (size_t)n * sizeof *x);
	}
	kt_put(t, lse, y, (size_t)(s->h * n) * sizeof *y);
	free(x);
	free(y);
	f = (struct k_attn_fwd){ .b = s->b, .t = s->t, .h = s->h, .g = s->g,
		.d = d, .dt = t->dt, .qkv = kt_in(t, n * heads * d, t->dt,
		1.5), .start = start, .window = s->window,
		.scale = (float)(1 / sqrt((double)d)),
		.o = kt_room(t, n * s->h * d, t->dt),
		.lse = kt_room(t, s->h * n, K_F32) };
	g = (struct k_attn_bwd){ .b = s->b, .t = s->t, .h = s->h, .g = s->g,
		.d = d, .dt = t->dt, .qkv = f.qkv, .start = start,
		.window = s->window, .scale = f.scale,
		.o = kt_in(t, n * s->h * d, t->dt, 0.3), .lse = lse,
		.dout = kt_in(t, n * s->h * d, t->dt, 1),
		.dqkv = kt_room(t, n * heads * d, t->dt) };
	attn_sample(t, s, m);
	if (oracle) {
		attn_oracle(m, &f, &g);
	} else {
		k->attn_fwd(k, &f);
		k->attn_bwd(k, &g);
	}
	kt_sample(t, "o", f.o, m->o, m->n, d, t->dt);
	kt_sample(t, "lse", f.lse, m->lse, m->n, 1, K_F32)->kind = KT_STAT;
	kt_sample(t, "dqkv", g.dqkv, m->dqkv, m->ng, d, t->dt);
	free(m);
}

static inline void
real_attn(struct kt *t)
{
	attn_shape_run(t, &attn_shapes[kt_item(t)],
		       strcmp(t->k->name, "ref") == 0);
}

#endif
