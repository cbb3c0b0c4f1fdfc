/*
 * covariance.c - see covariance.h
 *
 * The sum of xx' is taken of the rows as they are, and V mean mean' is
 * subtracted at the end: a product of two floats is exact in double, so that
 * it makes no difference whether a processor fuses it with the addition.
 *
 * ROWS rows at a time, a tile of HIGH x WIDE sums stays in registers, and is
 * then added to the result.  Only blocks at and above the diagonal are
 * computed.  Threads share the blocks, not the rows, so that the order of the
 * sums does not depend on their number.
 */
#include "rare/covariance.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/parallel.h"

typedef double v8 __attribute__((vector_size(64), aligned(8), may_alias));

enum { LANES = 8, HIGH = 8, VECTORS = 3, WIDE = LANES * VECTORS, ROWS = 64 };

struct job {
	const struct matrix *m;
	double *g;		/* (C, ld) and more rows, the result */
	size_t blocks, ld;	/* blocks of WIDE columns */
	int threads;
	void (*tile)(const double *a, const double *b, size_t rows, double *g,
		     size_t ld);
};

/* g += a'b, a (rows, HIGH) and b (rows, WIDE), lines of ld doubles. */
static inline __attribute__((always_inline)) void
tile(const double *restrict a, const double *restrict b, size_t rows,
     double *restrict g, size_t ld)
{
	v8 sum[HIGH][VECTORS] = {{{0}}};
	size_t r;
	int i, k;

	for (r = 0; r < rows; r++, a += ld, b += ld) {
		const v8 *x = (const v8 *)b;
#pragma GCC unroll 8
		for (i = 0; i < HIGH; i++) {
			sum[i][0] += a[i] * x[0];
			sum[i][1] += a[i] * x[1];
			sum[i][2] += a[i] * x[2];
		}
	}
#pragma GCC unroll 8
	for (i = 0; i < HIGH; i++)
#pragma GCC unroll 3
		for (k = 0; k < VECTORS; k++)
			((v8 *)(g + (size_t)i * ld))[k] += sum[i][k];
}

static void
tile_plain(const double *a, const double *b, size_t rows, double *g, size_t ld)
{
	tile(a, b, rows, g, ld);
}

#ifdef __x86_64__
__attribute__((target("avx512f"))) static void
tile_avx512(const double *a, const double *b, size_t rows, double *g,
	    size_t ld)
{
	tile(a, b, rows, g, ld);
}
#endif

static void
add_blocks(void *ctx, int thread)
{
	const struct job *j = ctx;
	const struct matrix_ops *o = matrix_ops(MATRIX_BEST);
	double *x = xcalloc(ROWS * j->ld, sizeof(*x));
	size_t from, n, r, p, q, i, at;

	for (from = 0; from < j->m->V; from += n) {
		n = j->m->V - from < ROWS ? j->m->V - from : ROWS;
		for (r = 0; r < n; r++)
			o->get(j->m, from + r, x + r * j->ld);
		for (at = p = 0; p < j->blocks; p++)
			for (q = p; q < j->blocks; q++) {
				if (at++ % (size_t)j->threads != (size_t)thread)
					continue;
				for (i = p * WIDE; i < (p + 1) * WIDE;
				     i += HIGH)
					j->tile(x + i, x + q * WIDE, n,
						j->g + i * j->ld + q * WIDE,
						j->ld);
			}
	}
	free(x);
}

double *
covariance(const struct matrix *m, const double *mean, size_t *ld, int threads)
{
	struct job j = {.m = m, .threads = threads, .tile = tile_plain};
	size_t i, k;

	j.blocks = (m->C + WIDE - 1) / WIDE;
	/* An odd number of cache lines: rows do not share a set. */
	*ld = j.ld = j.blocks * WIDE + (j.blocks % 2 ? 0 : LANES);
	j.g = xcalloc(j.blocks * WIDE * j.ld, sizeof(double));
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx512f"))
		j.tile = tile_avx512;
#endif
	parallel_run(threads, add_blocks, &j);
	for (i = 0; i < m->C; i++) {
		matrix_ops(MATRIX_BEST)->add(j.g + i * j.ld + i,
					     -(double)m->V * mean[i], mean + i,
					     m->C - i);
		for (k = i + 1; k < m->C; k++)
			j.g[k * j.ld + i] = j.g[i * j.ld + k];
	}
	return j.g;
}
