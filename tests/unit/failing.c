/*
 * failing.c - a call that fails on the device ends a run, and harms no file
 *
 * A table that queues fails at the nth call of a run, for n spread over steps,
 * an evaluation, samples and saves.  The run ends with a message that names
 * the last calls, and a resume from what is left ends as if nothing happened.
 */
#include "tests/kernels/guard.h"
#include "tests/unit/job_world.h"

static size_t nth;

static void
fail_nth(struct job *j)
{
	guard_of(j->tr.k)->fail = nth;
}

static int
has_checkpoint(const char *run)
{
	char path[4400];

	snprintf(path, sizeof path, "%s/%s/latest/model.safetensors",
		 world.dir, run);
	return access(path, R_OK) == 0;
}

static void
fault_is_reported_and_harmless(void **state)
{
	struct options o = base_options("sound");
	size_t resumed = 0, failed = 0;

	(void)state;
	o.save_every = 2;
	run(&o, guard_wrap(table("cpu", 1)));
	for (nth = 1; nth < 100000; nth = nth * 3 / 2 + 1) {
		struct err e = {0};
		struct options r;
		char name[24];

		snprintf(name, sizeof name, "fault%zu", nth);
		o.out = xstrdup(test_path(world.dir, name));
		if (run_with(&o, guard_wrap(table("cpu", 1)), fail_nth,
			     &e) == 0)
			break;
		failed++;
		assert_non_null(strstr(e.msg, "guard: a call failed; the last"
				       " calls were "));
		if (!has_checkpoint(name))
			continue;
		options_init(&r);
		r.resume = o.out;
		run(&r, table("cpu", 1));
		assert_true(same_tensors("sound", name));
		assert_true(same_logs("sound", name));
		resumed++;
	}
	assert_true(nth > 1000 && failed > 8 && resumed > 3);
}

/* Oldest first, no more than the ring holds. */
static void
names(void **state)
{
	static const char *const call[] = {"a", "b", "c", "d", "e", "f", "g",
		"h", "i"};
	struct k_recent r = {0};
	struct err e = {0};

	(void)state;
	assert_int_equal(k_recent_error(&r, "x", "fault", &e), -1);
	assert_string_equal(e.msg, "x: fault; the last calls were none");
	for (size_t i = 0; i < 9; i++)
		k_recent_add(&r, call[i]);
	e = (struct err){0};
	k_recent_error(&r, "x", "fault", &e);
	assert_string_equal(e.msg,
			    "x: fault; the last calls were b, c, d, e, f, g,"
			    " h, i");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(fault_is_reported_and_harmless),
	};

	return cmocka_run_group_tests_name("failing", tests, make_world,
					   remove_world);
}
