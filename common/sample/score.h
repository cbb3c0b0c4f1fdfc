/*
 * score.h - what many scored lines say together
 *
 * Accuracy with its standard error, and whether it differs from guessing.
 * A line with choices is right when the choice of greatest log-likelihood is
 * the answer: raw (sum over the tokens) and normalized by the length of the
 * choice in bytes, as lm-evaluation-harness' acc and acc_norm.  A line with
 * one continuation is right when greedy decoding would write it.
 */
#ifndef ASSAY_SCORE_H
#define ASSAY_SCORE_H

#include <stddef.h>
#include <stdint.h>

struct score {
	uint64_t lines;		/* lines scored */
	uint64_t choice_lines;	/* of them with choices */
	uint64_t right, right_norm;	/* right by raw and by normalized sums */
	uint64_t greedy;	/* continuations that greedy decoding writes */
	double logprob;		/* sum over continuations without choices */
	uint64_t tokens;	/* their tokens */
	double chance, chance_var;	/* sum of 1/k, sum of (1/k)(1 - 1/k) */
};

/* Add a line with one continuation. */
void score_add(struct score *s, double logprob, size_t tokens, int greedy);

/*
 * The choice of greatest log-likelihood and the one of greatest
 * log-likelihood a byte, of k >= 1; the first on a tie.
 */
struct score_pick {
	size_t raw, norm;
};
struct score_pick score_pick(const double *logprob, const size_t *bytes,
			     size_t k);

/* Add a line with k choices, what was picked and the index of the right one. */
void score_add_choices(struct score *s, struct score_pick p, size_t k,
		       size_t answer);

/* A share with its standard error, sqrt(p (1 - p) / (n - 1)); n > 0. */
struct score_rate {
	double p, stderror;
};
struct score_rate score_rate(uint64_t right, uint64_t n);

/*
 * How many standard deviations `right` of the choice lines lies from
 * guessing (each line guessed with 1/k); 0 when there are none.  Beyond
 * +-1.96 it differs at the 5 % level.
 */
double score_z(const struct score *s, uint64_t right);

#endif
