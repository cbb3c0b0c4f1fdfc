/*
 * vec.h - the loops that are not matmuls, one set per instruction set
 *
 * Each function works on a part of an entry's work (rows n0..n1, numbers
 * i0..i1) that its caller fixes by shape alone, and may run in any thread.
 * vec_scalar.c, vec_avx2.c, vec_avx512.c and vec_avx512bf16.c compile the
 * same sources; cpu_open() picks one.
 */
#ifndef ASSAY_VEC_H
#define ASSAY_VEC_H

#include <stdint.h>

#include "kernels/kernels.h"

/*
 * Constants of one AdamW step, computed in double and rounded to f32.  mix1
 * and mix2 are 1 - beta: beta itself would lose them, because f32 numbers
 * just below 1 are 6e-8 apart.
 */
struct vec_adamw {
	float gscale, mix1, mix2, rate, rc2, eps, shrink;
};

enum { VEC_SPLIT = 512, VEC_PART = 2 };

/* fp16 keeps exponentials times 2^15, since below 6e-5 it loses bits. */
static inline float
vec_exp_unit(enum kdtype dt)
{
	return dt == K_F16 ? 0x1p15f : 1;
}

struct vec {
	/* y += scale * x over n numbers. */
	void (*row_add)(float *y, const float *x, float scale, int64_t n);
	void (*rmsnorm_fwd)(const struct k_rmsnorm_fwd *a, int64_t n0,
			    int64_t n1);
	/* dw (C): the sum of these rows alone. */
	void (*rmsnorm_bwd)(const struct k_rmsnorm_bwd *a, int64_t n0,
			    int64_t n1, float *dw);
	void (*swiglu_fwd)(const struct k_swiglu_fwd *a, int64_t n0,
			   int64_t n1);
	void (*swiglu_bwd)(const struct k_swiglu_bwd *a, int64_t n0,
			   int64_t n1);
	void (*rope_fwd)(const struct k_rope_fwd *a, int64_t n0, int64_t n1);
	/* dw (2, D): the sums of these rows, q then k. */
	void (*rope_bwd)(const struct k_rope_bwd *a, int64_t n0, int64_t n1,
			 float *dw);
	/* stats: NULL, or gets the three sums of these numbers alone. */
	void (*adamw)(const struct k_adamw *a, const struct vec_adamw *c,
		      int64_t i0, int64_t i1, double *stats);
	double (*sumsq)(const float *g, int64_t n);
	/* The matrices of k_stats and k_colmax; fewer than 2^31 numbers. */
	void (*stats)(const void *x, enum kdtype dt, int64_t rows,
		      int64_t cols, int64_t ld, struct k_stats_out *out);
	void (*colmax)(const void *x, enum kdtype dt, int64_t rows,
		       int64_t cols, int64_t ld, float *y);
	void (*cast)(const void *src, enum kdtype sdt, void *dst,
		     enum kdtype ddt, int64_t n);
	/* Sum of products of two rows of type dt. */
	float (*dot)(const void *x, const void *y, enum kdtype dt, int64_t n);
	/* y = scale * x, x f32, y of type dt. */
	void (*row_scale)(void *y, enum kdtype dt, const float *x, float scale,
			  int64_t n);

	/*
	 * One row of scores s (n), of which [lo, hi) count (hi > lo): e =
	 * exp(scale * (s - max)), rounded to dt, 0 outside.  e may be s when dt
	 * is f32.  Returns the sum of e; *max gets the maximum of s.
	 */
	float (*softmax)(const float *s, void *e, enum kdtype dt, float scale,
			 int64_t lo, int64_t hi, int64_t n, float *max);
	/*
	 * Backward of one row: p = exp(scale * s - lse) in [lo, hi), else 0;
	 * ds = scale * p * (dp - delta).  p may be s, ds may be dp (f32).
	 */
	void (*softmax_bwd)(const float *s, const float *dp, void *p, void *ds,
			    enum kdtype dt, float scale, float lse,
			    float delta, int64_t lo, int64_t hi, int64_t n);

	/*
	 * One row of a tile of logits: *max, *arg its first place (where arg
	 * is not NULL), and the sum of exp(l - max); e gets exp(l - max)
	 * times vec_exp_unit(dt) where it is not NULL.
	 */
	float (*ce_stats)(const float *l, void *e, enum kdtype dt, int64_t n,
			  float *max, int64_t *arg);
	/* e *= f in place. */
	void (*ce_scale)(void *e, enum kdtype dt, float f, int64_t n);

	/*
	 * y[n, o] = x[n] . w[o] (+ add) for outputs o0..o1 and few rows n;
	 * ld is the row length of y and add.
	 */
	void (*matvec)(const struct k_matmul_fwd *a, int64_t o0, int64_t o1);
	/*
	 * Row n and key/value head g over positions j0..j1 (at most VEC_SPLIT).
	 * part, for each query head of the group: the maximum of the scaled
	 * scores, the sum of exp(score - maximum), and from VEC_PART on the
	 * sum of exp(score - maximum) * v (D).
	 */
	void (*attn_part)(const struct k_attn_cache *a, int64_t n, int64_t g,
			  int64_t j0, int64_t j1, float *part);
};

extern const struct vec vec_scalar, vec_avx2, vec_avx512, vec_avx512bf16;

#endif
