/*
 * rare_scan.h - the entry: a tokenizer, shards and a model become one report
 *
 * Decides which of them are needed, which must fit each other, and what may be
 * missing.
 */
#ifndef ASSAY_RARE_SCAN_H
#define ASSAY_RARE_SCAN_H

#include "rare/rare_answers.h"
#include "rare/rare_counts.h"
#include "rare/rare_model.h"
#include "rare/rare_prompts.h"
#include "rare/rare_report.h"
#include "record/shard.h"
#include "stream/output.h"

struct rare_scan_opts {
	const char *tokenizer, *split;	/* NULL: the model's own */
	const char *const *shards;	/* NULL: none are counted */
	size_t nshards;			/* 0: stdin */
	enum shard_format format;
	int id_bytes;			/* as in struct shard_hint */
	int64_t eot;			/* id between documents if the shards
					   name none; -1: EOS */
	uint64_t rare_below;
	const char *unused;		/* list of ids, or NULL */
	const char *model;		/* NULL: none */
	const char *embed, *head;
	int indicator;			/* -1: the default */
	double suspicious_frac;
	int prompts;			/* they will be written */
	const char *answers;		/* file of answers, or NULL */
	int threads, quiet;
};

struct rare_scan {
	struct rare r;
	struct rare_summary summary;
	struct rare_prompts prompts;	/* made for prompts and answers */
	struct vocab *vocab;
	struct shards *shards;
	struct rare_counts counts;
	struct rare_model model;
	struct rare_answers answers;
};

/*
 * If the model's own tokenizer is missing or of an unsupported kind, a scan of
 * the model alone continues without it.  Warns of that, and of more tokens
 * than rows, unless quiet.  Clear s also after -1.
 */
int rare_scan(struct rare_scan *s, const struct rare_scan_opts *o,
	      struct err *e);
void rare_scan_clear(struct rare_scan *s);

enum rare_form { RARE_JSON, RARE_TSV, RARE_TABLE, RARE_ASK, RARE_STATS };

/* Write everything in one form; rows: of each tail of the table. */
int rare_scan_write(const struct rare_scan *s, enum rare_form form,
		    size_t rows, struct output *out, struct err *e);

/* Prompts that no word of the vocabulary fits into, one per line. */
void rare_scan_notes(const struct rare_scan *s, struct buf *out);

#endif
