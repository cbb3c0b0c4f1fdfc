/*
 * optim.h - AdamW over flat arrays: master weights, moments, gradients
 *
 * All four are device arrays in the layout of llama.h.  Weight decay is for
 * matrices inside layers and an untied output matrix; for the embedding (also
 * a tied one) with decay_embeddings; never for gains.  AdamW as PyTorch
 * defines it (Loshchilov and Hutter 2019): see k_adamw.
 */
#ifndef ASSAY_OPTIM_H
#define ASSAY_OPTIM_H

#include "model/llama.h"

struct optim_conf {
	double beta1, beta2, eps, decay;
	int decay_embeddings;
	double clip;		/* 0: no limit */
};

struct optim {
	struct llama *m;
	struct optim_conf c;
	float *master, *m1, *m2, *grad;	/* device, flat, owned */
	double *sums;		/* device: one, then one a parameter */
};

void optim_init(struct optim *o, struct llama *m, const struct optim_conf *c);
void optim_clear(struct optim *o);

/* 2-norm of the whole gradient; waits for the device.  NaN and inf show. */
double optim_norm(struct optim *o);

/* Index of the first parameter whose gradient is not finite, or nparams. */
size_t optim_first_bad(struct optim *o);

/*
 * One update: t counts updates from 1; norm is what optim_norm() gave.  Queued.
 */
void optim_step(struct optim *o, double lr, double norm, int64_t t);

#endif
