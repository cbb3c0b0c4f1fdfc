/*
 * indicators.h - which rows of an embedding matrix were never trained
 *
 * Land and Bartolo (2024, arXiv 2405.05417).  Every row of the output matrix
 * gets a gradient at every step.  The rows of tokens that never occur are all
 * pushed in one common direction and become alike, so a row near the mean u of
 * rows that are known to be unused is suspicious.  Low is suspicious, for
 * every indicator.
 *
 *   cos      1 - e.u / max(|e||u|, 1e-6)
 *   centred  the same after the mean of all rows is subtracted from e and u
 *   no_pc1   the same after the first principal component c of the (centred)
 *            rows is removed from the uncentred ones: e - (e.c)c; u likewise
 *   l2       |e - u|
 *   in_norm  |e| of the input matrix
 *   bias     the bias of the output, if it has one
 *
 * V: rows, C: columns.  All sums are in double, in an order that does not
 * depend on the number of threads.
 */
#ifndef ASSAY_INDICATORS_H
#define ASSAY_INDICATORS_H

#include <stddef.h>
#include <stdint.h>

#include "rare/matrix.h"

enum indicator {
	IND_COS, IND_CENTRED, IND_NO_PC1, IND_L2, IND_IN_NORM, IND_BIAS, IND_N
};
extern const char *const indicator_names[];	/* ends with NULL */

struct indicators {
	double *v[IND_N];	/* [V] each; the first four NULL without u, */
				/* the last without a bias */
	double *pc1;		/* (C) unit length, NULL without u */
	int converged;		/* 0: two components are nearly equal */
	const struct matrix *bad;	/* the matrix with a row that is not */
	size_t bad_row;			/* finite, and the first such row */
};

/*
 * out: the output matrix; in: the input matrix of the same shape, with the
 * same p when tied.  bias: one column of V rows, of type F32 to F16, or NULL.
 * It becomes an indicator if its length is above 1e-3.  unused[V]: 1 for a
 * row known to be unused.  -1: r->bad and r->bad_row.
 */
int indicators_get(struct indicators *r, const struct matrix *out,
		   const struct matrix *in, const struct matrix *bias,
		   const uint8_t *unused, int threads);
void indicators_clear(struct indicators *r);

/*
 * The p-th percentile (0..100) of x[n], n > 0, by linear interpolation
 * between order statistics.  Sorts x.
 */
double indicators_percentile(double *x, size_t n, double p);

#endif
