/*
 * spans.h - long passages that stand in a corpus before
 *
 * A window is a stretch of `least` bytes or more of one document that begins
 * and ends at character bounds.  It is a copy when the same bytes stand in an
 * earlier document, or wholly before it in the same one.  The union of the
 * spans found is that of all copies, exactly: the same as a suffix array
 * gives, whatever the corpus.
 *
 * Which spans: from each character of c bytes go the windows of least to
 * least + c - 1 bytes, or the shortest one where there is none of these.  They
 * are taken from left to right, the shorter first.  One that is a copy and not
 * inside the span before it is followed, from the first place where it stands
 * in the corpus, to both sides as far as the two agree (and the first ends
 * before the other begins): that is the next span.  Spans before it that lie
 * inside it are left out.  So both ends ascend, no span can be longer at its
 * place, and that place is the first where the whole span stands.
 *
 * Time is linear but for following to the left, which may visit a place again
 * for another span.
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

/*
 * least: bytes of the shortest window, 1 or more.  Texts and tables take at
 * most `mem` bytes of memory, or 512 times the square root of the bytes of
 * all texts where that is more; what does not fit goes to unlinked files in
 * $TMPDIR: the texts, and 16 to 32 bytes for each window that is near a place
 * that comes again.  Not counted in: 8 bytes for each document, 20 to 40 for
 * each span, and twice a window's length for each thread.
 */
struct spans *spans_new(size_t least, size_t mem, int threads);
void spans_free(struct spans *s);	/* NULL is fine */

/*
 * For texts of another code: a byte of 0x80..0xbf continues a character, which
 * has this many bytes at most (4 without it).  Before spans_find().
 */
void spans_longest_char(struct spans *s, size_t bytes);

/* For tests: hashes keep so few bits at first that they lie. */
void spans_weaken(struct spans *s);

/* The next document (valid UTF-8, less than 4 GiB); copied. */
int spans_add(struct spans *s, struct span text, struct err *e);

/*
 * All spans, in the order of their documents and starts.  The same for any
 * mem and threads.  NULL on error; the array lives until spans_free().
 */
const struct text_span *spans_find(struct spans *s, size_t *n, struct err *e);

/*
 * After spans_find(), whose array is gone then: spans of what stands later, in
 * another document or wholly behind in the same one.  They are found as the
 * others are, with all read from the end, so `first` is the last place.
 */
const struct text_span *spans_find_later(struct spans *s, size_t *n,
					 struct err *e);

/* After spans_find(): did the texts or windows go to disk? */
int spans_spilled(const struct spans *s);

/*
 * Merge the spans v[0..n) of one document, in any order, into ranges that do
 * not touch: range[k][0..1], room for n; returns how many.
 */
size_t spans_merge(const struct text_span *v, size_t n, uint32_t (*range)[2]);

#endif
