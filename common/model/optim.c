/*
 * optim.c - see optim.h
 *
 * Clipping is a factor in the update, so the gradient is not written again.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/optim.h"

void
optim_init(struct optim *o, struct llama *m, const struct optim_conf *c)
{
	const int decay[] = {[PARAM_EMBED] = c->decay_embeddings,
		[PARAM_HEAD] = 1, [PARAM_MATRIX] = 1, [PARAM_NORM] = 0};
	size_t i;

	o->m = m;
	o->c = *c;
	o->master = llama_flat_new(m);
	o->m1 = llama_flat_new(m);
	o->m2 = llama_flat_new(m);
	o->grad = llama_flat_new(m);
	o->sums = m->k->alloc(m->k, m->nparams * sizeof *o->sums);
	o->seg = xcalloc(m->nparams, sizeof *o->seg);
	o->one = xcalloc(m->nparams, sizeof *o->one);
	for (i = 0; i < m->nparams; i++) {
		o->one[i] = o->seg[i] = (struct k_segment){m->param[i].at,
			m->param[i].n, decay[m->param[i].kind]};
		o->one[i].at = 0;
	}
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
	free(o->seg);
	free(o->one);
}

/* The sums of squares of all parameters, to free(); waits. */
static double *
sums_of_squares(struct optim *o)
{
	const struct llama *m = o->m;
	double *sum = xmalloc(m->nparams * sizeof *sum);

	m->k->sumsq(m->k, &(struct k_sumsq){.nseg = (int64_t)m->nparams,
		.seg = o->seg, .g = o->grad, .out = o->sums});
	kernels_download(m->k, sum, o->sums, m->nparams * sizeof *sum);
	return sum;
}

double
optim_norm(struct optim *o)
{
	double *v = sums_of_squares(o), sum = 0;
	size_t i;

	for (i = 0; i < o->m->nparams; i++)
		sum += v[i];
	free(v);
	return sqrt(sum);
}

size_t
optim_first_bad(struct optim *o)
{
	double *sum = sums_of_squares(o);
	size_t i;

	/* parameters are listed in the order of the forward pass */
	for (i = o->m->nparams; i > 0 && isfinite(sum[i - 1]); i--)
		;
	free(sum);
	return i > 0 ? i - 1 : o->m->nparams;
}

void
optim_step(struct optim *o, double lr, double norm, int64_t t)
{
	struct llama *m = o->m;
	double scale = o->c.clip > 0 && norm > o->c.clip ? o->c.clip / norm :
		1;
	size_t i;

	for (i = 0; i < m->nparams; i++) {
		struct param *p = &m->param[i];

		m->k->adamw(m->k, &(struct k_adamw){
			.nseg = 1, .seg = &o->one[i], .p = o->master + p->at,
			.m = o->m1 + p->at, .v = o->m2 + p->at,
			.g = o->grad + p->at, .w = p->data, .wdt = m->dt,
			.beta1 = o->c.beta1, .beta2 = o->c.beta2,
			.eps = o->c.eps, .decay = o->c.decay, .lr = lr,
			.gscale = scale, .t = t});
		if (p->w)
			m->k->weight_update(m->k,
				&(struct k_weight_update){p->w});
	}
}
