/*
 * bpe_added_priv.h - added tokens, cut out of a text before it is split
 *
 * As tokenizers does: the leftmost match wins, of these the longest.  A special
 * token is matched too, so that no other matches inside it, but stays text; so
 * does one with single_word between letters.  lstrip and rstrip take the white
 * space around a token with it.
 */
#ifndef ASSAY_BPE_ADDED_PRIV_H
#define ASSAY_BPE_ADDED_PRIV_H

#include "record/vocab.h"

struct bpe_added;

/*
 * Those that are matched before normalization, or those after it, as
 * normalization changes them.  NULL: none of them is ever cut out.
 */
struct bpe_added *bpe_added_new(const struct vocab *v, int normalized);
void bpe_added_free(struct bpe_added *a);	/* NULL is fine */

/* A token in a text; all zero before the first one. */
struct bpe_added_cut {
	uint32_t id;
	size_t start, stop;	/* with what it strips; start may be before
				   the stop of the token before it */
	size_t next;		/* where the search continues */
};

/* The next token in t.  Returns 0 if there is none. */
int bpe_added_next(const struct bpe_added *a, struct span t,
		   struct bpe_added_cut *c);

/* Is a letter, mark, digit or the like next to t[start..stop)? */
int bpe_added_in_word(struct span t, size_t start, size_t stop);

#endif
