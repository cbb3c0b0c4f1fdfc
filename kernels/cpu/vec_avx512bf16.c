/*
 * vec_avx512bf16.c - the vector loops for AVX-512 with bf16 instructions
 */
#pragma GCC target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#define VEC vec_avx512bf16
#include "kernels/cpu/vec_impl.h"
