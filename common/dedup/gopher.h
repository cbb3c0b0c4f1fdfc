/*
 * gopher.h - shares of a text that stand in it more than once
 *
 * The repetition filter of Gopher (Rae et al. 2021, arXiv 2112.11446, table
 * A1), whose paper leaves open what is counted.  Here:
 *
 * Characters are code points.  A line is a run of characters without line
 * end, which is LF or CR LF; an empty one is none.  A paragraph is a run of
 * lines with one line end between neighbours.  A duplicate is one whose bytes
 * stand before in the same text: the second copy and all later ones.
 * dup_lines and dup_paragraphs are duplicates by all there are, the two of
 * characters their characters by all of the text.
 *
 * Words are those of words.h.  An n-gram takes the text from the beginning of
 * its first word to the end of its last.  top_Ngram: the n-gram that stands
 * most often, twice at least, of several the one that stands first; all its
 * copies.  dup_Ngram: every n-gram of which a copy begins before.  Characters
 * of copies that overlap count once, by all of the text, so that no share is
 * above 1.
 *
 * A rule holds where the share is above its limit.  A text without lines or
 * words has shares of 0.
 */
#ifndef ASSAY_GOPHER_H
#define ASSAY_GOPHER_H

#include <stddef.h>
#include <stdint.h>

#include "base/args.h"
#include "base/buf.h"
#include "text/words.h"

enum gopher_share {
	GOPHER_LINES, GOPHER_PARAGRAPHS, GOPHER_LINE_CHARS,
	GOPHER_PARAGRAPH_CHARS,
	GOPHER_TOP,			/* n-grams of 2 to 4 words */
	GOPHER_DUP = GOPHER_TOP + 3,	/* of 5 to 10 */
	GOPHER_SHARES = GOPHER_DUP + 6
};

enum { GOPHER_ARGS = GOPHER_SHARES + 2 };

struct gopher_opts {
	int on;				/* any limit is below 1 */
	double max[GOPHER_SHARES];	/* 1: never */
	int given[GOPHER_SHARES];
};

/* All off; rows of an option table (GOPHER_ARGS of them); after parsing. */
void gopher_opts_init(struct gopher_opts *o);
void gopher_opts_args(struct gopher_opts *o, struct arg *table);
void gopher_opts_done(struct gopher_opts *o);	/* the published limits */

/* Scratch: one a thread, all zero is empty.  Up to 56 bytes a word. */
struct gopher {
	uint64_t *key, *gram;
	uint32_t *val;
	size_t cap, gram_cap;
};
void gopher_clear(struct gopher *g);

/* All shares of a text and its words; 0 where max is 1. */
void gopher_shares(struct gopher *g, const double *max, struct span text,
		   const struct word *w, size_t n, double *share);

/* The first share that is above its limit. */
struct gopher_hit {
	int share;			/* enum gopher_share; -1: none */
	double value;
};
struct gopher_hit gopher_find(struct gopher *g, const struct gopher_opts *o,
			      struct span text, const struct word *w,
			      size_t n);

/* "dup_lines", "top_2gram" */
const char *gopher_name(int share);

#endif
