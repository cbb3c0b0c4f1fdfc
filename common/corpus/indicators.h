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
 *
 * V: rows, C: columns.  All sums are in double, in an order that does not
 * depend on the number of threads.
 */
#ifndef ASSAY_INDICATORS_H
#define ASSAY_INDICATORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum indicator {
	IND_COS, IND_CENTRED, IND_NO_PC1, IND_L2, IND_IN_NORM, IND_N
};
extern const char *const indicator_names[];	/* NULL ends it */

struct indicators {
	double *v[IND_N];	/* [V] each; all but in_norm NULL without u */
	double *pc1;		/* (C) unit length, NULL without u */
	int converged;		/* 0: two components are as good as equal */
};

/* Rows as the checkpoint has them: V x C numbers, row-major. */
struct ind_matrix {
	const void *p;
	int f64;		/* 1: double, 0: float */
	size_t V, C;
};

/*
 * out: the output matrix; in: the input matrix of the same shape, with the
 * same p when tied.  unused[V]: 1 for a row known to be unused; none:
 * only in_norm.  Numbers must be finite.
 */
void indicators_get(struct indicators *r, const struct ind_matrix *out,
		    const struct ind_matrix *in, const uint8_t *unused,
		    int threads);
void indicators_clear(struct indicators *r);

/*
 * The first principal component of the mean-centred rows, unit length, into
 * c[C]; mean[C] is the mean row.  Power iteration from a fixed start in the
 * Krylov space (Lanczos), the covariance never formed: O(V C) a step.
 * Returns 1 when the residual is below 1e-9 of the eigenvalue, else 0.
 */
int indicators_pc1(const struct ind_matrix *m, const double *mean, double *c,
		   int threads);

/*
 * The p-th percentile (0..100) of x[n], n > 0, by linear interpolation
 * between order statistics; x is sorted.
 */
double indicators_percentile(double *x, size_t n, double p);

#endif
