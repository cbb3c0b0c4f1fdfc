/*
 * align.h - where in a text its tokens are
 *
 * What a tokenizer does to a text before the merges (cutting out added tokens,
 * normalization form C, U+2581 for a space, a space in front) is done once more
 * with the origin of each byte, so that places are exact for every tokenizer
 * that vocab.h loads.  Where normalization changed some characters, what became
 * of them has the place of all of them together.  A space that the tokenizer
 * puts in front has no place: it is empty.
 */
#ifndef ASSAY_ALIGN_H
#define ASSAY_ALIGN_H

#include "tokenizer/bpe.h"

/* Private to align.c. */
struct align_place {
	uint32_t start, end;	/* in the text */
};
struct align_layer {
	struct buf text;
	struct align_place *from;	/* [cap] of each byte of it */
	size_t cap;
};
struct align {
	const struct bpe *b;
	struct span text;
	const uint32_t *ids;
	size_t nids, n;			/* n: placed */
	struct align_place *at;		/* [nids] */
	struct align_layer one, two;
	struct buf tmp;
	struct split_scratch *split;
};

/*
 * Align ids[0..nids), all of text, of bpe_encode() or bpe_units() with b.  All
 * are borrowed until align_clear().
 * Memory: 8 bytes per token; while it is set up also 9 to 18 per byte of the
 * longest section without added tokens.
 */
void align_init(struct align *x, const struct bpe *b, struct span text,
		const uint32_t *ids, size_t nids);
void align_clear(struct align *x);

/*
 * Turn a range of tokens [*start, *end) into the range of bytes of the text
 * that they came from, widened to whole characters.  Time per token of it.
 */
void align_range(const struct align *x, uint32_t *start, uint32_t *end);

/*
 * The end in the text of each of ids[0..n), all of text: ascending, the last
 * is text.n.  A token without bytes of its own (a space put in front, the
 * second of a character that was decomposed) is dropped from ids.  An id
 * whose token differs from its bytes (U+2581 for a space apart) becomes
 * ALIGN_OTHER.  Returns the number of tokens left.  The usual case, where
 * every token spells its bytes, needs no memory.
 */
#define ALIGN_OTHER UINT32_MAX
size_t align_ends(const struct bpe *b, struct span text, uint32_t *ids,
		  size_t n, uint32_t *end);

#endif
