/*
 * need.h - memory that a run on a table of kernels takes beside its arrays
 */
#ifndef ASSAY_NEED_H
#define ASSAY_NEED_H

#include "kernels/kernels.h"
#include "model/config.h"

/* Fields as in struct k_need. */
struct run_shape {
	int use;
	int64_t b, last_b, t;
	int64_t rows, positions;
};

/* Scratch, and copies of weights. */
size_t need_scratch(struct kernels *k, const struct model_config *c,
		    enum kdtype dt, const struct run_shape *r);
size_t need_copies(struct kernels *k, const struct model_config *c,
		   enum kdtype dt, int use);

/* Take the scratch.  No entry of such a run allocates anything afterwards. */
int need_reserve(struct kernels *k, const struct model_config *c,
		 enum kdtype dt, const struct run_shape *r, struct err *e);

#endif
