/*
 * run_data.h - data and order of a training run, from its config.json
 *
 * record/order.h lists the keys.  With these, the shards and order_window()
 * give the batch of any step.
 */
#ifndef ASSAY_RUN_DATA_H
#define ASSAY_RUN_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/order.h"
#include "record/shard.h"

struct run_data {
	const char **paths;	/* shards */
	size_t npaths;
	char *tokenizer, *split;	/* NULL: none */
	enum shard_format format;
	enum order_kind order;
	uint64_t seed;
	uint32_t seq_len;
	uint64_t batch_size;	/* windows per step, all ranks together */
	uint64_t world_size;
	int doc_mask;
	int has_hash;		/* of the shards: shard_info.hash */
	uint64_t hash;
};

int run_data_load(struct run_data *r, const char *dir, struct err *e);
void run_data_clear(struct run_data *r);

#endif
