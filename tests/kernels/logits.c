/*
 * logits.c - large logits and scores: losses, and the largest of a row or head
 *
 * For ref and every instruction set of this processor, against float64 on the
 * host.  Logits reach 80, where a logit rounded to bf16 is off by up to 0.25
 * and one rounded to fp16 by up to 0.03: the test of the losses proves that
 * either would fail it.
 */
#include "tests/kernels/must.h"
#include "tests/kernels/tables.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "kernels/kernels.h"

static struct kernels *k;
static enum kdtype dt;
static const char *table;

static const char *
type(void)
{
	return kdtype_name(dt);
}

static double
get(const void *p, int64_t i)
{
	return kdtype_get(p, dt, i);
}

static void
put(void *p, int64_t i, double x)
{
	kdtype_set(p, dt, i, (float)x);
}

/* Host tables only: device memory is written directly. */
static void *
room(int64_t n, double std)
{
	static uint64_t draws;
	void *p = must_alloc(k, (size_t)n * sizeof(float));

	draws++;
	for (int64_t i = 0; i < n; i++)
		put(p, i, std * rng_normal(5, RNG_TEST + draws, (uint64_t)i));
	return p;
}

/* --- the head --- */

enum { N = 150, C = 96, V = 1100, VP = 1152 };

struct head {
	struct kweight *w;
	void *h;
	int32_t target[N];
	float *loss, *logz, *max;
};

static double
logit(const struct head *x, int64_t n, int64_t j)
{
	double s = 0;

	for (int64_t c = 0; c < C; c++)
		s += get(x->h, n * C + c) * get(x->w->data, j * C + c);
	return s;
}

/* x with `bits` bits after the leading one; 0: as it is. */
static double
round_to(double x, int bits)
{
	int e;
	double m = frexp(x, &e);

	return bits ? ldexp(nearbyint(ldexp(m, bits + 1)), e - bits - 1) : x;
}

/* Loss and logZ of row n in double, from logits of so many bits. */
static double
oracle(const struct head *x, int64_t n, int bits, double *logz, double *max)
{
	double l[V], sum = 0;

	*max = -INFINITY;
	for (int64_t j = 0; j < V; j++) {
		l[j] = round_to(logit(x, n, j), bits);
		*max = fmax(*max, l[j]);
	}
	for (int64_t j = 0; j < V; j++)
		sum += exp(l[j] - *max);
	*logz = *max + log(sum);
	return x->target[n] < 0 ? 0 : *logz - l[x->target[n]];
}

static void
head_new(struct head *x)
{
	double m, z;

	x->w = must_weight(k, dt, VP, C, K_USE_FWD);
	x->h = room(N * C, 2.5);
	for (int64_t i = 0; i < VP * C; i++)
		put(x->w->data, i, rng_normal(6, RNG_TEST, (uint64_t)i));
	kernels_weight_update(k, x->w);
	x->loss = must_alloc(k, N * sizeof(float));
	x->logz = must_alloc(k, N * sizeof(float));
	x->max = must_alloc(k, N * sizeof(float));
	for (int n = 0; n < N; n++) {
		x->target[n] = n % 10 == 9 ? -1 : n * 7 % V;
		oracle(x, n, 0, &z, &m);
		for (int j = 0; n % 3 == 0 && j < V; j++)	/* the top */
			if (logit(x, n, j) == m)
				x->target[n] = j;
	}
}

static void
head_run(struct head *x, float *max)
{
	k->ce_head(k, &(struct k_ce_head){ .w = x->w, .n = N, .v = V,
		.h = x->h, .target = x->target, .scale = 1, .loss = x->loss,
		.logz = x->logz, .max_logit = max });
	must_sync(k);
}

static void
test_head(void)
{
	struct head x;
	float loss[N], logz[N];
	double worst = 0, z, m, z2, top = 0;
	int off = 0, coarse[2] = { 0, 0 };

	head_new(&x);
	head_run(&x, x.max);
	for (int n = 0; n < N; n++) {
		double l = oracle(&x, n, 0, &z, &m), tol = 1e-5 * (1 + fabs(z));

		worst = fmax(worst, fabs(x.loss[n] - l) / tol);
		worst = fmax(worst, fabs(x.logz[n] - z) / tol);
		off += !(fabs(x.max[n] - m) <= tol);
		top = fmax(top, m);
		for (int i = 0; i < 2 && x.target[n] >= 0; i++)
			coarse[i] += fabs(oracle(&x, n, i ? 10 : 7, &z2, &m) -
					  l) > tol;
	}
	tap_ok(worst <= 1 && top > 70, "%s %s: losses at logits up to %.0f: "
	       "%.2g of the tolerance", table, type(), top, worst);
	tap_ok(off == 0, "%s %s: the largest logit of each row", table,
	       type());
	tap_ok(coarse[0] > N / 2 && coarse[1] > N / 2, "%s %s: logits rounded "
	       "to bf16 or fp16 would be caught in %d, %d of %d rows", table,
	       type(), coarse[0], coarse[1], (int)N);
	memcpy(loss, x.loss, sizeof loss);
	memcpy(logz, x.logz, sizeof logz);
	head_run(&x, NULL);
	tap_ok(!memcmp(loss, x.loss, sizeof loss) &&
	       !memcmp(logz, x.logz, sizeof logz),
	       "%s %s: the same losses without the largest logits", table,
	       type());
	kernels_weight_free(k, x.w);
	kernels_release(k, x.h);
	kernels_release(k, x.loss);
	kernels_release(k, x.logz);
	kernels_release(k, x.max);
}

/* --- attention --- */

enum { B = 2, H = 4, G = 2, D = 16, Q = (H + 2 * G) * D };

static double
score(const void *qkv, int64_t row, int64_t key, int64_t h)
{
	double s = 0;

	for (int64_t c = 0; c < D; c++)
		s += get(qkv, row * Q + h * D + c) *
			get(qkv, key * Q + (H + h / (H / G)) * D + c);
	return 0.25 * s;
}

/* The largest score of head h: t rows a sequence, documents of 37 rows. */
static double
largest(const void *qkv, int64_t t, int64_t window, int64_t h)
{
	double max = -INFINITY;

	for (int64_t n = 0; n < B * t; n++) {
		int64_t i = n % t, j = k_attn_first(i / 37 * 37, window, i);

		for (; j <= i; j++)
			max = fmax(max, score(qkv, n, n - i + j, h));
	}
	return max;
}

static int
attn_ok(void *qkv, const int32_t *start, int64_t t, int64_t window)
{
	int64_t no = B * t * H * D, nl = B * t * H;
	char *o = room(2 * no, 1);
	float *lse = must_alloc(k, (size_t)(2 * nl) * sizeof *lse);
	float *max = must_alloc(k, H * sizeof *max);
	size_t bytes = (size_t)no * kdtype_size(dt);
	int ok = 1;

	for (int i = 0; i < 2; i++)
		k->attn_fwd(k, &(struct k_attn_fwd){ .b = B, .t = t, .h = H,
			.g = G, .d = D, .dt = dt, .qkv = qkv, .start = start,
			.window = window, .scale = 0.25f,
			.o = o + (size_t)i * bytes, .lse = lse + i * nl,
			.max_score = i ? NULL : max });
	must_sync(k);
	for (int64_t h = 0; h < H; h++) {
		double want = largest(qkv, t, window, h);

		ok &= fabs(max[h] - want) <= 1e-5 * (1 + fabs(want));
	}
	ok &= !memcmp(o, o + bytes, bytes) &&
		!memcmp(lse, lse + nl, (size_t)nl * sizeof *lse);
	kernels_release(k, o);
	kernels_release(k, lse);
	kernels_release(k, max);
	return ok;
}

/* Scores that no row sees are far larger than those that count. */
static void
test_attn(int64_t t)
{
	void *qkv = room(B * t * Q, 2);
	int32_t *start = xcalloc((size_t)(B * t), sizeof *start);
	float *lse = must_alloc(k, (size_t)(B * t * H) * sizeof *lse), *max;
	void *o = room(B * t * H * D, 1);
	int64_t bad = 0;

	for (int64_t i = 0; i < B * t; i++)
		start[i] = (int32_t)(i % t / 37 * 37);
	tap_ok(attn_ok(qkv, start, t, 0) && attn_ok(qkv, start, t, 5),
	       "%s %s: the largest score of each head, of %d rows", table,
	       type(), (int)t);
	max = must_alloc(k, H * sizeof *max);
	for (int64_t c = 0; c < D; c++)		/* a key of head 0 */
		put(qkv, (t / 2) * Q + H * D + c, NAN);
	k->attn_fwd(k, &(struct k_attn_fwd){ .b = B, .t = t, .h = H, .g = G,
		.d = D, .dt = dt, .qkv = qkv, .start = start, .scale = 0.25f,
		.o = o, .lse = lse, .max_score = max });
	must_sync(k);
	for (int64_t h = 0; h < H; h++) {
		double want = h < H / G ? 0 : largest(qkv, t, 0, h);

		bad += h < H / G ? isfinite(max[h]) :
			!(fabs(max[h] - want) <= 1e-5 * (1 + fabs(want)));
	}
	tap_ok(bad == 0, "%s %s: a NaN reaches the largest score of its heads "
	       "alone, of %d rows", table, type(), (int)t);
	kernels_release(k, qkv);
	kernels_release(k, lse);
	kernels_release(k, o);
	kernels_release(k, max);
	free(start);
}

static void
test_table(const char *name, struct kernels *opened)
{
	table = name;
	k = opened;
	for (int i = 0; i < K_TYPES; i++) {
		dt = (enum kdtype)i;
		test_head();
		test_attn(50);
		test_attn(600);
	}
}

int
main(void)
{
	tap_start();
	each_table(0, 2, test_table);
	return tap_end();
}
