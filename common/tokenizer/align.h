/*
 * align.h - where in a text its tokens stand
 *
 * What a tokenizer does to a text before it cuts it, normalization form C,
 * U+2581 for a space and one put in front, is done once more with each byte's
 * origin kept, so that places are exact for every tokenizer that vocab.h
 * loads.  Where normalization changed some characters, what came of them
 * stands where they stand together.
 */
#ifndef ASSAY_ALIGN_H
#define ASSAY_ALIGN_H

#include "record/vocab.h"

/* Private to align.c. */
struct align {
	const struct vocab *v;
	struct span text;
	struct buf norm, tmp;
	struct align_origin *from;	/* of each byte of norm */
	size_t cap;
	size_t *at;	/* [tokens + 1], in norm */
};

/*
 * Align ids[0..nids), the whole of text, which is borrowed until
 * align_clear().  Memory: 8 bytes per token, 9 to 18 per byte of text.
 */
void align_init(struct align *x, const struct vocab *v, struct span text,
		const uint32_t *ids, size_t nids);
void align_clear(struct align *x);

/*
 * A range of tokens [*start, *end) becomes the range of bytes of the text that
 * they came from, widened to whole characters.
 */
void align_range(const struct align *x, uint32_t *start, uint32_t *end);

#endif
