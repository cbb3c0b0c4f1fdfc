/*
 * schedule.c - the learning rate: 0 < lr <= peak for every step and shape
 *
 * Values of the cosine are those of PyTorch's CosineAnnealingLR formula,
 * computed here again from its definition.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "model/schedule.h"

static void
near(double a, double b)
{
	if (fabs(a - b) > 1e-15)
		fail_msg("%.17g, expected %.17g", a, b);
}

static void
cosine(void **state)
{
	struct schedule s = {SCHEDULE_COSINE, 110, 10, 0, 1e-3, 1e-4};

	(void)state;
	near(schedule_lr(&s, 0), 1e-4);
	near(schedule_lr(&s, 4), 5e-4);
	near(schedule_lr(&s, 9), 1e-3);
	near(schedule_lr(&s, 10), 1e-3);
	near(schedule_lr(&s, 60), 5.5e-4);
	near(schedule_lr(&s, 85), 1e-4 + 9e-4 * 0.5 * (1 + cos(M_PI * 0.75)));
	near(schedule_lr(&s, 110), 1e-4);
	near(schedule_lr(&s, 100000), 1e-4);
}

static void
wsd(void **state)
{
	struct schedule s = {SCHEDULE_WSD, 100, 10, 20, 1e-3, 0};

	(void)state;
	near(schedule_lr(&s, 0), 1e-4);
	near(schedule_lr(&s, 10), 1e-3);
	near(schedule_lr(&s, 79), 1e-3);
	near(schedule_lr(&s, 80), 1e-3);
	near(schedule_lr(&s, 90), 5e-4);
	near(schedule_lr(&s, 99), 5e-5);
	assert_true(schedule_lr(&s, 100) > 0);
}

/* Every combination of small counts, 0 included, and steps past the end. */
static void
always_positive(void **state)
{
	static const double mins[] = {0, 1e-5, 1e-3};
	struct err e = {0};
	int64_t steps, warm, decay, at;
	int kind, m;

	(void)state;
	for (kind = 0; kind <= SCHEDULE_CONSTANT; kind++)
	for (m = 0; m < 3; m++)
	for (steps = 0; steps < 9; steps++)
	for (warm = 0; warm <= steps + 2; warm++)
	for (decay = 0; decay <= steps + 2; decay++) {
		struct schedule s = {(enum schedule_kind)kind, steps, warm,
			decay, 1e-3, mins[m]};

		assert_int_equal(schedule_check(&s, &e), 0);
		for (at = 0; at < steps + 3; at++) {
			double lr = schedule_lr(&s, at);

			if (!(lr > 0 && lr <= 1e-3))
				fail_msg("kind %d steps %d warm %d decay %d"
					 " at %d: %g", kind, (int)steps,
					 (int)warm, (int)decay, (int)at, lr);
		}
	}
}

static void
refused(void **state)
{
	struct schedule bad[] = {
		{SCHEDULE_WSD, 10, 5, -6, 1e-3, 0},
		{SCHEDULE_COSINE, 10, 0, 0, 0, 0},
		{SCHEDULE_COSINE, 10, 0, 0, NAN, 0},
		{SCHEDULE_COSINE, 10, 0, 0, 1e-3, 2e-3},
		{SCHEDULE_COSINE, 10, -1, 0, 1e-3, 0},
	};
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(bad); i++) {
		struct err e = {0};

		assert_int_equal(schedule_check(&bad[i], &e), -1);
		assert_true(e.set);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cosine),
		cmocka_unit_test(wsd),
		cmocka_unit_test(always_positive),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
