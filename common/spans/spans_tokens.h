/*
 * spans_tokens.h - long passages that stand in a corpus before, in tokens
 *
 * As spans.h, but a window is `least` tokens or more: it begins and ends at
 * token bounds that are character bounds, and it is a copy when the same
 * tokens stand in an earlier document, or wholly before it in the same one.
 * Tokens are the pieces of a split, or a model's.
 *
 * Memory: that of spans.h, where a token is four bytes; four bytes a token
 * more, which are on disk past a sixteenth of `mem`; 8 to 12 a document; and
 * for pieces 24 to 48 bytes and up to twice their length for each different
 * one, of which there are 50,331,648 at most.
 */
#ifndef ASSAY_SPANS_TOKENS_H
#define ASSAY_SPANS_TOKENS_H

#include "spans/spans.h"

struct spantok;

/* least: tokens of the shortest window, 1 to 2^28. */
struct spantok *spantok_new(size_t least, size_t mem, int threads);
void spantok_free(struct spantok *t);	/* NULL is fine */

/*
 * The next document: end[0..n) are the ends of its tokens in the text (valid
 * UTF-8), of which the last is text.n.  id[0..n) are their ids, below 2^22;
 * equal ids have equal bytes.  SPANTOK_BYTES for an id, or id NULL: the token
 * is equal to those that have its bytes.
 */
#define SPANTOK_BYTES UINT32_MAX
int spantok_add(struct spantok *t, struct span text, const uint32_t *end,
		const uint32_t *id, size_t n, struct err *e);

/* As spans_find(); starts and ends are bytes of the texts. */
const struct text_span *spantok_find(struct spantok *t, size_t *n,
				     struct err *e);

/* As spans_find_later(). */
const struct text_span *spantok_find_later(struct spantok *t, size_t *n,
					   struct err *e);

int spantok_spilled(const struct spantok *t);	/* as spans_spilled() */

#endif
