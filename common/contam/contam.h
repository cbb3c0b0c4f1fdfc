/*
 * contam.h - the job of contam13
 *
 * Benchmarks become an index of n-grams (benchmark_index.h), which documents
 * or shards are searched for (match.h).  Hits decide which examples are dirty
 * (tally.h) and what becomes of a document (cut.h, record/filter.h).
 *
 * Memory: that of the index, and for each thread a block of documents with its
 * words.
 */
#ifndef ASSAY_CONTAM_H
#define ASSAY_CONTAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/args.h"
#include "base/err.h"
#include "record/filter.h"

/* What becomes of a document with a hit. */
enum contam_action { CONTAM_DROP, CONTAM_CUT, CONTAM_LIST };

struct contam_opts {
	struct filter_opts filter;
	struct arg_list against;	/* benchmarks: files and folders */
	const char *fields;	/* of their examples, or NULL */
	unsigned n;		/* 0: by benchmark (benchmark_auto_n()) */
	int64_t max_df;		/* ignore n-grams in more documents; 0: none */
	int tokens;		/* n-grams of tokens, not of words */
	const char *tokenizer, *split;
	int shards;		/* the input is shards, ... */
	int shard_format;	/* ... enum shard_format */
	int id_bytes;		/* ... as in struct shard_hint */
	int64_t eot;		/* ... id between documents if they do not name
				   one; -1: the tokenizer's EOS */
	enum contam_action action;
	int64_t window;		/* of CONTAM_CUT, in characters */
	const char *table, *scores, *subsets;	/* files, folder, or NULL */
	int json;		/* the table as JSON Lines */
	int threads, quiet, verbose;
};

/* A folder, or a file that is a shard by its first bytes or its name. */
int contam_is_shard(const char *path);

/*
 * n == 0 is standard input.  Returns EXIT_OK, EXIT_ANSWER (filter.check is
 * set and there was a hit), or -1.
 */
int contam_run(const struct contam_opts *o, const char *const *files,
	       size_t n, struct err *e);

#endif
