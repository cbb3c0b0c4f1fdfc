/*
 * rare_scan.h - everything that tok-scan-rare looks at, put together
 *
 * A tokenizer, shards and a model become one struct rare: what needs what,
 * which of them must fit each other, and what may be missing.
 */
#ifndef ASSAY_RARE_SCAN_H
#define ASSAY_RARE_SCAN_H

#include "base/output.h"
#include "rare/rare_count.h"
#include "rare/rare_model.h"
#include "rare/rare_prompt.h"
#include "rare/rare_report.h"
#include "record/shard.h"

struct rare_scan_opts {
	const char *tokenizer, *split;	/* NULL: the model's own */
	const char *const *shards;	/* NULL: none are counted */
	size_t nshards;			/* 0: standard input */
	enum shard_format format;
	int64_t eot;			/* id between documents where the
					   shards name none; -1: EOS */
	uint64_t min_count;
	const char *unused;		/* list of ids, or NULL */
	const char *model;		/* NULL: none */
	const char *embed, *head;
	int indicator;			/* -1: the default */
	double percent;
	int prompts;			/* they will be written */
	const char *verify;		/* file of answers, or NULL */
	int threads, quiet;
};

struct rare_scan {
	struct rare r;
	struct rare_sum sum;
	struct rare_prompts prompts;	/* made for prompts and verify */
	struct vocab *vocab;
	struct shards *shards;
	struct rare_counts counts;
	struct rare_model model;
	struct rare_answers answers;
};

/*
 * Where the model's own tokenizer is missing or of a kind that we do not
 * encode with, a scan of the model alone goes on without; that, and more
 * tokens than rows, is warned about unless quiet.  Clear s also after -1.
 */
int rare_scan(struct rare_scan *s, const struct rare_scan_opts *o,
	      struct err *e);
void rare_scan_clear(struct rare_scan *s);

enum rare_form { RARE_JSON, RARE_TSV, RARE_TABLE, RARE_QUESTIONS, RARE_STATS };

/* All of it in one form; rows: of each tail of the table. */
int rare_scan_put(const struct rare_scan *s, enum rare_form form, size_t rows,
		  struct output *out, struct err *e);

/* Prompts that no word of the vocabulary fits into, a line each. */
void rare_scan_notes(const struct rare_scan *s, struct buf *out);

#endif
