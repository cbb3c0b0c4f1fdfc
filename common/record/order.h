/*
 * order.h - which window each sample of a run is, and so each step
 *
 * Sample number i (0-based over the whole run) is window
 * permute(seed, epoch = i / windows, i % windows); a step's global batch of
 * B windows is samples step*B .. step*B+B-1.  It depends on its arguments
 * only, so it is the same for any number of ranks and any accumulation, and a
 * resume needs only the step number.  Of W ranks, rank r has samples
 * [r*B/W, (r+1)*B/W) of the batch.  lm-train and decode-batch both call this.
 *
 * decode-batch --run reads from run/config.json: "data" (array of absolute
 * paths), "shard_format" (name, absent: auto), "tokenizer" (absolute path or
 * null), "seq_len", "batch_size" (windows per step, all ranks together),
 * "seed", "order" ("shuffle", "sequential", "random"), "doc_mask" (boolean),
 * "world_size" (absent: 1), "data_hash" (info->hash of the shards, 16 hex
 * digits as a string).
 */
#ifndef ASSAY_ORDER_H
#define ASSAY_ORDER_H

#include <stddef.h>
#include <stdint.h>

enum order_kind { ORDER_SHUFFLE, ORDER_SEQUENTIAL, ORDER_RANDOM };
/* "shuffle", "sequential", "random", NULL */
extern const char *const order_names[];

/* windows > 0 */
uint64_t order_window(enum order_kind kind, uint64_t seed, uint64_t windows,
		      uint64_t sample);

#endif
