/*
 * vec_avx512.c - the vector loops for AVX-512 (F, BW, DQ, VL)
 */
#ifdef __x86_64__
#ifndef __AVX512F__
#error "the Makefile has flags for this file"
#endif
#define VEC vec_avx512
#include "kernels/cpu/vec_impl.h"
#endif
