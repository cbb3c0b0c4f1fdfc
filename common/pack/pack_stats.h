/*
 * pack_stats.h - what pack says it did
 *
 * The keys and what they mean stand in pack.1.
 */
#ifndef ASSAY_PACK_STATS_H
#define ASSAY_PACK_STATS_H

#include <stdint.h>

#include "base/buf.h"
#include "pack/pack_job.h"

struct packsum {
	const struct packjob *job;	/* done */
	uint32_t seq_len, batch;	/* as in struct packer_opts */
	uint32_t vocab;
	uint64_t fingerprint;
};

/* One JSON object and a line end; lines for a person. */
void packsum_json(const struct packsum *s, struct buf *b);
void packsum_text(const struct packsum *s, struct buf *b);

#endif
