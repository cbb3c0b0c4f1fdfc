/*
 * filter.h - what every filter of documents does with its documents
 *
 * Kept lines go byte for byte and in input order to stdout or -o; each
 * decision is one line of --report; the books go to --stats; --check turns
 * "something would go" into status 1.  All of it is called by one thread, in
 * input order (the write() of a pipeline).
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
 * Bad lines (d->bad) may be handed to any of the three: they are counted,
 * reported as {"id","action":"skip"|"pass","reason":"bad","why"} and left out
 * or passed on untouched, as --on-bad says.
 *
 * Nothing appears under a name before filter_commit().  Where stdout is a
 * pipe, kept lines may have gone before a later line is found to be broken;
 * status 2 says so.
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
	int check;		/* --check */
};

void filter_opts_init(struct filter_opts *o);

/* Rows of an option table: DOC_ARGS(), -o, --report, --check. */
#define FILTER_ARGS(o) \
	DOC_ARGS(&(o)->doc), \
	OPT_STR("report", &(o)->doc.report, "FILE", \
		"Write each decision as a line of JSON", .brief = 1), \
	OPT_STR("output", &(o)->output, "FILE", \
		"Write kept documents to FILE", .letter = 'o', .brief = 1), \
	OPT_FLAG("check", &(o)->check, \
		 "Exit with status 1 if anything is found", .brief = 1)

struct filter;			/* one a program */

/* Opens every output, so that a wrong name is told at once.  NULL: e. */
struct filter *filter_open(const struct filter_opts *o, struct err *e);
void filter_abort(struct filter *f);	/* temporary files go; NULL is fine */

/* d goes on as it is.  Counts it in and kept. */
int filter_keep(struct filter *f, const struct doc *d, struct err *e);

/* d goes.  Counts it in and dropped. */
int filter_drop(struct filter *f, const struct doc *d, struct err *e);

/*
 * d goes on with another text (valid UTF-8): the value of --text-key is
 * replaced in its line, every other byte stays.  Counted as kept with the new
 * text's bytes and digest, and as cut.
 */
int filter_cut(struct filter *f, const struct doc *d, struct span text,
	       struct err *e);

/*
 * d, which is not bad, gets one more member, "key":value, at the end of its
 * object: its line is then the filter's, until the next filter_mark().  Call
 * it before filter_keep() or filter_cut(); for --check something was found.
 */
void filter_mark(struct filter *f, struct doc *d, const char *key,
		 struct span value);

/*
 * One line of the report, without its LF; nothing where there is no --report.
 * filter_reports() tells beforehand, to spare making the line.
 */
int filter_reports(const struct filter *f);
int filter_report(struct filter *f, struct span line, struct err *e);

/* Something was found that is neither dropped nor cut (contam13 --list). */
void filter_found(struct filter *f);

struct doc_stats *filter_stats(struct filter *f);

/*
 * Bring all outputs to their names, or none.  extra, if n: the program's
 * own members of --stats, without braces, behind the common ones.  Warns of
 * bad lines, once.  Frees f whatever happens.  Returns EXIT_OK, EXIT_ANSWER
 * (--check, and something was dropped, cut or found), or -1.
 */
int filter_commit(struct filter *f, struct span extra, struct err *e);

#endif
