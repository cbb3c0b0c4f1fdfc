/*
 * covariance.c - see covariance.h
 *
 * ROWS rows at a time are packed in blocks of BLOCK columns, one row of a
 * block behind the other.  A tile is MR columns of one block against all of
 * another: its MR x BLOCK sums stay in registers over the rows, and are then
 * added to the result.  Only tiles at and above the diagonal are computed.
 * Threads share the tiles, not the rows: what is added, and in which order,
 * does not depend on their number.
 */
#include "rare/covariance.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

typedef double v8 __attribute__((vector_size(64), aligned(8), may_alias));

enum { LANES = 8, MR = 8, VECTORS = 3, BLOCK = LANES * VECTORS, ROWS = 64,
	THREADS = 64 };

typedef void tile_form(const double *a, const double *b, size_t rows,
		       double *g, size_t ld);

struct job {
	const struct rows *m;
	const double *mean;
	double *g;
	size_t blocks, ld, part, parts;
	tile_form *tile;
	pthread_t thread;
};

static inline __attribute__((always_inline)) void
tile(const double *restrict a, const double *restrict b, size_t rows,
     double *restrict g, size_t ld)
{
	v8 sum[MR][VECTORS] = {{{0}}};
	size_t r;
	int i, k;

	for (r = 0; r < rows; r++, a += BLOCK, b += BLOCK) {
		const v8 *x = (const v8 *)b;
#pragma GCC unroll 8
		for (i = 0; i < MR; i++) {
			sum[i][0] += a[i] * x[0];
			sum[i][1] += a[i] * x[1];
			sum[i][2] += a[i] * x[2];
		}
	}
#pragma GCC unroll 8
	for (i = 0; i < MR; i++)
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

static int
has_avx512(void)
{
#ifdef __x86_64__
	return __builtin_cpu_supports("avx512f");
#else
	return 0;
#endif
}

size_t
gram_columns(void)
{
	return has_avx512() ? 1024 : 256;
}

/* Rows [from, from + n), centred, in blocks. */
static void
pack(const struct job *j, size_t from, size_t n, double *row, double *to)
{
	const struct row_ops *o = row_ops(ROW_OPS_BEST);
	double *centred = row + j->ld;
	size_t r, b;

	for (r = 0; r < n; r++) {
		o->get(j->m, from + r, row);
		o->sub(centred, row, 1, j->mean, j->m->C);
		for (b = 0; b < j->blocks; b++)
			memcpy(to + (b * ROWS + r) * BLOCK,
			       centred + b * BLOCK, BLOCK * sizeof(*to));
	}
}

static void *
work(void *arg)
{
	const struct job *j = arg;
	double *row = xcalloc(2 * j->ld, sizeof(*row));
	double *x = xreallocarray(NULL, j->ld * ROWS, sizeof(*x));
	size_t from, n, p, q, i, at;

	for (from = 0; from < j->m->V; from += ROWS) {
		n = j->m->V - from < ROWS ? j->m->V - from : ROWS;
		pack(j, from, n, row, x);
		for (at = p = 0; p < j->blocks; p++)
			for (q = p; q < j->blocks; q++) {
				if (at++ % j->parts != j->part)
					continue;
				for (i = 0; i < BLOCK; i += MR)
					j->tile(x + p * ROWS * BLOCK + i,
						x + q * ROWS * BLOCK, n,
						j->g + (p * BLOCK + i) *
						j->ld + q * BLOCK, j->ld);
			}
	}
	free(x);
	free(row);
	return NULL;
}

double *
gram_make(const struct rows *m, const double *mean, size_t *ld, int threads)
{
	size_t blocks = (m->C + BLOCK - 1) / BLOCK, n = 1, i, k;
	struct job job[THREADS], first = {.m = m, .mean = mean,
		.blocks = blocks, .ld = blocks * BLOCK, .tile = tile_plain};

	*ld = first.ld;
	first.g = xcalloc(first.ld * first.ld, sizeof(double));
#ifdef __x86_64__
	if (has_avx512())
		first.tile = tile_avx512;
#endif
	first.parts = threads < THREADS ? (size_t)threads : THREADS;
	for (i = 0; i < first.parts; i++) {
		job[i] = first;
		job[i].part = i;
	}
	for (; n < first.parts; n++)
		if (pthread_create(&job[n].thread, NULL, work, &job[n]))
			break;
	work(&job[0]);
	for (i = n; i < first.parts; i++)
		work(&job[i]);		/* no thread was to be had */
	for (i = 1; i < n; i++)
		pthread_join(job[i].thread, NULL);
	for (i = 0; i < m->C; i++)
		for (k = 0; k < i; k++)
			first.g[i * first.ld + k] = first.g[k * first.ld + i];
	return first.g;
}
