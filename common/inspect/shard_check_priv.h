/*
 * shard_check_priv.h - shared by shard_check*.c
 *
 * shard_check.c counts in one pass, shard_check_find.c turns the counts into
 * findings, shard_check_report.c names and prints them.  To add a check: a
 * value of enum shard_check and its name, a counter in struct work, record() or
 * chunk() that counts, work_sum() that adds up the threads, a function that
 * makes the finding; then decode-batch(1) and a test.
 */
#ifndef ASSAY_SHARD_CHECK_PRIV_H
#define ASSAY_SHARD_CHECK_PRIV_H

#include "inspect/shard_check.h"

enum { LENGTHS = 256 };		/* four for each doubling */

/* How often, and the first place: a token of a record. */
struct seen {
	uint64_t count, record, token;
};

struct work {
	uint64_t from, to;		/* records; tokens if there are none */
	struct seen ids, replaced, mojibake, repeat;
	uint64_t longest;		/* repeat */
	uint32_t repeated, bad_id;
	uint64_t begins, ends;		/* records that should have them */
	struct seen no_bos, no_eos, inside;
	uint64_t docs, longer;		/* documents; those longer than T */
	struct seen first_closed;
	uint64_t largest;
	struct seen largest_at;
	uint64_t lengths[LENGTHS];	/* documents by length_class() */
};

struct checker {
	const struct shards *s;
	const struct shard_info *info;
	const struct shard_check_opts *o;
	uint8_t *class;			/* [vocab->n] */
	uint32_t vocab;			/* ids are below it; 0: unknown */
	int64_t bos, eos;
	uint64_t next;			/* record or token */
	struct work sum;
};

static inline void
see(struct seen *s, uint64_t count, uint64_t record, uint64_t token)
{
	if (count && s->count == 0) {
		s->record = record;
		s->token = token;
	}
	s->count += count;
}

/* shard_check_find.c: from the sums to the report; -1: error. */
int shard_check_find(const struct checker *c, struct shard_check_report *r,
		     struct err *e);

#endif
