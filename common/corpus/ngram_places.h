/*
 * ngram_places.h - where in a text its tokens stand
 *
 * What a tokenizer does to a text before it cuts it, normalization form C,
 * U+2581 for a space and one put in front, is done once more with each byte's
 * origin kept, so that places are exact for every tokenizer that vocab.h
 * loads.  Where normalization changed some characters, what came of them
 * stands where they stand together.
 */
#ifndef ASSAY_NGRAM_PLACES_H
#define ASSAY_NGRAM_PLACES_H

#include "corpus/ngram.h"
#include "record/vocab.h"

/*
 * Places of h[0..n), which count tokens of ids[0..nids), the whole of text,
 * become bytes of text, widened to whole characters.  Memory: 8 bytes a token
 * and 9 to 18 a byte of text, while it works.
 */
void ngram_places(const struct vocab *v, struct span text,
		  const uint32_t *ids, size_t nids, struct ngram_hit *h,
		  size_t n);

#endif
