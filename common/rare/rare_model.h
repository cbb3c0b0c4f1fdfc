/*
 * rare_model.h - the embeddings of a Hugging Face folder and their indicators
 *
 * Only the input and the output matrix are read, whatever the architecture;
 * no kernel is needed.  V: rows, C: columns.
 */
#ifndef ASSAY_RARE_MODEL_H
#define ASSAY_RARE_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "rare/indicators.h"
#include "rare/rare.h"
#include "record/safetensors.h"

struct rare_model {
	struct st *st;		/* the folder's tensors, mapped */
	const struct st_tensor *in, *out;	/* the same when tied */
	const struct st_tensor *bias;	/* of the output; NULL: none */
	size_t V, C;
	int tied;
	uint64_t params;	/* numbers in the folder's tensors */
	struct indicators ind;
	enum indicator which;	/* the one that decides */
	double threshold;	/* suspicious at or below it */
};

/*
 * embed, head: names of the two tensors; NULL: the names that model families
 * use.  Tied according to config.json, else if the output matrix is missing.
 * -1: a matrix is missing, is not (V, C), or contradicts config.json.
 */
int rare_model_load(struct rare_model *m, const char *dir, const char *embed,
		    const char *head, struct err *e);
void rare_model_clear(struct rare_model *m);

/*
 * Compute the indicators of every row, and set RARE_SUSPICIOUS for ids of
 * category OK or OK_SPECIAL, not known to be unused, that are at or below the
 * quantile `frac` (0 to 1) of the rows of category OK.  r->n == V.  which: -1
 * for the input norm when untied, the cosine when tied.  -1: that one needs
 * ids known to be unused, or a bias, and there are none; a matrix is not of a
 * float type, or contains NaN or infinity.
 */
int rare_model_scan(struct rare_model *m, struct rare *r, int which,
		    double frac, int threads, struct err *e);

#endif
