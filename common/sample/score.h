/*
 * score.h - lines of context and continuation or choices to log-likelihoods
 *
 * Context and continuation are tokenized separately, with BOS before the
 * context only.  Continuations that tokenize differently when joined with
 * their context are counted, and a warning gives their number.
 */
#ifndef ASSAY_SCORE_H
#define ASSAY_SCORE_H

#include "sample/accuracy.h"
#include "sample/session.h"

/* Score every line of r; with JSON each is written.  Totals go to s. */
int score_lines(struct session *c, struct prompt_reader *r, struct accuracy *s,
		struct err *e);

#endif
