/*
 * complete_priv.h - what complete.c and scoring.c share
 */
#ifndef ASSAY_COMPLETE_PRIV_H
#define ASSAY_COMPLETE_PRIV_H

#include "sample/complete.h"

/*
 * Append the ids of t.  first: it begins a sequence, so BOS goes before it
 * (never before given ids), and a space at its end is counted.  -1: a text,
 * and there is no tokenizer.
 */
int complete_encode(struct complete *c, const struct prompt_text *t,
		    int first, struct ids *out, struct err *e);

/* JSON arrays. */
void json_put_ids(struct buf *b, const uint32_t *id, size_t n);
void json_put_reals(struct buf *b, const double *v, size_t n);

/* The message of a sequence that would begin with nothing; -1. */
int complete_no_context(struct err *e);

#endif
