/*
 * shard_check.h - what is wrong with packed tokens, before a model learns it
 *
 * One pass over every document of a stream, in parallel; the findings do not
 * depend on the number of threads.  Damage (a checksum) is an error, not a
 * finding.
 */
#ifndef ASSAY_SHARD_CHECK_H
#define ASSAY_SHARD_CHECK_H

#include "record/order.h"
#include "record/shard.h"
#include "record/vocab.h"

enum shard_check {
	CHECK_TOKENIZER,	/* another one than the shard was packed with */
	CHECK_IDS,		/* ids without a token */
	CHECK_REPLACED,		/* U+FFFD, or bytes that are no UTF-8 */
	CHECK_MOJIBAKE,		/* UTF-8 that was read as Latin-1 */
	CHECK_BOUNDS,		/* windows without a bound where documents are
				   short, or no bounds known at all */
	CHECK_SEPARATORS,	/* BOS or EOS missing at bounds, or inside */
	CHECK_REPEAT,		/* one token again and again */
	CHECK_BATCH,		/* one document fills a batch */
	CHECK_N
};

struct check_opts {
	const struct vocab *vocab;	/* NULL: only what ids show */
	uint32_t T;			/* 0: no checks of windows */
	uint64_t batch;			/* windows a batch */
	enum order_kind order;		/* ... taken in this order */
	uint64_t seed;
	double doc_share;		/* of a batch: this much is filled */
	uint64_t max_repeat;		/* the same token this often is fine */
	double max_rate;		/* replaced, mojibake: this many a token
					   are fine */
	int threads;
};
void check_opts_init(struct check_opts *o);

struct check_found {
	uint64_t count, of;	/* count 0: nothing found */
	const char *unit;	/* of what: "tokens", "documents", "windows" */
	struct buf what;	/* a sentence */
	struct buf where;	/* id of the first document, if any */
	uint64_t token;		/* in it */
};

struct check_report {
	struct check_found v[CHECK_N];
	uint64_t tokens, docs, windows;
};

int check_run(const struct shards *s, const struct check_opts *o,
	      struct check_report *r, struct err *e);
/*
 * Append what was found: a table with a heading, in columns when wide, else
 * with tabs; or JSON Lines; nothing when nothing was.  Returns the number of findings.
 */
int check_report_put(const struct check_report *r, int json, int wide,
		     struct buf *out);
void check_report_clear(struct check_report *r);

#endif
