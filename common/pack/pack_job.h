/*
 * pack_job.h - documents to token ids to packers
 *
 * The work of pack(1) between its options and its files: threads parse and
 * encode blocks of documents, which go in order to the packer of the training
 * or of the validation set.
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
	struct vocab_around front, back;	/* of each document: BOS, EOS */
	int threads;
	struct packer *train;
	struct packer *val;	/* NULL: none */
	double val_frac;	/* fraction of the documents for val */
	/* Results. */
	struct doc_stats docs;
	uint64_t train_bytes, val_bytes;	/* of the texts in each */
};

/* n == 0: stdin.  0, or -1 with the packers unfinished. */
int pack_job_run(struct pack_job *j, const char *const *files, size_t n,
		struct err *e);

/*
 * Is this document for validation?  Depends on its id only, so that none moves
 * between runs; a larger frac only adds documents.
 */
int pack_job_is_val(struct span id, double frac);

#endif
