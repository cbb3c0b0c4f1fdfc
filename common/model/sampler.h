/*
 * sampler.h - from logits to the next token
 *
 * Greedy at temperature 0; otherwise a draw from softmax(logits/temperature)
 * after, in this order, top-k, top-p and min-p (each renormalized, as
 * transformers' logits processors do).  A draw is a function of (seed,
 * prompt, position), the same for any batch and any number of threads.
 * References: top-k Fan et al. 2018, top-p Holtzman et al. 2020, min-p
 * Nguyen et al. 2024.
 */
#ifndef ASSAY_SAMPLER_H
#define ASSAY_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sampler {
	double temperature;	/* 0: greedy, lowest id if tied */
	int64_t top_k;		/* 0: off */
	double top_p;		/* 1: off; 0: greedy */
	double min_p;		/* 0: off; fraction of the top probability */
	uint64_t seed;
};

struct sampler_pair;

/*
 * Memory for one thread, to free(v); grows to 16 bytes per id of the
 * vocabulary.
 */
struct sampler_scratch {
	struct sampler_pair *v;
	size_t cap;
};

/*
 * Pick one of n tokens, never one with a logit of -inf.  -1: no finite logit,
 * or a NaN or inf (the error names the token).
 */
int64_t sampler_pick(const struct sampler *s, const float *logits, size_t n,
		     uint64_t prompt, uint64_t position,
		     struct sampler_scratch *t, struct err *e);

/*
 * Natural logarithm of softmax(logits)[id], to 1e-7.  Exponentials are float,
 * as 50,000 doubles per token would slow decoding down; the sum is double.
 */
double sampler_logprob(const float *logits, size_t n, size_t id);

/* Id of the largest logit, the lowest id if tied; NaN is ignored. */
size_t sampler_argmax(const float *logits, size_t n);

#endif
