/*
 * gradient.c - every backward entry of ref against finite differences
 *
 * The objective is sum(out * r) with a random r, taken in double from the f32
 * output; the gradient entry gets r as the gradient of the output.  Numbers of
 * every input are moved by +-h and the central difference is held against
 * what the entry says, within 2e-3 of the largest gradient of that input.  ref
 * works on host memory, so plain arrays serve.  The last test gives the
 * check a gradient that is 1 % wrong, which must be found.
 */
#include "tests/kernels/cases.h"
#include "tests/kernels/tap.h"

enum { PROBES = 40, TEST_ARRAYS = 128 };

static struct kernels *k;
static uint64_t draws;
static float *made[TEST_ARRAYS];	/* all of normals(), to be freed */

static float *
normals(int64_t n, double std)
{
	float *x = xreallocarray(NULL, (size_t)n, sizeof *x);

	if (draws == TEST_ARRAYS)
		abort();
	made[draws++] = x;
	for (int64_t i = 0; i < n; i++)
		x[i] = (float)(std * rng_normal(11, RNG_TEST + draws,
						(uint64_t)i));
	return x;
}

static double
dot(const float *x, const float *y, int64_t n)
{
	double s = 0;

	for (int64_t i = 0; i < n; i++)
		s += (double)x[i] * y[i];
	return s;
}

/* Worst difference of grad from central differences, over max |grad|. */
static double
worst(double (*f)(void *), void *ctx, float *x, int64_t n, const float *grad)
{
	double most = 0, bad = 0;
	const float h = 5e-3f;

	for (int64_t i = 0; i < n; i++)
		most = fabs(grad[i]) > most ? fabs(grad[i]) : most;
	for (int64_t i = 0; i < n; i += n > PROBES ? n / PROBES : 1) {
		float old = x[i];
		double up, down, step, d;

		x[i] = old + h;
		step = x[i];
		up = f(ctx);
		x[i] = old - h;
		step -= x[i];
		down = f(ctx);
		x[i] = old;
		d = fabs((up - down) / step - grad[i]) / (most + 1e-12);
		bad = d > bad ? d : bad;
	}
	return bad;
}

static void
check(const char *name, double (*f)(void *), void *ctx, float *x, int64_t n,
      const float *grad)
{
	double w = worst(f, ctx, x, n, grad);

	tap_ok(w < 2e-3, "%s: %.1e from differences", name, w);
}

/* --- the entries --- */

struct rows {
	int64_t n, c, v;
	float *x, *w, *y, *r, *rstd;
	int32_t *tok;
};

static double
f_embed(void *ctx)
{
	struct rows *s = ctx;

	k->embed_fwd(k, &(struct k_embed_fwd){ .n = s->n, .c = s->c,
		.dt = K_F32, .w = s->w, .tok = s->tok,
		.y = s->y });
	return dot(s->y, s->r, s->n * s->c);
}

static void
test_embed(void)
{
	int32_t tok[] = { 3, 1, 3, 0, 3 };
	struct rows s = { .n = 5, .c = 6, .v = 4, .w = normals(24, 1),
			  .y = normals(30, 1), .r = normals(30, 1),
			  .tok = tok };
	float *dw = normals(24, 1);

	k->embed_bwd(k, &(struct k_embed_bwd){ .n = 5, .c = 6, .v = 4,
		.tok = tok, .dx = s.r, .dw = dw });
	check("embed dw", f_embed, &s, s.w, 24, dw);
}

static double
f_norm(void *ctx)
{
	struct rows *s = ctx;

	k->rmsnorm_fwd(k, &(struct k_rmsnorm_fwd){ .n = s->n, .c = s->c,
		.dt = K_F32, .x = s->x, .w = s->w, .eps = 1e-2f, .y = s->y,
		.rstd = s->rstd });
	return dot(s->y, s->r, s->n * s->c);
}

static void
test_norm(void)
{
	struct rows s = { .n = 7, .c = 9, .x = normals(63, 1),
			  .w = normals(9, 1), .y = normals(63, 1),
			  .r = normals(63, 1), .rstd = normals(7, 1) };
	float *dx = normals(63, 1), *dw = normals(9, 1);

	f_norm(&s);
	k->rmsnorm_bwd(k, &(struct k_rmsnorm_bwd){ .n = 7, .c = 9,
		.dt = K_F32, .dy = s.r, .x = s.x, .w = s.w, .rstd = s.rstd,
		.dx = dx, .dw = dw });
	check("rmsnorm dx", f_norm, &s, s.x, 63, dx);
	check("rmsnorm dw", f_norm, &s, s.w, 9, dw);
	for (int i = 0; i < 63; i++)
		dx[i] *= 1 + 0.01f * (float)(i % 2);
	tap_ok(worst(f_norm, &s, s.x, 63, dx) > 2e-3,
	       "a gradient that is 1 %% wrong is found");
}

struct product {
	int64_t n, out, in;
	struct kweight *w;
	float *x, *y, *r;
};

static double
f_matmul(void *ctx)
{
	struct product *s = ctx;

	k->matmul_fwd(k, &(struct k_matmul_fwd){ .w = s->w, .n = s->n,
		.x = s->x, .y = s->y, .ydt = K_F32 });
	return dot(s->y, s->r, s->n * s->out);
}

static void
test_matmul(void)
{
	struct product s = { .n = 5, .out = 7, .in = 6, .x = normals(30, 1),
			     .y = normals(35, 1), .r = normals(35, 1) };
	float *dx = normals(30, 1), *dw = normals(42, 1), *w = normals(42, 1);

	s.w = must_weight(k, K_F32, 7, 6, K_USE_TRAIN);
	memcpy(s.w->data, w, 42 * sizeof *w);
	k->matmul_dx(k, &(struct k_matmul_dx){ .w = s.w, .n = 5, .dy = s.r,
		.dx = dx });
	k->matmul_dw(k, &(struct k_matmul_dw){ .n = 5, .out = 7, .in = 6,
		.dt = K_F32, .dy = s.r, .x = s.x, .dw = dw });
	check("matmul dx", f_matmul, &s, s.x, 30, dx);
	check("matmul dw", f_matmul, &s, s.w->data, 42, dw);
	must_weight_free(k, s.w);
}

struct heads {
	int64_t b, t, h, g, d, q, window;
	float *in, *out, *r, *qw, *kw, *cos, *sin, *lse;
	int32_t *pos, *start;
};

static double
f_rope(void *ctx)
{
	struct heads *s = ctx;

	k->rope_fwd(k, &(struct k_rope_fwd){ .n = s->t, .h = s->h, .g = s->g,
		.d = s->d, .dt = K_F32, .in = s->in, .out = s->out,
		.pos = s->pos, .cos = s->cos, .sin = s->sin, .qw = s->qw,
		.kw = s->kw, .eps = 1e-2f });
	return dot(s->out, s->r, s->t * s->q);
}

static void
test_rope(int norms)
{
	int32_t pos[] = { 0, 3, 1 };
	struct heads s = { .t = 3, .h = 4, .g = 2, .d = 6, .q = 48,
			   .in = normals(144, 1), .out = normals(144, 1),
			   .r = normals(144, 1), .pos = pos };
	float *dqkv = normals(144, 1), *dqw = normals(6, 1);
	float *dkw = normals(6, 1), cs[12], sn[12];

	for (int i = 0; i < 12; i++) {
		cs[i] = cosf((float)i);
		sn[i] = sinf((float)i);
	}
	s.cos = cs;
	s.sin = sn;
	if (norms) {
		s.qw = normals(6, 1);
		s.kw = normals(6, 1);
	}
	memcpy(dqkv, s.r, 144 * sizeof *dqkv);
	k->rope_bwd(k, &(struct k_rope_bwd){ .n = 3, .h = 4, .g = 2, .d = 6,
		.dt = K_F32, .dqkv = dqkv, .pos = pos, .cos = cs, .sin = sn,
		.qw = s.qw, .kw = s.kw, .in = s.in, .eps = 1e-2f,
		.dqw = dqw, .dkw = dkw });
	check(norms ? "rope with norms, dqkv" : "rope dqkv", f_rope, &s, s.in,
	      144, dqkv);
	if (!norms)
		return;
	check("rope dqw", f_rope, &s, s.qw, 6, dqw);
	check("rope dkw", f_rope, &s, s.kw, 6, dkw);
}

static double
f_attn(void *ctx)
{
	struct heads *s = ctx;

	k->attn_fwd(k, &(struct k_attn_fwd){ .b = s->b, .t = s->t, .h = s->h,
		.g = s->g, .d = s->d, .dt = K_F32, .qkv = s->in,
		.start = s->start, .window = s->window, .scale = 0.4f,
		.o = s->out,
		.lse = s->lse });
	return dot(s->out, s->r, s->b * s->t * s->h * s->d);
}

static void
test_attn(int documents, int64_t window)
{
	int32_t start[] = { 0, 0, 2, 2, 2,  0, 1, 1, 1, 4 };
	int64_t q = 2 * 5 * 48, o = 2 * 5 * 24;
	struct heads s = { .b = 2, .t = 5, .h = 4, .g = 2, .d = 6,
			   .in = normals(q, 1), .out = normals(o, 1),
			   .r = normals(o, 1), .lse = normals(40, 1),
			   .window = window,
			  .start = documents ? start : NULL };
	float *dqkv = normals(q, 1);

	f_attn(&s);
	k->attn_bwd(k, &(struct k_attn_bwd){ .b = 2, .t = 5, .h = 4, .g = 2,
		.d = 6, .dt = K_F32, .qkv = s.in, .start = s.start,
		.window = window, .scale = 0.4f, .o = s.out, .lse = s.lse,
		.dout = s.r,
		.dqkv = dqkv });
	check(window ? "attn with a window, dqkv" : documents ?
	      "attn with documents, dqkv" : "attn dqkv", f_attn, &s, s.in, q,
	      dqkv);
}

static double
f_swiglu(void *ctx)
{
	struct rows *s = ctx;

	k->swiglu_fwd(k, &(struct k_swiglu_fwd){ .n = s->n, .f = s->c,
		.dt = K_F32, .gu = s->x, .a = s->y });
	return dot(s->y, s->r, s->n * s->c);
}

static void
test_swiglu(void)
{
	struct rows s = { .n = 4, .c = 5, .x = normals(40, 2),
			  .y = normals(20, 1), .r = normals(20, 1) };
	float *dgu = normals(40, 1);

	k->swiglu_bwd(k, &(struct k_swiglu_bwd){ .n = 4, .f = 5, .dt = K_F32,
		.gu = s.x, .da = s.r, .dgu = dgu });
	check("swiglu dgu", f_swiglu, &s, s.x, 40, dgu);
}

struct loss {
	struct kweight *w;
	float *h, loss[6], logz[6];
	int32_t target[6];
};

static double
f_loss(void *ctx)
{
	struct loss *s = ctx;
	double sum = 0;

	k->ce_head(k, &(struct k_ce_head){ .w = s->w, .n = 6, .v = 9,
		.h = s->h, .target = s->target, .loss = s->loss,
		.logz = s->logz });
	for (int i = 0; i < 6; i++)
		if (s->target[i] >= 0)
			sum += 0.25 * (s->loss[i] + 0.1 *
				       (double)s->logz[i] * s->logz[i]);
	return sum;
}

static void
test_loss(void)
{
	struct loss s = { .h = normals(30, 1),
			  .target = { 3, -1, 0, 8, 3, -1 } };
	float *dh = normals(30, 1), *dw = normals(60, 1), *w = normals(60, 1);
	int zero = 1;

	s.w = must_weight(k, K_F32, 12, 5, K_USE_TRAIN);
	memcpy(s.w->data, w, 60 * sizeof *w);
	k->ce_head(k, &(struct k_ce_head){ .w = s.w, .n = 6, .v = 9,
		.h = s.h, .target = s.target, .scale = 0.25f, .zcoef = 0.1f,
		.loss = s.loss, .logz = s.logz, .dh = dh, .dw = dw });
	check("ce_head dh", f_loss, &s, s.h, 30, dh);
	check("ce_head dw", f_loss, &s, s.w->data, 45, dw);
	for (int i = 45; i < 60; i++)
		zero &= dw[i] == 0;
	for (int i = 5; i < 10; i++)
		zero &= dh[i] == 0 && dh[i + 20] == 0;
	tap_ok(zero && s.loss[1] == 0,
	       "ce_head: padding and rows without target have no gradient");
	must_weight_free(k, s.w);
}

int
main(void)
{
	struct err e = {0};

	tap_start();
	k = kernels_open("ref", 1, &e);
	test_embed();
	test_norm();
	test_matmul();
	test_rope(0);
	test_rope(1);
	test_attn(0, 0);
	test_attn(1, 0);
	test_attn(1, 2);
	test_attn(0, 3);
	test_swiglu();
	test_loss();
	k->close(k);
	while (draws > 0)
		free(made[--draws]);
	return tap_end();
}
