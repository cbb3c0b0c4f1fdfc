/*
 * rare_counts.h - how often each id occurs in shards, and in which documents
 *
 * Padding is not counted.  Where stored windows split a document, every token
 * of it is counted once (each part repeats the last token of the part before),
 * and docs and top count its parts as documents.
 */
#ifndef ASSAY_RARE_COUNTS_H
#define ASSAY_RARE_COUNTS_H

#include <stdint.h>

#include "base/err.h"
#include "rare/rare.h"
#include "record/shard.h"

struct rare_count {
	uint64_t count;
	uint64_t docs;		/* it occurs in; 0 without boundaries */
	uint64_t top;		/* the greatest count in one document */
	uint64_t top_doc;	/* the first document with that count */
};

struct rare_counts {
	struct rare_count *v;	/* [n] */
	uint32_t n;
	int64_t bos, eos;	/* around documents; -1: none */
	uint64_t tokens;	/* of text: without those two */
	uint64_t boundary;	/* those two */
	uint64_t docs;		/* 0: the shards have no boundaries */
	const struct shards *shards;	/* for the ids of documents */
};

/*
 * Count all of s, whose ids must be below n.  The same result for any number
 * of threads; each takes 40 n bytes.  -1: an id out of range, a broken shard.
 */
int rare_counts_get(struct rare_counts *c, const struct shards *s, uint32_t n,
		    int64_t bos, int64_t eos, int threads, struct err *e);
void rare_counts_clear(struct rare_counts *c);

/*
 * Add the counts to r: swallowed_by, the most frequent of the tokens that a
 * merge makes of an id; RARE_STEP, if that token or one made of it in turn
 * occurs rare_below times; RARE_RARE.  An id that occurs in the shards is no
 * longer known to be unused, unless it is RARE_GIVEN.
 */
void rare_counts_join(const struct rare_counts *c, struct rare *r,
		      uint64_t rare_below);

#endif
