/*
 * order.h - which windows the batch of each step of a run has
 *
 * Sample number i (0-based over the whole run) is window
 * permute(seed, epoch = i / windows, i % windows).  It depends on its arguments
 * only, so it is the same for any number of ranks and any accumulation.
 *
 * A step of B windows has B consecutive samples.  A resume may change B, the
 * order or the shards, so the plan of a run is a list of parts, each valid from
 * its first step to that of the next part.  With another B a part continues at
 * the next sample.  Where the windows or their order change, no window is the
 * next one: a new pass begins.
 *
 * Checkpoints and resume lines of the log have the plan as a JSON array under
 * "batches", one object per part (ckpt.5).  A run without such a line has one
 * part, with the values of its config.json.
 */
#ifndef ASSAY_ORDER_H
#define ASSAY_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/shard.h"
#include "stream/json.h"

enum order_kind { ORDER_SHUFFLE, ORDER_SEQUENTIAL, ORDER_RANDOM };
/* "shuffle", "sequential", "random", NULL */
extern const char *const order_names[];

/* windows > 0 */
uint64_t order_window(enum order_kind kind, uint64_t seed, uint64_t windows,
		      uint64_t sample);

struct plan_part {
	uint64_t step;		/* the first one */
	uint64_t sample;	/* number of its first sample */
	uint64_t batch_size;	/* B: windows per step, all ranks together */
	enum order_kind order;
	uint64_t seed;
	uint32_t seq_len;	/* tokens per window */
	int doc_mask;
	enum shard_format format;
	int id_bytes;		/* index in shard_id_bytes_names */
	uint64_t windows;	/* of the shards; 0: not recorded */
	uint64_t hash;		/* shard_info.hash; 0: not recorded */
	char **data;		/* paths of the shards */
	size_t ndata;
};

struct plan {
	struct plan_part *v;
	size_t n, cap;
};

void plan_clear(struct plan *p);
void plan_part_clear(struct plan_part *p);

/* The part that step belongs to; p must not be empty. */
const struct plan_part *plan_at(const struct plan *p, uint64_t step);

/* The number of the first sample of a step of this part. */
uint64_t plan_sample(const struct plan_part *p, uint64_t step);

/* Window i < batch_size of the batch of a step of this part; windows > 0. */
uint64_t plan_window(const struct plan_part *p, uint64_t step, uint64_t i);

/*
 * From `step` on, batches are those of `now` (its step and sample are ignored).
 * Parts that begin at `step` or later go.  Older parts with the same shards get
 * their new paths.  Copies everything.
 */
void plan_continue(struct plan *p, uint64_t step, const struct plan_part *now);

/* Append the JSON array. */
void plan_json(const struct plan *p, struct buf *out);

/* Read such an array into an empty plan; where: for messages. */
int plan_read(struct plan *p, const struct json *array, const char *where,
	      struct err *e);

/*
 * Read one part, or a run's configuration, which has the same keys (absent:
 * step, sample, windows and hash are 0, format auto, order shuffle, doc_mask
 * on).
 */
int plan_part_read(struct plan_part *p, const struct json *object,
		   const char *where, struct err *e);

#endif
