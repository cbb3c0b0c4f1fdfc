/*
 * cut.h - what remains of a text without its hits
 *
 * The rule of Brown et al. 2020, appendix C: remove each n-gram and `window`
 * characters on both sides, which splits the text into pieces; remove pieces
 * shorter than `window`; discard a text that was split into more than ten
 * pieces.
 *
 * Where the paper is silent: overlapping hits are merged before they are
 * widened; windows that overlap or touch are merged; a window at the start or
 * end of the text leaves no piece there; pieces are counted before short ones
 * are removed; characters are code points.
 */
#ifndef ASSAY_CUT_H
#define ASSAY_CUT_H

#include "base/buf.h"
#include "contam/ngram.h"

enum { CUT_PIECES_MAX = 10 };

/*
 * v[0..n), n > 0, in ascending order of start; text is valid UTF-8.  out
 * (reset first) gets the remaining pieces, with a blank line between each
 * two; it is empty if nothing remains.  Returns the number of pieces before
 * short ones are removed.
 */
size_t cut_text(struct span text, const struct ngram_hit *v, size_t n,
		size_t window, struct buf *out);

#endif
