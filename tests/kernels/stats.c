/*
 * stats.c - statistics of a matrix against a float64 computation on the host
 *
 * For ref and every instruction set of this processor: shapes from one number
 * to several blocks, gaps full of NaN between rows, zeros of both signs,
 * subnormals, infinities.  Counts, least and largest must be exact.
 */
#include "tests/kernels/must.h"
#include "tests/kernels/tables.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "kernels/kernels.h"

static struct kernels *k;
static const char *table;
static uint64_t draws;

/* The same for fp16: of the top of u. */
static float
f16(uint32_t u, int kind)
{
	static const uint16_t special[] = {
		0, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff, 0xfbff, 0x7c00,
		0xfc00, 0x7e00, 0xfd01,
	};
	uint16_t h = (uint16_t)(u >> 16);

	if (kind == 0)
		h = (uint16_t)((h & 0x83ff) | (13 + (h >> 10 & 3)) << 10);
	else if (kind == 1)
		h = h % 3 ? special[h / 3 % 5] : h & 0x87ff;
	else if (kind == 2)
		h = h % 5 ? h : special[h / 5 % 11];
	else
		h &= 0x8000;
	return f16_to_f32(h);
}

/* A number with the bits of one of type dt: an f32, or the top of one. */
static float
number(enum kdtype dt, int kind)
{
	static const uint32_t special[] = {
		0, 0x80000000, 0x00010000, 0x807f0000, 0x00800000, 0x7f7f0000,
		0xff7f0000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc10000,
	};
	uint32_t u = (uint32_t)(rng_u64(9, RNG_TEST, draws++) >> 32);
	float x;

	if (kind == 0)		/* around one, both signs */
		u = (u & 0x807fffff) | (125 + (u >> 24 & 3)) << 23;
	else if (kind == 1 && u % 3 == 0)	/* anything finite and small */
		u = special[(u >> 8) % 5];
	else if (kind == 1)
		u = (u & 0x80ffffff) | (u >> 4 & 0x7000000);
	else if (kind == 2)	/* anything at all */
		u = u % 5 ? u : special[(u >> 8) % 11];
	else			/* zeros */
		u &= 0x80000000;
	if (dt == K_BF16)
		u &= 0xffff0000;
	memcpy(&x, &u, sizeof x);
	return dt == K_F16 ? f16(u, kind) : x;
}

/* Values of x (rows, cols) in double, and the largest magnitudes. */
static struct k_stats_out
oracle(const float *x, enum kdtype dt, int64_t rows, int64_t cols,
       double *size, float *colmax)
{
	double normal = dt == K_F16 ? 0x1p-14 : 0x1p-126;
	struct k_stats_out s = { .min = INFINITY, .max = -INFINITY,
				 .tiny = INFINITY, .first = -1 };

	*size = 0;
	for (int64_t c = 0; c < cols; c++)
		colmax[c] = 0;
	for (int64_t i = rows * cols - 1; i >= 0; i--) {
		double v = x[i];
		float *m = &colmax[i % cols];

		if (!isnan(*m) && !(fabs(v) <= *m))
			*m = (float)fabs(v);
		if (!isfinite(v)) {
			s.nonfinite++;
			s.first = i;
			continue;
		}
		s.sum += v;
		*size += fabs(v);
		s.sumsq += v * v;
		s.min = fmin(s.min, v);
		s.max = fmax(s.max, v);
		s.zeros += v == 0;
		if (v != 0)
			s.tiny = fmin(s.tiny, fabs(v));
		s.subnormals += v != 0 && fabs(v) < normal;
	}
	return s;
}

static int
same_number(double x, double y)
{
	return x == y && (x != 0 || !signbit(x));
}

static int
equal(const struct k_stats_out *x, const struct k_stats_out *y, double size,
      int64_t n)
{
	double tol = 0x1p-52 * (double)n;	/* twice the bound of a sum */

	return fabs(x->sum - y->sum) <= tol * size &&
		fabs(x->sumsq - y->sumsq) <= tol * y->sumsq &&
		same_number(x->min, y->min) && same_number(x->max, y->max) &&
		x->tiny == y->tiny && x->zeros == y->zeros &&
		x->subnormals == y->subnormals &&
		x->nonfinite == y->nonfinite && x->first == y->first;
}

static int
one(enum kdtype dt, int64_t rows, int64_t cols, int64_t gap, int kind)
{
	int64_t ld = cols + gap, bad = 0;
	float *host = xreallocarray(NULL, (size_t)(rows * cols), sizeof *host);
	float *max = xreallocarray(NULL, (size_t)cols, sizeof *max);
	void *x = must_alloc(k, (size_t)(rows * ld) * kdtype_size(dt));
	float *y = must_alloc(k, (size_t)cols * sizeof *y);
	struct k_stats_out want, *got = must_alloc(k, sizeof *got);
	double size;

	for (int64_t i = 0; i < rows * ld; i++) {
		int in = i % ld < cols;
		float v = in ? number(dt, kind) : NAN;

		kdtype_set(x, dt, i, v);
		if (in)
			host[i / ld * cols + i % ld] = v;
	}
	want = oracle(host, dt, rows, cols, &size, max);
	k->stats(k, &(struct k_stats){ .rows = rows, .cols = cols, .ld = ld,
		.dt = dt, .x = x, .out = got });
	k->colmax(k, &(struct k_colmax){ .rows = rows, .cols = cols,
		.ld = ld, .dt = dt, .x = x, .out = y });
	must_sync(k);
	for (int64_t c = 0; c < cols; c++)
		bad += isnan(max[c]) ? !isnan(y[c]) : !same_number(y[c],
								   max[c]);
	bad += !equal(got, &want, size, rows * cols);
	if (bad)
		printf("# %lld x %lld, gap %lld, kind %d: sum %g %g sumsq %g "
		       "%g min %g %g max %g %g tiny %g %g zeros %lld %lld "
		       "subnormals %lld %lld nonfinite %lld %lld first %lld "
		       "%lld\n", (long long)rows, (long long)cols,
		       (long long)gap, kind, got->sum, want.sum, got->sumsq,
		       want.sumsq, got->min, want.min, got->max, want.max,
		       got->tiny, want.tiny, (long long)got->zeros,
		       (long long)want.zeros, (long long)got->subnormals,
		       (long long)want.subnormals, (long long)got->nonfinite,
		       (long long)want.nonfinite, (long long)got->first,
		       (long long)want.first);
	kernels_release(k, x);
	kernels_release(k, y);
	kernels_release(k, got);
	free(host);
	free(max);
	return bad == 0;
}

static void
shapes(enum kdtype dt, int kind, const char *what)
{
	static const int64_t shape[][3] = {	/* rows, cols, gap */
		{ 1, 1, 0 }, { 1, 15, 0 }, { 17, 1, 5 }, { 1, 64, 0 },
		{ 7, 31, 0 }, { 7, 31, 1 }, { 40, 64, 64 }, { 3, 40000, 0 },
		{ 5, 20011, 13 }, { 1000, 1, 7 }, { 3000, 33, 3 },
		{ 700, 129, 0 },
	};
	int ok = 1;

	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
		ok &= one(dt, shape[i][0], shape[i][1], shape[i][2], kind);
	tap_ok(ok, "%s %s: statistics of %s", table,
	       kdtype_name(dt), what);
}

/* One bad number anywhere: its place, and nothing else changes. */
static void
test_first(enum kdtype dt)
{
	enum { ROWS = 50, COLS = 1000, LD = 1003 };
	void *x = must_alloc(k, (size_t)(ROWS * LD) * kdtype_size(dt));
	struct k_stats_out *s = must_alloc(k, sizeof *s);
	int64_t wrong = 0;

	for (int64_t i = 0; i < ROWS * LD; i++)
		kdtype_set(x, dt, i, i % LD < COLS ? 1 : NAN);
	for (int64_t at = 0; at < ROWS * COLS; at += 977) {
		int64_t i = at / COLS * LD + at % COLS;

		kdtype_set(x, dt, i, at % 2 ? NAN : -INFINITY);
		kdtype_set(x, dt, (ROWS - 1) * LD + COLS - 1, INFINITY);
		k->stats(k, &(struct k_stats){ .rows = ROWS, .cols = COLS,
			.ld = LD, .dt = dt, .x = x, .out = s });
		must_sync(k);
		wrong += s->first != at || s->nonfinite != 2 ||
			s->sum != ROWS * COLS - 2 || s->max != 1;
		kdtype_set(x, dt, i, 1);
	}
	tap_ok(wrong == 0, "%s %s: the first number that is not finite", table,
	       kdtype_name(dt));
	kernels_release(k, x);
	kernels_release(k, s);
}

static void
test_table(const char *name, struct kernels *opened)
{
	table = name;
	k = opened;
	for (int i = 0; i < K_TYPES; i++) {
		enum kdtype dt = (enum kdtype)i;

		shapes(dt, 0, "ordinary numbers");
		shapes(dt, 1, "zeros and subnormal numbers");
		shapes(dt, 2, "any bits");
		shapes(dt, 3, "zeros of both signs");
		test_first(dt);
	}
}

int
main(void)
{
	tap_start();
	each_table(0, 2, test_table);
	return tap_end();
}
