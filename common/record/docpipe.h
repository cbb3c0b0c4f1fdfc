/*
 * docpipe.h - documents in, parallel work, results out in input order
 *
 * What every program that reads documents does: blocks of lines are read in
 * order (doc.h), any thread parses them and works on their documents, one
 * thread at a time takes the results in input order (base/pipeline.h).  The
 * outcome is the same for any number of threads as long as the work on a
 * document depends on that document alone.
 *
 *	struct docpipe *p = docpipe_open(files, n, &opts, threads, 0);
 *	status = docpipe_run(p, &pass, &e);
 *	docpipe_close(p);
 *
 * Each block has a result, a struct of the program's of result_size bytes.
 * Workers fill it, write() reads it, then another block reuses it.
 */
#ifndef ASSAY_DOCPIPE_H
#define ASSAY_DOCPIPE_H

#include <stddef.h>

#include "base/err.h"
#include "record/doc.h"

struct docpipe;			/* one per program */

/* What a worker is given. */
struct docpipe_work {
	void *ctx;			/* of the pass */
	void *result;			/* of this block */
	struct doc_parser *parser;	/* for doc_parse_at() */
	int worker;			/* 0..threads-1: its own state */
	struct doc_batch *batch;	/* for docpipe_bad() */
	int on_bad;			/* enum doc_on_bad */
};

enum docpipe_mode {
	DOCPIPE_EACH,	/* parse; a text is valid only in doc() */
	DOCPIPE_TEXTS,	/* parse; texts are kept for block() and write() */
	DOCPIPE_LINES	/* split into lines; block() parses what it needs */
};

struct docpipe_pass {
	void *ctx;
	const char *label;	/* of the progress line; NULL: no line */
	enum docpipe_mode mode;
	/*
	 * Called for every document, good or bad, in order within its block;
	 * not with DOCPIPE_LINES.  It may call docpipe_bad().  Its error comes
	 * before any error of a later document.  NULL: none.
	 */
	int (*doc)(const struct docpipe_work *w, struct doc *d,
		   struct err *e);
	/* Called once per block, after its documents.  NULL: none. */
	int (*block)(const struct docpipe_work *w, struct doc_batch *b,
		     struct err *e);
	/* In input order, one thread at a time.  0; -1: error; 1: stop. */
	int (*write)(void *ctx, struct doc_batch *b, void *result,
		     struct err *e);
	size_t result_size;	/* a new result is zeroed; 0: no results */
	void (*reset)(void *result);	/* before each block; may be NULL */
	void (*clear)(void *result);	/* at the end; may be NULL */
};

/*
 * From doc(): d is a bad document for this reason.  Returns 0, or -1 and
 * "FILE:LINE: why" if the first bad line ends the program.
 */
int docpipe_bad(const struct docpipe_work *w, struct doc *d, const char *why,
		struct err *e);

/*
 * paths are kept by reference; n == 0 means stdin.  passes: how many times
 * the input will be read.  With more than one, streams are saved as they are
 * read, and a file that changes until the end of the last pass is an error.
 * Never NULL.
 */
struct docpipe *docpipe_open(const char *const *paths, size_t n,
			     const struct doc_opts *o, int threads,
			     int passes);
void docpipe_close(struct docpipe *p);		/* NULL is fine */

/*
 * Read the whole input once, from its start.  Each batch has the number of
 * its first document in `first`: for write(), and with DOCPIPE_LINES for
 * block() too.  Warns of an input without documents.  0, or -1.
 */
int docpipe_run(struct docpipe *p, const struct docpipe_pass *pass,
		struct err *e);

#endif
