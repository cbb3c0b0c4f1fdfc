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
	struct k_segment *seg;	/* the parameters in a flat array */
	struct k_segment *one;	/* each by itself */
	double *sums;		/* device: of each parameter's gradient */
};

/* All but master and the moments is not initialized.  -1: o is cleared. */
int optim_init(struct optim *o, struct llama *m, const struct optim_conf *c,
	       struct err *e);
void optim_clear(struct optim *o);

/* 2-norm of the whole gradient, NaN and inf included.  Waits. */
int optim_norm(struct optim *o, double *norm, struct err *e);

/*
 * Set *bad to the index of the parameter whose gradient was the first to be
 * not finite, in the order of the backward pass, from the head to the
 * embedding; or to nparams.
 */
int optim_first_bad(struct optim *o, size_t *bad, struct err *e);

/*
 * Queue one update.  norm: the result of optim_norm().  t: number of the
 * update, from 1.
 */
void optim_step(struct optim *o, double lr, double norm, int64_t t);

#endif
