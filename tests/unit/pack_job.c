/*
 * pack_job: which documents are validation.
 *
 * The values were computed by libxxhash's XXH3_64bits_withSeed(id, 0x76616c)
 * / 2^64 from Python: they may never change, or documents would move between
 * the sets of two versions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "pack/pack_job.h"

static void
stored_values(void **state)
{
	static const struct {
		const char *id;
		double u;
	} known[] = {
		{"a", 0.201452142217},
		{"doc/1", 0.681960899159},
		{"doc/2", 0.025797366947},
		{"corpus.jsonl:17", 0.952666530395},
		{"a longer name of a document, past sixteen bytes",
		 0.787809062797},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct span id = span_str(known[i].id);

		assert_false(pack_job_is_val(id, known[i].u - 1e-9));
		assert_true(pack_job_is_val(id, known[i].u + 1e-9));
	}
}

/* The share is the one asked for; a greater one only adds. */
static void
share(void **state)
{
	static const double frac[] = {0, 0.001, 0.01, 0.1, 0.5, 1};
	enum { FRACS = sizeof(frac) / sizeof(frac[0]), DOCS = 100000 };
	size_t n[FRACS] = {0}, i, k;
	char id[32];

	(void)state;
	for (i = 0; i < DOCS; i++) {
		int was = 0, is;

		sprintf(id, "doc-%zu", i);
		for (k = 0; k < FRACS; k++, was = is) {
			is = pack_job_is_val(span_str(id), frac[k]);
			assert_true(is >= was);
			n[k] += is;
		}
	}
	assert_int_equal(n[0], 0);
	assert_int_equal(n[FRACS - 1], DOCS);
	for (k = 1; k + 1 < FRACS; k++) {	/* within five deviations */
		double want = frac[k] * DOCS, d = (double)n[k] - want;

		assert_true(d * d < 25 * want * (1 - frac[k]));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_values),
		cmocka_unit_test(share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
