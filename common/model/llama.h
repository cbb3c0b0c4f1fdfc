/*
 * llama.h - the weights of a Llama or Qwen3 model on a device
 *
 * Letters as in kernels.h: C hidden, L layers, H and G heads, D head
 * dimension, F feed-forward, V vocabulary, Vp the same padded to a multiple
 * of 64 (rows [V, Vp) are zero, take no part in any sum and are never saved).
 *
 * A parameter is one block of device memory in the layout of kernels.h; a
 * tensor is a named range of its rows: what Hugging Face stores.  Every
 * parameter also has a place in "flat" arrays of m->flat floats (master
 * weights, gradients, moments), at p->at; between parameters lie gaps that
 * are zero.
 *
 * No pointer marked "device" may be dereferenced here or by a caller.  One
 * thread at a time, as for the table of kernels.
 */
#ifndef ASSAY_LLAMA_H
#define ASSAY_LLAMA_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "model/config.h"
#include "record/safetensors.h"

enum param_kind {
	PARAM_EMBED,	/* embed_tokens; also the output matrix when tied */
	PARAM_HEAD,	/* lm_head of an untied model */
	PARAM_MATRIX,	/* a matrix inside a layer */
	PARAM_NORM	/* gains */
};

struct param {
	enum param_kind kind;
	int64_t rows, cols;	/* gains: 1 row */
	int64_t n;		/* rows * cols */
	int64_t at;		/* its first number in a flat array */
	struct kweight *w;	/* NULL: data alone */
	void *data;		/* device, (rows, cols), type dt */
};

struct tensor {
	char name[72];		/* of Hugging Face */
	size_t param;
	int64_t row, rows, cols;	/* rows [row, row + rows) of it */
	int vector;		/* stored with one dimension */
	int residual;		/* writes into the residual stream: o, down */
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
	size_t nparams;
	struct tensor *tensor;	/* in the order of a checkpoint */
	size_t ntensors;
	struct llama_layer *layer;	/* (L) */
	size_t embed, norm, head;	/* head == embed when tied */
	int64_t flat;		/* floats in a flat array */
	int64_t positions;	/* rows of cos and sin */
	float *cos, *sin;	/* device, (positions, D/2) */
};

/*
 * Weights of dtype dt, not yet filled.  use as in kernels.h (K_USE_FWD to
 * sample, K_USE_TRAIN to train).  Positions 0..positions-1 can be rotated.
 */
struct llama *llama_new(struct kernels *k, const struct model_config *c,
			enum kdtype dt, int use, int64_t positions);
void llama_free(struct llama *m);	/* not the table; NULL is fine */

/*
 * Fill the weights from the tensors of s.  A tensor that is missing, has
 * another shape, or that this model does not have is an error by name; so are
 * tied weights with an lm_head of other values.
 */
int llama_load(struct llama *m, const struct st *s, struct err *e);

/* Only the check that llama_load() makes. */
int llama_match(const struct llama *m, const struct st *s, struct err *e);

/* --- flat arrays (device) --- */

float *llama_flat_new(const struct llama *m);	/* zeroed; free by release */

/* Tensors called prefix + name of s into flat. */
int llama_flat_load(const struct llama *m, const struct st *s,
		    const char *prefix, float *flat, struct err *e);

/*
 * Initial weights: gains 1, matrices N(0, std), those that write into the
 * residual stream times 1/sqrt(2 L), the embedding times embed_scale.  Each
 * number depends on (seed, tensor, index) alone.
 */
void llama_flat_init(const struct llama *m, uint64_t seed, double std,
		     double embed_scale, float *flat);

/* Weights := flat, rounded to dt. */
void llama_set(struct llama *m, const float *flat);

/*
 * Walk a tensor in pieces of at most `max` numbers: fn(ctx, bytes, n) gets
 * host memory, valid during the call.  From the weights (type dt) or from a
 * flat array (float).
 */
typedef int (*tensor_sink)(void *ctx, const void *p, size_t bytes,
			   struct err *e);
int llama_read_weights(const struct llama *m, const struct tensor *t,
		       tensor_sink fn, void *ctx, struct err *e);
int llama_read_flat(const struct llama *m, const struct tensor *t,
		    const float *flat, tensor_sink fn, void *ctx,
		    struct err *e);

/* Name of the first tensor of a parameter, for messages. */
const char *llama_param_name(const struct llama *m, size_t param);

#endif
