/*
 * train_report.h - what a training run tells about itself
 *
 * Both texts are the same for every number of threads and order of documents,
 * but for the memory in the summary.
 */
#ifndef ASSAY_TRAIN_REPORT_H
#define ASSAY_TRAIN_REPORT_H

#include "base/buf.h"
#include "tokenizer/train.h"
#include "record/doc.h"

struct bpetrain_report {
	const struct doc_stats *docs;
	const struct pieces *pieces;
	const struct bpetrain *learned;
	size_t tokens;		/* bytes, merges, special tokens */
};

/* One JSON object and a LF: doc_stats_json() and what was learned. */
void bpetrain_stats(const struct bpetrain_report *r, struct buf *b);

/* Three lines for a person. */
void bpetrain_summary(const struct bpetrain_report *r, struct buf *b);

#endif
