/*
 * loader.h - the batch of each step, read ahead by a thread
 *
 * The batch of step s are the windows of samples s*B .. s*B+B-1 of order.h,
 * in that order.  A thread fills the batch after the current one while the
 * device works; two batches exist, so what loader_next() returned stays valid
 * until the second call after it: longer than one step, hence until its
 * uploads are done.
 */
#ifndef ASSAY_LOADER_H
#define ASSAY_LOADER_H

#include <stdint.h>

#include "base/err.h"
#include "record/order.h"
#include "record/shard.h"

struct loader_conf {
	const struct shards *shards;
	uint32_t t;		/* tokens a window */
	uint32_t b;		/* windows a step */
	enum order_kind order;
	uint64_t seed;
	int doc_mask;
	int64_t vocab;		/* an id at or above it is an error */
};

struct batch {
	uint64_t step;
	int32_t *tok;		/* (B, T) */
	int32_t *target;	/* (B, T), -1: does not count */
	int32_t *start;		/* (B, T) first row of the document */
	int64_t targets;	/* how many count */
};

void batch_init(struct batch *b, uint32_t windows, uint32_t t);
void batch_clear(struct batch *b);

/*
 * Fill rows of row-th window of b with window k of the shards.  An id out of
 * range is an error that names window, position, id and vocabulary.
 */
int batch_window(struct batch *b, uint32_t row, const struct loader_conf *c,
		 uint64_t k, struct err *e);

struct loader;

/* step: the first one wanted. */
struct loader *loader_new(const struct loader_conf *c, uint64_t step);
void loader_free(struct loader *l);

/*
 * The batch of the next step; *wait_s gets the seconds spent waiting for it.
 * NULL: error.
 */
const struct batch *loader_next(struct loader *l, double *wait_s,
				struct err *e);

#endif
