/*
 * train_docs.h - documents in, counted pieces out
 *
 * The first phase of training: reads JSON Lines (record/doc.h), chooses
 * documents, cuts each one as a whole (tokenizer/split.h; its end is the end of
 * the text for the pattern) and counts the pieces in one inventory a thread.
 *
 * A choice of documents depends on their texts alone, never on their order:
 * a hash of the text gives each a number in [0, 1); frac keeps those below
 * it, max_docs the smallest of these.  Equal texts share their fate under
 * frac; under max_docs they count one by one.
 */
#ifndef ASSAY_TRAIN_DOCS_H
#define ASSAY_TRAIN_DOCS_H

#include <stddef.h>
#include <stdint.h>

#include "tokenizer/train.h"
#include "tokenizer/split.h"
#include "record/doc.h"

struct bpetrain_docs {
	const char *const *paths;	/* n 0: stdin */
	size_t npaths;
	const struct doc_opts *doc;	/* extra_key: a text counts as often as
					   the whole number there says, or NULL */
	const struct split *split;
	double frac;			/* (0, 1] */
	uint64_t max_docs;		/* 0: all; else their texts are kept in
					   memory until the input ends */
	uint64_t mem;			/* bound on inventories and kept texts */
	int threads;
};

/*
 * Count.  stats gets the books: kept is what was counted, dropped what the
 * choice left out.  A weight that is missing or no whole number in
 * 0..2^63-1 makes its line a bad one.  Shows progress.  NULL: error.
 */
struct pieces *bpetrain_count(const struct bpetrain_docs *o,
			      struct doc_stats *stats, struct err *e);

#endif
