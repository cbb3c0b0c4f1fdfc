/*
 * benchmark_report.h - what became of each benchmark
 *
 * The columns of table C.1 of Brown et al. 2020, scores joined from a file,
 * and the examples written out by class.
 *
 * An example is `short` when it has fewer words than n and cannot be tested,
 * `dirty` when a gram of it was found, `clean` when none was; examples =
 * short + clean + dirty.
 */
#ifndef ASSAY_BENCHMARK_REPORT_H
#define ASSAY_BENCHMARK_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "contam/benchmark.h"

enum bench_class { BENCH_CLEAN, BENCH_DIRTY, BENCH_SHORT };

enum bench_class bench_class(const struct bench_example *x);

/* A mean of scores, over n examples; var is their sample variance. */
struct bench_mean {
	uint64_t n;
	double mean, var;
};

struct bench_tally {
	uint64_t examples, count[3];	/* by class */
	double clean_percent;		/* of clean + dirty; NAN: neither */
	struct bench_mean all, of[3];	/* scores, by class */
	/*
	 * Mean of the clean ones less mean of all, with its standard error:
	 * that of a part against the whole that it belongs to,
	 * (1 - c/a) sqrt(var_clean / c + var_rest / (a - c)).  NAN where it
	 * cannot be told.
	 */
	double difference, se;
	double relative;		/* the difference in percent of all */
};
struct bench_tally bench_tally(const struct benches *b, size_t i);

/*
 * Join scores: JSON Lines {"benchmark","example","score"}; example is an id
 * (`id` is read too), score a number, true or false.  benchmark may be left
 * out where there is one only.  A line that names no example is an error, and
 * one for an example that has a score; examples of one id share it.
 */
int bench_scores(struct benches *b, const char *path, struct err *e);

/* "benchmarks":[...] for --stats; scores: with those members. */
void bench_json(const struct benches *b, int scores, struct buf *out);

/* The table: TSV with a header line, or (json) one object a line. */
void bench_table(const struct benches *b, int scores, int json,
		 struct buf *out);

/* The same laid out for a terminal; scores in a table of their own. */
void bench_table_text(const struct benches *b, int scores, struct buf *out);

/*
 * DIR/NAME.clean.jsonl, .dirty. and .short. for each benchmark (.txt for
 * text), all or none; DIR, and folders in NAME, are made when missing.  The
 * lines are those of the file; elements of an array become a line each.  The
 * examples must have been kept.  Refused where two benchmarks have one name.
 */
int bench_subsets(const struct benches *b, const char *dir, struct err *e);

#endif
