/*
 * matrix.c - see matrix.h
 *
 * The functions are written once, on vectors of eight doubles, and compiled
 * three times: a processor without such registers takes the vector in
 * pieces.  The Makefile forbids fused multiply-adds for this file.
 */
#include "rare/matrix.h"

#include <stdint.h>
#include <string.h>

typedef double v8 __attribute__((vector_size(64), aligned(8), may_alias));

enum { LANES = 8 };

#define INLINE static inline __attribute__((always_inline))
#define AT(p) (*(v8 *)(p))
#define AT_CONST(p) (*(const v8 *)(p))

/* ---- numbers of the file ---- */

/* Exact also for subnormals: the exponent is moved by a product. */
INLINE float
half(uint16_t h)
{
	uint32_t bits = (uint32_t)(h & 0x7fff) << 13;
	float f;

	memcpy(&f, &bits, sizeof(f));
	f *= 0x1p112f;
	memcpy(&bits, &f, sizeof(f));
	if ((h & 0x7c00) == 0x7c00)
		bits |= 0x7f800000;
	bits |= (uint32_t)(h & 0x8000) << 16;
	memcpy(&f, &bits, sizeof(f));
	return f;
}

INLINE void
get(const struct rows *m, size_t r, double *restrict x)
{
	const char *p = m->p;
	size_t C = m->C, at = r * C, i;
	uint32_t bits;
	uint16_t h;
	float f;

	switch (m->type) {
	case ROW_F64:
		memcpy(x, p + 8 * at, 8 * C);
		break;
	case ROW_F32:
		for (i = 0; i < C; i++) {
			memcpy(&f, p + 4 * (at + i), sizeof(f));
			x[i] = f;
		}
		break;
	case ROW_BF16:
		for (i = 0; i < C; i++) {
			memcpy(&h, p + 2 * (at + i), sizeof(h));
			bits = (uint32_t)h << 16;
			memcpy(&f, &bits, sizeof(f));
			x[i] = f;
		}
		break;
	case ROW_F16:
		for (i = 0; i < C; i++) {
			memcpy(&h, p + 2 * (at + i), sizeof(h));
			x[i] = half(h);
		}
	}
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

/* ---- three times ---- */

#define FORMS(suffix, attribute) \
attribute static void \
get_##suffix(const struct rows *m, size_t r, double *x) \
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
}

FORMS(plain, )
#ifdef __x86_64__
FORMS(avx2, __attribute__((target("avx2"))))
FORMS(avx512, __attribute__((target("avx512f"))))
#endif

static const struct row_ops forms[] = {
	{get_plain, dot_plain, add_plain, sub_plain},
#ifdef __x86_64__
	{get_avx2, dot_avx2, add_avx2, sub_avx2},
	{get_avx512, dot_avx512, add_avx512, sub_avx512},
#endif
};

const struct row_ops *
row_ops(int level)
{
#ifdef __x86_64__
	if (level > 1 && !__builtin_cpu_supports("avx512f"))
		level = 1;
	if (level > 0 && !__builtin_cpu_supports("avx2"))
		level = 0;
#else
	level = 0;
#endif
	return &forms[level];
}
