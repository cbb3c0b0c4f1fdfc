/*
 * bpe_train_report.h - counts and summary of a training run
 *
 * Both are the same for every number of threads and order of documents,
 * except for the memory in the summary.
 */
#ifndef ASSAY_BPE_TRAIN_REPORT_H
#define ASSAY_BPE_TRAIN_REPORT_H

#include "base/buf.h"
#include "tokenizer/bpe_train.h"
#include "record/doc.h"

struct bpe_train_report {
	const struct doc_stats *docs;	/* NULL: pieces were read */
	const struct pretokens *pretokens;
	const struct bpe_train *learned;	/* NULL: nothing was learned */
	size_t tokens;		/* bytes, merges, special tokens */
};

/* --stats: one JSON object and a LF. */
void bpe_train_report_stats(const struct bpe_train_report *r, struct buf *b);

/* Three lines for a person. */
void bpe_train_report_summary(const struct bpe_train_report *r, struct buf *b);

#endif
