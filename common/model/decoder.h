/*
 * decoder.h - the forward pass with a cache of keys and values
 *
 * For text that grows: each call feeds rows (a token at a position of a
 * slot) and the cache keeps their keys and values, so that a new token costs
 * one row.  A slot is one sequence.  Rows of one call may belong to several
 * slots; those of one slot stand in the order of their positions and follow
 * what was fed before.
 *
 * Memory on the device: cache slots * positions * L * 2 * G * D numbers of
 * the weights' type, and about (3 C + Q + 3 F) numbers for each of max_rows
 * rows, and Vp floats for each of max_logits.
 */
#ifndef ASSAY_DECODER_H
#define ASSAY_DECODER_H

#include <stdint.h>

#include "model/llama.h"

struct decoder;

/* Keeps m, whose positions must reach `positions`. */
struct decoder *decoder_new(struct llama *m, int64_t slots, int64_t positions,
			    int64_t max_rows, int64_t max_logits);
void decoder_free(struct decoder *d);		/* NULL is fine */

/* One call's rows; host memory, read before the call returns. */
struct decoder_rows {
	int64_t n;			/* 1..max_rows */
	const int32_t *tok, *slot, *pos;	/* (n) */
};

/*
 * Feed rows; with logits not NULL also the logits of the last `want` rows:
 * (want, V) floats on the host, want <= max_logits.
 */
void decoder_feed(struct decoder *d, const struct decoder_rows *r,
		  int64_t want, float *logits);

/*
 * Feed rows and score them against targets (n; -1: none): logprob gets the
 * natural logarithm of each target's probability (0 without target),
 * best the id of the greatest logit, the lowest on a tie.  Host arrays (n).
 */
void decoder_score(struct decoder *d, const struct decoder_rows *r,
		   const int32_t *target, float *logprob, int32_t *best);

#endif
