/*
 * dedup.h - the job of dedup: documents in, documents out
 *
 * Two or three passes over the input, which may be a stream:
 *
 *	scan	every text once: a key for exact, keys of the bands for near,
 *		the verdict of repeats.  Records are sorted by key.
 *	compare	only documents that share a key.  Texts are compared, sets of
 *		shingles collected; then each candidate pair is verified and
 *		joined.
 *	write	lines are kept, cut or dropped without parsing them again.
 *
 * What is dropped depends on the input alone, not on threads or memory.
 */
#ifndef ASSAY_DEDUP_H
#define ASSAY_DEDUP_H

#include <stddef.h>
#include <stdint.h>

#include "base/args.h"
#include "base/err.h"
#include "dedup/gopher.h"
#include "dedup/minhash.h"
#include "dedup/repeats.h"
#include "record/filter.h"

/* Which document of a cluster is kept; ties go to the first. */
enum dedup_keep {
	DEDUP_KEEP_FIRST, DEDUP_KEEP_LONGEST, DEDUP_KEEP_LAST,
	DEDUP_KEEP_KEY	/* the largest value of keep_key */
};

struct dedup_opts {
	struct filter_opts filter;
	int threads;
	int exact, near, spans, repeats;	/* which methods */
	int normalize;			/* exact: ignore case, space, NFC/NFD */
	struct minhash_opts mh;
	double threshold, edit_sim;
	int verify, has_edit;
	int drop_all, direct;
	enum dedup_keep keep;
	const char *keep_key;
	struct arg_list against;
	int64_t span_bytes, span_tokens;	/* of the shortest window */
	int has_span_bytes, has_span_tokens;
	int64_t min_left;
	int all;			/* spans: cut the first copy too */
	struct repeat_opts rep;
	struct gopher_opts gopher;
	int mark;
	const char *tokenizer, *split;
	const char *apply;		/* file of pairs, or NULL */
	int64_t mem;			/* bytes */
};

/* What band records depend on besides options, for --version and bands.5. */
#define DEDUP_FROZEN "words " DEDUP_STR(WORDS_VERSION) ", minhash " \
	DEDUP_STR(MINHASH_VERSION) ", seed 1 by default"
#define DEDUP_STR(x) DEDUP_STR_(x)
#define DEDUP_STR_(x) #x

/* Documents are numbered with 32 bits. */
#define DEDUP_MAX (UINT32_MAX - 1)

/*
 * Returns EXIT_OK, EXIT_ANSWER (--check), or -1.  Prints the summary to stderr
 * if that is a terminal, or with --verbose.
 */
int dedup_run(const struct dedup_opts *o, const char *const *files, size_t n,
	      struct err *e);

/* --emit bands, --emit pairs (bands.5): to -o or stdout.  0 or -1. */
int dedup_emit_bands(const struct dedup_opts *o, const char *const *files,
		     size_t n, struct err *e);
int dedup_emit_pairs(const struct dedup_opts *o, const char *const *files,
		     size_t n, struct err *e);

/* --explain: the documents with these ids (or FILE:LINE) as near sees them. */
int dedup_explain(const struct dedup_opts *o, const char *a, const char *b,
		  const char *const *files, size_t n, int json,
		  struct err *e);

/* --curve: the S-curve as a table. */
int dedup_curve(const struct dedup_opts *o, int json, struct err *e);

#endif
