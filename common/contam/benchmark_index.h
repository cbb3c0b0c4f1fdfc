/*
 * benchmark_index.h - benchmarks and the index of their n-grams
 *
 * n-grams are over words (text/words.h) or over the token ids of a tokenizer.
 * Read-only once built, so that any number of threads can search it.
 */
#ifndef ASSAY_BENCHMARK_INDEX_H
#define ASSAY_BENCHMARK_INDEX_H

#include "contam/benchmark.h"
#include "contam/ngram.h"
#include "contam/word_table.h"
#include "tokenizer/bpe.h"

struct benchmark_index_opts {
	const char *const *path;	/* files and folders */
	size_t npath;
	const char *fields;	/* as in struct benchmark_opts */
	int keep;
	unsigned n;		/* 0: benchmark_auto_n() of each benchmark */
	const struct vocab *vocab;	/* NULL: words */
	const struct bpe *bpe;
};

struct benchmark_index {
	struct benchmarks b;
	struct ngram_index *ngrams;
	size_t positions;	/* units of all examples */
	struct word_table words;
	const struct vocab *vocab;	/* borrowed; NULL: words */
	const struct bpe *bpe;
};

/* notes: as in benchmark_read().  0 or -1; clear in both cases. */
int benchmark_index_init(struct benchmark_index *x,
			 const struct benchmark_index_opts *o,
			 struct buf *notes, struct err *e);
void benchmark_index_clear(struct benchmark_index *x);

/*
 * Append an n-gram as text: words with a space between them, or the bytes of
 * its tokens, which might not be UTF-8.
 */
void benchmark_index_text(const struct benchmark_index *x, uint32_t gram,
			  struct buf *out);

#endif
