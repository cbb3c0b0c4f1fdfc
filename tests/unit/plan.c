/*
 * The plan of a run: what a resume changes, what it keeps, its JSON form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "order/plan.h"

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
	size_t k, source;

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
			assert_int_equal(plan_window(at, step, i, &source),
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
	size_t source;

	(void)state;
	plan_continue(&p, 0, &now);
	now = part(4, 50, 2);
	plan_continue(&p, 10, &now);	/* 40 samples: to the next pass */
	assert_int_equal(p.v[1].sample, 50);
	now.order = ORDER_SEQUENTIAL;
	plan_continue(&p, 30, &now);	/* 130 */
	assert_int_equal(plan_window(plan_at(&p, 30), 30, 0, &source), 0);
	now.doc_mask = 0;
	plan_continue(&p, 31, &now);	/* the mask alone changes no window */
	assert_int_equal(plan_window(plan_at(&p, 31), 31, 0, &source), 4);
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
		cmocka_unit_test(batch_sizes_change_nothing),
		cmocka_unit_test(other_windows_begin_a_pass),
		cmocka_unit_test(plans_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
