/*
 * matrix.c - see matrix.h
 *
 * The operations are written once, on vectors of eight doubles, and compiled
 * three times; the compiler splits the vectors where registers are shorter.
 */
#include "rare/matrix.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"

typedef double v8 __attribute__((vector_size(64), aligned(8), may_alias));

enum { LANES = 8, BLOCKS = 64, BLOCK_ROWS = 32 };

#define INLINE static inline __attribute__((always_inline))
#define AT(p) (*(v8 *)(p))
#define AT_CONST(p) (*(const v8 *)(p))

/* ---- conversion ---- */

INLINE float
from_bits(uint32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof(f));
	return f;
}

/* Multiplying rebases the exponent and is exact for subnormals too. */
INLINE float
half(uint16_t h)
{
	float f = from_bits((uint32_t)(h & 0x7fff) << 13) * 0x1p112f;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	if ((h & 0x7c00) == 0x7c00)
		bits |= 0x7f800000;
	return from_bits(bits | (uint32_t)(h & 0x8000) << 16);
}

/* x[i] = value, in which n is element i of the row. */
#define EACH(ctype, value) \
	for (i = 0; i < C; i++) { \
		ctype n; \
		memcpy(&n, p + sizeof(n) * (r * C + i), sizeof(n)); \
		x[i] = value; \
	}

INLINE void
get(const struct matrix *m, size_t r, double *restrict x)
{
	const char *p = m->p;
	size_t C = m->C, i;

	if (m->type == MATRIX_F64)
		EACH(double, n)
	else if (m->type == MATRIX_F32)
		EACH(float, n)
	else if (m->type == MATRIX_BF16)
		EACH(uint16_t, from_bits((uint32_t)n << 16))
	else
		EACH(uint16_t, half(n))
}

/* ---- sums ---- */

INLINE double
dot(const double *a, const double *b, size_t n)
{
	v8 s = {0}, t = {0};
	size_t i;
	double x = 0;

	for (i = 0; i + 2 * LANES <= n; i += 2 * LANES) {
		s += AT_CONST(a + i) * AT_CONST(b + i);
		t += AT_CONST(a + i + LANES) * AT_CONST(b + i + LANES);
	}
	for (; i < n; i++)
		x += a[i] * b[i];
	s += t;
	return (((s[0] + s[4]) + (s[1] + s[5])) +
		((s[2] + s[6]) + (s[3] + s[7]))) + x;
}

INLINE void
sub(double *restrict out, const double *a, double k, const double *b, size_t n)
{
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		AT(out + i) = AT_CONST(a + i) - k * AT_CONST(b + i);
	for (; i < n; i++)
		out[i] = a[i] - k * b[i];
}

INLINE void
add(double *restrict y, double k, const double *restrict x, size_t n)
{
	size_t i;

	for (i = 0; i + LANES <= n; i += LANES)
		AT(y + i) += k * AT_CONST(x + i);
	for (; i < n; i++)
		y[i] += k * x[i];
}

/* ---- one form for each instruction set ---- */

#define FORM(suffix, attribute) \
attribute static void \
get_##suffix(const struct matrix *m, size_t r, double *x) \
{ \
	get(m, r, x); \
} \
attribute static double \
dot_##suffix(const double *a, const double *b, size_t n) \
{ \
	return dot(a, b, n); \
} \
attribute static void \
add_##suffix(double *restrict y, double k, const double *restrict x, \
	     size_t n) \
{ \
	add(y, k, x, n); \
} \
attribute static void \
sub_##suffix(double *restrict out, const double *a, double k, \
	     const double *b, size_t n) \
{ \
	sub(out, a, k, b, n); \
} \
static const struct matrix_ops ops_##suffix = { \
	get_##suffix, dot_##suffix, add_##suffix, sub_##suffix \
};

FORM(plain, )
#ifdef __x86_64__
FORM(avx2, __attribute__((target("avx2"))))
FORM(avx512, __attribute__((target("avx512f"))))
#endif

const struct matrix_ops *
matrix_ops(int level)
{
#ifdef __x86_64__
	if (level >= MATRIX_AVX512 && __builtin_cpu_supports("avx512f"))
		return &ops_avx512;
	if (level >= MATRIX_AVX2 && __builtin_cpu_supports("avx2"))
		return &ops_avx2;
#else
	(void)level;
#endif
	return &ops_plain;
}

/* ---- all rows, in fixed blocks ---- */

struct sweep {
	const struct matrix *m;
	void (*fn)(const struct matrix_block *b, void *ctx);
	void *ctx;
	double *sums;		/* (blocks, C) */
	size_t blocks, rows;	/* rows: of a block */
	atomic_size_t next;
};

static void
sweep_thread(void *ctx, int thread)
{
	struct sweep *s = ctx;
	size_t V = s->m->V, C = s->m->C, k;
	struct matrix_block b = {.m = s->m, .o = matrix_ops(MATRIX_BEST)};

	(void)thread;
	b.row = xreallocarray(NULL, 2 * C, sizeof(*b.row));
	while ((k = atomic_fetch_add(&s->next, 1)) < s->blocks) {
		b.from = k * s->rows;
		b.to = b.from + s->rows < V ? b.from + s->rows : V;
		b.sum = s->sums + k * C;
		s->fn(&b, s->ctx);
	}
	free(b.row);
}

void
matrix_sweep(const struct matrix *m,
	     void (*fn)(const struct matrix_block *b, void *ctx), void *ctx,
	     double *sum, int threads)
{
	struct sweep s = {.m = m, .fn = fn, .ctx = ctx};
	size_t k;

	s.rows = (m->V + BLOCKS - 1) / BLOCKS;
	if (s.rows < BLOCK_ROWS)
		s.rows = BLOCK_ROWS;
	s.blocks = (m->V + s.rows - 1) / s.rows;
	s.sums = xcalloc(s.blocks * m->C + 1, sizeof(double));
	parallel_run((size_t)threads < s.blocks ? threads : (int)s.blocks,
		     sweep_thread, &s);
	if (sum)
		memset(sum, 0, m->C * sizeof(double));
	for (k = 0; sum && k < s.blocks; k++)
		matrix_ops(MATRIX_BEST)->add(sum, 1, s.sums + k * m->C, m->C);
	free(s.sums);
}
