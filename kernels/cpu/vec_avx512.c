/*
 * vec_avx512.c - the vector loops for AVX-512 (F, BW, DQ, VL)
 */
#pragma GCC target("avx2,fma,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl")
#define VEC vec_avx512
#include "kernels/cpu/vec_impl.h"
