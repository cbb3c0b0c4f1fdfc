/*
 * optim.c - see optim.h
 *
 * Clipping is a factor in the update, so the gradient is not written again.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/optim.h"

static void
list_segments(struct optim *o)
{
	const int decay[] = {[PARAM_EMBED] = o->c.decay_embeddings,
		[PARAM_HEAD] = 1, [PARAM_MATRIX] = 1, [PARAM_NORM] = 0};
	const struct llama *m = o->m;
	size_t i, r;

	o->seg = xcalloc(m->nparams, sizeof *o->seg);
	o->part = xcalloc(m->nparams, sizeof *o->part);
	for (r = 0; r < m->nranges; r++)
		for (i = m->range[r].first; i < m->range[r].end; i++) {
			const struct param *p = &m->param[i];

			o->seg[i] = (struct k_segment){p->at, p->n,
				decay[p->kind]};
			o->part[i] = o->seg[i];
			o->part[i].at -= m->param[m->range[r].first].at;
		}
}

int
optim_init(struct optim *o, struct llama *m, const struct optim_conf *c,
	   struct err *e)
{
	*o = (struct optim){.m = m, .c = *c};
	list_segments(o);
	if ((o->master = llama_flat_new(m, e)) &&
	    (o->m1 = llama_flat_new(m, e)) &&
	    (o->m2 = llama_flat_new(m, e)) &&
	    (o->grad = llama_flat_new(m, e)) &&
	    (o->sumsq = m->k->alloc(m->k, m->nparams * sizeof *o->sumsq, e)) &&
	    (o->step_d = m->k->alloc(m->k, sizeof *o->step_d, e)))
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
	kernels_release(k, o->sumsq);
	kernels_release(k, o->step_d);
	free(o->seg);
	free(o->part);
	*o = (struct optim){0};
}

static void
queue_clip(struct optim *o, int64_t rows, const double *sums)
{
	struct kernels *k = o->m->k;
	int64_t n = (int64_t)o->m->nparams;

	k->sumsq(k, &(struct k_sumsq){.nseg = n, .seg = o->seg, .g = o->grad,
		.out = o->sumsq});
	k->clip(k, &(struct k_clip){.nseg = n, .sumsq = o->sumsq,
		.sums = sums, .rows = (double)rows, .max_norm = o->c.clip,
		.step = o->step_d});
}

static void
queue_adamw(struct optim *o, const struct llama_range *r)
{
	const struct llama *m = o->m;
	const struct param *p = &m->param[r->first];

	m->k->adamw(m->k, &(struct k_adamw){
		.nseg = (int64_t)(r->end - r->first), .seg = o->part + r->first,
		.p = o->master + p->at, .m = o->m1 + p->at,
		.v = o->m2 + p->at, .g = o->grad + p->at, .w = p->data,
		.wdt = p->dt, .beta1 = o->c.beta1, .beta2 = o->c.beta2,
		.eps = o->c.eps, .decay = o->c.decay, .step = o->step_d});
}

void
optim_step(struct optim *o, double lr, int64_t t, int64_t rows,
	   const double *sums)
{
	struct llama *m = o->m;
	size_t r;

	o->step = (struct k_step){.lr = lr,
		.corr1 = 1 - pow(o->c.beta1, (double)t),
		.corr2 = 1 - pow(o->c.beta2, (double)t)};
	kernels_upload(m->k, o->step_d, &o->step, sizeof o->step);
	queue_clip(o, rows, sums);
	for (r = 0; r < m->nranges; r++)
		queue_adamw(o, &m->range[r]);
	llama_pack(m);
	kernels_fetch(m->k, &o->done, o->step_d, sizeof o->done);
}
