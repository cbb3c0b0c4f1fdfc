/*
 * Every epoch is a permutation, epochs and seeds differ, random draws stay in
 * range and repeat, and huge sample numbers do not wrap.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order/order.h"

static void
epoch_is_a_pass(uint64_t n, uint64_t seed, uint64_t epoch)
{
	unsigned char *seen = calloc(n, 1);
	uint64_t i, k;

	for (i = 0; i < n; i++) {
		k = order_window(ORDER_SHUFFLE, seed, n, epoch * n + i);
		assert_true(k < n);
		assert_int_equal(seen[k], 0);
		seen[k] = 1;
	}
	free(seen);
}

static void
passes(void **state)
{
	static const uint64_t n[] = {1, 2, 3, 5, 16, 17, 100, 1000, 4099};
	size_t i;
	uint64_t epoch;

	(void)state;
	for (i = 0; i < sizeof(n) / sizeof(*n); i++)
		for (epoch = 0; epoch < 4; epoch++)
			epoch_is_a_pass(n[i], 7, epoch);
}

static size_t
same(uint64_t n, uint64_t seed_a, uint64_t at_a, uint64_t seed_b, uint64_t at_b)
{
	size_t i, hits = 0;

	for (i = 0; i < n; i++)
		hits += order_window(ORDER_SHUFFLE, seed_a, n, at_a + i) ==
			order_window(ORDER_SHUFFLE, seed_b, n, at_b + i);
	return hits;
}

static void
epochs_and_seeds_differ(void **state)
{
	(void)state;
	/* Unrelated permutations agree in one place on average. */
	assert_true(same(1000, 1, 0, 1, 1000) < 12);
	assert_true(same(1000, 1, 0, 2, 0) < 12);
	assert_true(same(1000, 1, 1000, 1, 2000) < 12);
	assert_int_equal(same(1000, 1, 0, 1, 0), 1000);
}

static void
sequential_wraps(void **state)
{
	(void)state;
	assert_int_equal(order_window(ORDER_SEQUENTIAL, 9, 10, 3), 3);
	assert_int_equal(order_window(ORDER_SEQUENTIAL, 9, 10, 13), 3);
}

static void
random_repeats_and_covers_as_expected(void **state)
{
	unsigned char seen[1000] = {0};
	uint64_t i, k, never = 0;

	(void)state;
	for (i = 0; i < 1000; i++) {
		k = order_window(ORDER_RANDOM, 3, 1000, i);
		assert_true(k < 1000);
		assert_int_equal(k, order_window(ORDER_RANDOM, 3, 1000, i));
		seen[k] = 1;
	}
	for (i = 0; i < 1000; i++)
		never += !seen[i];
	assert_in_range(never, 310, 430);	/* 1000/e = 368 */
}

static void
huge_counts(void **state)
{
	uint64_t n = (UINT64_C(1) << 40) + 7, i, k;

	(void)state;
	for (i = 0; i < 100; i++) {
		k = order_window(ORDER_SHUFFLE, 1, n, n * 5 + (n - 1 - i));
		assert_true(k < n);
		k = order_window(ORDER_RANDOM, 1, n, UINT64_MAX - i);
		assert_true(k < n);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes),
		cmocka_unit_test(epochs_and_seeds_differ),
		cmocka_unit_test(sequential_wraps),
		cmocka_unit_test(random_repeats_and_covers_as_expected),
		cmocka_unit_test(huge_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
