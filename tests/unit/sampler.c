/* sampler.c - greedy, cuts, distribution, determinism */
#include "tests/unit/test.h"

#include <math.h>
#include "model/sampler.h"

static const float four[4] = {1, 3, 2, 3};

static int64_t
pick(const struct sampler *s, const float *v, size_t n, uint64_t pos)
{
	struct sampler_scratch t = {0};
	struct err e = {0};
	int64_t id = sampler_pick(s, v, n, 7, pos, &t, &e);

	free(t.v);
	return id;
}

static void
greedy_takes_lowest_of_a_tie(void **state)
{
	struct sampler s = {.top_p = 1};

	(void)state;
	assert_int_equal(pick(&s, four, 4, 0), 1);
	assert_int_equal(sampler_argmax((float[]){NAN, -1, -2}, 3), 1);
}

static void
broken_logits_are_refused(void **state)
{
	struct sampler s = {.temperature = 1, .top_p = 1};

	(void)state;
	assert_int_equal(pick(&s, (float[]){0, NAN}, 2, 0), -1);
	assert_int_equal(pick(&s, (float[]){0, INFINITY}, 2, 0), -1);
	assert_int_equal(pick(&s, (float[]){-INFINITY, -INFINITY}, 2, 0), -1);
}

/* Draw n times; share of each id in freq. */
static void
draw(const struct sampler *s, const float *v, size_t k, size_t n, double *freq)
{
	struct sampler_scratch t = {0};
	struct err e = {0};

	memset(freq, 0, k * sizeof(*freq));
	for (size_t i = 0; i < n; i++)
		freq[sampler_pick(s, v, k, 0, i, &t, &e)] += 1.0 / (double)n;
	free(t.v);
}

static void
draws_follow_softmax(void **state)
{
	struct sampler s = {.temperature = 2, .top_p = 1, .seed = 5};
	double freq[5], sum = 0;
	const float v[5] = {0, 1, -INFINITY, 2, 3};

	(void)state;
	for (size_t i = 0; i < 5; i++)
		sum += exp(v[i] / 2.0);
	draw(&s, v, 5, 40000, freq);
	for (size_t i = 0; i < 5; i++)
		assert_true(fabs(freq[i] - exp(v[i] / 2.0) / sum) < 0.01);
	assert_true(freq[2] == 0);
}

static void
cuts_keep_what_they_say(void **state)
{
	/* probabilities 0.5 0.3 0.15 0.05 */
	const float v[4] = {logf(.05f), logf(.5f), logf(.15f), logf(.3f)};
	struct sampler s = {.temperature = 1, .top_p = 1};
	double freq[4];

	(void)state;
	s.top_k = 2;
	draw(&s, v, 4, 20000, freq);
	assert_true(freq[0] == 0 && freq[2] == 0);
	assert_true(fabs(freq[1] - .625) < 0.015);
	s.top_k = 0;
	s.top_p = 0.75;
	draw(&s, v, 4, 20000, freq);
	assert_true(freq[0] == 0 && freq[2] == 0 && freq[3] > 0);
	s.top_p = 0.81;
	draw(&s, v, 4, 20000, freq);
	assert_true(freq[0] == 0 && freq[2] > 0);
	s.top_p = 1;
	s.min_p = 0.2;
	draw(&s, v, 4, 20000, freq);
	assert_true(freq[0] == 0 && freq[2] > 0);
	s.min_p = 0.4;
	draw(&s, v, 4, 20000, freq);
	assert_true(freq[2] == 0 && freq[3] > 0);
}

static void
same_seed_same_draw(void **state)
{
	struct sampler s = {.temperature = 1, .top_p = 1, .seed = 1};
	struct sampler other = s;
	int differ = 0;

	(void)state;
	other.seed = 2;
	for (uint64_t i = 0; i < 64; i++) {
		assert_int_equal(pick(&s, four, 4, i), pick(&s, four, 4, i));
		differ += pick(&s, four, 4, i) != pick(&other, four, 4, i);
	}
	assert_true(differ > 0);
}

static void
logprob_is_log_softmax(void **state)
{
	double sum = exp(1) + 2 * exp(3) + exp(2);

	(void)state;
	assert_true(fabs(sampler_logprob(four, 4, 2) - (2 - log(sum))) < 1e-7);
	assert_true(isinf(sampler_logprob((float[]){0, -INFINITY}, 2, 1)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greedy_takes_lowest_of_a_tie),
		cmocka_unit_test(broken_logits_are_refused),
		cmocka_unit_test(draws_follow_softmax),
		cmocka_unit_test(cuts_keep_what_they_say),
		cmocka_unit_test(same_seed_same_draw),
		cmocka_unit_test(logprob_is_log_softmax),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
