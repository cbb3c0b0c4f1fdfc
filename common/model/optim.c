/*
 * optim.c - see optim.h
 *
 * The norm is one sum over the flat array, since its gaps are zero.  Clipping
 * is a factor in the update, so the gradient is not written again.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/optim.h"

void
optim_init(struct optim *o, struct llama *m, const struct optim_conf *c)
{
	o->m = m;
	o->c = *c;
	o->master = llama_flat_new(m);
	o->m1 = llama_flat_new(m);
	o->m2 = llama_flat_new(m);
	o->grad = llama_flat_new(m);
	o->sums = m->k->alloc(m->k, (m->nparams + 1) * sizeof *o->sums);
}

void
optim_clear(struct optim *o)
{
	struct kernels *k = o->m->k;

	kernels_release(k, o->master);
	kernels_release(k, o->m1);
	kernels_release(k, o->m2);
	kernels_release(k, o->grad);
	kernels_release(k, o->sums);
}

double
optim_norm(struct optim *o)
{
	struct kernels *k = o->m->k;
	double sum;

	k->sumsq(k, &(struct k_sumsq){.n = o->m->flat, .g = o->grad,
		.out = o->sums});
	kernels_download(k, &sum, o->sums, sizeof sum);
	return sqrt(sum);
}

size_t
optim_first_bad(struct optim *o)
{
	const struct llama *m = o->m;
	struct kernels *k = m->k;
	double *sum = xmalloc(m->nparams * sizeof *sum);
	size_t i;

	for (i = 0; i < m->nparams; i++)
		k->sumsq(k, &(struct k_sumsq){.n = m->param[i].n,
			.g = o->grad + m->param[i].at,
			.out = o->sums + 1 + i});
	kernels_download(k, sum, o->sums + 1, m->nparams * sizeof *sum);
	/* parameters are listed in the order of the forward pass */
	for (i = m->nparams; i > 0 && isfinite(sum[i - 1]); i--)
		;
	free(sum);
	return i > 0 ? i - 1 : m->nparams;
}

void
optim_step(struct optim *o, double lr, double norm, int64_t t)
{
	struct llama *m = o->m;
	double scale = o->c.clip > 0 && norm > o->c.clip ? o->c.clip / norm :
		1;
	const double decay[] = {
		[PARAM_EMBED] = o->c.decay_embeddings ? o->c.decay : 0,
		[PARAM_HEAD] = o->c.decay, [PARAM_MATRIX] = o->c.decay,
		[PARAM_NORM] = 0};
	size_t i;

	for (i = 0; i < m->nparams; i++) {
		struct param *p = &m->param[i];

		m->k->adamw(m->k, &(struct k_adamw){
			.n = p->n, .p = o->master + p->at, .m = o->m1 + p->at,
			.v = o->m2 + p->at, .g = o->grad + p->at, .lr = lr,
			.beta1 = o->c.beta1, .beta2 = o->c.beta2,
			.eps = o->c.eps, .decay = decay[p->kind],
			.gscale = scale, .t = t, .weight = p->w,
			.w = p->w ? NULL : p->data, .wdt = m->dt});
	}
}
