/*
 * loader.h - the batch of each step, read ahead by a thread
 *
 * The batch of step s has windows 0 .. B-1 of plan_window(), in that order.  A
 * thread fills and sorts the next batch while the device computes.  There are
 * two batches, so the result of loader_next() stays valid until the second
 * call after it: longer than one step, so all uploads from it have finished.
 */
#ifndef ASSAY_LOADER_H
#define ASSAY_LOADER_H

#include "order/plan.h"
#include "train/batch.h"

struct loader_conf {
	struct batch_source source;	/* .shards is not used, but ... */
	struct shards *const *shards;	/* ... these: borrowed, by source */
	const struct plan_part *part;	/* borrowed; that of every step */
	uint32_t micro_batch;	/* windows; for batch_sort() */
};

struct loader;

/* step: the first one to load. */
struct loader *loader_new(const struct loader_conf *c, uint64_t step);
void loader_free(struct loader *l);		/* NULL is fine */

/*
 * The batch of the next step; *wait_s gets the seconds spent waiting for it.
 * NULL: error.
 */
const struct batch *loader_next(struct loader *l, double *wait_s,
				struct err *e);

#endif
