/*
 * rng: the numbers are those of the paper, the permutation is one
 *
 * Known answers: the table of philox4x32-10 vectors that Salmon et al. 2011
 * publish with Random123 (kat_vectors).  The normal deviates are held
 * against the C library's log and cos.
 */
#include <math.h>

#include "tests/unit/test.h"

#include "base/rng.h"

static void
philox_known_answers(void **state)
{
	static const struct {
		uint32_t ctr[4], key[2], want[4];
	} t[] = {
		{ { 0, 0, 0, 0 }, { 0, 0 },
		  { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
		  { 0xffffffff, 0xffffffff },
		  { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
		{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
		  { 0xa4093822, 0x299f31d0 },
		  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};
	uint32_t got[4];

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(t); i++) {
		rng_block(t[i].key[0] | (uint64_t)t[i].key[1] << 32,
			  t[i].ctr[2] | (uint64_t)t[i].ctr[3] << 32,
			  t[i].ctr[0] | (uint64_t)t[i].ctr[1] << 32, got);
		assert_memory_equal(got, t[i].want, sizeof got);
	}
}

static void
uniform_is_uniform(void **state)
{
	enum { N = 100000 };
	double sum = 0, sum2 = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		double u = rng_uniform(7, RNG_TEST, i);

		assert_true(u >= 0 && u < 1);
		sum += u;
		sum2 += u * u;
	}
	/* five standard errors */
	assert_true(fabs(sum / N - 0.5) < 5 * sqrt(1.0 / 12 / N));
	assert_true(fabs(sum2 / N - 1.0 / 3) < 5 * sqrt(4.0 / 45 / N));
}

static void
normal_is_box_muller(void **state)
{
	const double pi = 3.14159265358979323846;
	double sum = 0, sum2 = 0;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		uint32_t w[4];
		double u, v, want, got = rng_normal(3, RNG_TEST, i);

		rng_block(3, RNG_TEST, i / 2, w);
		u = (double)(((w[0] | (uint64_t)w[1] << 32) >> 11) + 1) /
		    0x1p53;
		v = (double)((w[2] | (uint64_t)w[3] << 32) >> 11) / 0x1p53;
		want = sqrt(-2 * log(u)) *
		       (i % 2 ? sin(2 * pi * v) : cos(2 * pi * v));
		assert_true(fabs(got - want) < 1e-14 * (1 + fabs(want)));
		sum += got;
		sum2 += got * got;
	}
	assert_true(fabs(sum / 1e5) < 5 / sqrt(1e5));
	assert_true(fabs(sum2 / 1e5 - 1) < 5 * sqrt(2 / 1e5));
}

/*
 * The same bits for ever, wherever this runs.  exact: the formula with Python's
 * decimal module and 60 digits; want: what ours was, within 2 units in the
 * last place of it.
 */
static void
normal_never_changes(void **state)
{
	static const double exact[] = {
		1.05960709476690524135, 0.26660476184039015948,
		0.52575205280690346607, 0.18875632613823236640,
	};
	static const double want[] = {
		1.0596070947669054, 0.26660476184039017,
		0.52575205280690351, 0.18875632613823237,
	};

	(void)state;
	for (uint64_t i = 0; i < TEST_COUNT(want); i++) {
		double got = rng_normal(1, 2, i);

		assert_memory_equal(&got, &want[i], sizeof got);
		assert_true(fabs(got - exact[i]) < 3e-16 * exact[i]);
	}
}

static void
below_is_below_and_even(void **state)
{
	enum { BINS = 7, N = 70000 };
	uint64_t count[BINS] = {0};
	double chi2 = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		uint64_t v = rng_below(11, RNG_TEST, i, BINS);

		assert_true(v < BINS);
		count[v]++;
	}
	for (int i = 0; i < BINS; i++)
		chi2 += pow((double)count[i] - N / BINS, 2) / (N / BINS);
	assert_true(chi2 < 27.9);	/* 6 degrees of freedom, p = 1e-4 */
	assert_int_equal(rng_below(1, 2, 3, 1), 0);
	assert_true(rng_below(1, 2, 3, UINT64_MAX) < UINT64_MAX);
}

static void
permutation_is_bijective(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 3, 4, 5, 7, 16, 100, 255, 256,
		257, 1000, 65535, 65536, 65537 };
	unsigned char *seen = malloc(65537);

	(void)state;
	for (size_t s = 0; s < TEST_COUNT(sizes); s++) {
		uint64_t n = sizes[s];

		memset(seen, 0, n);
		for (uint64_t i = 0; i < n; i++) {
			uint64_t v = rng_permute(5, RNG_ORDER, i, n);

			assert_true(v < n);
			assert_int_equal(seen[v], 0);
			seen[v] = 1;
		}
	}
	free(seen);
	/* Sizes past 32 bits stay in range, too. */
	for (uint64_t i = 0; i < 100; i++)
		assert_true(rng_permute(5, 1, i, (1ull << 40) + 3) <
			    (1ull << 40) + 3);
}

/* Each element of 0..4 comes first about equally often; so does each order. */
static void
permutation_is_mixed(void **state)
{
	enum { N = 5, SEEDS = 5000 };
	int place[N][N] = {{0}};
	double chi2 = 0, fixed = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++)
		for (uint64_t i = 0; i < N; i++)
			place[i][rng_permute(seed, RNG_ORDER, i, N)]++;
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			chi2 += pow(place[i][j] - SEEDS / N, 2) /
				(SEEDS / N);
	assert_true(chi2 < 49);	/* about 16 degrees of freedom */
	for (uint64_t i = 0; i < 10000; i++)
		fixed += rng_permute(1, RNG_ORDER, i, 10000) == i;
	assert_true(fixed < 10);	/* 1 is expected */
}

static void
streams_differ(void **state)
{
	(void)state;
	assert_true(rng_u64(1, RNG_INIT, 0) != rng_u64(1, RNG_ORDER, 0));
	assert_true(rng_u64(1, RNG_INIT, 0) != rng_u64(2, RNG_INIT, 0));
	assert_true(rng_u64(1, RNG_INIT, 0) != rng_u64(1, RNG_INIT, 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(philox_known_answers),
		cmocka_unit_test(uniform_is_uniform),
		cmocka_unit_test(normal_is_box_muller),
		cmocka_unit_test(normal_never_changes),
		cmocka_unit_test(below_is_below_and_even),
		cmocka_unit_test(permutation_is_bijective),
		cmocka_unit_test(permutation_is_mixed),
		cmocka_unit_test(streams_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
