/*
 * f16.c - conversion of fp16 on the host and on every table
 *
 * Every fp16 number, every midpoint between two of them and its neighbours,
 * and random bits, against the definition of IEEE binary16 in float64.
 */
#include "tests/kernels/must.h"
#include "tests/kernels/tables.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "kernels/kernels.h"

enum { NUMBERS = 65536, RANDOM = 200000, N = 4 * NUMBERS + RANDOM };

static float *input;

/* The value of the bits h: sign, 5 bits of exponent, 10 of fraction. */
static double
value(uint16_t h)
{
	int e = h >> 10 & 31;
	double f = (h & 1023) / 1024.0;
	double x = e == 31 ? h & 1023 ? NAN : INFINITY :
		e ? ldexp(1 + f, e - 15) : ldexp(f, -14);

	return h & 0x8000 ? -x : x;
}

/* x rounded to fp16, ties to even (the rounding mode of the host). */
static double
rounded(float x)
{
	int e;

	if (!isfinite(x))
		return x;
	frexp(x, &e);
	e = e - 1 < -14 ? -14 : e - 1;
	x = (float)ldexp(nearbyint(ldexp(x, 10 - e)), e - 10);
	return fabsf(x) > 65504 ? copysign(INFINITY, x) : x;
}

static int
same(double x, double y)
{
	return isnan(y) ? isnan(x) : x == y && signbit(x) == signbit(y);
}

static void
make_input(void)
{
	int64_t n = 0;

	input = xreallocarray(NULL, N, sizeof *input);
	for (int i = 0; i < NUMBERS; i++) {
		float x = (float)value((uint16_t)i);
		float y = (float)value((uint16_t)((i + 1) % NUMBERS));
		float mid = (i & 0x7fff) == 0x7bff ? copysignf(65520, x) :
			(x + y) / 2;

		input[n++] = x;
		input[n++] = mid;
		input[n++] = nextafterf(mid, INFINITY);
		input[n++] = nextafterf(mid, -INFINITY);
	}
	for (int i = 0; i < RANDOM; i++) {
		uint32_t u = (uint32_t)rng_u64(1, RNG_TEST, (uint64_t)i);

		memcpy(&input[n++], &u, sizeof u);
	}
}

static void
host(void)
{
	int64_t to = 0, from = 0;

	for (int i = 0; i < NUMBERS; i++)
		from += !same(f16_to_f32((uint16_t)i), value((uint16_t)i));
	for (int64_t i = 0; i < N; i++)
		to += !same(value(f16_from_f32(input[i])), rounded(input[i]));
	tap_ok(from == 0, "all fp16 numbers as f32: %lld are wrong",
	       (long long)from);
	tap_ok(to == 0, "f32 to fp16, nearest even: %lld of %d are wrong",
	       (long long)to, (int)N);
}

/* Any two types, through f32, as the host converts. */
static void
table(const char *name, struct kernels *k)
{
	float *x = must_alloc(k, N * sizeof *x);
	uint16_t *h = must_alloc(k, N * sizeof *h);
	uint16_t *b = must_alloc(k, N * sizeof *b);
	float *y = must_alloc(k, N * sizeof *y);
	int64_t bad = 0;

	memcpy(x, input, N * sizeof *x);	/* host tables only */
	k->cast(k, &(struct k_cast){ .n = N, .src = x, .sdt = K_F32,
		.dst = h, .ddt = K_F16 });
	k->cast(k, &(struct k_cast){ .n = N, .src = h, .sdt = K_F16,
		.dst = y, .ddt = K_F32 });
	k->cast(k, &(struct k_cast){ .n = N, .src = h, .sdt = K_F16,
		.dst = b, .ddt = K_BF16 });
	must_sync(k);
	for (int64_t i = 0; i < N; i++) {
		double want = rounded(input[i]);

		bad += !same(value(h[i]), want) || !same(y[i], want) ||
			!same(bf16_to_f32(b[i]),
			      bf16_to_f32(bf16_from_f32((float)want)));
	}
	tap_ok(bad == 0, "%s: casts from and to fp16: %lld are wrong", name,
	       (long long)bad);
	kernels_release(k, x);
	kernels_release(k, h);
	kernels_release(k, b);
	kernels_release(k, y);
}

int
main(void)
{
	tap_start();
	make_input();
	host();
	each_table(0, 2, table);
	return tap_end();
}
