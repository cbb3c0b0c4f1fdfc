/*
 * spans_tokens.h - long passages that occur earlier in a corpus, in tokens
 *
 * As spans.h, but a window is `least` tokens or more.  It begins and ends at
 * token boundaries that are character boundaries, and is a copy if the same
 * tokens occur in an earlier document, or wholly before it in the same one.
 * Tokens are the pieces of a split (pre-tokens), or those of a model.
 *
 * Memory: that of spans.h, where a token is four bytes; four more per token,
 * on disk past a sixteenth of `mem`; 8 to 16 per document; and for each
 * distinct piece 24 to 48, and up to twice its length if that is above 8.
 * There can be 50,331,648 distinct pieces.
 */
#ifndef ASSAY_SPANS_TOKENS_H
#define ASSAY_SPANS_TOKENS_H

#include "spans/spans.h"

/* To spans.h a token is a character of this many bytes. */
enum { SPANS_TOKEN_BYTES = 4 };

struct spans_tokens;

/* least: tokens of the shortest window, 1 to 2^28. */
struct spans_tokens *spans_tokens_new(size_t least, size_t mem, int threads);
void spans_tokens_free(struct spans_tokens *t);	/* NULL is fine */

/*
 * The next document: end[0..n) are the ends of its tokens in the text (valid
 * UTF-8), of which the last is text.n.  id[0..n) are their ids, below 2^22;
 * equal ids have equal bytes.  SPANS_TOKENS_BYTES for an id, or id NULL: the
 * token is equal to those that have its bytes.
 */
#define SPANS_TOKENS_BYTES UINT32_MAX
int spans_tokens_add(struct spans_tokens *t, struct span text,
		     const uint32_t *end, const uint32_t *id, size_t n,
		     struct err *e);

/* As spans_find(); starts and ends are bytes of the texts. */
const struct text_span *spans_tokens_find(struct spans_tokens *t, size_t *n,
				     struct err *e);

/* As spans_find_later(). */
const struct text_span *spans_tokens_find_later(struct spans_tokens *t,
						size_t *n, struct err *e);

int spans_tokens_spilled(const struct spans_tokens *t);	/* as spans_spilled() */

#endif
