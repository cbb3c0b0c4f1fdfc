/*
 * compare.h - the tolerance of kernels.h, applied to the outputs of two runs
 */
#ifndef ASSAY_KERNEL_COMPARE_H
#define ASSAY_KERNEL_COMPARE_H

#include "tests/kernels/kt.h"

static inline double
kt_tolerance(enum kdtype dt)
{
	return dt == K_F32 ? 1e-5 : dt == K_BF16 ? 1e-2 : 2e-3;
}

/* The root mean square of n numbers of o from i on. */
static inline double
kt_rms(const struct kt_out *o, int64_t i, int64_t n)
{
	double ss = 0;

	for (int64_t j = i; j < i + n; j++)
		ss += kt_get(o, j) * kt_get(o, j);
	return sqrt(ss / (double)n);
}

/* One row: the larger of its two errors, 1 at the limit. */
static inline double
kt_row_error(const struct kt_out *y, const struct kt_out *ref, int64_t i,
	     double tol, double whole)
{
	double limit = tol * kt_rms(ref, i, ref->cols) + 3e-6 * whole;
	double ss = 0, most = 0;

	for (int64_t j = i; j < i + ref->cols; j++) {
		double d = fabs(kt_get(y, j) - kt_get(ref, j));

		if (!(d <= 1e300))	/* not finite */
			return 1e300;
		ss += d * d;
		most = fmax(most, d);
	}
	if (most == 0)
		return 0;
	return fmax(sqrt(ss / (double)ref->cols), most / 16) / limit;
}

/* Arrays of doubles: the largest error of a number. */
static inline double
kt_doubles_error(const struct kt_out *y, const struct kt_out *ref, double tol)
{
	const double *a = y->data, *b = ref->data;
	double worst = 0;

	for (int64_t i = 0; i < ref->n / 2; i++) {
		double e = fabs(a[i] - b[i]) / (tol * fabs(b[i]) + 1e-300);

		if (e != e)
			return 1e300;
		worst = fmax(worst, e);
	}
	return worst;
}

/*
 * The largest error of an output in units of the tolerance for type dt: at
 * most 1 if the outputs agree.  *row gets the row of it.
 */
static inline double
kt_error(const struct kt_out *y, const struct kt_out *ref, enum kdtype dt,
	 int64_t *row)
{
	double worst = 0, whole = 0;

	*row = 0;
	if (ref->kind == KT_DOUBLE)
		return kt_doubles_error(y, ref, 1e-12);
	if (ref->kind == KT_SUM)
		return kt_doubles_error(y, ref, 1e-4);
	if (ref->kind == KT_BYTES)
		return memcmp(y->data, ref->data, (size_t)y->n *
			      kdtype_size(y->dt)) ? 1e300 : 0;
	whole = kt_rms(ref, 0, ref->n);
	if (ref->kind == KT_F32)
		dt = K_F32;
	for (int64_t i = 0; i < ref->n; i += ref->cols) {
		double e = ref->kind == KT_STAT ?
			fabs(kt_get(y, i) - kt_get(ref, i)) /
				(1e-5 * (1 + fabs(kt_get(ref, i)))) :
			kt_row_error(y, ref, i, kt_tolerance(dt), whole);

		if (e > worst || e != e) {
			worst = e == e ? e : 1e300;
			*row = i / ref->cols;
		}
	}
	return worst;
}

/* All outputs of a run: the largest error; with a name, faults are printed. */
static inline double
kt_compare(const struct kt *x, const struct kt *ref, const char *name)
{
	double worst = x->nout == ref->nout ? 0 : 1e300;

	for (int i = 0; i < x->nout && i < ref->nout; i++) {
		int64_t row;
		double e = kt_error(&x->out[i], &ref->out[i], x->dt, &row);

		worst = fmax(worst, e);
		if (e > 1 && name)
			printf("# %s: row %lld of %s (%lld x %lld) is off by "
			       "%.3g times the tolerance\n", name,
			       (long long)row, x->out[i].name,
			       (long long)(x->out[i].n / x->out[i].cols),
			       (long long)x->out[i].cols, e);
	}
	return worst;
}

#endif
