/*
 * k_stats.h - statistics of a matrix: a part of kernels.h
 */
#ifndef ASSAY_K_STATS_H
#define ASSAY_K_STATS_H

#include "kernels/dtype.h"

/*
 * What stats finds in a matrix.  All but nonfinite and first are of the
 * finite numbers alone.
 */
struct k_stats_out {
	double sum, sumsq;
	double min, max;	/* infinity and -infinity where there is none */
	double tiny;		/* least magnitude but 0; infinity: none */
	int64_t zeros;		/* 0 and -0 */
	int64_t subnormals;	/* of type dt */
	int64_t nonfinite;	/* NaN and infinity */
	int64_t first;		/* the first of these, row * cols + column; or
				   -1 */
};

/*
 * Read the matrix once.  Counts, min, max and tiny are exact, a zero is never
 * -0.  sum and sumsq are sums in f64 of exact terms, in fixed order.
 */
struct k_stats {
	int64_t rows, cols, ld;	/* ld >= cols: numbers from row to row */
	enum kdtype dt;
	const void *x;		/* (rows, ld), of which cols are read */
	struct k_stats_out *out;	/* (1), device */
};

/*
 * out[c] = largest magnitude |x[r, c]| of a column, exact; infinity or NaN
 * where the column has one, NaN where it has both.
 */
struct k_colmax {
	int64_t rows, cols, ld;
	enum kdtype dt;
	const void *x;		/* (rows, ld), of which cols are read */
	float *out;		/* (cols) */
};

#endif
