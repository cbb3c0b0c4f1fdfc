/*
 * accuracy.h - totals over scored lines
 *
 * Accuracy with its standard error, and whether it differs from guessing.
 * A line with choices is right if its answer is the choice of the greatest
 * log-likelihood: raw (sum over tokens), or normalized by the length of the
 * choice in bytes, as acc and acc_norm of lm-evaluation-harness.  A line with
 * one continuation is right if greedy decoding would generate it.
 */
#ifndef ASSAY_ACCURACY_H
#define ASSAY_ACCURACY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct accuracy {
	uint64_t lines;		/* lines scored */
	uint64_t choice_lines;	/* of them with choices */
	uint64_t right, right_norm;	/* by raw and by normalized sums */
	uint64_t greedy;	/* continuations that greedy decoding gives */
	double logprob;		/* sum over continuations without choices */
	uint64_t tokens;	/* their tokens */
	double chance, chance_var;	/* sum of 1/k, sum of (1/k)(1 - 1/k) */
};

/* Add a line with one continuation. */
void accuracy_add(struct accuracy *s, double logprob, size_t tokens,
		  int greedy);

/*
 * Of k >= 1 choices, the one of the greatest log-likelihood and the one of
 * the greatest log-likelihood per byte; the first on a tie.
 */
struct accuracy_pick {
	size_t raw, norm;
};
struct accuracy_pick accuracy_pick(const double *logprob, const size_t *bytes,
			     size_t k);

/* Add a line with k choices; answer is the index of the right one. */
void accuracy_add_choices(struct accuracy *s, struct accuracy_pick p, size_t k,
		       size_t answer);

/* A fraction and its standard error, sqrt(p (1 - p) / (n - 1)); n > 0. */
struct accuracy_rate {
	double p, stderror;
};
struct accuracy_rate accuracy_rate(uint64_t right, uint64_t n);

/*
 * Distance of `right` from the number expected of guessing, in standard
 * deviations; 0 if there are no choices.  Beyond +-1.96 it differs at the 5 %
 * level.
 */
double accuracy_z(const struct accuracy *s, uint64_t right);

/* The table for people. */
void accuracy_print(const struct accuracy *s, struct buf *b);

#endif
