/*
 * plan.h - which windows the batch of each step of a run has
 *
 * A run takes samples in order, from number 0, and a step of B windows has B
 * of them.  order.h and mixture.h say which window a sample is.
 *
 * A resume may change B, the order or the shards, so the plan of a run is a
 * list of parts, each valid from its first step to that of the next part.  With
 * another B a part continues at the next sample.  Where the windows or their
 * order change, no window is the next one: a new pass begins.  A source of a
 * mixture continues at its next window whatever happens to the others.
 *
 * Checkpoints and resume lines of the log have the plan as a JSON array under
 * "batches", one object per part (ckpt.5).  A run without such a line has one
 * part, with the values of its config.json.
 */
#ifndef ASSAY_PLAN_H
#define ASSAY_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "order/mixture.h"
#include "record/shard.h"
#include "stream/json.h"

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
	uint64_t hash;		/* shard_info.hash, or that of the mixture;
				   0: not recorded */
	char **data;		/* paths of the shards */
	size_t ndata;
	struct mixture *mix;	/* each path is a source; NULL: together they
				   are one set of shards */
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

/*
 * Window i < batch_size of the batch of a step of this part; windows > 0.
 * *source gets its source, 0 without a mixture.
 */
uint64_t plan_window(const struct plan_part *p, uint64_t step, uint64_t i,
		     size_t *source);

/*
 * From `step` on, batches are those of `now` (its step and sample are ignored).
 * Parts that begin at `step` or later go.  Older parts with the same shards get
 * their new paths.  Copies everything.
 */
void plan_continue(struct plan *p, uint64_t step, const struct plan_part *now);

/* Append the member that only the object of a mixture has, and `before`. */
void plan_part_mixture(const struct plan_part *p, const char *before,
		       struct buf *out);

/* Append the JSON array. */
void plan_json(const struct plan *p, struct buf *out);

/* Read such an array into an empty plan; where: for messages. */
int plan_read(struct plan *p, const struct json *array, const char *where,
	      struct err *e);

/*
 * Read one part, or a run's configuration, which has the same keys (absent:
 * step, sample, windows and hash are 0, format auto, order shuffle, doc_mask
 * on) and paths with their weights.
 */
int plan_part_read(struct plan_part *p, const struct json *object,
		   const char *where, struct err *e);

#endif
