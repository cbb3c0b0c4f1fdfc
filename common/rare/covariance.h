/*
 * covariance.h - X'X of the centred rows of a matrix
 */
#ifndef ASSAY_COVARIANCE_H
#define ASSAY_COVARIANCE_H

#include "rare/matrix.h"

/*
 * Columns up to which this is cheaper than many passes over the matrix, on
 * this processor.
 */
size_t gram_columns(void);

/*
 * (C, *ld) with zeros behind the C columns, to be freed: for all rows x of m,
 * the sum of (x - mean)(x - mean)'.  One pass; the same bits for any number
 * of threads, each of which takes 512 C bytes.
 */
double *gram_make(const struct rows *m, const double *mean, size_t *ld,
		  int threads);

#endif
