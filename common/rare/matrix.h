/*
 * matrix.h - rows of a matrix in a mapped checkpoint, as doubles
 *
 * The matrix stays in the file, at whatever address, and is converted one row
 * at a time: bf16 takes half of the memory traffic of float.
 *
 * Each operation has an AVX-512, an AVX2 and a plain form, chosen at run time.
 * All of them add in the same order, into sixteen partial sums, and none fuses
 * a multiply with an add, so the bits are the same on every processor.
 */
#ifndef ASSAY_MATRIX_H
#define ASSAY_MATRIX_H

#include <stddef.h>

enum matrix_type { MATRIX_F32, MATRIX_F64, MATRIX_BF16, MATRIX_F16 };

struct matrix {
	const void *p;		/* (V, C), row-major, little-endian */
	enum matrix_type type;
	size_t V, C;
};

struct matrix_ops {
	/* Row r of m into x[C].  NaN and infinity are kept. */
	void (*get)(const struct matrix *m, size_t r, double *x);

	/* Sum of a[i] b[i]. */
	double (*dot)(const double *a, const double *b, size_t n);

	/* y[i] += k x[i]; y and x do not overlap. */
	void (*add)(double *restrict y, double k, const double *restrict x,
		    size_t n);

	/* out[i] = a[i] - k b[i]; out is neither a nor b. */
	void (*sub)(double *restrict out, const double *a, double k,
		    const double *b, size_t n);
};

enum { MATRIX_PLAIN, MATRIX_AVX2, MATRIX_AVX512, MATRIX_BEST = MATRIX_AVX512 };

/* The operations of that level, or of the best that this processor has. */
const struct matrix_ops *matrix_ops(int level);

/* A fixed block of rows, and what its work may use. */
struct matrix_block {
	const struct matrix *m;
	const struct matrix_ops *o;
	size_t from, to;	/* rows */
	double *sum;		/* (C), zero at first */
	double *row;		/* (2 C) scratch */
};

/*
 * Call fn for every block of rows, on several threads.  sum[C], or NULL, is
 * the sum of the blocks' sums, added in the order of the blocks: the bits do
 * not depend on the number of threads.
 */
void matrix_sweep(const struct matrix *m,
		  void (*fn)(const struct matrix_block *b, void *ctx),
		  void *ctx, double *sum, int threads);

#endif
