/* accuracy.c - accuracy, length normalization, distance from guessing */
#include "tests/unit/test.h"

#include <math.h>

#include "sample/accuracy.h"

static void
add(struct accuracy *s, const double *logprob, const size_t *bytes, size_t k,
    size_t answer)
{
	accuracy_add_choices(s, accuracy_pick(logprob, bytes, k), k, answer);
}

static void
choices_raw_and_normalized(void **state)
{
	struct accuracy s = {0};

	(void)state;
	/* raw prefers the short choice 0, by the byte choice 1 is better */
	add(&s, (double[]){-4, -6}, (size_t[]){2, 6}, 2, 1);
	add(&s, (double[]){-4, -6}, (size_t[]){2, 6}, 2, 0);
	assert_int_equal(s.choice_lines, 2);
	assert_int_equal(s.right, 1);
	assert_int_equal(s.right_norm, 1);
	assert_true(fabs(s.chance - 1) < 1e-15);
}

static void
rate_and_error(void **state)
{
	struct accuracy_rate r = accuracy_rate(30, 101);

	(void)state;
	assert_true(fabs(r.p - 30.0 / 101) < 1e-15);
	assert_true(fabs(r.stderror - sqrt(r.p * (1 - r.p) / 100)) < 1e-15);
	assert_true(accuracy_rate(1, 1).stderror == 0);
}

static void
distance_from_guessing(void **state)
{
	struct accuracy s = {0};

	(void)state;
	assert_true(accuracy_z(&s, 0) == 0);
	for (int i = 0; i < 100; i++)
		add(&s, (double[]){-1, -2, -3, -4},
				  (size_t[]){1, 1, 1, 1}, 4, i % 2 ? 0 : 3);
	/* 50 right of 100 guessed at 1/4: (50 - 25) / sqrt(18.75) */
	assert_int_equal(s.right, 50);
	assert_true(fabs(accuracy_z(&s, s.right) - 25 / sqrt(18.75)) < 1e-12);
}

static void
continuations(void **state)
{
	struct accuracy s = {0};

	(void)state;
	accuracy_add(&s, -2.5, 3, 1);
	accuracy_add(&s, -1.5, 1, 0);
	assert_int_equal(s.lines, 2);
	assert_int_equal(s.greedy, 1);
	assert_int_equal(s.tokens, 4);
	assert_true(s.logprob == -4);
	assert_int_equal(s.choice_lines, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(choices_raw_and_normalized),
		cmocka_unit_test(rate_and_error),
		cmocka_unit_test(distance_from_guessing),
		cmocka_unit_test(continuations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
