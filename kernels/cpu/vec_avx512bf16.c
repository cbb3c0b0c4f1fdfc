/*
 * vec_avx512bf16.c - the vector loops for AVX-512 with bf16 instructions
 */
#ifdef __x86_64__
#ifndef __AVX512BF16__
#error "the Makefile has flags for this file"
#endif
#define VEC vec_avx512bf16
#include "kernels/cpu/vec_impl.h"
#endif
