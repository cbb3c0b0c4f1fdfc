/*
 * shard_check.h - faults in packed tokens, before a model learns them
 *
 * One parallel pass over every document of a stream; the findings do not
 * depend on the number of threads.  All checksums are verified too.  Damage
 * is an error, not a finding.
 */
#ifndef ASSAY_SHARD_CHECK_H
#define ASSAY_SHARD_CHECK_H

#include "order/plan.h"
#include "record/shard.h"
#include "record/vocab.h"
#include "stream/output.h"

enum shard_check {
	CHECK_TOKENIZER,	/* not the one that the shard was packed with */
	CHECK_IDS,		/* ids without a token */
	CHECK_REPLACED,		/* U+FFFD, or bytes that are not UTF-8 */
	CHECK_MOJIBAKE,		/* UTF-8 read as Latin-1 */
	CHECK_BOUNDS,		/* windows without a document boundary although
				   documents are short; or none known at all */
	CHECK_SEPARATORS,	/* BOS or EOS missing, or inside a document */
	CHECK_REPEAT,		/* a long run of one token */
	CHECK_BATCH,		/* one document fills a batch */
	CHECK_N
};

struct shard_check_opts {
	const struct vocab *vocab;	/* NULL: only checks of ids */
	uint32_t T;			/* 0: no checks of windows */
	struct plan_part batches;	/* of a pass, from its first step on */
	double doc_frac;		/* of a batch: one document fills it */
	uint64_t max_repeat;		/* longest accepted run of one token */
	double max_rate;		/* accepted replaced characters and
					   mojibake, per token */
	int threads;
};
void shard_check_opts_init(struct shard_check_opts *o);

struct shard_check_found {
	uint64_t count, of;	/* count 0: nothing found */
	const char *unit;	/* of what: "tokens", "documents", "windows" */
	struct buf what;	/* a message */
	struct buf where;	/* id of the first document, if any ... */
	uint64_t token;		/* ... and the token in it */
};

/* A batch that one document fills: at this step, from this token on. */
struct shard_check_batch {
	uint64_t record, token, step;
};

struct shard_check_report {
	struct shard_check_found v[CHECK_N];
	uint64_t tokens, docs, windows;
	/* private */
	struct checker *c;
	unsigned listed;	/* what has places to list */
	struct shard_check_batch *batch;
	size_t nbatch, batch_cap;
};

/* s and o->vocab are borrowed until shard_check_report_clear(). */
int shard_check_run(const struct shards *s, const struct shard_check_opts *o,
		    struct shard_check_report *r, struct err *e);
/*
 * Append the findings: a table with a heading, in columns if wide, else with
 * tabs; or JSON Lines; nothing if there are none.  Returns their number.
 */
int shard_check_report_put(const struct shard_check_report *r, int json,
			   int wide, struct buf *out);
/*
 * Write where each was found, up to max places of each check, in the order of
 * the stream (batches last): a table after an empty line, or JSON Lines.  The
 * units with findings are read again.  Memory: 24 bytes for each place in one
 * document.
 */
struct shard_check_listing {
	struct output *out;
	int json, wide;
	uint64_t max;
};
int shard_check_list(const struct shard_check_report *r,
		     const struct shard_check_listing *l, struct err *e);
void shard_check_report_clear(struct shard_check_report *r);

#endif
