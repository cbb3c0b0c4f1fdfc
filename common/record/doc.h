/*
 * doc.h - documents as JSON Lines (doc.5)
 *
 * Reads blocks of lines in order, parses them in any thread, and counts what
 * every filter counts: in = kept + dropped + bad, bytes, order-free digests.
 *
 * A line is bad if it is not one JSON object in valid UTF-8, or its text is
 * missing or not a string.  Lines end at LF only; blank ones (spaces, tabs,
 * CR) are not documents but count as lines.  Of equal keys the last counts.  A
 * lone surrogate escape becomes U+FFFD and is counted; the line is good.  An
 * id is a string, or the spelling of a number; anything else, and an empty
 * string, is ignored.
 */
#ifndef ASSAY_DOC_H
#define ASSAY_DOC_H

#include <stddef.h>
#include <stdint.h>

#include "base/args.h"
#include "base/buf.h"
#include "base/err.h"
#include "stream/input.h"
#include "stream/output.h"

enum doc_on_bad { DOC_FAIL, DOC_SKIP, DOC_PASS };

/* Options common to every reader of documents; defaults by doc_opts_init(). */
struct doc_opts {
	const char *text_key;	/* "text"; a.b descends into an object */
	const char *id_key;	/* "id" */
	int on_bad;		/* enum doc_on_bad */
	const char *stats;	/* --stats FILE or NULL */
	const char *report;	/* --report FILE or NULL (filters only) */
	const char *files_from;	/* --files-from FILE or NULL: see files.h */
	const char *extra_key;	/* NULL, or one more key to pick (weights) */
};
void doc_opts_init(struct doc_opts *o);

/* Rows of a table: --files-from --text-key --id-key --on-bad --stats. */
#define DOC_ARGS(o) \
	OPT_GROUP("Documents"), \
	OPT_STR("files-from", &(o)->files_from, "FILE", \
		"Read the names of more FILEs from FILE", .brief = 1), \
	OPT_STR("text-key", &(o)->text_key, "KEY", \
		"Key of the text; a.b is nested", .brief = 1), \
	OPT_STR("id-key", &(o)->id_key, "KEY", "Key of the id", .brief = 1), \
	OPT_ENUM("on-bad", &(o)->on_bad, "WHAT", doc_on_bad_names, \
		 "What to do with a malformed line", .brief = 1), \
	OPT_STR("stats", &(o)->stats, "FILE", \
		"Write counts and digests as JSON", .brief = 1)
extern const char *const doc_on_bad_names[];

/* Readable bytes after every text of doc_parse(), for SIMD scanners. */
enum { DOC_PADDING = INPUT_PADDING };

struct doc {
	struct span line;	/* with its LF, added if missing */
	struct span text;	/* unescaped; may contain NUL */
	struct span id;		/* p NULL: none, see doc_id() */
	struct span extra;	/* of extra_key; p NULL: absent */
	const char *file;
	uint64_t lineno;
	uint64_t digest;	/* doc_digest(text) */
	const char *why;	/* bad: "byte 12: ...", else NULL */
	int bad;		/* text is empty, why is set */
	uint32_t surrogates;	/* lone ones replaced in picked strings */
};

/*
 * Documents of one block, valid until doc_batch_free().  Any thread may free a
 * batch, but before doc_reader_close(), since the reader reuses its memory.
 */
struct doc_batch {
	struct chunk chunk;
	struct doc *v;
	size_t n;
	uint64_t first;		/* number of v[0] in the input (docpipe.h) */
	void *user;		/* the caller's; NULL from doc_read() */
	void *priv;		/* doc.c's */
};

struct doc_reader;		/* one per program */
struct doc_parser;		/* one per thread */
struct doc_reader *doc_reader_open(const char *const *paths, size_t n,
				   const struct doc_opts *o);
void doc_reader_close(struct doc_reader *r);
struct input *doc_reader_input(struct doc_reader *r);	/* for progress */

/* Next block of about `want` bytes (0: 512 KiB), unparsed.  NULL: end or e. */
struct doc_batch *doc_read(struct doc_reader *r, size_t want, struct err *e);

struct doc_parser *doc_parser_new(const struct doc_opts *o);
void doc_parser_free(struct doc_parser *p);
/*
 * Parse a block into v and n, without blank lines.  With on_bad fail the first
 * bad line is the error "FILE:LINE: byte N: what", and v ends before it.
 */
int doc_parse(struct doc_parser *p, struct doc_batch *b, struct err *e);
/*
 * The same, but call each(ctx, d) for every document as it is parsed, good or
 * bad, and do not keep its text: afterwards text.p is NULL, text.n and digest
 * remain.  Saves memory of the size of the block.
 */
int doc_parse_each(struct doc_parser *p, struct doc_batch *b,
		   void (*each)(void *ctx, const struct doc *d), void *ctx,
		   struct err *e);
/*
 * For a second pass over the same input: doc_lines() only splits a block into
 * lines (file, lineno and line of each document, not validated);
 * doc_parse_at() parses document i of it.
 */
void doc_lines(struct doc_batch *b);
void doc_parse_at(struct doc_parser *p, struct doc_batch *b, size_t i);
void doc_batch_free(struct doc_batch *b);
/* Make d, a document of b, bad: why is copied, the text becomes empty. */
void doc_set_bad(struct doc_batch *b, struct doc *d, const char *why);

/* The id of a document, or FILE:LINE built in tmp. */
struct span doc_id(const struct doc *d, struct buf *tmp);

/* Counters of a whole run; used by one thread.  All zero at the start. */
struct doc_stats {
	uint64_t docs_in, docs_kept, docs_dropped, docs_bad;
	uint64_t bytes_in, bytes_kept, digest_in, digest_kept;
	uint64_t surrogates;	/* lone ones, replaced by U+FFFD */
	uint64_t empty;		/* good documents with an empty text */
	char first_bad[1500];	/* "FILE:LINE: why" of the first bad line */
};
uint64_t doc_digest(struct span text);		/* XXH3-64 */
/* Call _in for every document, and one of the others for each good one. */
void doc_stats_in(struct doc_stats *s, const struct doc *d);
void doc_stats_kept(struct doc_stats *s, const struct doc *d);
void doc_stats_dropped(struct doc_stats *s, const struct doc *d);
/* Warn of bad lines, if there were any. */
void doc_stats_warn(const struct doc_stats *s, int passed_on);
/* The members of --stats without braces, for programs that add their own. */
void doc_stats_json(const struct doc_stats *s, struct buf *b);

#endif
