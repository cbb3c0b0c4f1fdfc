/*
 * tally.h - which examples are dirty, and in how many documents an n-gram is
 *
 * Turns the hits of one document after another into examples, after Brown et
 * al. 2020 ("Language Models are Few-Shot Learners"), appendix C.  One thread,
 * documents in input order.
 *
 * With max_df > 0 there are two passes: tally_count() for every document, then
 * tally_judge() for every document.
 */
#ifndef ASSAY_TALLY_H
#define ASSAY_TALLY_H

#include "contam/benchmark_index.h"

struct tally {
	struct benchmark_index *x;
	uint64_t max_df;	/* ignore n-grams in more documents; 0: none */
	uint32_t *df;		/* [position] documents with that n-gram, or
				   NULL */
	uint8_t *met;		/* [position] the examples with that n-gram
				   are dirty */
	struct ngram_hit *tmp;
	size_t tmpcap;
};

void tally_init(struct tally *t, struct benchmark_index *x, uint64_t max_df);
void tally_clear(struct tally *t);

/* Count a document's n-grams, each once. */
void tally_count(struct tally *t, const struct ngram_hits *h);

/* An example that shares n-grams with a document. */
struct tally_match {
	size_t ex;		/* in x->b.ex */
	uint32_t start, end;	/* from the first to the last shared n-gram */
	uint64_t grams;		/* positions in the document with one of them */
};
struct tally_matches {
	struct tally_match *v;
	size_t n, cap;
};

/*
 * Remove hits of ignored n-grams from h, sort the others by start, and mark
 * their examples as dirty.  out (may be NULL) is set to these examples, by
 * start, then in the order of the benchmarks.
 */
void tally_judge(struct tally *t, struct ngram_hits *h,
		 struct tally_matches *out);

struct tally_ignored {
	uint32_t docs, gram;
};

/*
 * The n-grams that max_df ignores, most frequent first, else in the order of
 * the benchmarks; *n gets how many.  Free the result.
 */
struct tally_ignored *tally_ignored(const struct tally *t, size_t *n);

#endif
