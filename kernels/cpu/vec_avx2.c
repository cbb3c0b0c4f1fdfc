/*
 * vec_avx2.c - the vector loops for AVX2 with FMA
 */
#pragma GCC target("avx2,fma,f16c,bmi,bmi2")
#define VEC vec_avx2
#include "kernels/cpu/vec_impl.h"
