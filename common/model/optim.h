/*
 * optim.h - AdamW over flat arrays: master weights, moments, gradients
 *
 * All four are device arrays in the layout of llama.h.  Weight decay applies
 * to matrices in layers and to an untied output matrix; to the embedding (also
 * a tied one) with decay_embeddings; never to norm weights.  AdamW as in
 * PyTorch (Loshchilov and Hutter 2019): see k_adamw.
 */
#ifndef ASSAY_OPTIM_H
#define ASSAY_OPTIM_H

#include "model/llama.h"

struct optim_conf {
	double beta1, beta2, eps, decay;
	int decay_embeddings;
	double clip;		/* 0: off */
};

struct optim {
	struct llama *m;
	struct optim_conf c;
	float *master, *m1, *m2, *grad;	/* device, flat, owned */
	struct k_segment *seg;	/* parameters, by their place in flat arrays */
	struct k_segment *part;	/* the same, by their place in their range */
	double *sumsq;		/* device: of each parameter's gradient */
	struct k_step *step_d;	/* device */
	struct k_step step;	/* source of its upload */
	struct k_step done;	/* the last update */
};

/* All but master and the moments is not initialized.  -1: o is cleared. */
int optim_init(struct optim *o, struct llama *m, const struct optim_conf *c,
	       struct err *e);
void optim_clear(struct optim *o);

/*
 * Queue update t (from 1): norm, clipping, AdamW, the packed copies of the
 * weights.  The gradients are those of ce_head with scale 1 / rows; sums:
 * device, what loss_sum made of these rows.  Nothing changes without targets
 * or with a loss or gradient that is not finite.  After the next sync, o->done
 * says what was done; done.bad is then the index of the parameter whose
 * gradient was the first in the order of the backward pass to be not finite,
 * or nparams.
 */
void optim_step(struct optim *o, double lr, int64_t t, int64_t rows,
		const double *sums);

#endif
