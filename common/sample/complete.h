/*
 * complete.h - prompts to text
 *
 * A sequence ends at EOS, at a stop text, or after max_tokens.  Answers are
 * written in the order of the prompts, as text or as JSON Lines.
 */
#ifndef ASSAY_COMPLETE_H
#define ASSAY_COMPLETE_H

#include "sample/session.h"

/* Continue the next of several prompts, as complete_prompts() would; text is
 * written as it is generated. */
int complete_text(struct session *s, const struct gen_opts *o,
		  struct span prompt, struct err *e);

/* Continue every prompt of r, `batch` >= 1 of them at once. */
int complete_prompts(struct session *s, const struct gen_opts *o,
		     int64_t batch, struct prompt_reader *r, struct err *e);

#endif
