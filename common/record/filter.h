/*
 * filter.h - the outputs of a program that filters documents
 *
 * Kept lines go byte for byte and in input order to stdout or -o, a line per
 * decision to --report, counters to --stats; --check turns "something would
 * be dropped" into status 1.  With --check and without -o stdout gets the
 * decisions, and no document is written.  Called by one thread, in input order
 * (the write() of a docpipe).
 *
 *	struct filter *f = filter_open(&opts, &e);
 *	for each document d: one of
 *		filter_keep(f, d, &e);
 *		filter_drop(f, d, &e);
 *		filter_cut(f, d, new_text, &e);
 *	filter_mark(f, d, key, value);	before one of these
 *	filter_report(f, line, &e);	any number, at any time
 *	status = filter_commit(f, extra, &e);
 *
 * Bad lines (d->bad) may be given to any of the three: they are counted,
 * reported as {"id","action":"skip"|"pass","reason":"bad","why"}, and skipped
 * or passed on unchanged as --on-bad says.
 *
 * With a source_key --stats gets "sources": an object of counts for each value
 * of that key, in order of appearance, null for documents without one.  Memory:
 * about 150 bytes and the value for each; more than 100,000, or one of more
 * than 4,096 bytes, are an error.
 *
 * If the name of -o ends in a slash, each of `files`, which must be the array
 * that the documents are read from, has an output in that folder (mirror.h),
 * which must not be one of `refs` either.
 *
 * No named output appears before filter_commit().  If stdout is a pipe, kept
 * lines may have been written before a later line fails with status 2.
 */
#ifndef ASSAY_FILTER_H
#define ASSAY_FILTER_H

#include "base/args.h"
#include "base/buf.h"
#include "base/err.h"
#include "record/doc.h"

/* doc holds --text-key --id-key --on-bad --stats and --report. */
struct filter_opts {
	struct doc_opts doc;
	const char *output;	/* -o FILE; NULL or "-": stdout */
	const char *source_key;	/* --source-key, or NULL: no counts by source */
	int check;		/* --check */
	const char *const *files, *const *refs;	/* for -o DIR/ */
	size_t nfiles, nrefs;
};

void filter_opts_init(struct filter_opts *o);

/* Rows of an option table: DOC_ARGS(), -o, --report, --source-key, --check. */
#define FILTER_ARGS(o) \
	DOC_ARGS(&(o)->doc), \
	OPT_STR("report", &(o)->doc.report, "FILE", \
		"Write each decision as a line of JSON", .brief = 1), \
	OPT_STR("output", &(o)->output, "FILE", \
		"Write kept documents to FILE", .letter = 'o', .brief = 1), \
	OPT_STR("source-key", &(o)->source_key, "KEY", \
		"Count by the value of this key", .of = "stats", .brief = 1), \
	OPT_FLAG("check", &(o)->check, \
		 "Exit with status 1 if anything is found", .brief = 1)

/* Where decisions go: --report, and stdout with --check but no -o. */
struct findings {
	struct output *to[2];	/* NULL: not wanted */
};

/* Nonzero if stdout has the findings instead of what is written. */
int filter_only_checks(const struct filter_opts *o);
/* 0 or -1; abort in both cases. */
int findings_open(struct findings *x, const struct filter_opts *o,
		  struct err *e);
int findings_any(const struct findings *x);
/* A line without its LF. */
int findings_put(struct findings *x, struct span line, struct err *e);
/* Append the outputs to all[n..] and forget them; returns the new n. */
size_t findings_move(struct findings *x, struct output **all, size_t n);
void findings_abort(struct findings *x);

struct filter;			/* one per program */

/* Opens every output, so that a wrong name fails at once.  NULL: e. */
struct filter *filter_open(const struct filter_opts *o, struct err *e);
void filter_abort(struct filter *f);	/* remove outputs; NULL is fine */

/* Pass d on unchanged.  Counted as in and kept. */
int filter_keep(struct filter *f, const struct doc *d, struct err *e);

/* Drop d.  Counted as in and dropped. */
int filter_drop(struct filter *f, const struct doc *d, struct err *e);

/*
 * Pass d on with another text (valid UTF-8): the value of --text-key is
 * replaced in its line, every other byte is unchanged.  Counted as kept with
 * the new text's bytes and digest, and as cut.
 */
int filter_cut(struct filter *f, const struct doc *d, struct span text,
	       struct err *e);

/*
 * Add a member "key":value at the end of the object d, which must not be bad.
 * The new line is valid until the next filter_mark().  Call it before
 * filter_keep() or filter_cut().  Counts as found for --check.
 */
void filter_mark(struct filter *f, struct doc *d, const char *key,
		 struct span value);

/*
 * Write a line of the report, without its LF; does nothing if nobody reads it.
 * filter_reports(): does anybody?
 */
int filter_reports(const struct filter *f);
int filter_report(struct filter *f, struct span line, struct err *e);

/* Something was found in the next document, which is kept: for --check. */
void filter_found(struct filter *f);

struct doc_stats *filter_stats(struct filter *f);

/*
 * Give all outputs their names, or none.  extra, if not empty: the program's
 * own members of --stats, without braces.  Warns of bad lines.  Frees f in any
 * case.  Returns EXIT_OK, EXIT_ANSWER (--check, and something was dropped, cut
 * or found, or there was no document), or -1.
 */
int filter_commit(struct filter *f, struct span extra, struct err *e);

#endif
