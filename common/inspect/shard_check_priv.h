/*
 * shard_check_priv.h - shared by shard_check*.c
 *
 * shard_check.c counts in one pass, shard_check_find.c turns the counts into
 * findings, shard_check_report.c names and prints them, shard_check_list.c
 * reads the records with findings again and prints each place.  To add a check:
 * a value of enum shard_check and its name, a counter in struct work, record()
 * or chunk() that counts, work_sum() that adds up the threads, a function that
 * makes the finding; then decode-batch(1) and a test.
 */
#ifndef ASSAY_SHARD_CHECK_PRIV_H
#define ASSAY_SHARD_CHECK_PRIV_H

#include "inspect/shard_check.h"

enum {
	LENGTHS = 256,			/* four for each doubling */
	CHECK_CHUNK = 1 << 14,		/* ids that are read at once */
	CHECK_SPECIAL = 2,		/* class: no text */
	UNIT_RECORDS = 16,		/* remembered of each kind in a unit */
	ALL_RECORDS = 1 << 16		/* and in all of them */
};

enum hit {			/* what has a place */
	HIT_IDS, HIT_REPLACED, HIT_MOJIBAKE, HIT_REPEAT, HIT_NO_BOS, HIT_NO_EOS,
	HIT_INSIDE, HIT_CLOSED, HIT_N
};

/* How often, and the first place: a token of a record. */
struct seen {
	uint64_t count, record, token;
};

/* Called for each place in the second pass. */
struct check_list {
	void (*hit)(struct check_list *l, enum hit k, uint64_t token);
	void (*text)(void *list, int replaced, uint64_t at);
};

struct work {
	uint64_t from, to;		/* records; tokens if there are none */
	struct seen seen[HIT_N];
	uint64_t record[HIT_N][UNIT_RECORDS];	/* with hits of each kind */
	size_t nrecord[HIT_N];		/* > UNIT_RECORDS: there are more */
	struct check_list *list;	/* NULL in the first pass */
	uint64_t longest;		/* repeat */
	uint32_t repeated, bad_id;
	uint64_t begins, ends;		/* records that should have them */
	uint64_t docs, longer;		/* documents; those longer than T */
	uint64_t largest;
	struct seen largest_at;
	uint64_t lengths[LENGTHS];	/* documents by length_class() */
};

/* Records, or tokens if there are none, with hits. */
struct unit {
	uint64_t from, to;
	unsigned hits;			/* bits of enum hit */
	unsigned whole;			/* of these, some records unknown */
};

/* Ascending. */
struct records {
	uint64_t *v;
	size_t n, cap;
};

struct checker {
	const struct shards *s;
	const struct shard_info *info;
	struct shard_check_opts o;
	uint8_t *class;			/* [vocab->n] */
	uint32_t vocab;			/* ids are below it; 0: unknown */
	int64_t bos, eos;
	uint64_t next;			/* record or token */
	struct work sum;
	struct unit *unit;
	size_t nunit, unit_cap;
	struct records hits[HIT_N];	/* of units, except whole ones */
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

/* Records come in order, so equal ones one after another. */
static inline void
note_record(struct work *w, enum hit k, uint64_t record)
{
	size_t n = w->nrecord[k];

	if (n > UNIT_RECORDS || (n && w->record[k][n - 1] == record))
		return;
	if (n < UNIT_RECORDS)
		w->record[k][n] = record;
	w->nrecord[k]++;
}

/* Add to the counts of w; in the second pass its list gets each place. */
static inline void
hit(struct work *w, enum hit k, uint64_t count, uint64_t record,
    uint64_t token)
{
	if (!count)
		return;
	see(&w->seen[k], count, record, token);
	if (!w->list)
		note_record(w, k, record);
	else if (k != HIT_REPLACED && k != HIT_MOJIBAKE)
		w->list->hit(w->list, k, token);
}

/* Check a record, or those of w; ids[CHECK_CHUNK] is scratch. */
int shard_check_record(const struct checker *c, struct work *w, uint64_t k,
		       uint32_t *ids, struct err *e);
int shard_check_unit(const struct checker *c, struct work *w, uint32_t *ids,
		     struct err *e);

extern const char *const check_names[CHECK_N];

/*
 * shard_check_list.c: the token at which the first U+FFFD or mojibake begins;
 * the first pass has the one at which it ends.
 */
void shard_check_first(const struct checker *c, enum hit k, uint64_t *token,
		       struct err *e);

/* shard_check_find.c: from the sums to the report; -1: error. */
int shard_check_find(const struct checker *c, struct shard_check_report *r,
		     struct err *e);

#endif
