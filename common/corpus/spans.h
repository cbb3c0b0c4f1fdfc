/*
 * spans.h - long passages that stand in a corpus before
 *
 * A window is a stretch of `least` bytes or more of one document that begins
 * and ends at character bounds.  It is a copy when the same bytes stand in an
 * earlier document, or wholly before it in the same one.  spans_find() finds
 * the union of all copies, exactly: the same as a suffix array would, whatever
 * the corpus, in linear time (but see spans.c for the report's part).
 *
 * Texts together are at most 4 GiB.  Memory: 1.2 to 2.2 bytes a byte of text,
 * 17 to 34 for each half of a window's length, and 11 to 32 for each window
 * that is the first of its kind and near a place that comes again.
 */
#ifndef ASSAY_SPANS_H
#define ASSAY_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* text[start, end) of a document, a copy of what begins at first_start. */
struct text_span {
	uint32_t doc, first;		/* numbers of documents */
	uint32_t start, end;		/* bytes of the document's text */
	uint32_t first_start;
};

struct spans;

/* least: bytes of the shortest window, 1 or more. */
struct spans *spans_new(size_t least);
void spans_free(struct spans *s);	/* NULL is fine */

/*
 * For texts of another code: a byte of 0x80..0xbf continues a character, which
 * has this many bytes at most (4 without it).  Before spans_find().
 */
void spans_longest_char(struct spans *s, size_t bytes);

/* The next document (valid UTF-8); copied. */
int spans_add(struct spans *s, struct span text, struct err *e);

/*
 * All copies, in the order of their documents and starts; each is maximal
 * where it was found, and they may overlap.  The array lives until
 * spans_free().
 */
const struct text_span *spans_find(struct spans *s, size_t *n);

/*
 * Merge the spans v[0..n) of one document into ranges that do not touch:
 * range[k][0..1], room for n; returns how many.
 */
size_t spans_merge(const struct text_span *v, size_t n, uint32_t (*range)[2]);

#endif
