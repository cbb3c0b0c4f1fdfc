/*
 * llama.h - the weights of a Llama, Mistral or Qwen3 model on a device
 *
 * Letters as in kernels.h: C hidden size, L layers, H and G heads, D head
 * dimension, F MLP width, V vocabulary, Vp vocabulary padded to a multiple of
 * 64 (rows [V, Vp) are zero, excluded from every sum, and never saved).
 *
 * A parameter is a matrix or a vector in the layout of kernels.h.  A tensor is
 * a named range of its rows, as Hugging Face stores it.  The weights of all
 * parameters are in one block of device memory, the arena.  In the same order,
 * each parameter has a place, p->at, in "flat" arrays of m->flat floats (master
 * weights, gradients, moments).  The gaps between parameters are zero.
 *
 * Pointers marked "device" must not be dereferenced.  One thread at a time,
 * as for the table of kernels.
 */
#ifndef ASSAY_LLAMA_H
#define ASSAY_LLAMA_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "model/config.h"
#include "record/safetensors.h"

enum param_kind {
	PARAM_EMBED,	/* embed_tokens; also the output matrix if tied */
	PARAM_HEAD,	/* lm_head of an untied model */
	PARAM_MATRIX,	/* a matrix in a layer */
	PARAM_NORM	/* norm weights */
};

struct param {
	enum param_kind kind;
	int64_t rows, cols;	/* norm weights: 1 row */
	int64_t n;		/* rows * cols */
	int64_t at;		/* its first element in a flat array */
	enum kdtype dt;		/* of its weights */
	size_t offset;		/* of its weights in the arena, in bytes */
	void *data;		/* device, (rows, cols): arena + offset */
	struct kweight *w;	/* NULL: not used in a matmul */
};

struct tensor {
	char name[72];		/* Hugging Face name */
	size_t param;
	int64_t row, rows, cols;	/* rows [row, row + rows) of it */
	int vector;		/* stored with one dimension */
	int residual;		/* writes to the residual stream: o, down */
};

/* Parameters [first, end): neighbours in the arena, of one type. */
struct llama_range {
	size_t first, end;
};

struct llama_layer {		/* indices of parameters */
	size_t norm1, qkv, qnorm, knorm, o, norm2, gu, down;
};

struct llama {
	struct kernels *k;
	struct model_config c;
	enum kdtype dt;
	int64_t vp;		/* Vp */
	int64_t q;		/* (H + 2G) * D */
	struct param *param;
	size_t nparams, param_cap;
	struct tensor *tensor;	/* in the order of a checkpoint */
	size_t ntensors, tensor_cap;
	void *arena;		/* device: the weights of all parameters */
	struct llama_range *range;	/* all parameters, in order */
	size_t nranges, range_cap;
	struct llama_layer *layer;	/* (L) */
	size_t embed, norm, head;	/* head == embed if tied */
	int64_t flat;		/* floats in a flat array */
	int64_t positions;	/* rows of cos and sin */
	float *cos, *sin;	/* device, (positions, D/2); dynamic RoPE:
				   those of a text of that many tokens */
};

/*
 * Weights of type dt, not initialized.  use as in kernels.h: K_USE_FWD or
 * K_USE_PLAIN to sample, K_USE_TRAIN to train.  RoPE covers positions
 * 0..positions-1.  NULL: too little device memory.
 */
struct llama *llama_new(struct kernels *k, const struct model_config *c,
			enum kdtype dt, int use, int64_t positions,
			struct err *e);
void llama_free(struct llama *m);	/* NULL is fine; the table stays */

/* Does RoPE depend on the length of a text? */
static inline int
llama_is_dynamic(const struct llama *m)
{
	return m->c.rope.type == ROPE_DYNAMIC;
}

/*
 * Set the weights from the tensors of s.  An error names a tensor that is
 * missing, has another shape or is a parameter that the model does not have,
 * or an lm_head that differs from the embedding although they are tied.
 * Other extra tensors (RoPE frequencies, masks) are ignored with a warning.
 */
int llama_load(struct llama *m, const struct st *s, struct err *e);

/* Only the check made by llama_load(), and the warning. */
int llama_match(const struct llama *m, const struct st *s, struct err *e);

/* --- flat arrays (device) --- */

/* Zeroed; free by release.  NULL: too little device memory. */
float *llama_flat_new(const struct llama *m, struct err *e);

/* Read the tensors of s named prefix + name into flat; NULL: the weights. */
int llama_flat_load(const struct llama *m, const struct st *s,
		    const char *prefix, float *flat, struct err *e);

/*
 * Initial weights: norm weights 1; matrices N(0, std), those that write to the
 * residual stream times 1/sqrt(2 L); the embedding times embed_scale.  Each
 * number depends only on (seed, tensor, index).
 */
int llama_flat_init(const struct llama *m, uint64_t seed, double std,
		    double embed_scale, float *flat, struct err *e);

/* Weights = flat, rounded to their types, and packed. */
void llama_set(struct llama *m, const float *flat);

/* Queue weight_update for all weights, after they were written. */
void llama_pack(struct llama *m);

/*
 * Read a tensor in blocks, from a flat array (float) or, if flat is NULL, from
 * the weights (in their type): fn gets host memory that is valid during the
 * call.
 */
typedef int (*tensor_sink)(void *ctx, const void *p, size_t bytes,
			   struct err *e);
int llama_read(const struct llama *m, const struct tensor *t,
	       const float *flat, tensor_sink fn, void *ctx, struct err *e);

/* Bytes of a tensor in flat, or in the weights if flat is NULL. */
size_t llama_tensor_bytes(const struct llama *m, const struct tensor *t,
			  const float *flat);

/* Queue a fetch of all of it. */
void llama_copy(const struct llama *m, const struct tensor *t,
		const float *flat, void *to);

/* Name of the first tensor of a parameter, for messages. */
const char *llama_param_name(const struct llama *m, size_t param);

#endif
