/*
 * complete.h - what lm-sample does: prompts to text, lines to scores
 *
 * The two loops between the readers of lines (prompt.h) and the model
 * (generate.h).  Output goes to one place in the order of the input.
 */
#ifndef ASSAY_COMPLETE_H
#define ASSAY_COMPLETE_H

#include <stdint.h>
#include <stdio.h>

#include "base/output.h"
#include "sample/generate.h"
#include "sample/score.h"
#include "record/prompt.h"

struct complete {
	struct generator *g;
	const struct vocab *v;	/* NULL: no tokenizer, all must be ids */
	struct bpe_enc *enc;	/* goes with v */
	struct output *out;
	int64_t bos;		/* put before every text; -1: none */
	int json;
	int64_t batch;		/* prompts at once, >= 1 */
	int64_t positions;	/* the model was made for; 0: unknown */
	struct gen_opts gen;
	double start;		/* clock_s() before the first text */
	/* counted on the way, for warnings and rates */
	uint64_t prompts, prompt_tokens, tokens, past_end;
	uint64_t space_end, joint_differs;
};

/* One prompt, written while it grows. */
int complete_text(struct complete *c, struct span prompt, struct err *e);

/* Every prompt of r. */
int complete_prompts(struct complete *c, struct prompt_reader *r,
		     struct err *e);

/* Every line of r to its scores; sums go to s. */
int complete_scores(struct complete *c, struct prompt_reader *r,
		    struct score *s, struct err *e);

/* The table for people. */
void complete_summary(const struct score *s, struct buf *b);

/* At the end: warnings of what was odd in the texts; counts and the rate. */
void complete_warn(const struct complete *c);
void complete_say(const struct complete *c, FILE *f);

#endif
