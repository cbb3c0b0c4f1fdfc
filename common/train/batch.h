/*
 * batch.h - windows of token ids, as the model reads them
 */
#ifndef ASSAY_BATCH_H
#define ASSAY_BATCH_H

#include <stdint.h>

#include "base/err.h"
#include "record/shard.h"

struct batch {
	uint64_t step;
	int32_t *tok;		/* (B, T) */
	int32_t *target;	/* (B, T), -1: not counted */
	int32_t *start;		/* (B, T) first position of the document */
	int32_t *order;		/* (B, T) see batch_sort() */
	uint32_t windows, t;	/* B, T */
	uint32_t sorted;	/* windows of a micro-batch in order; 0: not
				   sorted */
};

struct batch_source {
	const struct shards *shards;
	uint32_t t;		/* tokens per window */
	int doc_mask;
	int64_t vocab;		/* an id at or above this is an error */
};

void batch_init(struct batch *b, uint32_t windows, uint32_t t);
void batch_clear(struct batch *b);

/*
 * Fill row `row` of b with window k.  An id out of range is an error that
 * names the window, the position, the id and the vocabulary.
 */
int batch_window(struct batch *b, uint32_t row, const struct batch_source *s,
		 uint64_t k, struct err *e);

/*
 * Make the order of embed_bwd (kernels.h) for micro-batches of `micro`
 * windows: the rows of each, from 0, sorted by token, stable.  O(B T).
 */
void batch_sort(struct batch *b, uint32_t micro);

#endif
