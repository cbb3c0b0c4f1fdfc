/* accuracy.c - accuracy, length normalization, distance from guessing */
#include "tests/unit/test.h"

#include <math.h>

#include "sample/accuracy.h"

static struct accuracy_best raw, norm;

static void
add(struct accuracy *s, const double *logprob, const size_t *bytes, size_t k,
    size_t answer)
{
	accuracy_add_choices(s, logprob, bytes, k, answer, &raw, &norm);
}

static int
near(double a, double b)
{
	return fabs(a - b) < 1e-12;
}

static void
choices_raw_and_normalized(void **state)
{
	struct accuracy s = {0};

	(void)state;
	/* raw prefers the short choice 0, by the byte choice 1 is better */
	add(&s, (double[]){-4, -6}, (size_t[]){2, 6}, 2, 1);
	add(&s, (double[]){-4, -6}, (size_t[]){2, 6}, 2, 0);
	assert_int_equal(raw.pick, 0);
	assert_int_equal(norm.pick, 1);
	assert_int_equal(s.choice_lines, 2);
	assert_true(s.raw.right == 1);
	assert_true(s.norm.right == 1);
	assert_int_equal(s.raw.ties + s.norm.ties, 0);
	assert_true(near(s.chance, 1));
}

static void
equal_choices_share_the_credit(void **state)
{
	struct accuracy s = {0};

	(void)state;
	/* the best two of four are equal: half a point if it is one of them */
	add(&s, (double[]){-9, -2, -3, -2}, (size_t[]){1, 1, 1, 2}, 4, 3);
	assert_int_equal(raw.pick, 1);
	assert_int_equal(raw.tied, 2);
	assert_true(raw.credit == 0.5);
	assert_true(norm.credit == 1);
	add(&s, (double[]){-9, -2, -3, -2}, (size_t[]){1, 1, 1, 2}, 4, 2);
	assert_true(raw.credit == 0);
	assert_true(s.raw.right == 0.5);
	assert_int_equal(s.raw.ties, 2);
	assert_int_equal(s.norm.ties, 0);
	/* a random answer earns 1/2 in 2 of 4 cases: variance 1/8 - 1/16 */
	assert_true(near(s.raw.chance_var, 2 * (1. / 8 - 1. / 16)));
	assert_true(near(s.norm.chance_var, 2 * (1. / 4 - 1. / 16)));
}

static void
a_constant_model_is_guessing(void **state)
{
	struct accuracy s = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		add(&s, (double[]){-5, -5, -5}, (size_t[]){2, 2, 2}, 3, 0);
	assert_true(near(s.raw.right, 100. / 3));
	assert_int_equal(s.raw.ties, 100);
	assert_int_equal(s.norm.ties, 100);
	assert_true(accuracy_z(&s, &s.raw) == 0);
}

static void
rate_and_error(void **state)
{
	struct accuracy_rate r = accuracy_rate(30, 30, 101);

	(void)state;
	assert_true(near(r.p, 30.0 / 101));
	assert_true(near(r.stderror, sqrt(r.p * (1 - r.p) / 100)));
	assert_true(accuracy_rate(1, 1, 1).stderror == 0);
	/* credits 1, 1/2, 0: sample deviation 1/2, over sqrt(3) */
	r = accuracy_rate(1.5, 1.25, 3);
	assert_true(near(r.stderror, 0.5 / sqrt(3)));
	assert_true(accuracy_rate(0.1 * 3, 0.01 * 3, 3).stderror < 1e-8);
}

static void
distance_from_guessing(void **state)
{
	struct accuracy s = {0};

	(void)state;
	assert_true(accuracy_z(&s, &s.raw) == 0);
	for (int i = 0; i < 100; i++)
		add(&s, (double[]){-1, -2, -3, -4},
				  (size_t[]){1, 1, 1, 1}, 4, i % 2 ? 0 : 3);
	/* 50 right of 100 guessed at 1/4: (50 - 25) / sqrt(18.75) */
	assert_true(s.raw.right == 50);
	assert_true(near(accuracy_z(&s, &s.raw), 25 / sqrt(18.75)));
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
		cmocka_unit_test(equal_choices_share_the_credit),
		cmocka_unit_test(a_constant_model_is_guessing),
		cmocka_unit_test(rate_and_error),
		cmocka_unit_test(distance_from_guessing),
		cmocka_unit_test(continuations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
