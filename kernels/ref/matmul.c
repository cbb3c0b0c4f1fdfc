/*
 * matmul.c - ref: matmuls with weights, and the head with its loss
 */
#include "kernels/ref/ref.h"

#include <math.h>


void
ref_matmul_fwd(struct kernels *k, const struct k_matmul_fwd *a)
{
	int64_t out = a->w->out, in = a->w->in;
	enum kdtype dt = a->w->dt;

	(void)k;
	for (int64_t n = 0; n < a->n; n++)
		for (int64_t o = 0; o < out; o++) {
			double sum = 0;

			for (int64_t i = 0; i < in; i++)
				sum += ref_get(a->x, dt, n * in + i) *
				       ref_get(a->w->data, dt, o * in + i);
			if (a->add)
				sum += ref_get(a->add, a->ydt, n * out + o);
			ref_set(a->y, a->ydt, n * out + o, sum);
		}
}

void
ref_matmul_dx(struct kernels *k, const struct k_matmul_dx *a)
{
	int64_t out = a->w->out, in = a->w->in;
	enum kdtype dt = a->w->dt;

	(void)k;
	for (int64_t n = 0; n < a->n; n++)
		for (int64_t i = 0; i < in; i++) {
			double sum = 0;

			for (int64_t o = 0; o < out; o++)
				sum += ref_get(a->dy, dt, n * out + o) *
				       ref_get(a->w->data, dt, o * in + i);
			ref_set(a->dx, dt, n * in + i, sum);
		}
}

void
ref_matmul_dw(struct kernels *k, const struct k_matmul_dw *a)
{
	(void)k;
	for (int64_t o = 0; o < a->out; o++)
		for (int64_t i = 0; i < a->in; i++) {
			float *dw = a->dw + o * a->in + i;
			double sum = a->accumulate ? *dw : 0;

			for (int64_t n = 0; n < a->n; n++)
				sum += ref_get(a->dy, a->dt, n * a->out + o) *
				       ref_get(a->x, a->dt, n * a->in + i);
			*dw = (float)sum;
		}
}

/* The logits of row n, its statistics in the output arrays. */
static void
ce_row(const struct k_ce_head *a, int64_t n, double *l)
{
	const struct kweight *w = a->w;
	double max = -INFINITY, sum = 0;
	int64_t best = 0;

	for (int64_t j = 0; j < a->v; j++) {
		l[j] = 0;
		for (int64_t c = 0; c < w->in; c++)
			l[j] += ref_get(a->h, w->dt, n * w->in + c) *
				ref_get(w->data, w->dt, j * w->in + c);
		if (l[j] > max)
			max = l[j], best = j;
	}
	for (int64_t j = 0; j < a->v; j++)
		sum += exp(l[j] - max);
	a->logz[n] = (float)(max + log(sum));
	a->loss[n] = a->target[n] < 0 ? 0 :
		(float)(max + log(sum) - l[a->target[n]]);
	if (a->argmax)
		a->argmax[n] = (int32_t)best;
	if (a->max_logit)
		a->max_logit[n] = isnan(sum) ? NAN : (float)max;
	for (int64_t j = 0; j < a->v; j++) {
		double z = max + log(sum);

		l[j] = a->scale * (exp(l[j] - z) * (1 + 2 * a->zcoef * z) -
				   (j == a->target[n]));
	}
}

/* One row's share of the gradients; dl (v) is that of its logits. */
static void
ce_row_bwd(const struct k_ce_head *a, int64_t n, const double *dl, double *dw)
{
	const struct kweight *w = a->w;

	for (int64_t c = 0; c < w->in; c++) {
		double h = ref_get(a->h, w->dt, n * w->in + c), dh = 0;

		for (int64_t j = 0; j < a->v; j++) {
			dh += dl[j] * ref_get(w->data, w->dt, j * w->in + c);
			dw[j * w->in + c] += dl[j] * h;
		}
		ref_set(a->dh, w->dt, n * w->in + c, dh);
	}
}

void
ref_ce_head(struct kernels *k, const struct k_ce_head *a)
{
	int64_t in = a->w->in, nw = a->w->out * in;
	double *l = ref_scratch(k, a->w->out + (a->dh ? nw : 0));
	double *dw = a->dh ? l + a->w->out : NULL;

	for (int64_t i = 0; i < a->w->out + (a->dh ? nw : 0); i++)
		l[i] = 0;
	for (int64_t n = 0; n < a->n; n++) {
		ce_row(a, n, l);
		if (a->dh && a->target[n] >= 0)
			ce_row_bwd(a, n, l, dw);
		for (int64_t c = 0; a->dh && a->target[n] < 0 && c < in; c++)
			ref_set(a->dh, a->w->dt, n * in + c, 0);
	}
	for (int64_t i = 0; dw && i < nw; i++) {
		double old = a->accumulate && i < a->v * in ? a->dw[i] : 0;

		a->dw[i] = (float)(old + dw[i]);
	}
}
