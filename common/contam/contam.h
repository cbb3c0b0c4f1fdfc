/*
 * contam.h - the job of contam13
 *
 * Benchmarks become an index (match.h), documents or shards pass by it
 * once, or twice with max_df (run.h); what is left goes on through
 * record/filter.h, and report.h says what was found.
 *
 * Memory: that of match.h, and of each thread a block of documents with
 * its words.
 */
#ifndef ASSAY_CONTAM_H
#define ASSAY_CONTAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/args.h"
#include "contam/run.h"
#include "record/filter.h"

struct contam_opts {
	struct filter_opts filter;
	struct arg_list against;
	const char *fields;	/* --bench-fields, or NULL */
	unsigned n;		/* 0: by benchmark, as the paper has it */
	int64_t max_df;		/* 0: none is ignored */
	int tokens;
	const char *tokenizer, *split;
	int shards;		/* the input is shards, ... */
	int shard_format;	/* ... enum shard_format */
	int64_t eot;		/* ... id between documents where they name
				   none; -1: the tokenizer's EOS */
	enum ngram_action action;
	int64_t window;		/* of NGRAM_CUT, in characters */
	const char *table, *scores, *subsets;	/* files, folder, or NULL */
	int json;		/* the table */
};

/* A folder, or a file that begins as one of ours or is named as another's. */
int contam_is_shard(const char *path);

/*
 * All of it: n == 0 is standard input.  Returns EXIT_OK, EXIT_ANSWER (--check,
 * and something was found), or -1.
 */
int contam_run(const struct contam_opts *o, const char *const *files,
	       size_t n, struct err *e);

#endif
