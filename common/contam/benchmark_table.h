/*
 * benchmark_table.h - the result for each benchmark, as a table
 *
 * The columns of table C.1 of Brown et al. 2020: how many examples are short,
 * dirty and clean, and the mean scores of each class.
 */
#ifndef ASSAY_BENCHMARK_TABLE_H
#define ASSAY_BENCHMARK_TABLE_H

#include "contam/benchmark.h"

/* The mean of n scores and their sample variance; NAN: not defined. */
struct benchmark_mean {
	uint64_t n;
	double mean, var;
};

struct benchmark_stats {
	uint64_t examples, count[BENCHMARK_CLASSES];
	uint64_t tested;		/* clean + dirty */
	double clean_percent;		/* of tested; NAN: none is */
	struct benchmark_mean all, of[BENCHMARK_CLASSES];	/* scores */
	/*
	 * Mean of the clean examples minus mean of all, and its standard
	 * error.  The clean ones are part of all, hence
	 * (1 - c/a) sqrt(var_clean / c + var_rest / (a - c)).
	 */
	double difference, se;
	double relative;		/* difference in percent of the mean */
};
struct benchmark_stats benchmark_stats(const struct benchmarks *b, size_t i);

/* "benchmarks":[...] for --stats; scores: with the columns of scores. */
void benchmark_put_json(const struct benchmarks *b, int scores,
			struct buf *out);

/* The table: TSV with a header line, or (json) one object per line. */
void benchmark_put_table(const struct benchmarks *b, int scores, int json,
			 struct buf *out);

/* The same laid out for a terminal; scores in a second table. */
void benchmark_put_text(const struct benchmarks *b, int scores,
			struct buf *out);

#endif
