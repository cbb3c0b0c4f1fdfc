/*
 * indicators.h - which rows of an embedding matrix were never trained
 *
 * Land and Bartolo (2024, arXiv 2405.05417).  Every row of the output matrix
 * gets a gradient at every step; the rows of tokens that never come are all
 * pushed along one common direction and become alike, so a row near the mean
 * u of rows that are known to be unused is suspicious: low is suspicious, for
 * every indicator.
 *
 *   cos      1 - e.u / max(|e||u|, 1e-6)
 *   centred  the same after the mean of all rows is taken from e and u
 *   no_pc1   the same after the first principal component c of the (centred)
 *            rows is taken from the uncentred ones: e - (e.c)c; u likewise
 *   l2       |e - u|
 *   in_norm  |e| of the input matrix
 *   bias     the bias of the output, where it has one
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
extern const char *const indicator_names[];	/* NULL ends it */

struct indicators {
	double *v[IND_N];	/* [V] each; the first four NULL without u, */
				/* the last without a bias */
	double *pc1;		/* (C) unit length, NULL without u */
	int converged;		/* 0: two components are as good as equal */
	const struct rows *bad;	/* the matrix with a row that is not finite */
	size_t bad_row;
};

/*
 * out: the output matrix; in: the input matrix of the same shape, with the
 * same p when tied.  bias: of type F32 to F16, V rows of one; NULL: none.
 * Its indicator is there when its length is above 1e-3.  unused[V]: 1 for a
 * row known to be unused.  -1: r->bad and r->bad_row, the first such row.
 */
int indicators_get(struct indicators *r, const struct rows *out,
		   const struct rows *in, const struct rows *bias,
		   const uint8_t *unused, int threads);
void indicators_clear(struct indicators *r);

/*
 * The p-th percentile (0..100) of x[n], n > 0, by linear interpolation
 * between order statistics; x is sorted.
 */
double indicators_percentile(double *x, size_t n, double p);

#endif
