/*
 * repeats.h - text that loops
 *
 * Two rules over the units of a document: its words (their hashes) or tokens.
 *
 * run: the rule of OLMo 2 (arXiv 2501.00656, section 3.1): one n-gram of 1 to
 * 13 units, 32 times or more in a row.  Exactly: for a period p take maximal
 * [s, e) with u[i] == u[i - p] for all i in [s + p, e); the rule holds if
 * floor((e - s) / p) >= 32.
 *
 * phrase: some n-gram of 2 to 13 units occurs phrase_count times or more
 * without overlap (counted from the left), and these copies are phrase_frac of
 * all units or more.  It catches loops with something else between copies
 * ("item 1 of the list, item 2 of the list, ...").
 */
#ifndef ASSAY_REPEATS_H
#define ASSAY_REPEATS_H

#include <stddef.h>
#include <stdint.h>

#include "dedup/counts.h"

struct repeat_opts {
	int64_t run_count, run_max;	/* 32 times, period 1..13 */
	int64_t phrase_count;		/* 32; 0: no phrase rule */
	double phrase_frac;		/* 0.2 */
};

/* The last is that of gopher.h, not found here. */
enum repeat_rule { REPEAT_NONE, REPEAT_RUN, REPEAT_PHRASE, REPEAT_GOPHER };

/* What was found: units [start, end), of a run or of the first copy. */
struct repeat {
	enum repeat_rule rule;
	size_t start, end;
	size_t period;		/* units of the n-gram */
	size_t times;
};

void repeat_opts_init(struct repeat_opts *o);

/* Scratch of repeats_find(), one per thread; all zero is empty. */
struct repeats {
	struct counts counts;
};
void repeats_clear(struct repeats *r);

/* The first rule that holds, run before phrase.  About 2 ns per unit. */
struct repeat repeats_find(struct repeats *r, const struct repeat_opts *o,
			   const uint64_t *unit, size_t n);

#endif
