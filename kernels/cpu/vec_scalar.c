/*
 * vec_scalar.c - the vector loops for any processor (SSE2 or NEON)
 */
#define VEC vec_scalar
#include "kernels/cpu/vec_impl.h"
