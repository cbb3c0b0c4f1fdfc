/*
 * rare_prompts.h - asking a model to repeat a token
 *
 * Land and Bartolo verify a suspicious token X with three prompts after which
 * any trained model would repeat X: 20 trials of a device that repeats its
 * input, the meaning of a word, 50 repeats.  Each prompt is encoded with an
 * ordinary long token in X's place, whose id is then replaced by X's, so that
 * no split can interfere.
 *
 * Lines are for lm-sample --score: {"id":"X/K","context":[ids],
 * "continuation":[X],"ahead":3}, K from 1 to 3.
 */
#ifndef ASSAY_RARE_PROMPTS_H
#define ASSAY_RARE_PROMPTS_H

#include "base/buf.h"
#include "base/err.h"
#include "rare/rare.h"
#include "tokenizer/bpe.h"

enum { RARE_PROMPTS = 3, RARE_AHEAD = 3 };

struct rare_prompts {
	struct ids ids[RARE_PROMPTS];	/* the contexts, with ... */
	uint32_t hole[RARE_PROMPTS];	/* ... this id in X's place */
	int made[RARE_PROMPTS];		/* 0: no token fits into it */
	struct bpe *bpe;
	struct bpe_enc *enc;
};

/* bos: in front of each context, or -1. */
int rare_prompts_make(struct rare_prompts *p, const struct rare *r,
		      int64_t bos, struct err *e);
void rare_prompts_clear(struct rare_prompts *p);

/* Append the lines that ask for id. */
void rare_prompts_put(const struct rare_prompts *p, uint32_t id,
		      struct buf *out);

/*
 * Does the text of any prompt, with id's text in X's place, encode to id?  If
 * not, the model may never have seen what it is asked to repeat.
 */
int rare_prompts_encode(const struct rare_prompts *p, const struct rare *r,
			uint32_t id);

#endif
