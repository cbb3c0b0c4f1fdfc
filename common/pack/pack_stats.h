/*
 * pack_stats.h - the summary of pack
 *
 * The keys are described in pack(1).
 */
#ifndef ASSAY_PACK_STATS_H
#define ASSAY_PACK_STATS_H

#include <stdint.h>

#include "base/buf.h"
#include "pack/pack_job.h"

struct pack_stats {
	const struct pack_job *job;	/* complete */
	uint32_t seq_len, batch;	/* as in struct packer_opts */
	uint32_t vocab;
	uint64_t fingerprint;
	uint64_t identity;		/* of the two sets; 0: none */
};

/* One JSON object and LF; the summary as text. */
void pack_stats_json(const struct pack_stats *s, struct buf *b);
void pack_stats_text(const struct pack_stats *s, struct buf *b);

#endif
