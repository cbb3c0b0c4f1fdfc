/*
 * rare_count.h - how often each id stands in shards, and in which documents
 *
 * Padding is not counted, and of a document that stored windows cut into
 * pieces every token once (pieces repeat the last one of the piece before).
 * Where windows were stored, a piece stands for a document in docs and top.
 */
#ifndef ASSAY_RARE_COUNT_H
#define ASSAY_RARE_COUNT_H

#include <stdint.h>

#include "base/err.h"
#include "record/shard.h"

struct rare_count {
	uint64_t count;
	uint64_t docs;		/* it occurs in; 0 without bounds */
	uint64_t top;		/* its count in the record with most of it */
	uint64_t top_doc;	/* number of that record, the first of equals */
};

struct rare_counts {
	struct rare_count *v;	/* [n] */
	uint32_t n;
	int64_t bos, eos;	/* put around documents; -1: none */
	uint64_t tokens;	/* of text: without those two */
	uint64_t boundary;	/* those two */
	uint64_t docs;		/* 0: the shards know no bounds */
	const struct shards *shards;	/* for names of documents */
};

/*
 * Count all of s, whose ids must be below n.  The same result for any number
 * of threads; each takes 40 n bytes.  -1: an id out of range, a broken shard.
 */
int rare_counts_get(struct rare_counts *c, const struct shards *s, uint32_t n,
		    int64_t bos, int64_t eos, int threads, struct err *e);
void rare_counts_clear(struct rare_counts *c);

#endif
