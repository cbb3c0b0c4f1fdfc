/*
 * rare_prompt.h - asking a model to repeat a token
 *
 * Land and Bartolo's check of a suspicious token: three prompts that end
 * where any trained model would repeat the token X: 20 trials of a device
 * that repeats its input, the meaning of a word, 50 repeats.  A prompt is
 * made with the text of an ordinary long token in X's place, encoded, and
 * then has that token's id replaced by X's, so that no split can interfere.
 *
 * Lines are for lm-sample --score: {"id":"X/K","context":[ids],
 * "continuation":[X],"ahead":3}, K from 1 to 3.  Its answers have the
 * logarithm of the probability of X at each of the three tokens that greedy
 * decoding writes; the greatest of all nine counts.  From an answer without
 * them, by another program, the logarithm that X comes next is taken.
 */
#ifndef ASSAY_RARE_PROMPT_H
#define ASSAY_RARE_PROMPT_H

#include "base/buf.h"
#include "base/err.h"
#include "tokenizer/bpe.h"
#include "rare/rare.h"

enum { RARE_PROMPTS = 3, RARE_AHEAD = 3 };

enum rare_verdict {
	VERDICT_NONE,		/* not asked */
	VERDICT_STRONG_REJECTED,	/* > 0.9: the model knows it */
	VERDICT_WEAK_REJECTED,		/* > 0.1 */
	VERDICT_ENCODING_FAILED,	/* the text of no prompt gives it */
	VERDICT_STRONG_VERIFIED,	/* < 0.001 */
	VERDICT_WEAK_VERIFIED, VERDICT_N
};
extern const char *const rare_verdict_names[];

struct rare_prompts {
	struct ids ids[RARE_PROMPTS];	/* the contexts ... */
	uint32_t hole[RARE_PROMPTS];	/* ... with this id for X */
	int made[RARE_PROMPTS];		/* 0: no token fits into it */
	struct bpe *bpe;
	struct bpe_enc *enc;
};

struct rare_answers {
	double *max_prob;	/* [n]; negative: none */
	uint8_t *verdict;	/* [n] enum rare_verdict */
};

/* bos: in front of each context, or -1. */
int rare_prompts_make(struct rare_prompts *p, const struct rare *r,
		      int64_t bos, struct err *e);
void rare_prompts_clear(struct rare_prompts *p);

/* Append the lines that ask for id. */
void rare_prompts_put(const struct rare_prompts *p, uint32_t id,
		      struct buf *out);

/*
 * Read the answers for every suspicious id of r.  -1: a line that is no
 * answer (FILE:LINE), an id that was not asked, an answer twice or missing.
 */
int rare_answers_read(struct rare_answers *a, const struct rare *r,
		      const struct rare_prompts *p, const char *path,
		      struct err *e);
void rare_answers_clear(struct rare_answers *a);

#endif
