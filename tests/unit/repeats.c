/*
 * The rules of repeats against their definitions, taken literally: OLMo's
 * find_periodic_sequences() with its test vectors, and every n-gram counted.
 */
#include "tests/unit/test.h"

#include "base/rng.h"
#include "dedup/repeats.h"

static uint64_t at;

static uint64_t
below(uint64_t n)
{
	return rng_below(17, 0, at++, n);
}

/* Times of the longest run of period 1..max: maximal [s, e), floor. */
static size_t
slow_run(const uint64_t *u, size_t n, size_t max)
{
	size_t best = 0, p, s, e;

	for (p = 1; p <= max; p++) {
		for (s = 0; s + p < n; s++) {
			for (e = s + p; e < n && u[e] == u[e - p]; e++)
				;
			if (e > s + p && (e - s) / p > best)
				best = (e - s) / p;
		}
	}
	return best;
}

/* Does some n-gram of 2..13 stand often enough, copies apart from the left? */
static int
slow_phrase(const uint64_t *u, size_t n, size_t count, double share)
{
	size_t len, i, k, times, end;

	for (len = 2; len <= 13; len++) {
		for (i = 0; i + len <= n; i++) {
			for (times = 0, end = 0, k = 0; k + len <= n; k++) {
				if (k < end || memcmp(u + k, u + i,
						      len * sizeof(*u)))
					continue;
				times++;
				end = k + len;
			}
			if (times >= count &&
			    (double)(times * len) >= share * (double)n)
				return 1;
		}
	}
	return 0;
}

static struct repeat
find(const struct repeat_opts *o, const uint64_t *u, size_t n)
{
	struct repeats r = {0};
	struct repeat x = repeats_find(&r, o, u, n);

	repeats_clear(&r);
	return x;
}

/* count times 1..len, then `more` units of another copy; offset units before */
static int
is_run(size_t len, size_t count, size_t more, size_t before)
{
	struct repeat_opts o;
	uint64_t u[1000];
	size_t n = 0, i;

	repeat_opts_init(&o);
	o.phrase_count = 0;
	for (i = 0; i < before; i++)
		u[n++] = 1000 + i;
	for (i = 0; i < count * len + more; i++)
		u[n++] = 1 + i % len;
	u[n++] = 2000;
	return find(&o, u, n).rule == REPEAT_RUN;
}

static void
test_vectors(void **state)
{
	(void)state;
	assert_false(is_run(1, 31, 0, 0));
	assert_true(is_run(1, 32, 0, 0));
	assert_false(is_run(2, 31, 1, 0));
	assert_true(is_run(2, 32, 0, 0));
	assert_true(is_run(3, 32, 0, 1));
	assert_true(is_run(13, 32, 0, 0));
	assert_false(is_run(13, 31, 12, 0));
	assert_false(is_run(14, 32, 0, 0));
}

static void
fill(uint64_t *u, size_t n)
{
	size_t kinds = 1 + below(6), i = 0, k, p, m;

	while (i < n) {
		/* random, or a loop that may be broken */
		m = 1 + below(60);
		p = 1 + below(15);
		for (k = 0; k < m && i < n; k++, i++)
			u[i] = k >= p && below(100) ? u[i - p] :
				below(kinds);
	}
}

static void
test_random(void **state)
{
	size_t round, n, hits[3] = {0};
	uint64_t u[260];

	(void)state;
	for (round = 0; round < 3000; round++) {
		struct repeat_opts o = {
			(int64_t)(2 + below(12)), (int64_t)(1 + below(14)),
			(int64_t)(1 + below(15)), (double)below(11) / 10
		};
		struct repeat x;
		int run, phrase;

		n = below(260);
		fill(u, n);
		x = find(&o, u, n);
		run = slow_run(u, n, (size_t)o.run_max) >=
			(size_t)o.run_count;
		phrase = slow_phrase(u, n, (size_t)o.phrase_count,
				     o.phrase_frac);
		assert_int_equal(x.rule == REPEAT_RUN, run);
		if (!run)
			assert_int_equal(x.rule == REPEAT_PHRASE, phrase);
		if (x.rule)
			assert_true(x.start < x.end && x.end <= n);
		hits[x.rule]++;
	}
	assert_true(hits[0] > 100 && hits[1] > 100 && hits[2] > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
