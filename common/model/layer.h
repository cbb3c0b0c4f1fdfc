/*
 * layer.h - the forward parts that whole windows (pass.h) and single rows
 * (decode.h) share
 *
 * n rows; letters as in llama.h; all pointers but m and l are device memory.
 * Each function queues its work and returns.  w: index of a parameter of m.
 */
#ifndef ASSAY_LAYER_H
#define ASSAY_LAYER_H

#include "model/llama.h"

/* x (N, C) float = rows of the embedding. */
void layer_embed(const struct llama *m, int64_t n, const int32_t *tok,
		 float *x);

/* y (N, C) = RMSNorm of x (N, C) float; rstd (N) or NULL. */
void layer_norm(const struct llama *m, size_t w, int64_t n, const float *x,
		void *y, float *rstd);

/* y = x W', in the model's type. */
void layer_matmul(const struct llama *m, size_t w, int64_t n, const void *x,
		  void *y);

/* y = add + x W', both float: adds to the residual stream. */
void layer_matmul_add(const struct llama *m, size_t w, int64_t n,
		      const void *x, float *y, const float *add);

/* The arguments of RoPE (and QK-norm) in a layer. */
struct k_rope_fwd layer_rope(const struct llama *m,
			     const struct llama_layer *l, int64_t n,
			     const void *in, void *out, const int32_t *pos);

/* The factor on attention scores, 1 / sqrt(D). */
float layer_attn_scale(const struct llama *m);

/*
 * y = x + swiglu(norm(x) Wgu') Wdown', both float and possibly the same.  The
 * intermediate results are stored in h (N, C), gu (N, 2F) and act (N, F).
 */
void layer_mlp(const struct llama *m, const struct llama_layer *l, int64_t n,
	       const float *x, void *h, float *rstd, void *gu, void *act,
	       float *y);

#endif
