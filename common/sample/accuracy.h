/*
 * accuracy.h - totals over scored lines
 *
 * Accuracy with its standard error, and whether it differs from guessing.
 * A line with choices is right if its answer is the choice of the greatest
 * log-likelihood: raw (sum over tokens), or normalized by the length of the
 * choice in bytes, as acc and acc_bytes of lm-evaluation-harness; its acc_norm
 * counts characters.  Choices that
 * share the greatest value share the credit: such a line counts 1/m if its
 * answer is one of m.  A line with one continuation is right if greedy
 * decoding would generate it.
 */
#ifndef ASSAY_ACCURACY_H
#define ASSAY_ACCURACY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Lines with choices, by one of the two values. */
struct accuracy_total {
	double right, squares;	/* sums of the credits and of their squares */
	double chance_var;	/* variance of `right` if answers are random */
	uint64_t ties;		/* lines on which the best choice is tied */
};

struct accuracy {
	uint64_t lines;		/* lines scored */
	uint64_t choice_lines;	/* of them with choices */
	struct accuracy_total raw, norm;
	double chance;		/* sum of 1/k: the expected `right` */
	uint64_t greedy;	/* continuations that greedy decoding gives */
	double logprob;		/* sum over continuations without choices */
	uint64_t tokens;	/* their tokens */
};

/* Add a line with one continuation. */
void accuracy_add(struct accuracy *s, double logprob, size_t tokens,
		  int greedy);

/* The best of k choices: the first one, how many are equal to it, and the
 * credit of the line. */
struct accuracy_best {
	size_t pick, tied;
	double credit;
};

/*
 * Add a line with k >= 1 choices; answer is the index of the right one.
 * raw and norm get the best by log-likelihood and by that per byte.
 */
void accuracy_add_choices(struct accuracy *s, const double *logprob,
			  const size_t *bytes, size_t k, size_t answer,
			  struct accuracy_best *raw,
			  struct accuracy_best *norm);

/*
 * Mean and standard error of n > 0 credits from their sum and sum of squares;
 * sqrt(p (1 - p) / (n - 1)) where all are 0 or 1.
 */
struct accuracy_rate {
	double p, stderror;
};
struct accuracy_rate accuracy_rate(double right, double squares, uint64_t n);

/*
 * Distance of t->right from the number expected of guessing, in standard
 * deviations; 0 if there are no choices, or all are tied on every line.
 * Beyond +-1.96 it differs at the 5 % level.
 */
double accuracy_z(const struct accuracy *s, const struct accuracy_total *t);

/* The table for people. */
void accuracy_print(const struct accuracy *s, struct buf *b);

#endif
