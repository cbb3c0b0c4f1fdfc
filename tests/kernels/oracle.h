/*
 * oracle.h - single rows of attention in float64
 *
 * ref computes whole outputs, which takes minutes at the lengths of real runs.
 * These functions compute one row of one head from the formulas of kernels.h,
 * so that a sample of rows can be compared.  agree.c holds them against ref at
 * a small shape.
 */
#ifndef ASSAY_KERNEL_ORACLE_H
#define ASSAY_KERNEL_ORACLE_H

#include "tests/kernels/kt.h"

/* Inputs as doubles; the letters and shapes are those of kernels.h. */
struct oracle {
	int64_t b, t, h, g, d, window;
	double scale;
	const int32_t *start;		/* (B, T) or NULL */
	double *qkv;			/* (B, T, Q) */
	double *o, *dout;		/* (B, T, H*D) */
	double *lse;			/* (B, H, T) */
	double *p;			/* (T) scratch */
};

/* n numbers of type dt in host memory as doubles, to be freed. */
static inline double *
oracle_numbers(const void *p, int64_t n, enum kdtype dt)
{
	double *x = xreallocarray(NULL, (size_t)n, sizeof *x);

	for (int64_t i = 0; i < n; i++)
		x[i] = kt_at(p, dt, i);
	return x;
}

static inline double
oracle_dot(const double *x, const double *y, int64_t d)
{
	double s[4] = { 0, 0, 0, 0 }, sum = 0;
	int64_t i = 0;

	for (; i + 4 <= d; i += 4)
		for (int j = 0; j < 4; j++)
			s[j] += x[i + j] * y[i + j];
	for (; i < d; i++)
		sum += x[i] * y[i];
	return sum + s[0] + s[1] + s[2] + s[3];
}

/* Head c of row t of qkv: queries, then keys from H on, values from H + G. */
static inline const double *
oracle_head(const struct oracle *a, int64_t b, int64_t t, int64_t c)
{
	return a->qkv + ((b * a->t + t) * (a->h + 2 * a->g) + c) * a->d;
}

/* The head of keys of query head h; G further is that of values. */
static inline int64_t
oracle_kv(const struct oracle *a, int64_t h)
{
	return a->h + h / (a->h / a->g);
}

static inline int64_t
oracle_first(const struct oracle *a, int64_t b, int64_t t)
{
	int64_t s = a->start ? a->start[b * a->t + t] : 0;

	return a->window > 0 && s < t - a->window + 1 ? t - a->window + 1 : s;
}

/* o (D) of one row; returns lse. */
static inline double
oracle_fwd(const struct oracle *a, int64_t b, int64_t h, int64_t t, double *o)
{
	const double *q = oracle_head(a, b, t, h);
	int64_t kv = oracle_kv(a, h), s = oracle_first(a, b, t);
	double max = -INFINITY, sum = 0;

	for (int64_t j = s; j <= t; j++) {
		a->p[j] = a->scale *
			oracle_dot(q, oracle_head(a, b, j, kv), a->d);
		max = fmax(max, a->p[j]);
	}
	for (int64_t c = 0; c < a->d; c++)
		o[c] = 0;
	for (int64_t j = s; j <= t; j++) {
		const double *v = oracle_head(a, b, j, kv + a->g);
		double e = exp(a->p[j] - max);

		sum += e;
		for (int64_t c = 0; c < a->d; c++)
			o[c] += e * v[c];
	}
	for (int64_t c = 0; c < a->d; c++)
		o[c] /= sum;
	return max + log(sum);
}

/* One pair of the backward pass: p, and ds times scale. */
static inline double
oracle_ds(const struct oracle *a, int64_t b, int64_t h, int64_t t, int64_t j,
	  double *p)
{
	int64_t kv = oracle_kv(a, h), row = ((b * a->t + t) * a->h + h) * a->d;
	const double *dout = a->dout + row;
	double s = a->scale * oracle_dot(oracle_head(a, b, t, h),
					 oracle_head(a, b, j, kv), a->d);
	double dp = oracle_dot(dout, oracle_head(a, b, j, kv + a->g), a->d);

	*p = exp(s - a->lse[(b * a->h + h) * a->t + t]);
	return a->scale * *p * (dp - oracle_dot(dout, a->o + row, a->d));
}

/* dq (D) of one row. */
static inline void
oracle_dq(const struct oracle *a, int64_t b, int64_t h, int64_t t, double *dq)
{
	for (int64_t c = 0; c < a->d; c++)
		dq[c] = 0;
	for (int64_t j = oracle_first(a, b, t); j <= t; j++) {
		const double *k = oracle_head(a, b, j, oracle_kv(a, h));
		double p, ds = oracle_ds(a, b, h, t, j, &p);

		for (int64_t c = 0; c < a->d; c++)
			dq[c] += ds * k[c];
	}
}

/* dk and dv (D) of one row of key/value head g. */
static inline void
oracle_dkv(const struct oracle *a, int64_t b, int64_t g, int64_t j,
	   double *dk, double *dv)
{
	int64_t rep = a->h / a->g;

	for (int64_t c = 0; c < a->d; c++)
		dk[c] = dv[c] = 0;
	for (int64_t h = g * rep; h < (g + 1) * rep; h++)
		for (int64_t t = j; t < a->t; t++) {
			const double *q = oracle_head(a, b, t, h);
			const double *dout = a->dout +
				((b * a->t + t) * a->h + h) * a->d;
			double p, ds;

			if (oracle_first(a, b, t) > j)
				continue;
			ds = oracle_ds(a, b, h, t, j, &p);
			for (int64_t c = 0; c < a->d; c++) {
				dk[c] += ds * q[c];
				dv[c] += p * dout[c];
			}
		}
}

#endif
