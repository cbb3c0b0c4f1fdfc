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

struct spans_tokens;

/* least: tokens of the shortest window, 1 to 2^28. */
struct spans_tokens *spans_tokens_new(size_t least, size_t mem, int threads);
void spans_tokens_free(struct spans_tokens *t);	/* NULL is fine */

/*
 * The next document: end[0..n) are the ends of its tokens in the text (valid
 * UTF-8), of which the last is text.n.  id[0..n) are their ids, below 2^22;
 * equal ids have equal bytes.  SPANS_TOKENS_BYTES for an id, or id NULL: the token
 * is equal to those that have its bytes.
 */
#define SPANS_TOKENS_BYTES UINT32_MAX
int spans_tokens_add(struct spans_tokens *t, struct span text,
		     const uint32_t *end, const uint32_t *id, size_t n,
		     struct err *e);

/* As spans_find(); starts and ends are bytes of the texts. */
const struct text_span *spans_tokens_find(struct spans_tokens *t, size_t *n,
				     struct err *e);

/* As spans_find_later(). */
const struct text_span *spans_tokens_find_later(struct spans_tokens *t, size_t *n,
					   struct err *e);

int spans_tokens_spilled(const struct spans_tokens *t);	/* as spans_spilled() */

#endif
