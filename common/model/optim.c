/*
 * optim.c - see optim.h
 *
 * Clipping is a factor in the update, so the gradient is not written again.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/optim.h"

int
optim_init(struct optim *o, struct llama *m, const struct optim_conf *c,
	   struct err *e)
{
	const int decay[] = {[PARAM_EMBED] = c->decay_embeddings,
		[PARAM_HEAD] = 1, [PARAM_MATRIX] = 1, [PARAM_NORM] = 0};
	size_t i;

	*o = (struct optim){.m = m, .c = *c};
	o->seg = xcalloc(m->nparams, sizeof *o->seg);
	o->one = xcalloc(m->nparams, sizeof *o->one);
	for (i = 0; i < m->nparams; i++) {
		o->one[i] = o->seg[i] = (struct k_segment){m->param[i].at,
			m->param[i].n, decay[m->param[i].kind]};
		o->one[i].at = 0;
	}
	if ((o->master = llama_flat_new(m, e)) &&
	    (o->m1 = llama_flat_new(m, e)) &&
	    (o->m2 = llama_flat_new(m, e)) &&
	    (o->grad = llama_flat_new(m, e)) &&
	    (o->sums = m->k->alloc(m->k, m->nparams * sizeof *o->sums, e)))
		return 0;
	optim_clear(o);
	return -1;
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
	*o = (struct optim){0};
}

/* The sums of squares of all parameters, to free(); waits.  NULL: failed. */
static double *
sums_of_squares(struct optim *o, struct err *e)
{
	const struct llama *m = o->m;
	double *sum = xmalloc(m->nparams * sizeof *sum);

	m->k->sumsq(m->k, &(struct k_sumsq){.nseg = (int64_t)m->nparams,
		.seg = o->seg, .g = o->grad, .out = o->sums});
	if (kernels_download(m->k, sum, o->sums, m->nparams * sizeof *sum,
			     e) == 0)
		return sum;
	free(sum);
	return NULL;
}

int
optim_norm(struct optim *o, double *norm, struct err *e)
{
	double *v = sums_of_squares(o, e), sum = 0;
	size_t i;

	if (!v)
		return -1;
	for (i = 0; i < o->m->nparams; i++)
		sum += v[i];
	free(v);
	*norm = sqrt(sum);
	return 0;
}

int
optim_first_bad(struct optim *o, size_t *bad, struct err *e)
{
	double *sum = sums_of_squares(o, e);
	size_t i;

	if (!sum)
		return -1;
	/* parameters are listed in the order of the forward pass */
	for (i = o->m->nparams; i > 0 && isfinite(sum[i - 1]); i--)
		;
	free(sum);
	*bad = i > 0 ? i - 1 : o->m->nparams;
	return 0;
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
