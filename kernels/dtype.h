/*
 * dtype.h - types of numbers in device memory
 */
#ifndef ASSAY_DTYPE_H
#define ASSAY_DTYPE_H

#include <stddef.h>
#include <stdint.h>

enum kdtype { K_F32, K_BF16 };

/* Bytes of one number. */
static inline size_t
kdtype_size(enum kdtype dt)
{
	return dt == K_BF16 ? 2 : 4;
}

/* bf16 on the host: round to nearest even, NaN stays NaN. */
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

#endif
