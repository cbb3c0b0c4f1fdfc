/*
 * gopher.h - fractions of a text that occur in it more than once
 *
 * The repetition filter of Gopher (Rae et al. 2021, arXiv 2112.11446, table
 * A1).  The paper leaves open what is counted; dedup-rules(7) defines it:
 *
 * Characters are code points.  A line is a run of characters without a line
 * end (LF or CR LF), a paragraph a run of lines with one line end between
 * neighbours.  A duplicate is one whose bytes occur earlier in the same text.
 * dup_lines and dup_paragraphs are duplicates by number, the two of characters
 * their characters by all of the text.
 *
 * Words are those of words.h.  An n-gram covers the text from the start of its
 * first word to the end of its last.  top_Ngram: all copies of the most
 * frequent n-gram, which must occur twice; of several, the first.  dup_Ngram:
 * every n-gram with an earlier copy.  Characters of copies that overlap count
 * once, so that no share is above 1.
 *
 * A rule holds if the share is above its limit.  A text without lines or words
 * has shares of 0.
 */
#ifndef ASSAY_GOPHER_H
#define ASSAY_GOPHER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "dedup/counts.h"
#include "text/words.h"

enum gopher_share {
	GOPHER_LINES, GOPHER_PARAGRAPHS, GOPHER_LINE_CHARS,
	GOPHER_PARAGRAPH_CHARS,
	GOPHER_TOP,			/* n-grams of 2 to 4 words */
	GOPHER_DUP = GOPHER_TOP + 3,	/* of 5 to 10 */
	GOPHER_SHARES = GOPHER_DUP + 6
};

struct gopher_opts {
	int on;				/* any limit is below 1 */
	double max[GOPHER_SHARES];	/* 1: no limit */
};

/*
 * all: the published limits, else none.  list: others, as
 * "dup_lines=0.4,top_2gram=1", or NULL.  0 or -1.
 */
int gopher_opts_init(struct gopher_opts *o, int all, const char *list,
		     struct err *e);

/* Scratch, one per thread; all zero is empty.  Up to 56 bytes per word. */
struct gopher {
	struct counts counts;
	uint64_t *gram;
	size_t gram_cap;
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
