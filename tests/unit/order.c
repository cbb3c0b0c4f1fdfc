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

#include "record/order.h"

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

/* ---- plans ---- */

static struct plan_part
part(uint64_t batch, uint64_t windows, uint64_t hash)
{
	static char *data[] = {(char *)(uintptr_t)"/a", NULL};

	return (struct plan_part){.batch_size = batch, .seed = 3,
		.seq_len = 16, .doc_mask = 1, .windows = windows, .hash = hash,
		.data = data, .ndata = 1};
}

/* Whatever the batch sizes, every epoch is a pass and nothing is left out. */
static void
batch_sizes_change_nothing(void **state)
{
	static const uint64_t sizes[] = {4, 8, 1, 7, 7, 4, 100, 3};
	enum { N = 37, STEPS = 5 };
	struct plan p = {0};
	uint64_t sample = 0, step = 0, i;
	size_t k;

	(void)state;
	for (k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		struct plan_part now = part(sizes[k], N, 1);

		plan_continue(&p, k * STEPS, &now);
	}
	assert_int_equal(p.n, 7);	/* 7 and 7 are one part */
	for (step = 0; step < k * STEPS; step++) {
		const struct plan_part *at = plan_at(&p, step);

		assert_int_equal(at->batch_size, sizes[step / STEPS]);
		for (i = 0; i < at->batch_size; i++, sample++)
			assert_int_equal(plan_window(at, step, i),
					 order_window(ORDER_SHUFFLE, 3, N,
						      sample));
	}
	plan_clear(&p);
}

static void
other_windows_begin_a_pass(void **state)
{
	struct plan p = {0};
	struct plan_part now = part(4, 37, 1);

	(void)state;
	plan_continue(&p, 0, &now);
	now = part(4, 50, 2);
	plan_continue(&p, 10, &now);	/* 40 samples: to the next pass */
	assert_int_equal(p.v[1].sample, 50);
	now.order = ORDER_SEQUENTIAL;
	plan_continue(&p, 30, &now);	/* 130 */
	assert_int_equal(plan_window(plan_at(&p, 30), 30, 0), 0);
	now.doc_mask = 0;
	plan_continue(&p, 31, &now);	/* the mask alone changes no window */
	assert_int_equal(plan_window(plan_at(&p, 31), 31, 0), 4);
	/* from an older checkpoint: later parts go */
	now = part(2, 37, 1);
	plan_continue(&p, 10, &now);
	assert_int_equal(p.n, 2);
	assert_int_equal(plan_sample(plan_at(&p, 11), 11), 42);
	/* and back to what it was: one part again */
	now = part(4, 37, 1);
	plan_continue(&p, 10, &now);
	assert_int_equal(p.n, 1);
	plan_clear(&p);
}

static void
plan_text(const struct plan *p, const char *want)
{
	struct buf b = {0};

	plan_json(p, &b);
	buf_putc(&b, '\0');
	assert_string_equal(b.p, want);
	buf_clear(&b);
}

static void
plans_come_back(void **state)
{
	static const char text[] =
		"[{\"step\": 0, \"sample\": 0, \"batch_size\": 4, "
		"\"seq_len\": 16, \"order\": \"shuffle\", \"seed\": 3, "
		"\"doc_mask\": true, \"windows\": 37, "
		"\"data_hash\": \"0000000000000001\", "
		"\"shard_format\": \"auto\", \"id_bytes\": \"auto\", "
		"\"data\": [\"/a\"]}, "
		"{\"step\": 10, \"sample\": 40, \"batch_size\": 8, "
		"\"seq_len\": 16, \"order\": \"shuffle\", \"seed\": 3, "
		"\"doc_mask\": true, \"windows\": 37, "
		"\"data_hash\": \"0000000000000001\", "
		"\"shard_format\": \"auto\", \"id_bytes\": \"auto\", "
		"\"data\": [\"/a\"]}]";
	static const char *const bad[] = {"[]", "3", "[{}]",
		"[{\"step\": 1, \"batch_size\": 4, \"seq_len\": 16, "
		"\"seed\": 3, \"windows\": 3, \"data\": [\"/a\"]}]",
		"[{\"batch_size\": 4, \"seq_len\": 16, \"seed\": 3, "
		"\"data\": [\"/a\"]}]",
		"[{\"batch_size\": 4, \"seq_len\": 16, \"seed\": 3, "
		"\"windows\": 3, \"data\": [\"/a\"], \"data_hash\": \"x\"}]"};
	struct plan p = {0}, q = {0};
	struct plan_part now = part(4, 37, 1);
	struct err e = {0};
	struct json *j;
	size_t i;

	(void)state;
	plan_continue(&p, 0, &now);
	now = part(8, 37, 1);
	plan_continue(&p, 10, &now);
	plan_text(&p, text);
	j = json_parse(text, sizeof text - 1, "text", &e);
	assert_int_equal(plan_read(&q, j, "text", &e), 0);
	plan_text(&q, text);
	json_free(j);
	plan_clear(&p);
	plan_clear(&q);
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		e.set = 0;
		j = json_parse(bad[i], strlen(bad[i]), "bad", &e);
		assert_non_null(j);
		assert_int_equal(plan_read(&q, j, "bad", &e), -1);
		plan_clear(&q);
		json_free(j);
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
		cmocka_unit_test(batch_sizes_change_nothing),
		cmocka_unit_test(other_windows_begin_a_pass),
		cmocka_unit_test(plans_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
