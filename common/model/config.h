/*
 * config.h - the shape of a model, and its Hugging Face config.json
 *
 * A Llama decoder: RMSNorm, half-split RoPE, scaled or not (rope.h),
 * grouped-query attention, SwiGLU, tied or untied embeddings.  With qk_norm
 * each query and key head is normalized before RoPE; such a model is written
 * as Qwen3ForCausalLM, others as LlamaForCausalLM or MistralForCausalLM.
 * Layers from window_from on may attend to the last `window` positions only
 * (all layers of Mistral, the upper ones of Qwen3).
 *
 * Reads what transformers 4 (rope_theta, rope_scaling, torch_dtype) and 5
 * (rope_parameters, dtype) write.  Settings that would change the arithmetic
 * and are not supported (biases, other activations, partial RoPE, ...) are
 * refused by name, never ignored.
 */
#ifndef ASSAY_CONFIG_H
#define ASSAY_CONFIG_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "kernels/dtype.h"
#include "model/rope.h"

enum { CONFIG_EOS = 8 };	/* most EOS ids that a model can have */

struct model_config {
	int64_t vocab;		/* V, without padding */
	int64_t hidden;		/* C */
	int64_t layers;		/* L */
	int64_t heads;		/* H, query heads */
	int64_t kv_heads;	/* G, divides H */
	int64_t head_dim;	/* D, even, at most 256 */
	int64_t inter;		/* F, width of the MLP */
	int64_t max_pos;	/* positions it supports; trained: seq_len */
	double rope_theta;
	struct rope_scaling rope;
	int64_t window;		/* positions that a row sees; 0: all */
	int64_t window_from;	/* first layer with the window */
	double norm_eps;
	double init_std;	/* initializer_range */
	int tie;		/* output matrix = embedding */
	int qk_norm;
	int mistral;		/* model_type in config_json() */
	double dropout;		/* attention_dropout, of training only */
	int64_t bos, eos;	/* id or -1 */
	int64_t eos_more[CONFIG_EOS - 1];	/* other EOS ids */
	int neos_more;
	enum kdtype dtype;	/* in config_json() */
};

enum preset { PRESET_NONE, PRESET_1M, PRESET_10M, PRESET_124M, PRESET_500M,
	PRESET_1B, PRESET_COUNT };
extern const char *const config_presets[];	/* "none", "1M", ..., NULL */

/* Set the shape; vocab, max_pos, bos, eos, dtype, init_std do not change. */
void config_preset(struct model_config *c, enum preset p);

/* Do the sizes fit each other?  -1 names the ones that do not. */
int config_check(const struct model_config *c, struct err *e);

/* Rows of the embedding in memory: V rounded up to a multiple of 64. */
int64_t config_vocab_padded(const struct model_config *c);

/* Rows of the weight that computes queries, keys and values. */
static inline int64_t
config_qkv_rows(const struct model_config *c)
{
	return (c->heads + 2 * c->kv_heads) * c->head_dim;
}

/* Number of parameters (a tied matrix once, without padding). */
int64_t config_params(const struct model_config *c);

/*
 * Floating-point operations of a forward and backward pass over B windows of T
 * tokens: 6 per token and matrix weight, and 12 H D in each layer for every
 * pair of a token and one that it sees.  start: (B, T) as in k_attn_fwd.
 */
double config_flops(const struct model_config *c, int64_t b, int64_t t,
		    const int32_t *start);

/* The window of a layer, 0: none. */
static inline int64_t
config_window(const struct model_config *c, int64_t layer)
{
	return layer >= c->window_from ? c->window : 0;
}

int config_is_eos(const struct model_config *c, int64_t id);

/*
 * Read DIR/config.json, and BOS and EOS from generation_config.json, whose
 * EOS overrides that of config.json.
 */
int config_load(struct model_config *c, const char *dir, struct err *e);

/* Append the text of config.json or generation_config.json. */
void config_json(const struct model_config *c, struct buf *out);
void config_generation_json(const struct model_config *c, struct buf *out);
/* One line of such a text: the id, or null if it is -1, and a comma. */
void config_put_id(struct buf *out, const char *key, int64_t id);

#endif
