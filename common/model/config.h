/*
 * config.h - the shape of a model, and its Hugging Face config.json
 *
 * A Llama decoder: RMSNorm, half-split RoPE, grouped-query attention, SwiGLU,
 * tied or untied embeddings.  With qk_norm every query and key head is
 * normalized before the rotation; such a model is written as Qwen3ForCausalLM,
 * one without as LlamaForCausalLM.
 *
 * Reading accepts what transformers 4 (rope_theta, torch_dtype) and 5
 * (rope_parameters, dtype) write.  Whatever would change the arithmetic and
 * is not done here (rope scaling, biases, another activation, sliding
 * windows, partial rotation, ...) is refused by name, never ignored.
 */
#ifndef ASSAY_CONFIG_H
#define ASSAY_CONFIG_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { CONFIG_EOS = 8 };	/* ids that end a text, at most */

struct model_config {
	int64_t vocab;		/* V, without the padding */
	int64_t hidden;		/* C */
	int64_t layers;		/* L */
	int64_t heads;		/* H, query heads */
	int64_t kv_heads;	/* G, divides H */
	int64_t head_dim;	/* D, even, at most 256 */
	int64_t inter;		/* F, of the feed-forward part */
	int64_t max_pos;	/* positions it was made for; trained: seq_len */
	double rope_theta;
	double norm_eps;
	double init_std;	/* initializer_range */
	int tie;		/* output matrix = embedding */
	int qk_norm;
	int64_t bos, eos;	/* id or -1 */
	int64_t eos_more[CONFIG_EOS - 1];	/* further ids that end a text */
	int neos_more;
	int bf16;		/* dtype that config_json() names: 1 bf16, 0 float32 */
};

enum preset { PRESET_NONE, PRESET_1M, PRESET_10M, PRESET_124M, PRESET_500M,
	PRESET_1B, PRESET_COUNT };
extern const char *const preset_names[];	/* "none", "1M", ...; NULL ends */

/* Fills in the shape; vocab, max_pos, bos, eos, bf16, init_std stay. */
void config_preset(struct model_config *c, enum preset p);

/* Sizes fit each other; -1 names the pair that does not. */
int config_check(const struct model_config *c, struct err *e);

/* The vocabulary as the weights have it: a multiple of 64. */
int64_t config_vocab_padded(const struct model_config *c);

/* Numbers to learn (a tied matrix once, padding not counted). */
int64_t config_params(const struct model_config *c);

/*
 * Operations of a forward and a backward pass, a token: 6 a matrix weight,
 * and 6 L H D T for attention (half of T x T is causal).
 */
double config_flops_per_token(const struct model_config *c, int64_t seq_len);

/* Does this id end a text? */
int config_is_eos(const struct model_config *c, int64_t id);

/*
 * Read DIR/config.json and the ids of generation_config.json, whose EOS, one
 * or several, counts where both have one.
 */
int config_load(struct model_config *c, const char *dir, struct err *e);

/* The bytes of config.json and generation_config.json. */
void config_json(const struct model_config *c, struct buf *out);
void config_generation_json(const struct model_config *c, struct buf *out);

#endif
