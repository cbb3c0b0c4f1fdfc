/*
 * cases.h - every entry on random inputs and random shapes
 *
 * A case takes its shapes and inputs from a seed alone, runs one entry of
 * whatever table it is given and hands back the outputs.  Running it on two
 * tables compares them; running it twice, or with other thread counts,
 * compares a table with itself.
 */
#ifndef ASSAY_KERNEL_CASES_H
#define ASSAY_KERNEL_CASES_H

#include "tests/kernels/kt.h"

static inline void
embed_run(struct kt *t, int64_t n, int64_t c, int64_t v)
{
	struct kernels *k = t->k;
	int32_t *tok = kt_ids(t, n, 0, v - 1, 0);
	void *w = kt_in(t, v * c, t->dt, 1);
	float *y = kt_room(t, n * c, K_F32), *dx = kt_in(t, n * c, K_F32, 1);
	float *dw = kt_in(t, v * c, K_F32, 1), *dw2 = kt_room(t, v * c, K_F32);
	int acc = (int)kt_int(t, 0, 1);
	int32_t *order = kt_sorted(t, tok, n);

	kernels_copy(k, dw2, dw, (size_t)(v * c) * sizeof *dw);
	k->embed_fwd(k, &(struct k_embed_fwd){ .n = n, .c = c, .dt = t->dt,
		.w = w, .tok = tok, .y = y });
	k->embed_bwd(k, &(struct k_embed_bwd){ .n = n, .c = c, .v = v,
		.tok = tok, .dx = dx, .dw = dw,
		.accumulate = acc });
	k->embed_bwd(k, &(struct k_embed_bwd){ .n = n, .c = c, .v = v,
		.tok = tok, .order = order, .dx = dx, .dw = dw2,
		.accumulate = acc });
	kt_out(t, "y", y, n, c, K_F32);
	kt_out(t, "dw", dw, v, c, K_F32);
	kt_out(t, "dw by order", dw2, v, c, K_F32);
}

static inline void
case_embed(struct kt *t)
{
	int64_t n = kt_size(t, 9, 300), c = kt_size(t, 40, 400);

	embed_run(t, n, c, kt_size(t, 12, 100));
}

static inline void
rmsnorm_run(struct kt *t, int64_t n, int64_t c)
{
	struct kernels *k = t->k;
	float *x = kt_in(t, n * c, K_F32, 3), *rstd = kt_room(t, n, K_F32);
	void *w = kt_near_one(t, c, t->dt), *y = kt_room(t, n * c, t->dt);
	void *dy = kt_in(t, n * c, t->dt, 1), *dxc = kt_room(t, n * c, t->dt);
	float *dx = kt_in(t, n * c, K_F32, 1), *dw = kt_in(t, c, K_F32, 1);
	int acc = (int)kt_int(t, 0, 3);

	k->rmsnorm_fwd(k, &(struct k_rmsnorm_fwd){ .n = n, .c = c,
		.dt = t->dt, .x = x, .w = w, .eps = 1e-5f, .y = y,
		.rstd = rstd });
	k->rmsnorm_bwd(k, &(struct k_rmsnorm_bwd){ .n = n, .c = c,
		.dt = t->dt, .dy = dy, .x = x, .w = w, .rstd = rstd, .dx = dx,
		.dx_accumulate = acc & 1, .dxc = dxc, .dw = dw,
		.dw_accumulate = acc >> 1 });
	kt_out(t, "y", y, n, c, t->dt);
	kt_stat(t, "rstd", rstd, n);
	kt_out(t, "dx", dx, n, c, K_F32);
	kt_out(t, "dxc", dxc, n, c, t->dt);
	kt_out(t, "dw", dw, 1, c, K_F32);
}

static inline void
case_rmsnorm(struct kt *t)
{
	int64_t n = kt_size(t, 9, 300);

	rmsnorm_run(t, n, kt_size(t, 70, 900));
}

static inline void
matmul_run(struct kt *t, int64_t n, int64_t in, int64_t out)
{
	struct kernels *k = t->k;
	enum kdtype ydt = kt_int(t, 0, 1) ? K_F32 : t->dt;
	struct kweight *w = kt_weight(t, out, in, K_USE_TRAIN);
	void *x = kt_in(t, n * in, t->dt, 1), *dy = kt_in(t, n * out, t->dt, 1);
	void *y = kt_in(t, n * out, ydt, 1), *add = kt_in(t, n * out, ydt, 1);
	void *dx = kt_room(t, n * in, t->dt);
	float *dw = kt_in(t, out * in, K_F32, 1);
	int how = (int)kt_int(t, 0, 2), acc = (int)kt_int(t, 0, 1);

	k->matmul_fwd(k, &(struct k_matmul_fwd){ .w = w, .n = n, .x = x,
		.y = y, .ydt = ydt,
		.add = how == 0 ? NULL : how == 1 ? y : add });
	k->matmul_dx(k, &(struct k_matmul_dx){ .w = w, .n = n, .dy = dy,
		.dx = dx });
	k->matmul_dw(k, &(struct k_matmul_dw){ .n = n, .out = out, .in = in,
		.dt = t->dt, .dy = dy, .x = x, .dw = dw, .accumulate = acc });
	kt_out(t, "y", y, n, out, ydt);
	kt_out(t, "dx", dx, n, in, t->dt);
	kt_out(t, "dw", dw, out, in, K_F32);
}

static inline void
case_matmul(struct kt *t)
{
	int64_t n = kt_size(t, 40, 600), in = kt_size(t, 70, 700);

	matmul_run(t, n, in, kt_size(t, 70, 1200));
}

/* More outputs than one chunk of the backward sum holds. */
static inline void
case_matmul_long(struct kt *t)
{
	struct kernels *k = t->k;
	int64_t n = kt_size(t, 5, 40), in = kt_size(t, 20, 40);
	int64_t out = 8192 + kt_int(t, 1, 9000);
	struct kweight *w = kt_weight(t, out, in, K_USE_TRAIN);
	void *dy = kt_in(t, n * out, t->dt, 1), *dx = kt_room(t, n * in, t->dt);

	k->matmul_dx(k, &(struct k_matmul_dx){ .w = w, .n = n, .dy = dy,
		.dx = dx });
	kt_out(t, "dx", dx, n, in, t->dt);
}

/* Angles of `rows` positions, as a model makes them. */
static inline void
kt_angles(struct kt *t, int64_t rows, int64_t d, float **cs, float **sn)
{
	size_t n = (size_t)(rows * d / 2);
	float *c = xreallocarray(NULL, n, sizeof *c);
	float *s = xreallocarray(NULL, n, sizeof *s);

	for (size_t i = 0; i < n; i++) {
		double a = (double)(i / (size_t)(d / 2)) * pow(10000,
			-2.0 * (double)(i % (size_t)(d / 2)) / (double)d);

		c[i] = (float)cos(a);
		s[i] = (float)sin(a);
	}
	*cs = kt_room(t, (int64_t)n, K_F32);
	*sn = kt_room(t, (int64_t)n, K_F32);
	kt_put(t, *cs, c, n * sizeof *c);
	kt_put(t, *sn, s, n * sizeof *s);
	free(c);
	free(s);
}

static inline void
rope_run(struct kt *t, int64_t n, int64_t h, int64_t g, int64_t d, int norm)
{
	struct kernels *k = t->k;
	int64_t q = (h + 2 * g) * d;
	int acc = (int)kt_int(t, 0, 1);
	void *in = kt_in(t, n * q, t->dt, 2), *out = kt_room(t, n * q, t->dt);
	void *qw = kt_near_one(t, d, t->dt), *kw = kt_near_one(t, d, t->dt);
	void *dqkv = kt_in(t, n * q, t->dt, 1);
	float *dqw = kt_in(t, d, K_F32, 1), *dkw = kt_in(t, d, K_F32, 1);
	int32_t *pos = kt_ids(t, n, 0, 99, 0);
	float *cs, *sn;

	kt_angles(t, 100, d, &cs, &sn);
	k->rope_fwd(k, &(struct k_rope_fwd){ .n = n, .h = h, .g = g, .d = d,
		.dt = t->dt, .in = in, .out = norm ? out : in, .pos = pos,
		.cos = cs, .sin = sn, .qw = norm ? qw : NULL,
		.kw = norm ? kw : NULL, .eps = 1e-6f });
	k->rope_bwd(k, &(struct k_rope_bwd){ .n = n, .h = h, .g = g, .d = d,
		.dt = t->dt, .dqkv = dqkv, .pos = pos, .cos = cs, .sin = sn,
		.qw = norm ? qw : NULL, .kw = norm ? kw : NULL, .in = in,
		.eps = 1e-6f, .dqw = dqw, .dkw = dkw, .accumulate = acc });
	kt_out(t, "out", norm ? out : in, n * q / d, d, t->dt);
	kt_out(t, "dqkv", dqkv, n * q / d, d, t->dt);
	kt_out(t, "dqw", dqw, 1, d, K_F32);
	kt_out(t, "dkw", dkw, 1, d, K_F32);
}

static inline void
case_rope(struct kt *t)
{
	int64_t n = kt_size(t, 9, 300), g = kt_int(t, 1, 3);
	int64_t h = g * kt_int(t, 1, 3), d = 2 * kt_int(t, 1, 48);

	rope_run(t, n, h, g, d, (int)kt_int(t, 0, 1));
}

/* The first row of each row's document, documents of random length. */
static inline int32_t *
kt_starts(struct kt *t, int64_t b, int64_t n)
{
	int32_t *p = kt_room(t, b * n, K_F32);
	int32_t *x = xreallocarray(NULL, (size_t)(b * n), sizeof *x);

	for (int64_t i = 0; i < b * n; i++)
		x[i] = i % n == 0 ? 0 :
		       kt_int(t, 0, n / 3) == 0 ? (int32_t)(i % n) : x[i - 1];
	kt_put(t, p, x, (size_t)(b * n) * sizeof *x);
	free(x);
	return p;
}

static inline void
case_attn(struct kt *t)
{
	struct kernels *k = t->k;
	int64_t b = kt_int(t, 1, 2), g = kt_int(t, 1, 2);
	int64_t n = t->big ? kt_int(t, 60, 700) : kt_int(t, 1, 40);
	int64_t h = g * kt_int(t, 1, 2), q, d = t->big ? 64 :
		2 * kt_int(t, 1, 40);
	float scale = (float)(1 / sqrt((double)d));
	int32_t *start = kt_int(t, 0, 2) ? kt_starts(t, b, n) : NULL;
	int64_t window = kt_int(t, 0, 1) ? kt_int(t, 1, n) : 0;
	void *qkv, *o, *dout, *dqkv;
	float *lse, *max = kt_room(t, h, K_F32);

	q = (h + 2 * g) * d;
	qkv = kt_in(t, b * n * q, t->dt, 1.5);
	o = kt_room(t, b * n * h * d, t->dt);
	dout = kt_in(t, b * n * h * d, t->dt, 1);
	dqkv = kt_room(t, b * n * q, t->dt);
	lse = kt_room(t, b * h * n, K_F32);
	k->attn_fwd(k, &(struct k_attn_fwd){ .b = b, .t = n, .h = h, .g = g,
		.d = d, .dt = t->dt, .qkv = qkv, .start = start,
		.window = window, .scale = scale, .o = o, .lse = lse,
		.max_score = max });
	kt_out(t, "o", o, b * n * h, d, t->dt);
	kt_stat(t, "lse", lse, b * h * n);
	kt_stat(t, "max_score", max, h);
	kt_like(t, "o", o);
	kt_like(t, "lse", lse);
	k->attn_bwd(k, &(struct k_attn_bwd){ .b = b, .t = n, .h = h, .g = g,
		.d = d, .dt = t->dt, .qkv = qkv, .start = start,
		.window = window, .scale = scale, .o = o, .lse = lse,
		.dout = dout,
		.dqkv = dqkv });
	kt_out(t, "dqkv", dqkv, b * n * q / d, d, t->dt);
}

/* Rows of several slots put into a cache that is then attended to. */
static inline void
case_cache(struct kt *t)
{
	struct kernels *k = t->k;
	int64_t slots = kt_int(t, 1, 4), g = kt_int(t, 1, 3);
	int64_t h = g * kt_int(t, 1, 3), d = 2 * kt_int(t, 1, 64);
	int64_t p = t->big ? kt_int(t, 100, 400) : kt_int(t, 2, 20);
	int64_t q = (h + 2 * g) * d, kv = slots * g * p * d;
	void *kc = kt_in(t, kv, t->dt, 1), *vc = kt_in(t, kv, t->dt, 1);
	void *qkv = kt_in(t, slots * q, t->dt, 1);
	void *o = kt_room(t, slots * h * d, t->dt);
	float *max = kt_room(t, h, K_F32);
	int32_t *pos = kt_ids(t, slots, 0, p - 1, 0), s[4] = { 3, 0, 2, 1 };
	int32_t *slot = kt_room(t, slots, K_F32);
	int64_t window = kt_int(t, 0, 1) ? kt_int(t, 1, p) : 0;

	for (int64_t i = 0, j = 0; i < 4; i++)
		if (s[i] < slots)
			s[j++] = s[i];
	kt_put(t, slot, s, (size_t)slots * sizeof *s);
	k->kv_put(k, &(struct k_kv_put){ .n = slots, .h = h, .g = g, .d = d,
		.p = p, .dt = t->dt, .qkv = qkv, .slot = slot, .pos = pos,
		.kc = kc, .vc = vc });
	k->attn_cache(k, &(struct k_attn_cache){ .n = slots, .h = h, .g = g,
		.d = d, .p = p, .dt = t->dt, .qkv = qkv, .slot = slot,
		.pos = pos, .kc = kc, .vc = vc, .window = window,
		.scale = (float)(1 / sqrt((double)d)), .o = o,
		.max_score = max });
	kt_out(t, "kc", kc, kv / d, d, t->dt)->kind = KT_BYTES;
	kt_out(t, "vc", vc, kv / d, d, t->dt)->kind = KT_BYTES;
	kt_out(t, "o", o, slots * h, d, t->dt);
	kt_stat(t, "max_score", max, h);
}

/* Rows of runs of random lengths: the slot and position of each row. */
static inline struct k_runs
kt_runs(struct kt *t, int64_t runs, int64_t most, int64_t p, int64_t *n,
	int32_t **slot, int32_t **pos)
{
	int32_t *first = xmalloc((size_t)(runs * (1 + 2 * most)) *
				 sizeof *first);
	int32_t *s = first + runs, *q = s + runs * most;
	struct k_runs r = { .n = runs, .first = first };

	t->src[t->nsrc++] = first;
	*n = 0;
	for (int64_t i = 0; i < runs; i++) {
		int64_t rows = kt_int(t, 1, most), at = kt_int(t, 0, p - rows);

		first[i] = (int32_t)*n;
		for (int64_t j = 0; j < rows; j++, ++*n) {
			s[*n] = (int32_t)(runs - 1 - i);
			q[*n] = (int32_t)(at + j);
		}
		if (at + rows > r.longest)
			r.longest = at + rows;
	}
	*slot = kt_room(t, *n, K_F32);
	*pos = kt_room(t, *n, K_F32);
	kt_put(t, *slot, s, (size_t)*n * sizeof *s);
	kt_put(t, *pos, q, (size_t)*n * sizeof *q);
	return r;
}

static inline void
case_cache_runs(struct kt *t)
{
	static const int64_t dims[] = { 64, 80, 128, 256, 6, 50 };
	static const int64_t groups[] = { 1, 4, 8, 3 };
	struct kernels *k = t->k;
	int64_t runs = kt_int(t, 1, 4), g = t->big ? 1 : kt_int(t, 1, 2), n;
	int64_t h = g * groups[kt_int(t, 0, 3)], d = dims[kt_int(t, 0, 5)];
	int64_t p = t->big ? kt_int(t, 200, 1300) : kt_int(t, 13, 40);
	int64_t q = (h + 2 * g) * d, kv = runs * g * p * d;
	int64_t window = kt_int(t, 0, 1) ? kt_int(t, 1, p) : 0;
	int32_t *slot, *pos;
	struct k_runs r = kt_runs(t, runs, t->big ? 150 : 12, p, &n, &slot,
				  &pos);
	void *kc = kt_in(t, kv, t->dt, 1), *vc = kt_in(t, kv, t->dt, 1);
	void *qkv = kt_in(t, n * q, t->dt, 1);
	void *o = kt_room(t, n * h * d, t->dt);
	float *max = kt_room(t, h, K_F32);

	k->kv_put(k, &(struct k_kv_put){ .n = n, .h = h, .g = g, .d = d,
		.p = p, .dt = t->dt, .qkv = qkv, .slot = slot, .pos = pos,
		.runs = r, .kc = kc, .vc = vc });
	k->attn_cache(k, &(struct k_attn_cache){ .n = n, .h = h, .g = g,
		.d = d, .p = p, .dt = t->dt, .qkv = qkv, .slot = slot,
		.pos = pos, .runs = r, .kc = kc, .vc = vc,
		.window = window, .scale = (float)(1 / sqrt((double)d)),
		.o = o, .max_score = max });
	kt_out(t, "kc", kc, kv / d, d, t->dt)->kind = KT_BYTES;
	kt_out(t, "o", o, n * h, d, t->dt);
	kt_stat(t, "max_score", max, h);
}

static inline void
swiglu_run(struct kt *t, int64_t n, int64_t f)
{
	struct kernels *k = t->k;
	void *gu = kt_in(t, n * 2 * f, t->dt, 3), *a = kt_room(t, n * f, t->dt);
	void *da = kt_in(t, n * f, t->dt, 1), *a2 = kt_room(t, n * f, t->dt);
	void *dgu = kt_room(t, n * 2 * f, t->dt);
	int same = (int)kt_int(t, 0, 1);

	k->swiglu_fwd(k, &(struct k_swiglu_fwd){ .n = n, .f = f, .dt = t->dt,
		.gu = gu, .a = a });
	k->swiglu_bwd(k, &(struct k_swiglu_bwd){ .n = n, .f = f, .dt = t->dt,
		.gu = gu, .da = da, .dgu = same ? gu : dgu, .a = a2 });
	kt_out(t, "a", a, n, f, t->dt);
	kt_out(t, "a again", a2, n, f, t->dt);
	kt_out(t, "dgu", same ? gu : dgu, 2 * n, f, t->dt);
}

static inline void
case_swiglu(struct kt *t)
{
	int64_t n = kt_size(t, 9, 100);

	swiglu_run(t, n, kt_size(t, 70, 900));
}

static inline void
head_run(struct kt *t, int64_t n, int64_t c, int64_t v, int64_t vp, int acc)
{
	struct kernels *k = t->k;
	struct kweight *w = kt_weight(t, vp, c, K_USE_TRAIN);
	void *h = kt_in(t, n * c, t->dt, 3), *dh = kt_room(t, n * c, t->dt);
	int32_t *target = kt_ids(t, n, 0, v - 1, 5);
	float *loss = kt_room(t, n, K_F32), *logz = kt_room(t, n, K_F32);
	float *dw = kt_in(t, vp * c, K_F32, 0.01);
	int32_t *arg = kt_room(t, n, K_F32);
	float *max = kt_room(t, n, K_F32);
	/* fp16 needs a scale of the loss */
	float scale = (t->dt == K_F16 ? 1024.0f : 1.0f) / (float)n;

	if (acc)	/* the gradient of padding is 0 before and after */
		kernels_zero(k, dw + v * c,
			     (size_t)((vp - v) * c) * sizeof *dw);
	k->ce_head(k, &(struct k_ce_head){ .w = w, .n = n, .v = v, .h = h,
		.target = target, .scale = scale, .zcoef = 1e-2f,
		.loss = loss, .logz = logz, .argmax = arg, .max_logit = max,
		.dh = dh, .dw = dw, .accumulate = acc });
	kt_stat(t, "max_logit", max, n);
	kt_stat(t, "loss", loss, n);
	kt_stat(t, "logz", logz, n);
	kt_out(t, "argmax", arg, n, 1, K_F32)->kind = KT_BYTES;
	kt_out(t, "dh", dh, n, c, t->dt);
	kt_out(t, "dw", dw, vp, c, K_F32);
	k->ce_head(k, &(struct k_ce_head){ .w = w, .n = n, .v = v, .h = h,
		.target = target, .scale = 1, .loss = loss, .logz = logz });
	kt_stat(t, "loss alone", loss, n);
}

static inline void
case_head(struct kt *t)
{
	int64_t n = kt_size(t, 20, 400), c = kt_size(t, 40, 300);
	int64_t v = t->big ? kt_int(t, 400, 3000) : kt_int(t, 2, 90);
	int64_t vp = v + (kt_int(t, 0, 1) ? kt_int(t, 0, 700) : 0);

	head_run(t, n, c, v, vp, (int)kt_int(t, 0, 1));
}

/*
 * Segments of n numbers with gaps: long ones, one of a single number, every
 * other one with decay.  Freed with the sources of uploads.
 */
static inline struct k_segment *
kt_segments(struct kt *t, int64_t n, int64_t *nseg)
{
	struct k_segment *s = xcalloc((size_t)n + 1, sizeof *s);
	int64_t at = kt_int(t, 0, 2), len;

	t->src[t->nsrc++] = s;
	for (*nseg = 0; at < n; ++*nseg, at += len + kt_int(t, 0, 20)) {
		len = *nseg == 1 ? 1 : kt_int(t, 1, n / 3 + 1);
		len = len < n - at ? len : n - at;
		s[*nseg] = (struct k_segment){ at, len, (int)(*nseg & 1) };
	}
	return s;
}

/* Room for n doubles; zeros. */
static inline double *
kt_doubles(struct kt *t, int64_t n)
{
	double *p = kt_room(t, 2 * n, K_F32);

	kernels_zero(t->k, p, (size_t)n * sizeof *p);
	return p;
}

static inline void
kt_out_doubles(struct kt *t, const char *name, const double *p, int64_t n,
	       enum kt_kind kind)
{
	kt_out(t, name, p, 1, 2 * n, K_F32)->kind = kind;
}

/* A whole update as training makes it, then one with constants of the host. */
static inline void
case_update(struct kt *t)
{
	struct kernels *k = t->k;
	int64_t n = kt_size(t, 300, 100000), rows = kt_size(t, 30, 3000), nseg;
	struct k_segment *seg = kt_segments(t, n, &nseg);
	float *p = kt_in(t, n, K_F32, 0.1), *g = kt_in(t, n, K_F32, 2);
	float *m = kt_in(t, n, K_F32, 0.1), *v = kt_near_one(t, n, K_F32);
	void *w = kt_room(t, n, t->dt);
	int32_t *target = kt_ids(t, rows, 0, 5, 3);
	float *loss = kt_in(t, rows, K_F32, 3);
	float *logz = kt_in(t, rows, K_F32, 9);
	double *sums = kt_doubles(t, 3), *sumsq = kt_doubles(t, nseg);
	double *stats = kt_doubles(t, 3 * nseg);
	struct k_step step = { .lr = 10, .corr1 = 0.4, .corr2 = 0.2 };
	struct k_step *s = (void *)kt_doubles(t, sizeof step / 8);
	int64_t first = rows / 2;
	struct k_adamw a = { .nseg = nseg, .seg = seg, .p = p, .m = m,
		.v = v, .g = g, .w = w, .wdt = t->dt, .beta1 = 0.9,
		.beta2 = 0.95, .eps = 1e-8, .decay = 0.1, .step = s,
		.stats = kt_int(t, 0, 1) ? stats : NULL };

	k->cast(k, &(struct k_cast){ .n = n, .src = p, .sdt = K_F32, .dst = w,
		.ddt = t->dt });
	kt_put(t, s, &step, sizeof step);
	if (first)
		k->loss_sum(k, &(struct k_loss_sum){ .n = first,
			.target = target, .loss = loss, .logz = logz,
			.sums = sums });
	k->loss_sum(k, &(struct k_loss_sum){ .n = rows - first,
		.target = target + first, .loss = loss + first,
		.logz = logz + first, .sums = sums, .accumulate = first > 0 });
	k->sumsq(k, &(struct k_sumsq){ .nseg = nseg, .seg = seg, .g = g,
		.out = sumsq });
	k->clip(k, &(struct k_clip){ .nseg = nseg, .sumsq = sumsq,
		.sums = sums, .rows = (double)rows,
		.max_norm = kt_int(t, 0, 1) ? 1.5 : 0, .step = s });
	k->adamw(k, &a);
	kt_out_doubles(t, "sums", sums, 3, KT_DOUBLE);
	kt_out_doubles(t, "sumsq", sumsq, nseg, KT_DOUBLE);
	kt_out_doubles(t, "step", (double *)(void *)s, 5, KT_DOUBLE);
	kt_out(t, "apply and bad", &s->apply, 1, 4, K_F32)->kind = KT_BYTES;
	kt_out_doubles(t, "stats", stats, 3 * nseg, KT_SUM);
	a.step = NULL;
	a.stats = NULL;
	a.lr = 2e-2;
	a.gscale = 0.5;
	a.t = kt_int(t, 1, 50);
	k->adamw(k, &a);
	kt_out(t, "p", p, 1, n, K_F32)->kind = KT_F32;
	kt_out(t, "m", m, 1, n, K_F32)->kind = KT_F32;
	kt_out(t, "v", v, 1, n, K_F32)->kind = KT_F32;
	kt_out(t, "w", w, 1, n, t->dt);
}

static inline void
case_flat(struct kt *t)
{
	struct kernels *k = t->k;
	int64_t n = kt_size(t, 100, 100000);
	float *g = kt_in(t, n, K_F32, 1), *back = kt_room(t, n, K_F32);
	enum kdtype half = t->dt == K_F16 ? K_F16 : K_BF16;
	void *h = kt_room(t, n, half);
	float *f = kt_in(t, n, K_F32, 1);

	k->cast(k, &(struct k_cast){ .n = n, .src = g, .sdt = K_F32, .dst = h,
		.ddt = half });
	k->cast(k, &(struct k_cast){ .n = n, .src = h, .sdt = half,
		.dst = back, .ddt = K_F32 });
	kernels_copy(k, f, g, (size_t)n * sizeof *g);
	kernels_zero(k, g, (size_t)(n / 2) * sizeof *g);
	kt_out(t, "half", h, 1, n, half);
	kt_out(t, "f32 of half", back, 1, n, K_F32);
	kt_out(t, "copy", f, 1, n, K_F32);
	kt_out(t, "zeroed", g, 1, n, K_F32);
	for (int i = 0; i < t->nout; i++)
		t->out[i].kind = KT_BYTES;
}

/* A struct of doubles and integers. */
static inline void
kt_out_stats(struct kt *t, const struct k_stats_out *s)
{
	kt_out(t, "sum", &s->sum, 1, 2, K_F32)->kind = KT_DOUBLE;
	kt_out(t, "sumsq", &s->sumsq, 1, 2, K_F32)->kind = KT_DOUBLE;
	kt_out(t, "min, max, tiny", &s->min, 1, 6, K_F32)->kind = KT_BYTES;
	kt_out(t, "counts", &s->zeros, 1, 8, K_F32)->kind = KT_BYTES;
}

static inline void
case_stats(struct kt *t)
{
	struct kernels *k = t->k;
	int64_t rows = kt_size(t, 20, 300), cols = kt_size(t, 70, 900);
	int64_t ld = cols + (kt_int(t, 0, 1) ? kt_int(t, 1, 40) : 0);
	void *x = kt_near_one(t, rows * ld, t->dt);
	struct k_stats_out *out = kt_room(t, 18, K_F32);
	float *max = kt_room(t, cols, K_F32);

	k->stats(k, &(struct k_stats){ .rows = rows, .cols = cols, .ld = ld,
		.dt = t->dt, .x = x, .out = out });
	k->colmax(k, &(struct k_colmax){ .rows = rows, .cols = cols,
		.ld = ld, .dt = t->dt, .x = x, .out = max });
	kt_out_stats(t, out);
	kt_out(t, "colmax", max, 1, cols, K_F32)->kind = KT_BYTES;
}

struct kt_case {
	const char *name;
	void (*run)(struct kt *t);
	int small, big;		/* how many seeds of each */
};

static const struct kt_case kt_cases[] = {
	{ "embed", case_embed, 12, 4 },
	{ "rmsnorm", case_rmsnorm, 12, 4 },
	{ "matmul", case_matmul, 16, 4 },
	{ "matmul, many outputs", case_matmul_long, 2, 1 },
	{ "rope", case_rope, 16, 4 },
	{ "attn", case_attn, 16, 6 },
	{ "cache", case_cache, 16, 4 },
	{ "cache, runs", case_cache_runs, 12, 8 },
	{ "swiglu", case_swiglu, 12, 4 },
	{ "ce_head", case_head, 16, 5 },
	{ "update", case_update, 12, 4 },
	{ "stats", case_stats, 12, 4 },
	{ "flat", case_flat, 8, 3 },
};

enum { KT_CASES = sizeof kt_cases / sizeof *kt_cases };

/* `like`: the run that this one is compared with, or NULL. */
static inline void
kt_run(struct kt *t, struct kernels *k, const struct kt_case *c,
       enum kdtype dt, int big, int seed, const struct kt *like)
{
	*t = (struct kt){ .k = k, .dt = dt, .big = big, .like = like,
			  .seed = (uint64_t)(seed * 2 + big) };
	c->run(t);
}

#endif
