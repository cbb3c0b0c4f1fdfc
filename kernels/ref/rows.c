/*
 * rows.c - ref: embedding, RMSNorm, SwiGLU and casts
 */
#include "kernels/ref/ref.h"

#include <math.h>
#include <string.h>

void
ref_embed_fwd(struct kernels *k, const struct k_embed_fwd *a)
{
	(void)k;
	for (int64_t n = 0; n < a->n; n++)
		for (int64_t c = 0; c < a->c; c++)
			a->y[n * a->c + c] = (float)ref_get(a->w, a->dt,
				a->tok[n] * a->c + c);
}

/* Row i in the order of the call. */
static int64_t
row_at(const struct k_embed_bwd *a, int64_t i)
{
	return a->order ? a->order[i] : i;
}

/* Whether a row before place i has the same token. */
static int
seen(const struct k_embed_bwd *a, int64_t i)
{
	for (int64_t j = 0; j < i; j++)
		if (a->tok[row_at(a, j)] == a->tok[row_at(a, i)])
			return 1;
	return 0;
}

void
ref_embed_bwd(struct kernels *k, const struct k_embed_bwd *a)
{
	(void)k;
	if (!a->accumulate)
		memset(a->dw, 0, (size_t)(a->v * a->c) * sizeof *a->dw);
	for (int64_t i = 0; i < a->n; i++) {
		int32_t tok = a->tok[row_at(a, i)];
		float *dw = a->dw + tok * a->c;

		if (seen(a, i))
			continue;
		for (int64_t c = 0; c < a->c; c++) {
			double sum = dw[c];

			for (int64_t j = i; j < a->n; j++)
				if (a->tok[row_at(a, j)] == tok)
					sum += a->dx[row_at(a, j) * a->c + c];
			dw[c] = (float)sum;
		}
	}
}

void
ref_rmsnorm_fwd(struct kernels *k, const struct k_rmsnorm_fwd *a)
{
	(void)k;
	for (int64_t n = 0; n < a->n; n++) {
		const float *x = a->x + n * a->c;
		double ss = 0, r;

		for (int64_t c = 0; c < a->c; c++)
			ss += (double)x[c] * x[c];
		r = 1 / sqrt(ss / (double)a->c + a->eps);
		for (int64_t c = 0; c < a->c; c++)
			ref_set(a->y, a->dt, n * a->c + c,
				x[c] * r * ref_get(a->w, a->dt, c));
		if (a->rstd)
			a->rstd[n] = (float)r;
	}
}

static void
rmsnorm_dx(const struct k_rmsnorm_bwd *a, int64_t n)
{
	const float *x = a->x + n * a->c;
	float *dx = a->dx + n * a->c;
	double r = a->rstd[n], s = 0;

	for (int64_t c = 0; c < a->c; c++)
		s += ref_get(a->dy, a->dt, n * a->c + c) *
		     ref_get(a->w, a->dt, c) * x[c];
	s = s / (double)a->c * r * r;
	for (int64_t c = 0; c < a->c; c++) {
		double g = ref_get(a->dy, a->dt, n * a->c + c) *
			   ref_get(a->w, a->dt, c);
		double d = r * (g - x[c] * s);

		dx[c] = (float)(a->dx_accumulate ? dx[c] + d : d);
		if (a->dxc)
			ref_set(a->dxc, a->dt, n * a->c + c, dx[c]);
	}
}

void
ref_rmsnorm_bwd(struct kernels *k, const struct k_rmsnorm_bwd *a)
{
	(void)k;
	for (int64_t c = 0; c < a->c; c++) {
		double sum = a->dw_accumulate ? a->dw[c] : 0;

		for (int64_t n = 0; n < a->n; n++)
			sum += ref_get(a->dy, a->dt, n * a->c + c) *
			       a->x[n * a->c + c] * a->rstd[n];
		a->dw[c] = (float)sum;
	}
	for (int64_t n = 0; n < a->n; n++)
		rmsnorm_dx(a, n);
}

void
ref_swiglu_fwd(struct kernels *k, const struct k_swiglu_fwd *a)
{
	(void)k;
	for (int64_t n = 0; n < a->n; n++)
		for (int64_t f = 0; f < a->f; f++) {
			int64_t i = n * 2 * a->f + f;
			double g = ref_get(a->gu, a->dt, i);
			double u = ref_get(a->gu, a->dt, i + a->f);

			ref_set(a->a, a->dt, n * a->f + f,
				g / (1 + exp(-g)) * u);
		}
}

void
ref_swiglu_bwd(struct kernels *k, const struct k_swiglu_bwd *a)
{
	(void)k;
	for (int64_t n = 0; n < a->n; n++)
		for (int64_t f = 0; f < a->f; f++) {
			int64_t i = n * 2 * a->f + f;
			double g = ref_get(a->gu, a->dt, i);
			double u = ref_get(a->gu, a->dt, i + a->f);
			double d = ref_get(a->da, a->dt, n * a->f + f);
			double s = 1 / (1 + exp(-g));

			ref_set(a->dgu, a->dt, i,
				d * u * s * (1 + g * (1 - s)));
			ref_set(a->dgu, a->dt, i + a->f, d * g * s);
			if (a->a)
				ref_set(a->a, a->dt, n * a->f + f, g * s * u);
		}
}

void
ref_cast(struct kernels *k, const struct k_cast *a)
{
	(void)k;
	for (int64_t i = 0; i < a->n; i++)
		ref_set(a->dst, a->ddt, i, ref_get(a->src, a->sdt, i));
}
