/*
 * rng.c - random numbers without state
 *
 * Philox 4x32-10: key = seed, counter = (index, stream), ten rounds of two
 * 32x32-bit products; about 10 ns a block.  Constants and known answers are
 * those of Salmon et al. 2011 (checked by tests/unit/rng.c).
 *
 * Normal deviates must have the same bits on every machine.  The C library's
 * log() and cos() differ in the last bit between versions, and between
 * processors with and without FMA, so the series are summed here in plain
 * double arithmetic without contraction (-ffp-contract=off in the Makefile);
 * sqrt is exact in IEEE 754.
 *
 * The permutation is a balanced Feistel network on 2h bits, 2^2h >= n, with
 * cycle walking: an image outside 0..n-1 is encrypted again until it is inside.
 * 2^2h < 4n, so at most four rounds are expected.  h is at least 4, because
 * tiny networks reach few of the permutations.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"

enum { PHILOX_ROUNDS = 10, FEISTEL_ROUNDS = 6, FEISTEL_MIN_BITS = 4 };

void
rng_block(uint64_t seed, uint64_t stream, uint64_t index, uint32_t out[4])
{
	uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
	uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32);
	uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);

	for (int i = 0; i < PHILOX_ROUNDS; i++) {
		uint64_t a = (uint64_t)c0 * 0xD2511F53u;
		uint64_t b = (uint64_t)c2 * 0xCD9E8D57u;

		c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
		c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
		c1 = (uint32_t)b;
		c3 = (uint32_t)a;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	out[0] = c0;
	out[1] = c1;
	out[2] = c2;
	out[3] = c3;
}

static void
rng_two(uint64_t seed, uint64_t stream, uint64_t index, uint64_t r[2])
{
	uint32_t w[4];

	rng_block(seed, stream, index, w);
	r[0] = w[0] | (uint64_t)w[1] << 32;
	r[1] = w[2] | (uint64_t)w[3] << 32;
}

uint64_t
rng_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
	uint64_t r[2];

	rng_two(seed, stream, index, r);
	return r[0];
}

double
rng_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
	return (double)(rng_u64(seed, stream, index) >> 11) * 0x1p-53;
}

/* -ln(x), 0 < x <= 1: x = m 2^e, ln m = 2 atanh((m - 1) / (m + 1)). */
static double
minus_log(double x)
{
	int e;
	double m = frexp(x, &e), s, s2, sum = 0;

	if (m < 0.70710678118654752) {
		m *= 2;
		e--;
	}
	s = (m - 1) / (m + 1);
	s2 = s * s;
	for (int k = 23; k >= 1; k -= 2)
		sum = sum * s2 + 1.0 / k;
	return -(e * 0.69314718055994531 + 2 * s * sum);
}

/* cos(x) for even k, sin(x) for odd k: Taylor's series, |x| <= pi / 4. */
static double
circle_series(double x, int k)
{
	double x2 = x * x, sum = 1;

	for (int i = 18 + k; i > 1; i -= 2)
		sum = 1 - sum * x2 / (double)(i * (i - 1));
	return k ? x * sum : sum;
}

/* cos(2 pi u), or sin(2 pi u) where quarter is 3; 0 <= u < 1. */
static double
circle(double u, int quarter)
{
	int q = (int)(4 * u + 0.5);
	double x = (u - q * 0.25) * 6.28318530717958648;

	q = (q + quarter) & 3;
	return q == 1 || q == 2 ? -circle_series(x, q & 1)
				: circle_series(x, q & 1);
}

/* Box-Muller: block i / 2 gives the deviates of i even and i odd. */
double
rng_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
	uint64_t r[2];
	double u, v;

	rng_two(seed, stream, index >> 1, r);
	u = (double)((r[0] >> 11) + 1) * 0x1p-53;	/* (0, 1] */
	v = (double)(r[1] >> 11) * 0x1p-53;
	return sqrt(2 * minus_log(u)) * circle(v, index & 1 ? 3 : 0);
}

/* floor(r n / 2^128) of 128 random bits. */
uint64_t
rng_below(uint64_t seed, uint64_t stream, uint64_t index, uint64_t n)
{
	uint64_t r[2];
	unsigned __int128 low;

	rng_two(seed, stream, index, r);
	low = (unsigned __int128)r[0] * n >> 64;
	return (uint64_t)(((unsigned __int128)r[1] * n + low) >> 64);
}

static uint64_t
feistel(uint64_t seed, uint64_t stream, uint64_t x, int half)
{
	uint64_t mask = (1ull << half) - 1;
	uint64_t left = x >> half, right = x & mask, t;
	uint32_t w[4];

	for (uint64_t i = 0; i < FEISTEL_ROUNDS; i++) {
		rng_block(seed, stream | 1ull << 63, i << 32 | right, w);
		t = left ^ (w[0] & mask);
		left = right;
		right = t;
	}
	return left << half | right;
}

uint64_t
rng_permute(uint64_t seed, uint64_t stream, uint64_t i, uint64_t n)
{
	int bits = n > 1 ? 64 - __builtin_clzll(n - 1) : 0;
	int half = (bits + 1) / 2;

	if (n <= 1)
		return 0;
	if (half < FEISTEL_MIN_BITS)
		half = FEISTEL_MIN_BITS;
	do
		i = feistel(seed, stream, i, half);
	while (i >= n);
	return i;
}
