/* contam_priv.h - private to contam*.c */
#ifndef ASSAY_CONTAM_PRIV_H
#define ASSAY_CONTAM_PRIV_H

#include "contam/contam.h"
#include "contam/tally.h"
#include "record/shard.h"

struct contam {
	const struct contam_opts *o;
	struct vocab *vocab;
	struct bpe *bpe;
	struct benchmark_index x;
	struct tally tally;
	uint64_t docs_in, docs_kept, docs_hit;	/* shards: kept is 0 */
	struct buf line, tmp;	/* of contam_report_line() */
};

/* --- contam_docs.c: documents, which go to f --- */

int contam_docs(struct contam *c, const char *const *files, size_t n,
		struct filter *f, struct err *e);

/* --- contam_shards.c --- */

/*
 * A document is what is between two boundaries, with its BOS and EOS; in
 * shards of windows a part of one.  Without boundaries the stream is one
 * document, called "stream".
 */
int contam_shards(struct contam *c, const struct shards *s,
		  struct findings *findings, struct err *e);

/* --- contam_report.c --- */

/*
 * A line of --report without its LF, valid until the next call.  start and
 * end of the match count from base.
 */
struct span contam_report_line(struct contam *c, struct span id,
			       const struct tally_match *m, uint64_t base,
			       struct span text);

/* Append the members of --stats, without braces. */
void contam_report_stats(const struct contam *c, struct buf *b);

/* The table to a file (NULL: stdout); person: laid out for reading. */
int contam_report_table(const struct contam *c, const char *path, int person,
			struct err *e);

/* To stderr; table: with the table. */
void contam_report_summary(const struct contam *c, int table);

#endif
