/*
 * vec_avx2.c - the vector loops for AVX2 with FMA
 */
#ifdef __x86_64__
#ifndef __AVX2__
#error "the Makefile has flags for this file"
#endif
#define VEC vec_avx2
#include "kernels/cpu/vec_impl.h"
#endif
