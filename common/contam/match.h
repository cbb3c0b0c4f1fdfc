/*
 * match.h - documents against benchmarks
 *
 * Loads benchmarks, makes their index over words (words.h) or over the token
 * ids of a tokenizer, matches documents in any thread, and keeps the books:
 * which examples were met, in how many documents each gram stands.
 *
 * Brown et al. 2020 ("Language Models are Few-Shot Learners"), appendix C.
 */
#ifndef ASSAY_MATCH_H
#define ASSAY_MATCH_H

#include "tokenizer/bpe.h"
#include "contam/ngram.h"
#include "contam/benchmark.h"

struct ngram_bench_opts {
	const char *const *path;	/* files and folders */
	size_t npath;
	const char *fields;	/* --bench-fields, or NULL */
	unsigned n;		/* 0: bench_auto_n() of each benchmark */
	int keep;		/* keep the examples as they stand */
	const struct vocab *vocab;	/* NULL: words */
	const struct bpe *bpe;
};

struct ngram_bench {
	struct benches b;
	struct ngram *g;
	struct ngram_words words;
	const struct vocab *vocab;
	const struct bpe *bpe;
	uint64_t max_df;	/* grams in more documents are ignored; 0: none */
	uint32_t *df;		/* [place] documents with that gram, or NULL */
	uint8_t *met;		/* [place] the gram's examples are dirty */
	struct ngram_hit *tmp;
	size_t tmpcap;
	size_t nplaces;
};

/*
 * max_df > 0: count with ngram_bench_count() first.  notes: as in
 * benches_read().  0 or -1.
 */
int ngram_bench_load(struct ngram_bench *nb, const struct ngram_bench_opts *o,
		     uint64_t max_df, struct buf *notes, struct err *e);
void ngram_bench_clear(struct ngram_bench *nb);

/* --- one a thread --- */

struct ngram_match;
struct ngram_match *ngram_match_new(const struct ngram_bench *nb);
void ngram_match_free(struct ngram_match *m);

/*
 * Append the hits of a text, places in its bytes; with a tokenizer those of
 * its tokens, widened to whole characters (align.h).
 */
void ngram_match_text(struct ngram_match *m, struct span text,
		      struct ngram_hits *out);
/* The same for token ids; places count tokens. */
void ngram_match_ids(struct ngram_match *m, const uint32_t *ids, size_t n,
		     struct ngram_hits *out);

/* --- the books: one thread, in the order of the documents --- */

/* Count a document's grams; for max_df, before any ngram_bench_judge(). */
void ngram_bench_count(struct ngram_bench *nb, const struct ngram_hits *h);

/* An example that shares grams with a document. */
struct ngram_found {
	size_t ex;		/* in nb->b.ex */
	uint32_t start, end;	/* from its first to its last gram there */
	uint64_t grams;		/* how many places of the document */
};
struct ngram_founds {
	struct ngram_found *v;
	size_t n, cap;
};

/*
 * Take the hits with ignored grams out of h, sort what is left by start, and
 * mark the examples of those as dirty.  With out (not NULL) list them, by
 * start, then by example.
 */
void ngram_bench_judge(struct ngram_bench *nb, struct ngram_hits *h,
		       struct ngram_founds *out);

/* The words (or tokens) of a gram, appended to out: words with a
 * space between, tokens as they are (they may be no UTF-8). */
void ngram_bench_text(const struct ngram_bench *nb, uint32_t gram,
		      struct buf *out);

/*
 * Grams that --max-df ignores, most frequent first (ties: as they stand in
 * the benchmarks); *n gets how many.  Free the result.
 */
uint32_t *ngram_bench_ignored(const struct ngram_bench *nb, size_t *n);

#endif
