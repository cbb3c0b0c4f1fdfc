/*
 * run_data.h - data and order of a training run, from its folder
 *
 * config.json has the shards and the order; "tokenizer" is an absolute path or
 * null, "world_size" the number of ranks (absent: 1), the other keys are those
 * of order/plan.h.  The log has the last step and, if the run was resumed,
 * the batches of earlier steps.  With these and the shards, plan_window() gives
 * the batch of any step; of W ranks, rank r has windows [r*B/W, (r+1)*B/W) of
 * it.
 */
#ifndef ASSAY_RUN_DATA_H
#define ASSAY_RUN_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "order/plan.h"

struct run_data {
	struct plan plan;
	int64_t last_step;	/* in the log; -1: none */
	char *tokenizer, *split;	/* NULL: none */
	uint64_t world_size;
};

int run_data_load(struct run_data *r, const char *dir, struct err *e);
void run_data_clear(struct run_data *r);

#endif
