/*
 * pca.h - the first principal component of the rows of a matrix
 */
#ifndef ASSAY_PCA_H
#define ASSAY_PCA_H

#include "rare/matrix.h"

/*
 * Of the mean-centred rows, unit length, into c[C]; mean[C] is the mean row.
 * Numbers must be finite.  Power iteration from a fixed start in the Krylov
 * space (Lanczos), one pass over the matrix a step; the covariance is formed
 * (covariance.h) only where these would be many.  Ends when the sine of the angle to the true one, as the residual
 * over the gap to the second eigenvalue bounds it (Davis and Kahan), is below
 * 1e-8: then 1.  0: not reached, the first two are as good as equal.
 */
int principal(const struct rows *m, const double *mean, double *c,
	      int threads);

#endif
