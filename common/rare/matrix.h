/*
 * matrix.h - the rows of a matrix in a checkpoint, as doubles
 *
 * A matrix stays as the file has it, also at an odd address, and is read a
 * row at a time: bf16 takes half of the memory traffic of float.
 *
 * Each function has a form for AVX-512, one for AVX2 and a plain one, chosen
 * when the program runs.  All of them add in the same order, sixteen sums
 * side by side, and none fuses a product with a sum, so that the bits are the
 * same on every processor.
 */
#ifndef ASSAY_MATRIX_H
#define ASSAY_MATRIX_H

#include <stdatomic.h>
#include <stddef.h>

enum row_type { ROW_F32, ROW_F64, ROW_BF16, ROW_F16 };

struct rows {
	const void *p;		/* V x C numbers, row-major, little-endian */
	enum row_type type;
	size_t V, C;
};

struct row_ops {
	/* Row r of m into x[C]; NaN and infinity stay what they are. */
	void (*get)(const struct rows *m, size_t r, double *x);

	/* Sum of a[i] b[i]. */
	double (*dot)(const double *a, const double *b, size_t n);

	/* y[i] += k x[i]; y and x do not overlap. */
	void (*add)(double *restrict y, double k, const double *restrict x,
		    size_t n);

	/* out[i] = a[i] - k b[i]; out is neither a nor b. */
	void (*sub)(double *restrict out, const double *a, double k,
		    const double *b, size_t n);
};

enum { ROW_OPS_BEST = 2 };

/* 0: plain, 1: AVX2, 2: AVX-512, or the best below that this processor has. */
const struct row_ops *row_ops(int level);

/*
 * One pass over the rows by several threads.  They are cut into fixed blocks,
 * each the work of one thread; what a block sums up it leaves in its own part
 * of `part`, and parts are added in their order, so that the bits do not
 * depend on the number of threads.
 */
struct row_sweep {
	struct rows m;
	const struct row_ops *o;
	size_t blocks, per;	/* per: rows of a block */
	double *part;		/* (blocks, C), for the blocks' sums */
	void (*block)(const struct row_sweep *w, size_t b, size_t from,
		      size_t to, double *row);
	void *arg;		/* for block */
	atomic_size_t next;
};

void row_sweep_init(struct row_sweep *w, const struct rows *m);
void row_sweep_clear(struct row_sweep *w);

/* Call block for each; row: memory for 2 C doubles, of one thread. */
void row_sweep_run(struct row_sweep *w, int threads);

/* The sum of the parts into y[C]. */
void row_sweep_sum(const struct row_sweep *w, double *y);

#endif
