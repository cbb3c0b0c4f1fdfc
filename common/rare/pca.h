/*
 * pca.h - the first principal component of the rows of a matrix
 */
#ifndef ASSAY_PCA_H
#define ASSAY_PCA_H

#include "rare/matrix.h"

/*
 * Of the mean-centred rows, of unit length, into c[C]; mean[C] is the mean
 * row.  All numbers must be finite.  Lanczos from a fixed start, one pass over
 * the matrix per step; after twelve steps that promise little the covariance
 * is formed instead (covariance.h).  Returns 1 when the sine of the angle to
 * the true component is below 1e-8, bounded by the residual over the gap to
 * the second eigenvalue (Davis and Kahan); 0 when it was not reached, because
 * the first two eigenvalues are nearly equal.
 */
int pca_first(const struct matrix *m, const double *mean, double *c,
	      int threads);

#endif
