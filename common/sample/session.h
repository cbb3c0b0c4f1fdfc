/*
 * session.h - what generation and scoring share: the model, the tokenizer,
 * the output, and counters
 */
#ifndef ASSAY_SESSION_H
#define ASSAY_SESSION_H

#include <stdint.h>
#include <stdio.h>

#include "record/prompt.h"
#include "sample/generator.h"
#include "stream/output.h"

struct session {
	struct generator *g;
	const struct vocab *v;	/* NULL: no tokenizer, token ids only */
	struct bpe_enc *enc;	/* NULL where v is */
	struct output *out;
	struct ids front;	/* put before every text; owned by the caller */
	int json;
	int64_t positions;	/* context length of the model; 0: unknown */
	double start;		/* clock_s() before the first text */
	/* counters, for warnings and rates */
	uint64_t texts, tokens_in, tokens_out, past_end;
	uint64_t space_end, seams, specials;
	struct span special;	/* the first one that a text holds */
};

/*
 * Append the ids of a text, or the ids that were given instead of one.
 * first: it starts a sequence, so `front` goes before it (never before given
 * ids), and a space at its end is counted.  Otherwise it continues one.  -1: a
 * text, but no tokenizer, or none of its tokens has some byte.
 */
int session_encode(struct session *s, const struct prompt_text *t, int first,
		   struct ids *out, struct err *e);

/*
 * Count a text that holds the text of a special token, which the tokenizer
 * takes for text.  session_parse_specials() before bpe_new() makes it the
 * token instead.
 */
void session_check_special(struct session *s, struct span text);
void session_parse_specials(struct vocab *v);

/* Append `front` and the ids of a text; there is a tokenizer. */
int session_encode_start(struct session *s, struct span text, struct ids *out,
			 struct err *e);

/* The error of a sequence that would start with no token; -1. */
int session_no_context(struct err *e);

/* The start of an output line, "{" and the id of l, if it has one. */
void session_put_id(const struct prompt_line *l, struct buf *b);

/* "key":[...] */
void session_put_ids(struct buf *b, const char *key, const uint32_t *id,
		     size_t n);
void session_put_reals(struct buf *b, const char *key, const double *v,
		       size_t n);

/* Set e to "FILE:LINE: why" of line l; -1. */
int session_line_err(const struct prompt_line *l, const struct err *why,
		     struct err *e);

/* At the end: warn of suspicious texts; print counts and the rate. */
void session_warn(const struct session *s);
void session_print_rate(const struct session *s, FILE *f);

#endif
