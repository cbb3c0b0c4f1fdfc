/*
 * real.h - the shapes of real runs: several chunks, large vocabularies, one row
 *
 * Sizes are chosen against the tiles and chunks of the cpu table: 256 rows by
 * 512 columns for a matmul, 1,024 rows and 8,192 ids for the head, 16,384
 * numbers for flat arrays.
 */
#ifndef ASSAY_KERNEL_REAL_H
#define ASSAY_KERNEL_REAL_H

#include "tests/kernels/cases.h"
#include "tests/kernels/real_attn.h"

/* Rows, vocabulary, padded vocabulary, hidden size, accumulate. */
static const int64_t head_shapes[][5] = {
	{ 1100, 9000, 9024, 20, 0 },
	{ 1025, 8193, 8193, 20, 1 },
	{ 5, 50257, 50304, 40, 0 },
	{ 3, 128256, 128256, 24, 1 },
	{ 1, 50257, 50257, 33, 0 },
};

static inline void
real_head(struct kt *t)
{
	const int64_t *s = head_shapes[kt_item(t)];

	head_run(t, s[0], s[3], s[1], s[2], (int)s[4]);
}

/* n whole numbers in [lo, hi]: sums of their products are exact. */
static inline void
fill_whole(struct kt *t, void *dst, int64_t n, int lo, int hi)
{
	void *x = xmalloc((size_t)n * kdtype_size(t->dt));

	for (int64_t i = 0; i < n; i++)
		kt_set(x, t->dt, i, (double)kt_int(t, lo, hi));
	kt_put(t, dst, x, (size_t)n * kdtype_size(t->dt));
	free(x);
}

/* The largest logit three times in each row, in other tiles and chunks. */
static inline void
real_ties(struct kt *t)
{
	static const int64_t top[] = { 8300, 700, 690 };
	int64_t n = 40, c = 8, v = 9000;
	struct kweight *w = kt_weight(t, v, c, K_USE_FWD);
	void *h = kt_room(t, n * c, t->dt);
	int32_t *arg = kt_room(t, n, K_F32);
	int32_t *target = kt_ids(t, n, 0, v - 1, 5);
	float *loss = kt_room(t, n, K_F32), *logz = kt_room(t, n, K_F32);

	fill_whole(t, h, n * c, 1, 3);
	fill_whole(t, w->data, v * c, -2, 1);
	for (int i = 0; i < 3; i++)
		fill_whole(t, (char *)w->data + (size_t)(top[i] * c) *
			   kdtype_size(t->dt), c, 2, 2);
	kernels_weight_update(t->k, w);
	t->k->ce_head(t->k, &(struct k_ce_head){ .w = w, .n = n, .v = v,
		.h = h, .target = target, .loss = loss, .logz = logz,
		.argmax = arg });
	kt_out(t, "argmax", arg, n, 1, K_F32)->kind = KT_BYTES;
	kt_stat(t, "loss", loss, n);
}

/* Rows, inputs, outputs. */
static const int64_t matmul_shapes[][3] = {
	{ 1, 700, 1100 }, { 257, 513, 520 }, { 1100, 130, 70 },
	{ 2100, 100, 300 }, { 1025, 771, 17 }, { 13, 64, 8193 },
};

static inline void
real_matmul(struct kt *t)
{
	const int64_t *s = matmul_shapes[kt_item(t)];

	matmul_run(t, s[0], s[1], s[2]);
}

/* Rows, query heads, key heads, head size, norms. */
static const int64_t rope_shapes[][5] = {
	{ 37, 8, 1, 256, 1 }, { 1, 4, 4, 256, 1 }, { 513, 2, 1, 128, 1 },
	{ 70, 8, 2, 80, 1 }, { 70, 4, 1, 64, 0 },
};

static inline void
real_rope(struct kt *t)
{
	const int64_t *s = rope_shapes[kt_item(t)];

	rope_run(t, s[0], s[1], s[2], s[3], (int)s[4]);
}

/* Rows and columns of entries that work row by row. */
static const int64_t row_shapes[][2] = {
	{ 1, 1 }, { 1, 4096 }, { 519, 2304 }, { 2048, 33 },
};

static inline void
real_embed(struct kt *t)
{
	const int64_t *s = row_shapes[kt_item(t)];

	embed_run(t, s[0], s[1], 50257 / s[1] + 1);
}

static inline void
real_rmsnorm(struct kt *t)
{
	const int64_t *s = row_shapes[kt_item(t)];

	rmsnorm_run(t, s[0], s[1]);
}

static inline void
real_swiglu(struct kt *t)
{
	const int64_t *s = row_shapes[kt_item(t)];

	swiglu_run(t, s[0], s[1]);
}

/* beta1, beta2, step; from p = 0, so that p is the update alone. */
static const double adamw_settings[][3] = {
	{ 0.9, 0.95, 1 }, { 0.9, 0.999, 2 }, { 0.95, 0.9999, 3 },
	{ 0.9, 0.999, 1000 }, { 0.9, 0.9999, 123456 },
};

static inline void
real_adamw(struct kt *t)
{
	const double *s = adamw_settings[kt_item(t)];
	int64_t n = 2 * 16384 + 5;
	struct k_segment seg[] = { { 0, 16384, 1 }, { 16384, n - 16384, 0 } };
	struct k_adamw a = { .nseg = 2, .seg = seg, .p = kt_room(t, n, K_F32),
		.m = kt_in(t, n, K_F32, 0.1),
		.v = kt_near_one(t, n, K_F32), .g = kt_in(t, n, K_F32, 2),
		.lr = 1e-3, .beta1 = s[0], .beta2 = s[1], .eps = 1e-8,
		.decay = 0.1, .gscale = 0.5, .t = (int64_t)s[2],
		.w = kt_room(t, n, t->dt), .wdt = t->dt };

	kernels_zero(t->k, a.p, (size_t)n * sizeof *a.p);
	t->k->adamw(t->k, &a);
	kt_out(t, "p", a.p, 1, n, K_F32)->kind = KT_F32;
	kt_out(t, "m", a.m, 1, n, K_F32)->kind = KT_F32;
	kt_out(t, "v", a.v, 1, n, K_F32)->kind = KT_F32;
	kt_out(t, "w", a.w, 1, n, t->dt);
}

static const struct kt_case kt_real[] = {
	{ "ce_head, real shapes", real_head, 0, 5 },
	{ "ce_head, ties", real_ties, 0, 1 },
	{ "matmul, real shapes", real_matmul, 0, 6 },
	{ "rope, real shapes", real_rope, 0, 5 },
	{ "attn, real shapes", real_attn, 0, ATTN_SHAPES },
	{ "embed, real shapes", real_embed, 0, 4 },
	{ "rmsnorm, real shapes", real_rmsnorm, 0, 4 },
	{ "swiglu, real shapes", real_swiglu, 0, 4 },
	{ "adamw, real settings", real_adamw, 0, 5 },
};

enum { KT_REAL = sizeof kt_real / sizeof *kt_real };

#endif
