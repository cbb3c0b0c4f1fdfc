/*
 * cut.h - what is left of a text when its hits are cut out
 *
 * The rule of Brown et al. 2020, appendix C: the gram and `window` characters
 * on both sides of it go, which leaves the text in pieces; pieces shorter
 * than `window` go too; a text in more than ten pieces is lost whole.
 *
 * The paper leaves open what we say here: hits that overlap are one before
 * they are widened; windows that overlap or touch are one; a window at the
 * start or at the end of the text leaves no piece there; the ten pieces are
 * counted before the short ones go; characters are code points.
 */
#ifndef ASSAY_CUT_H
#define ASSAY_CUT_H

#include "contam/ngram.h"

enum { NGRAM_PIECES = 10 };

/*
 * v[0..n), n > 0, in ascending order of start; text is valid UTF-8.  out
 * (reset first) gets the pieces that stay, a blank line between each two;
 * empty: none does.  Returns the number of pieces before the short ones are
 * taken out; where that is above NGRAM_PIECES out is empty.
 */
size_t ngram_cut(struct span text, const struct ngram_hit *v, size_t n,
		 size_t window, struct buf *out);

#endif
