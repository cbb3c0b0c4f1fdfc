/*
 * covariance.h - X'X of the centred rows of a matrix
 */
#ifndef ASSAY_COVARIANCE_H
#define ASSAY_COVARIANCE_H

#include "rare/matrix.h"

/*
 * (C, *ld), zero past column C; free() it.  The sum over all rows x of m of
 * (x - mean)(x - mean)', in one pass: F32, BF16 or F16 only.  The same bits
 * for any number of threads, of which each takes 512 C bytes, and on every
 * processor.
 */
double *covariance(const struct matrix *m, const double *mean, size_t *ld,
		   int threads);

#endif
