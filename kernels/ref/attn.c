/*
 * attn.c - ref: RoPE with optional norms, attention, the KV cache
 */
#include "kernels/ref/ref.h"

#include <math.h>
#include <string.h>


enum { MAX_D = 256 };

/* 1 / sqrt(mean x^2 + eps) of the D numbers from element i of p. */
static double
head_rstd(const void *p, enum kdtype dt, int64_t i, int64_t d, double eps)
{
	double ss = 0;

	for (int64_t j = 0; j < d; j++)
		ss += ref_get(p, dt, i + j) * ref_get(p, dt, i + j);
	return 1 / sqrt(ss / (double)d + eps);
}

void
ref_rope_fwd(struct kernels *k, const struct k_rope_fwd *a)
{
	int64_t q = (a->h + 2 * a->g) * a->d, half = a->d / 2;
	double x[MAX_D];

	(void)k;
	for (int64_t n = 0; n < a->n; n++)
		for (int64_t h = 0; h < a->h + 2 * a->g; h++) {
			const void *w = h < a->h ? a->qw : a->kw;
			const float *cs = a->cos + a->pos[n] * half;
			const float *sn = a->sin + a->pos[n] * half;
			int64_t i = n * q + h * a->d;
			int rot = h < a->h + a->g;
			double r = rot && w ?
				head_rstd(a->in, a->dt, i, a->d, a->eps) : 1;

			for (int64_t j = 0; j < a->d; j++)
				x[j] = ref_get(a->in, a->dt, i + j) * r *
				       (rot && w ? ref_get(w, a->dt, j) : 1);
			for (int64_t j = 0; j < half; j++) {
				double y0 = x[j], y1 = x[j + half];

				if (rot) {
					y0 = x[j] * cs[j] - x[j + half] * sn[j];
					y1 = x[j + half] * cs[j] + x[j] * sn[j];
				}
				ref_set(a->out, a->dt, i + j, y0);
				ref_set(a->out, a->dt, i + j + half, y1);
			}
		}
}

/* Through the norm of one head: g is dy on entry and dx on return. */
static void
head_norm_bwd(const struct k_rope_bwd *a, int64_t i, const void *w, double *g,
	      double *dw)
{
	double r = head_rstd(a->in, a->dt, i, a->d, a->eps), s = 0;

	for (int64_t j = 0; j < a->d; j++) {
		double x = ref_get(a->in, a->dt, i + j);

		dw[j] += g[j] * x * r;
		g[j] *= ref_get(w, a->dt, j);
		s += g[j] * x;
	}
	s = s / (double)a->d * r * r;
	for (int64_t j = 0; j < a->d; j++)
		g[j] = r * (g[j] - ref_get(a->in, a->dt, i + j) * s);
}

void
ref_rope_bwd(struct kernels *k, const struct k_rope_bwd *a)
{
	int64_t q = (a->h + 2 * a->g) * a->d, half = a->d / 2;
	double g[MAX_D], dw[2][MAX_D];

	(void)k;
	for (int64_t j = 0; a->qw && j < a->d; j++) {
		dw[0][j] = a->accumulate ? a->dqw[j] : 0;
		dw[1][j] = a->accumulate ? a->dkw[j] : 0;
	}
	for (int64_t n = 0; n < a->n; n++)
		for (int64_t h = 0; h < a->h + a->g; h++) {
			const float *cs = a->cos + a->pos[n] * half;
			const float *sn = a->sin + a->pos[n] * half;
			int64_t i = n * q + h * a->d;

			for (int64_t j = 0; j < half; j++) {
				double y0 = ref_get(a->dqkv, a->dt, i + j);
				double y1 = ref_get(a->dqkv, a->dt,
						    i + j + half);

				g[j] = y0 * cs[j] + y1 * sn[j];
				g[j + half] = y1 * cs[j] - y0 * sn[j];
			}
			if (a->qw)
				head_norm_bwd(a, i, h < a->h ? a->qw : a->kw,
					      g, dw[h >= a->h]);
			for (int64_t j = 0; j < a->d; j++)
				ref_set(a->dqkv, a->dt, i + j, g[j]);
		}
	for (int64_t j = 0; a->qw && j < a->d; j++) {
		a->dqw[j] = (float)dw[0][j];
		a->dkw[j] = (float)dw[1][j];
	}
}

static double
dot(const void *x, int64_t i, const void *y, int64_t j, enum kdtype dt,
    int64_t d)
{
	double s = 0;

	for (int64_t c = 0; c < d; c++)
		s += ref_get(x, dt, i + c) * ref_get(y, dt, j + c);
	return s;
}

/*
 * One query (element qi of q) over rows j0..j1 of keys and values, which
 * start at elements ki and vi, `step` apart.  p has room for j1 + 1.  *top
 * becomes the largest score, if it is larger or not a number.
 */
static double
attend(enum kdtype dt, int64_t d, double scale, const void *q, int64_t qi,
       const void *kp, int64_t ki, const void *vp, int64_t vi, int64_t step,
       int64_t j0, int64_t j1, double *p, void *o, int64_t oi, double *top)
{
	double max = -INFINITY, sum = 0;

	for (int64_t j = j0; j <= j1; j++) {
		p[j] = scale * dot(q, qi, kp, ki + j * step, dt, d);
		max = p[j] > max ? p[j] : max;
		*top = p[j] > *top || isnan(p[j]) ? p[j] : *top;
	}
	for (int64_t j = j0; j <= j1; j++)
		sum += p[j] = exp(p[j] - max);
	for (int64_t c = 0; c < d; c++) {
		double x = 0;

		for (int64_t j = j0; j <= j1; j++)
			x += p[j] * ref_get(vp, dt, vi + j * step + c);
		ref_set(o, dt, oi + c, x / sum);
	}
	return max + log(sum);
}

void
ref_attn_fwd(struct kernels *k, const struct k_attn_fwd *a)
{
	int64_t q = (a->h + 2 * a->g) * a->d, rep = a->h / a->g;
	double *p = ref_scratch(k, a->t);

	for (int64_t h = 0; h < a->h; h++) {
		double top = -INFINITY;

		for (int64_t b = 0; b < a->b; b++)
			for (int64_t t = 0; t < a->t; t++) {
				int64_t n = b * a->t + t, s = b * a->t * q;
				int64_t kh = s + (a->h + h / rep) * a->d;

				a->lse[(b * a->h + h) * a->t + t] =
				    (float)attend(a->dt, a->d, a->scale, a->qkv,
					n * q + h * a->d, a->qkv, kh, a->qkv,
					kh + a->g * a->d, q,
					k_attn_first(a->start ? a->start[n] : 0,
						     a->window, t), t, p, a->o,
					(n * a->h + h) * a->d, &top);
			}
		if (a->max_score)
			a->max_score[h] = (float)top;
	}
}

/* Gradients of one query: adds to g (T, Q), doubles, of its sequence. */
static void
attend_bwd(const struct k_attn_bwd *a, int64_t b, int64_t h, int64_t t,
	   double *g)
{
	int64_t q = (a->h + 2 * a->g) * a->d, d = a->d;
	int64_t n = b * a->t + t, oi = (n * a->h + h) * d;
	int64_t kc = (a->h + h / (a->h / a->g)) * d, vc = kc + a->g * d;
	double lse = a->lse[(b * a->h + h) * a->t + t];
	double delta = dot(a->dout, oi, a->o, oi, a->dt, d);
	int64_t j = k_attn_first(a->start ? a->start[n] : 0, a->window, t);

	for (; j <= t; j++) {
		int64_t m = (b * a->t + j) * q;
		double p = exp(a->scale * dot(a->qkv, n * q + h * d, a->qkv,
					      m + kc, a->dt, d) - lse);
		double dp = dot(a->dout, oi, a->qkv, m + vc, a->dt, d);
		double ds = a->scale * p * (dp - delta);

		for (int64_t c = 0; c < d; c++) {
			g[t * q + h * d + c] +=
				ds * ref_get(a->qkv, a->dt, m + kc + c);
			g[j * q + kc + c] +=
				ds * ref_get(a->qkv, a->dt, n * q + h * d + c);
			g[j * q + vc + c] +=
				p * ref_get(a->dout, a->dt, oi + c);
		}
	}
}

void
ref_attn_bwd(struct kernels *k, const struct k_attn_bwd *a)
{
	int64_t q = (a->h + 2 * a->g) * a->d;
	size_t size = (size_t)(a->t * q) * sizeof(double);
	double *g = ref_scratch(k, a->t * q);

	for (int64_t b = 0; b < a->b; b++) {
		memset(g, 0, size);
		for (int64_t h = 0; h < a->h; h++)
			for (int64_t t = 0; t < a->t; t++)
				attend_bwd(a, b, h, t, g);
		for (int64_t i = 0; i < a->t * q; i++)
			ref_set(a->dqkv, a->dt, b * a->t * q + i, g[i]);
	}
}

void
ref_kv_put(struct kernels *k, const struct k_kv_put *a)
{
	int64_t q = (a->h + 2 * a->g) * a->d;
	size_t e = kdtype_size(a->dt), bytes = (size_t)a->d * e;

	(void)k;
	for (int64_t n = 0; n < a->n; n++)
		for (int64_t g = 0; g < a->g; g++) {
			size_t to = (size_t)(((a->slot[n] * a->g + g) * a->p +
					      a->pos[n]) * a->d) * e;
			size_t from = (size_t)(n * q + (a->h + g) * a->d) * e;
			const char *src = (const char *)a->qkv + from;

			memcpy((char *)a->kc + to, src, bytes);
			memcpy((char *)a->vc + to,
			       src + (size_t)a->g * bytes, bytes);
		}
}

void
ref_attn_cache(struct kernels *k, const struct k_attn_cache *a)
{
	int64_t q = (a->h + 2 * a->g) * a->d, rep = a->h / a->g;
	double *p = ref_scratch(k, a->p);

	for (int64_t h = 0; h < a->h; h++) {
		double top = -INFINITY;

		for (int64_t n = 0; n < a->n; n++) {
			int64_t kh = (a->slot[n] * a->g + h / rep) * a->p *
				     a->d;

			attend(a->dt, a->d, a->scale, a->qkv, n * q + h * a->d,
			       a->kc, kh, a->vc, kh, a->d,
			       k_attn_first(0, a->window, a->pos[n]),
			       a->pos[n], p,
			       a->o, (n * a->h + h) * a->d, &top);
		}
		if (a->max_score)
			a->max_score[h] = (float)top;
	}
}
