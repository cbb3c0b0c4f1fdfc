/*
 * score.h - lines of context and continuation or choices to log-likelihoods
 *
 * A continuation is tokenized as the end of the joint text, so that no
 * tokenizer puts a space before it.  Where a token of the joint text crosses
 * the seam, the continuation is tokenized alone, without such a space; these
 * lines are counted, and a warning gives their number.  After a context that
 * is given as ids a continuation is always tokenized alone.
 */
#ifndef ASSAY_SCORE_H
#define ASSAY_SCORE_H

#include "sample/accuracy.h"
#include "sample/session.h"

/* Score every line of r; with JSON each is written.  Totals go to s. */
int score_lines(struct session *c, struct prompt_reader *r, struct accuracy *s,
		struct err *e);

#endif
