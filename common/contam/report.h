/*
 * report.h - what contam13 says at its end
 *
 * Members for --stats, the table of the benchmarks as a file, and a summary
 * for a person.  All of it is read from what the run has counted.
 */
#ifndef ASSAY_REPORT_H
#define ASSAY_REPORT_H

#include "base/buf.h"
#include "base/err.h"
#include "contam/match.h"
#include "contam/run.h"

struct ngram_report {
	const struct ngram_bench *nb;
	const struct ngram_run *run;
	int scores;		/* scores were joined */
	int json;		/* the table as JSON Lines, not TSV */
};

/* Append members without braces. */
void ngram_report_stats(const struct ngram_report *r, struct buf *b);

/* A whole --stats file of shards, which have no books of documents. */
int ngram_report_shards(const struct ngram_report *r, struct output *out,
			struct err *e);

/* The table to a file (NULL: stdout); person: laid out for reading. */
int ngram_report_table(const struct ngram_report *r, const char *path,
		       int person, struct err *e);

/*
 * To stderr; table 0: without it, as it has been read; verbose: with the size
 * of the index.
 */
void ngram_report_summary(const struct ngram_report *r, int table,
			  int verbose);

#endif
