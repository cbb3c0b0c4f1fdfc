/*
 * vec_scalar.c - the vector loops for any x86-64 (SSE2)
 */
#define VEC vec_scalar
#include "kernels/cpu/vec_impl.h"
