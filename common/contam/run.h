/*
 * run.h - all documents, or all shards, against the benchmarks
 *
 * The pass (or, where grams in many documents are ignored, the two passes)
 * of contam13 over its input.  The second pass does not match again: the hits
 * of the first are kept in a spool, and only what they mean is worked out.
 * The result is the same for any number of threads.
 */
#ifndef ASSAY_RUN_H
#define ASSAY_RUN_H

#include "base/output.h"
#include "contam/match.h"
#include "record/doc.h"
#include "record/filter.h"
#include "record/shard.h"

enum ngram_action { NGRAM_DROP, NGRAM_CUT, NGRAM_LIST };

/* A text of the report past this is its two ends of half of it. */
enum { NGRAM_TEXT_MAX = 4096 };

struct ngram_run {
	struct ngram_bench *nb;
	enum ngram_action action;
	size_t window;		/* of NGRAM_CUT, in characters */
	int threads;
	/* Filled: */
	uint64_t docs_hit;	/* documents with a gram that counts */
	uint64_t pairs;		/* lines of the report: document and example */
	uint64_t docs, tokens;	/* of shards */
};

/* Documents to f; opts are those that f was opened with.  0 or -1. */
int ngram_run_docs(struct ngram_run *r, const char *const *files, size_t n,
		   const struct doc_opts *opts, struct filter *f,
		   struct err *e);

/*
 * Shards; report may be NULL.  A document is what stands between two bounds,
 * its BOS and EOS with it; in shards of windows a part of one.  Without
 * bounds all is one document, called "stream".  start and end count tokens.
 */
int ngram_run_shards(struct ngram_run *r, const struct shards *s,
		     struct output *report, struct err *e);

/* One line of the report, without its LF. */
void ngram_run_line(const struct ngram_bench *nb, struct span id,
		    const struct ngram_found *f, uint64_t base,
		    struct span text, struct buf *tmp, struct buf *out);

/* --- hits put aside from one pass to the next --- */

struct ngram_spool;
struct ngram_spool *ngram_spool_new(void);
void ngram_spool_free(struct ngram_spool *s);
/* The hits of document number doc (ascending), which has some. */
int ngram_spool_put(struct ngram_spool *s, uint64_t doc,
		    const struct ngram_hits *h, struct err *e);
/* The same again, in order: 1, or 0 when doc has none; -1. */
int ngram_spool_get(struct ngram_spool *s, uint64_t doc,
		    struct ngram_hits *h, struct err *e);

#endif
