/*
 * optim.c - ref: sums of losses and gradients, clipping, AdamW
 */
#include "kernels/ref/ref.h"

#include <math.h>
#include <string.h>

void
ref_loss_sum(struct kernels *k, const struct k_loss_sum *a)
{
	(void)k;
	if (!a->accumulate)
		memset(a->sums, 0, 3 * sizeof *a->sums);
	for (int64_t n = 0; n < a->n; n++) {
		if (a->target[n] < 0)
			continue;
		a->sums[0] += a->loss[n];
		a->sums[1] += (double)a->logz[n] * a->logz[n];
		a->sums[2]++;
	}
}

void
ref_sumsq(struct kernels *k, const struct k_sumsq *a)
{
	(void)k;
	for (int64_t s = 0; s < a->nseg; s++) {
		const float *g = a->g + a->seg[s].at;
		double sum = 0;

		for (int64_t i = 0; i < a->seg[s].n; i++)
			sum += (double)g[i] * g[i];
		a->out[s] = sum;
	}
}

void
ref_clip(struct kernels *k, const struct k_clip *a)
{
	double share = a->sums[2] > 0 ? a->rows / a->sums[2] : 0, sum = 0;
	struct k_step *t = a->step;

	(void)k;
	t->bad = a->nseg;
	for (int64_t s = 0; s < a->nseg; s++) {
		sum += a->sumsq[s];
		if (!isfinite(a->sumsq[s]))
			t->bad = s;
	}
	t->norm = share * sqrt(sum);
	t->factor = share * (a->max_norm > 0 && t->norm > a->max_norm ?
			     a->max_norm / t->norm : 1);
	t->apply = a->sums[2] > 0 && isfinite(a->sums[0]) &&
		isfinite(a->sums[1]) && isfinite(t->norm);
}

/* One number; true if w keeps its value. */
static int
adamw_one(const struct k_adamw *a, const struct k_step *t, double decay,
	  int64_t i)
{
	double g = t->factor * a->g[i];
	double m = a->beta1 * a->m[i] + (1 - a->beta1) * g;
	double v = a->beta2 * a->v[i] + (1 - a->beta2) * g * g;
	size_t size = kdtype_size(a->wdt);
	char *w = (char *)a->w + (size_t)i * size, was[4];

	a->m[i] = (float)m;
	a->v[i] = (float)v;
	a->p[i] = (float)(a->p[i] - t->lr *
		(m / t->corr1 / (sqrt(v / t->corr2) + a->eps) +
		 decay * a->p[i]));
	memcpy(was, w, size);
	ref_set(a->w, a->wdt, i, a->p[i]);
	return memcmp(was, w, size) == 0;
}

static void
adamw_segment(const struct k_adamw *a, const struct k_step *t, int64_t s)
{
	const struct k_segment *seg = &a->seg[s];
	double sum[3] = {0};

	for (int64_t i = seg->at; i < seg->at + seg->n; i++) {
		double was = a->p[i];

		sum[2] += adamw_one(a, t, seg->decay ? a->decay : 0, i);
		sum[0] += (a->p[i] - was) * (a->p[i] - was);
		sum[1] += (double)a->p[i] * a->p[i];
	}
	if (a->stats)
		memcpy(a->stats + 3 * s, sum, sizeof sum);
}

void
ref_adamw(struct kernels *k, const struct k_adamw *a)
{
	const struct k_step host = {
		.lr = a->lr, .factor = a->gscale, .apply = 1,
		.corr1 = 1 - pow(a->beta1, (double)a->t),
		.corr2 = 1 - pow(a->beta2, (double)a->t)};
	const struct k_step *t = a->step ? a->step : &host;

	(void)k;
	for (int64_t s = 0; t->apply && s < a->nseg; s++)
		adamw_segment(a, t, s);
}
