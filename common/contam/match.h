/*
 * match.h - the n-grams of benchmarks that occur in a document
 *
 * One struct match per thread; the index is shared.
 */
#ifndef ASSAY_MATCH_H
#define ASSAY_MATCH_H

#include "contam/benchmark_index.h"

struct match;
struct match *match_new(const struct benchmark_index *x);
void match_free(struct match *m);	/* NULL is fine */

/*
 * Append the hits of a text; start and end are bytes of it.  With a tokenizer
 * the hits of its tokens, widened to whole characters (tokenizer/align.h).
 * -1: it cannot be tokenized.
 */
int match_text(struct match *m, struct span text, struct ngram_hits *out,
	       struct err *e);

/* The same for token ids; start and end count tokens. */
void match_ids(struct match *m, const uint32_t *ids, size_t n,
	       struct ngram_hits *out);

#endif
