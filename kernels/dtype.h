/*
 * dtype.h - the types of numbers on a device, and their conversion on the
 * host
 */
#ifndef ASSAY_DTYPE_H
#define ASSAY_DTYPE_H

#include <stddef.h>
#include <stdint.h>

enum kdtype { K_F32, K_BF16, K_F16 };
enum { K_TYPES = 3 };

/* Bytes of one number. */
static inline size_t
kdtype_size(enum kdtype dt)
{
	return dt == K_F32 ? 4 : 2;
}

/* As options and messages name it. */
static inline const char *
kdtype_name(enum kdtype dt)
{
	return dt == K_F32 ? "fp32" : dt == K_BF16 ? "bf16" : "fp16";
}

/* Round to nearest even, NaN stays NaN. */
static inline uint16_t
bf16_from_f32(float x)
{
	union { float f; uint32_t u; } b = { x };

	if ((b.u & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(b.u >> 16 | 0x40);
	return (uint16_t)((b.u + 0x7fff + (b.u >> 16 & 1)) >> 16);
}

static inline float
bf16_to_f32(uint16_t h)
{
	union { uint32_t u; float f; } b = { (uint32_t)h << 16 };

	return b.f;
}

/*
 * IEEE binary16: round to nearest even, from 65520 on to infinity; below
 * 2^-14 to multiples of 2^-24, which are the last bits of an f32 in [0.5, 1).
 * NaN stays NaN.
 */
static inline uint16_t
f16_from_f32(float x)
{
	union { float f; uint32_t u; } b = { x };
	uint32_t sign = b.u >> 16 & 0x8000;

	b.u &= 0x7fffffff;
	if (b.u > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (b.u >> 13 & 0x3ff));
	if (b.u >= 0x477ff000)
		return (uint16_t)(sign | 0x7c00);
	if (b.u < 0x38800000) {
		b.f += 0.5f;
		return (uint16_t)(sign | (b.u - 0x3f000000));
	}
	b.u += 0xfff + (b.u >> 13 & 1);
	return (uint16_t)(sign | (b.u - 0x38000000) >> 13);
}

static inline float
f16_to_f32(uint16_t h)
{
	union { uint32_t u; float f; } b = { (uint32_t)(h & 0x7fff) << 13 };

	if (b.u < 0x00800000)			/* below 2^-14 */
		b.f = (float)(h & 0x7fff) * 0x1p-24f;
	else
		b.u += b.u < 0x0f800000 ? 0x38000000 : 0x70000000;
	b.u |= (b.u > 0x7f800000 ? 0x400000 : 0) | (uint32_t)(h & 0x8000) << 16;
	return b.f;
}

/* Element i of an array of type dt. */
static inline float
kdtype_get(const void *p, enum kdtype dt, int64_t i)
{
	const uint16_t *h = (const uint16_t *)p;

	return dt == K_F32 ? ((const float *)p)[i] :
	       dt == K_BF16 ? bf16_to_f32(h[i]) : f16_to_f32(h[i]);
}

static inline void
kdtype_set(void *p, enum kdtype dt, int64_t i, float x)
{
	uint16_t *h = (uint16_t *)p;

	if (dt == K_F32)
		((float *)p)[i] = x;
	else
		h[i] = dt == K_BF16 ? bf16_from_f32(x) : f16_from_f32(x);
}

#endif
