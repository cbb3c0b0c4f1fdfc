/*
 * spans.h - long passages that occur earlier in a corpus
 *
 * A window is a run of `least` bytes or more of one document that begins and
 * ends at character boundaries.  It is a copy if the same bytes occur in an
 * earlier document, or wholly before it in the same one.  The union of the
 * spans found is that of all copies, exactly: what a suffix array would give,
 * whatever the corpus.
 *
 * Which spans: from each character of c bytes start the windows of least to
 * least + c - 1 bytes, or the shortest if there is none of these.  They are
 * taken from left to right, the shorter first.  One that is a copy and not
 * inside the previous span is extended to both sides as far as it agrees with
 * its first occurrence in the corpus (which must end before it begins): this
 * is the next span.  Earlier spans inside it are removed.  So both ends
 * ascend, each span has its maximum length at its first occurrence.
 *
 * Time is linear except for extending to the left, which may visit a place
 * again for another span.
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
 * all texts if that is more.  What does not fit goes to unlinked files in
 * $TMPDIR: the texts; 32 bytes per `least` bytes of text, and 64 per `least`
 * bytes that occur earlier; 16 to 32 per window near the ends of passages that
 * occur three times or more, and in short loops.  Not included: 8
 * to 16 bytes per document, 20 to 40 per span, and per thread 16 lengths of a
 * window.
 */
struct spans *spans_new(size_t least, size_t mem, int threads);
void spans_free(struct spans *s);	/* NULL is fine */

/*
 * For texts that are not UTF-8: a byte of 0x80..0xbf continues a character,
 * which has at most this many bytes (default 4).  Before spans_find().
 */
void spans_longest_char(struct spans *s, size_t bytes);

/* For tests: hashes keep so few bits at first that they collide. */
void spans_weaken(struct spans *s);

/*
 * Has $TMPDIR room for a search in n bytes of text, before they are added?
 * Loops, and many short passages, may need more.  0 or -1.
 */
int spans_room(size_t least, size_t mem, uint64_t n, struct err *e);

/* The next document (valid UTF-8, less than 4 GiB); copied. */
int spans_add(struct spans *s, struct span text, struct err *e);

/*
 * All spans, in the order of their documents and starts.  The same for any
 * mem and threads.  NULL on error; the array lives until spans_free().
 */
const struct text_span *spans_find(struct spans *s, size_t *n, struct err *e);

/*
 * After spans_find(), whose array becomes invalid: spans that occur again
 * later, in another document or wholly after it in the same one.  They are
 * found the same way with all texts read from the end, so `first` is the last
 * occurrence.
 */
const struct text_span *spans_find_later(struct spans *s, size_t *n,
					 struct err *e);

/* After spans_find(): were texts or windows spilled to disk? */
int spans_spilled(const struct spans *s);

/*
 * Merge the spans v[0..n) of one document, in any order, into ranges that do
 * not touch: range[k][0..1], with room for n.  Returns their number.
 */
size_t spans_merge(const struct text_span *v, size_t n, uint32_t (*range)[2]);

#endif
