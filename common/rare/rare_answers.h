/*
 * rare_answers.h - what a model answered to rare_prompts.h
 *
 * Answers are the lines of lm-sample --score --json.  They have the log
 * probability of X at each of the three tokens that greedy decoding writes; the
 * greatest of all nine decides.  Without "ahead", as from another program,
 * "logprob" is taken, that of X as the next token.
 */
#ifndef ASSAY_RARE_ANSWERS_H
#define ASSAY_RARE_ANSWERS_H

#include "base/err.h"
#include "rare/rare.h"
#include "rare/rare_prompts.h"

enum rare_verdict {
	VERDICT_NONE,			/* not asked */
	VERDICT_STRONG_REJECTED,	/* > 0.9: the model knows it */
	VERDICT_WEAK_REJECTED,		/* > 0.1 */
	VERDICT_ENCODING_FAILED,	/* no prompt's text encodes to it */
	VERDICT_STRONG_VERIFIED,	/* < 0.001 */
	VERDICT_WEAK_VERIFIED, VERDICT_N
};
extern const char *const rare_verdict_names[];

struct rare_answers {
	double *max_prob;	/* [n]; negative: none */
	uint8_t *verdict;	/* [n] enum rare_verdict */
};

/*
 * Read the answers for every suspicious id of r.  -1: a line that is not an
 * answer (FILE:LINE), an id that was not asked, an answer twice or missing.
 */
int rare_answers_read(struct rare_answers *a, const struct rare *r,
		      const struct rare_prompts *p, const char *path,
		      struct err *e);
void rare_answers_clear(struct rare_answers *a);

#endif
