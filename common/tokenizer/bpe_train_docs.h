/*
 * bpe_train_docs.h - documents in, counted pre-tokens out
 *
 * The first phase of training: read JSON Lines (record/doc.h), choose
 * documents, split each one as a whole (tokenizer/split.h), count the
 * pre-tokens.
 *
 * Which documents are chosen depends on their texts alone, never on their
 * order: a hash of the text gives each a number in [0, 1).  frac keeps those
 * below it, max_docs the smallest of these.  Equal texts are kept or dropped
 * together under frac; under max_docs they count one by one.
 */
#ifndef ASSAY_BPE_TRAIN_DOCS_H
#define ASSAY_BPE_TRAIN_DOCS_H

#include <stddef.h>
#include <stdint.h>

#include "record/doc.h"
#include "tokenizer/pretokens.h"
#include "tokenizer/split.h"

struct bpe_train_docs {
	const char *const *paths;	/* n 0: stdin */
	size_t npaths;
	const struct doc_opts *doc;	/* extra_key: NULL, or the key of each
					   text's weight */
	const struct split *split;
	double frac;			/* (0, 1] */
	uint64_t max_docs;		/* 0: all; else their texts are kept in
					   memory until the input ends */
	uint64_t mem;			/* limit for counts and kept texts */
	int threads;
};

/*
 * Count.  In stats, kept is what was counted and dropped what the choice
 * excluded.  A line whose weight is missing or not an integer in 0..2^63-1 is
 * a bad line.  Shows progress.  NULL: error.
 */
struct pretokens *bpe_train_docs_count(const struct bpe_train_docs *o,
				       struct doc_stats *stats, struct err *e);

#endif
