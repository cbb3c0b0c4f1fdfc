/*
 * pack_job.h - documents to ids to packers
 *
 * The work of pack(1) between its options and its files: blocks of lines are
 * read in order, the threads parse and encode them, and one at a time and in
 * order their documents go to the packer of the training or of the validation
 * set.  The result is the same for any number of threads.
 */
#ifndef ASSAY_PACK_JOB_H
#define ASSAY_PACK_JOB_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "tokenizer/bpe.h"
#include "pack/packer.h"
#include "record/doc.h"

/* All pointers are the caller's. */
struct pack_job {
	const struct doc_opts *doc;
	const struct bpe *bpe;
	int64_t bos, eos;	/* put around each document; -1: not */
	int threads;
	struct packer *train;
	struct packer *val;	/* NULL: none */
	double val_frac;	/* share of the documents that goes to val */
	/* Results. */
	struct doc_stats docs;
	uint64_t train_bytes, val_bytes;	/* of the texts in each */
};

/* n == 0: stdin.  0, or -1 with the packers unfinished. */
int pack_job_run(struct pack_job *j, const char *const *files, size_t n,
		struct err *e);

/*
 * Is a document validation?  A function of its id alone, so that none moves
 * between runs, and growing frac only adds.
 */
int pack_job_is_val(struct span id, double frac);

#endif
