/*
 * simd.h - one vector type for all processors
 *
 * Included by the vec_*.c files only, each of which sets the instruction set
 * with a target pragma first.  vf holds VL floats; everything is written in
 * GCC's vector extensions, so that the same source serves AVX-512, AVX2 and,
 * with vectors of 4, any other processor; only conversions name instructions.
 *
 * Sums over vectors run in one fixed order: lane by lane over the array,
 * then the lanes pairwise.  The bits depend on VL, never on threads.
 */
#ifndef ASSAY_SIMD_H
#define ASSAY_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "kernels/kernels.h"

#if defined(__AVX512F__)
#define VL 16
#elif defined(__AVX2__)
#define VL 8
#else
#define VL 4
#endif

enum { SUBNORMAL = 0x20 };	/* a class of _mm512_fpclass_ps_mask() */

#define FORCE static inline __attribute__((always_inline, unused))

/* An inlined f(..., dt) for each of the types, a constant in each. */
#define BY_TYPE(dt, f, ...) \
	((dt) == K_BF16 ? f(__VA_ARGS__, K_BF16) : \
	 (dt) == K_F16 ? f(__VA_ARGS__, K_F16) : f(__VA_ARGS__, K_F32))

typedef float vf __attribute__((vector_size(VL * 4), may_alias));
typedef int32_t vi __attribute__((vector_size(VL * 4), may_alias));
typedef uint32_t vu __attribute__((vector_size(VL * 4), may_alias));
typedef uint16_t vh __attribute__((vector_size(VL * 2), may_alias));

FORCE vf
vf_set(float x)
{
	return x - (vf){0};
}

FORCE vf
vf_load(const float *p)
{
	vf x;

	memcpy(&x, p, sizeof x);
	return x;
}

FORCE void
vf_store(float *p, vf x)
{
	memcpy(p, &x, sizeof x);
}

FORCE vf
vf_from_bf16(vh h)
{
	return (vf)(__builtin_convertvector(h, vu) << 16);
}

/*
 * To nearest even; NaN stays NaN, subnormals stay.  The instruction takes
 * them for zero, so a vector with one goes the long way.
 */
FORCE vh
vf_to_bf16(vf x)
{
	vu u = (vu)x, nan = (vu)(x != x);
	vu r = (u + 0x7fff + (u >> 16 & 1)) >> 16;

#ifdef __AVX512BF16__
	if (__builtin_expect(!_mm512_fpclass_ps_mask((__m512)x, SUBNORMAL), 1))
		return (vh)_mm512_cvtneps_pbh((__m512)x);
#endif
	r = (r & ~nan) | ((u >> 16 | 0x40) & nan);
	return __builtin_convertvector(r, vh);
}

/* fp16 has instructions since AVX2; they round as f16_from_f32() does. */
FORCE vf
vf_from_f16(vh h)
{
#if defined(__AVX512F__)
	return (vf)_mm512_cvtph_ps((__m256i)h);
#elif defined(__AVX2__)
	return (vf)_mm256_cvtph_ps((__m128i)h);
#else
	vf x;

	for (int i = 0; i < VL; i++)
		x[i] = f16_to_f32(h[i]);
	return x;
#endif
}

FORCE vh
vf_to_f16(vf x)
{
#if defined(__AVX512F__)
	return (vh)_mm512_cvtps_ph((__m512)x, _MM_FROUND_TO_NEAREST_INT);
#elif defined(__AVX2__)
	return (vh)_mm256_cvtps_ph((__m256)x, _MM_FROUND_TO_NEAREST_INT);
#else
	vh h;

	for (int i = 0; i < VL; i++)
		h[i] = f16_from_f32(x[i]);
	return h;
#endif
}

/* VL numbers of type dt from element i on. */
FORCE vf
ld(const void *p, enum kdtype dt, int64_t i)
{
	vh h;

	if (dt == K_F32)
		return vf_load((const float *)p + i);
	memcpy(&h, (const uint16_t *)p + i, sizeof h);
	return dt == K_BF16 ? vf_from_bf16(h) : vf_from_f16(h);
}

FORCE void
st(void *p, enum kdtype dt, int64_t i, vf x)
{
	vh h;

	if (dt == K_F32) {
		vf_store((float *)p + i, x);
		return;
	}
	h = dt == K_BF16 ? vf_to_bf16(x) : vf_to_f16(x);
	memcpy((uint16_t *)p + i, &h, sizeof h);
}

/* The same for the last n < VL numbers; missing lanes read 0. */
FORCE vf
ld_tail(const void *p, enum kdtype dt, int64_t i, int64_t n)
{
	char t[VL * 4] = {0};

	memcpy(t, (const char *)p + (size_t)i * kdtype_size(dt),
	       (size_t)n * kdtype_size(dt));
	return ld(t, dt, 0);
}

FORCE void
st_tail(void *p, enum kdtype dt, int64_t i, int64_t n, vf x)
{
	char t[VL * 4];

	st(t, dt, 0, x);
	memcpy((char *)p + (size_t)i * kdtype_size(dt), t,
	       (size_t)n * kdtype_size(dt));
}

/* Either, by what is left. */
FORCE vf
ldn(const void *p, enum kdtype dt, int64_t i, int64_t left)
{
	return left >= VL ? ld(p, dt, i) : ld_tail(p, dt, i, left);
}

FORCE void
stn(void *p, enum kdtype dt, int64_t i, int64_t left, vf x)
{
	if (left >= VL)
		st(p, dt, i, x);
	else
		st_tail(p, dt, i, left, x);
}

FORCE float
vf_sum(vf x)
{
#ifdef __AVX2__
	__m128 q;
#if defined(__AVX512F__)
	__m512 z = (__m512)x;
	__m256 y = _mm512_castps512_ps256(z) + (__m256)_mm512_extractf64x4_pd(
			(__m512d)z, 1);
#else
	__m256 y = (__m256)x;
#endif
	q = _mm256_castps256_ps128(y) + _mm256_extractf128_ps(y, 1);
	q += _mm_movehl_ps(q, q);
	return q[0] + q[1];
#else
	return (x[0] + x[2]) + (x[1] + x[3]);
#endif
}

FORCE vf
vf_sel(vi mask, vf x, vf y)	/* mask lanes all ones or all zeros */
{
	return (vf)((mask & (vi)x) | (~mask & (vi)y));
}

FORCE vf
vf_max(vf x, vf y)
{
#if defined(__AVX512F__)
	return (vf)_mm512_max_ps((__m512)x, (__m512)y);
#elif defined(__AVX2__)
	return (vf)_mm256_max_ps((__m256)x, (__m256)y);
#else
	return vf_sel(x > y, x, y);
#endif
}

FORCE float
vf_hmax(vf x)
{
#ifdef __AVX512F__
	return _mm512_reduce_max_ps((__m512)x);
#else
	float m = x[0];

	for (int i = 1; i < VL; i++)
		m = x[i] > m ? x[i] : m;
	return m;
#endif
}

FORCE vf
vf_sqrt(vf x)
{
#if defined(__AVX512F__)
	return (vf)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX2__)
	return (vf)_mm256_sqrt_ps((__m256)x);
#else
	for (int i = 0; i < VL; i++)
		x[i] = sqrtf(x[i]);
	return x;
#endif
}

/* exp(r) for |r| <= ln 2 / 2. */
FORCE vf
exp_poly(vf r)
{
	vf p = r * 1.3888889e-3f + 8.3333333e-3f;

	p = p * r + 4.16666667e-2f;
	p = p * r + 1.66666667e-1f;
	p = p * r + 0.5f;
	return p * r * r + r + 1.0f;
}

/*
 * exp(x), relative error under 2e-7: x = n ln 2 + r with |r| <= ln 2 / 2 in
 * two parts (Cody and Waite), a polynomial of degree 6 in r, times 2^n.
 * Where exp(x) is below the least normal number the result is that or 0;
 * above 88.7 it is infinity; NaN stays NaN.
 */
FORCE vf
vf_exp(vf x)
{
#if defined(__AVX512F__)
	__m512 y = _mm512_min_ps(_mm512_set1_ps(90), _mm512_max_ps(
				 _mm512_set1_ps(-104), (__m512)x));
	vf n = (vf)_mm512_roundscale_ps((__m512)((vf)y * 1.44269504f), 8);
	vf r = (vf)y - n * 0.693359375f;

	r -= n * -2.12194440e-4f;
	return (vf)_mm512_scalef_ps((__m512)exp_poly(r), (__m512)n);
#else
	const float magic = 12582912.0f;	/* 1.5 * 2^23: rounds to int */
	vf n = x * 1.44269504f + magic;
	vi e = (vi)n;
	vf r, p;

	n -= magic;
	r = x - n * 0.693359375f;
	r -= n * -2.12194440e-4f;
	p = (vf)((vi)exp_poly(r) + (e << 23));
	p = vf_sel(x < -87.3f, vf_set(0), p);
	p = vf_sel(x > 88.7f, vf_set(INFINITY), p);
	return vf_sel(x != x, x, p);
#endif
}

#endif
