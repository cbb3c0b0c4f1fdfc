/*
 * config.c - see config.h
 *
 * Keys that would change the arithmetic are checked first, then the numbers
 * are read.  The keys of RoPE are in config_rope.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "kernels/kernels.h"
#include "model/config_priv.h"

const char *const config_presets[] = {"none", "1M", "10M", "124M", "500M", "1B",
	NULL};

static const int64_t shapes[PRESET_COUNT][5] = {
	/* hidden, layers, heads, kv heads, intermediate */
	[PRESET_1M] = {128, 4, 4, 2, 384},
	[PRESET_10M] = {384, 6, 6, 2, 1024},
	[PRESET_124M] = {768, 12, 12, 12, 2048},
	[PRESET_500M] = {1280, 24, 20, 4, 3584},
	[PRESET_1B] = {2048, 16, 32, 8, 8192},
};

void
config_preset(struct model_config *c, enum preset p)
{
	const int64_t *s = shapes[p];

	c->hidden = s[0];
	c->layers = s[1];
	c->heads = s[2];
	c->kv_heads = s[3];
	c->inter = s[4];
	c->head_dim = s[2] ? s[0] / s[2] : 0;
	c->rope_theta = 10000;
	c->norm_eps = 1e-5;
	c->tie = 1;
	c->qk_norm = 0;
}

int64_t
config_vocab_padded(const struct model_config *c)
{
	return (c->vocab + 63) / 64 * 64;
}

static int64_t
layer_matrices(const struct model_config *c)
{
	int64_t q = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;

	return c->hidden * (2 * q + 2 * kv) + 3 * c->hidden * c->inter;
}

int64_t
config_params(const struct model_config *c)
{
	int64_t norms = 2 * c->hidden + (c->qk_norm ? 2 * c->head_dim : 0);

	return c->vocab * c->hidden * (c->tie ? 1 : 2) + c->hidden +
		c->layers * (layer_matrices(c) + norms);
}

/* Pairs of a token and one that it sees, itself included. */
static int64_t
attention_pairs(int64_t b, int64_t t, const int32_t *start, int64_t window)
{
	int64_t sum = 0, i, p;

	for (i = 0; i < b; i++)
		for (p = 0; p < t; p++)
			sum += p + 1 -
				k_attn_first(start[i * t + p], window, p);
	return sum;
}

double
config_flops(const struct model_config *c, int64_t b, int64_t t,
	     const int32_t *start)
{
	int64_t full = c->window && c->window_from < c->layers ?
		c->window_from : c->layers;
	double matrices = (double)(c->vocab * c->hidden +
				   c->layers * layer_matrices(c));
	double pairs = (double)full *
		(double)attention_pairs(b, t, start, 0);

	if (full < c->layers)
		pairs += (double)(c->layers - full) *
			(double)attention_pairs(b, t, start, c->window);
	return 6 * matrices * (double)(b * t) +
		12 * (double)(c->heads * c->head_dim) * pairs;
}

int
config_is_eos(const struct model_config *c, int64_t id)
{
	int i;

	for (i = 0; i < c->neos_more; i++)
		if (id == c->eos_more[i])
			return 1;
	return id == c->eos;
}

int
config_check(const struct model_config *c, struct err *e)
{
	const struct {
		const char *name;
		int64_t value, lo, hi;
	} range[] = {
		{"vocabulary", c->vocab, 2, INT32_MAX - 64},
		{"hidden size", c->hidden, 1, 1 << 20},
		{"layers", c->layers, 1, 4096},
		{"heads", c->heads, 1, 65536},
		{"kv heads", c->kv_heads, 1, 65536},
		{"head dimension", c->head_dim, 2, 256},
		{"intermediate size", c->inter, 1, 1 << 20},
		{"positions", c->max_pos, 1, INT32_MAX},
	};
	size_t i;

	for (i = 0; i < sizeof range / sizeof *range; i++)
		if (range[i].value < range[i].lo ||
		    range[i].value > range[i].hi)
			return err_set(e, "%s is %" PRId64 ", expected %" PRId64
				       " to %" PRId64, range[i].name,
				       range[i].value, range[i].lo,
				       range[i].hi);
	if (c->head_dim % 2)
		return err_set(e, "head dimension %" PRId64 " is odd, but RoPE"
			       " needs pairs", c->head_dim);
	if (c->heads % c->kv_heads)
		return err_set(e, "%" PRId64 " heads are not a multiple of %"
			       PRId64 " kv heads", c->heads, c->kv_heads);
	if (!(c->rope_theta > 0) || !isfinite(c->rope_theta))
		return err_set(e, "rope theta is %g, expected > 0",
			       c->rope_theta);
	if (!(c->norm_eps > 0) || !isfinite(c->norm_eps))
		return err_set(e, "norm eps is %g, expected > 0", c->norm_eps);
	return 0;
}

/* ---- reading ---- */

int
config_refuse(struct config_reader *r, const char *key, const char *what)
{
	return err_set(r->e, "%s: %s %s, which is not supported", r->path, key,
		       what);
}

static int
is_str(const struct json *v, const char *s)
{
	return v->type == JSON_STRING && span_eq(v->str, span_str(s));
}

const struct json *
config_value(const struct config_reader *r, const char *key)
{
	const struct json *v = json_get(r->j, key);

	return v && v->type != JSON_NULL ? v : NULL;
}

int
config_int(struct config_reader *r, const char *key, int64_t *to, int needed)
{
	const struct json *v = config_value(r, key);

	if (!v)
		return needed ? err_set(r->e, "%s: %s is missing", r->path,
					key) : 0;
	if (v->type != JSON_NUMBER || !v->is_int)
		return err_set(r->e, "%s: %s is not an integer", r->path, key);
	*to = v->i;
	return 0;
}

int
config_real(struct config_reader *r, const char *key, double *to)
{
	const struct json *v = config_value(r, key);

	if (!v)
		return 0;
	if (v->type != JSON_NUMBER)
		return err_set(r->e, "%s: %s is not a number", r->path, key);
	*to = v->num;
	return 0;
}

static int
get_type(struct config_reader *r, struct model_config *c)
{
	const struct json *v = config_value(r, "model_type");

	if (!v || v->type != JSON_STRING)
		return err_set(r->e, "%s: model_type is missing", r->path);
	c->qk_norm = is_str(v, "qwen3");
	c->mistral = is_str(v, "mistral");
	if (c->qk_norm || c->mistral || is_str(v, "llama"))
		return 0;
	return err_set(r->e, "%s: model_type \"%.*s\" is not supported (llama,"
		       " mistral and qwen3 are)", r->path,
		       (int)(v->str.n > 30 ? 30 : v->str.n), v->str.p);
}

static int
get_id(const struct config_reader *r, const char *key, const struct json *v,
       int64_t *id)
{
	if (v->type != JSON_NUMBER || !v->is_int || v->i < 0)
		return err_set(r->e, "%s: %s is not a token id", r->path, key);
	*id = v->i;
	return 0;
}

static int
get_bos(const struct config_reader *r, struct model_config *c)
{
	const struct json *v = config_value(r, "bos_token_id");

	return v ? get_id(r, "bos_token_id", v, &c->bos) : 0;
}

/* One id, or a list of ids. */
static int
get_eos(const struct config_reader *r, struct model_config *c)
{
	const char *key = "eos_token_id";
	const struct json *v = config_value(r, key);
	size_t i;

	if (!v)
		return 0;
	c->neos_more = 0;
	if (v->type != JSON_ARRAY)
		return get_id(r, key, v, &c->eos);
	if (v->n > CONFIG_EOS)
		return err_set(r->e, "%s: %s has %zu ids, at most %d are"
			       " supported", r->path, key, v->n, CONFIG_EOS);
	for (i = 0; i < v->n; i++)
		if (get_id(r, key, &v->kids[i], i ? &c->eos_more[i - 1] :
			   &c->eos) < 0)
			return -1;
	c->neos_more = v->n ? (int)v->n - 1 : 0;
	return 0;
}

static int
check_arithmetic(struct config_reader *r)
{
	static const char *const off[] = {"attention_bias", "mlp_bias",
		"quantization_config", "residual_multiplier",
		"logits_scaling", "embedding_multiplier",
		"attention_multiplier"};
	const struct json *v;
	size_t i;

	for (i = 0; i < sizeof off / sizeof *off; i++) {
		v = config_value(r, off[i]);
		if (v && v->type != JSON_FALSE &&
		    (v->type != JSON_NUMBER || v->num != 0))
			return config_refuse(r, off[i], "is set");
	}
	v = config_value(r, "partial_rotary_factor");
	if (v && v->num != 1)
		return config_refuse(r, "partial_rotary_factor", "is not 1");
	v = config_value(r, "hidden_act");
	if (v && !is_str(v, "silu") && !is_str(v, "swish"))
		return config_refuse(r, "hidden_act", "is not silu");
	return 0;
}

/* layer_types, where it is there, decides: full layers, then sliding ones. */
static int
get_layer_types(struct config_reader *r, struct model_config *c)
{
	const struct json *v = config_value(r, "layer_types");
	int64_t n = v ? (int64_t)v->n : 0, full = 0, i;

	if (!v)
		return 0;
	if (v->type != JSON_ARRAY || n != c->layers)
		return config_refuse(r, "layer_types", "is not a list with one"
				     " type a layer");
	while (full < n && is_str(&v->kids[full], "full_attention"))
		full++;
	for (i = full; i < n; i++)
		if (!is_str(&v->kids[i], "sliding_attention"))
			return config_refuse(r, "layer_types", "is not"
				" full_attention, then sliding_attention");
	if (full < n && !c->window)
		return config_refuse(r, "layer_types", "has sliding_attention"
				     " without a window");
	if (c->qk_norm)
		c->window_from = full;
	else if (full > 0 && c->window)
		return config_refuse(r, "layer_types", "has full_attention"
				     " beside sliding_window");
	return 0;
}

/* As MistralConfig and Qwen3Config have it: 4096 where the key is absent. */
static int
get_window(struct config_reader *r, struct model_config *c)
{
	const struct json *use = config_value(r, "use_sliding_window");
	const struct json *w = json_get(r->j, "sliding_window");
	int on = use && use->type == JSON_TRUE;

	if (on && !c->qk_norm && !c->mistral)
		return config_refuse(r, "use_sliding_window", "is set");
	if (c->mistral || (c->qk_norm && on)) {
		c->window = w ? 0 : 4096;
		c->window_from = c->qk_norm ? 28 : 0;
		if (config_int(r, "sliding_window", &c->window, 0) < 0 ||
		    (c->qk_norm && config_int(r, "max_window_layers",
					      &c->window_from, 0) < 0))
			return -1;
		if (w && w->type != JSON_NULL && c->window < 1)
			return config_refuse(r, "sliding_window",
					     "is below 1");
	}
	return get_layer_types(r, c);
}

static int
get_shape(struct config_reader *r, struct model_config *c)
{
	const struct json *tie = config_value(r, "tie_word_embeddings");

	if (config_int(r, "vocab_size", &c->vocab, 1) < 0 ||
	    config_int(r, "hidden_size", &c->hidden, 1) < 0 ||
	    config_int(r, "num_hidden_layers", &c->layers, 1) < 0 ||
	    config_int(r, "num_attention_heads", &c->heads, 1) < 0 ||
	    config_int(r, "intermediate_size", &c->inter, 1) < 0)
		return -1;
	/* defaults of transformers' configurations of the three types */
	c->kv_heads = c->mistral && !json_get(r->j, "num_key_value_heads") ?
		8 : c->heads;
	c->head_dim = c->qk_norm ? 128 : c->heads > 0 ?
		c->hidden / c->heads : 0;
	c->max_pos = c->qk_norm ? 32768 : c->mistral ? 131072 : 2048;
	c->norm_eps = 1e-6;
	c->init_std = 0.02;
	if (config_int(r, "num_key_value_heads", &c->kv_heads, 0) < 0 ||
	    config_int(r, "head_dim", &c->head_dim, 0) < 0 ||
	    config_int(r, "max_position_embeddings", &c->max_pos, 0) < 0 ||
	    config_real(r, "rms_norm_eps", &c->norm_eps) < 0 ||
	    config_real(r, "initializer_range", &c->init_std) < 0 ||
	    config_real(r, "attention_dropout", &c->dropout) < 0)
		return -1;
	if (tie && tie->type != JSON_TRUE && tie->type != JSON_FALSE)
		return config_refuse(r, "tie_word_embeddings",
			      "is neither true nor false");
	c->tie = tie && tie->type == JSON_TRUE;
	if (get_window(r, c) < 0)
		return -1;
	return config_rope(r, c);
}

static int
load_ids(struct model_config *c, const char *dir, struct err *e)
{
	char *path = path_join(dir, "generation_config.json");
	struct json *root = NULL;
	struct config_reader r = {NULL, path, e};
	int rc = 0;

	if (access(path, F_OK) == 0) {
		r.j = root = json_load(path, e);
		if (!root || (c->bos < 0 && get_bos(&r, c) < 0) ||
		    get_eos(&r, c) < 0)
			rc = -1;
	}
	json_free(root);
	free(path);
	return rc;
}

int
config_load(struct model_config *c, const char *dir, struct err *e)
{
	char *path = path_join(dir, "config.json");
	int none = access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR);
	struct json *root = none ? NULL : json_load(path, e);
	struct config_reader r = {root, path, e};
	struct err why = {0};
	int rc = -1;

	memset(c, 0, sizeof *c);
	c->bos = c->eos = -1;
	if (!root) {
		if (none)
			err_set(e, "%s: not a model folder: it has no "
				"config.json", dir);
		goto out;
	}
	if (get_type(&r, c) < 0 || check_arithmetic(&r) < 0 ||
	    get_shape(&r, c) < 0 || get_bos(&r, c) < 0 ||
	    get_eos(&r, c) < 0 || load_ids(c, dir, e) < 0)
		goto out;
	if (config_check(c, &why) < 0)
		err_set(e, "%s: %s", path, why.msg);
	else
		rc = 0;
out:
	json_free(root);
	free(path);
	return rc;
}

/* ---- writing ---- */

void
config_put_id(struct buf *b, const char *key, int64_t id)
{
	if (id >= 0)
		buf_printf(b, "  \"%s\": %" PRId64 ",\n", key, id);
	else
		buf_printf(b, "  \"%s\": null,\n", key);
}

static void
put_ids(struct buf *b, const struct model_config *c)
{
	int i;

	config_put_id(b, "bos_token_id", c->bos);
	if (!c->neos_more) {
		config_put_id(b, "eos_token_id", c->eos);
		return;
	}
	buf_printf(b, "  \"eos_token_id\": [%" PRId64, c->eos);
	for (i = 0; i < c->neos_more; i++)
		buf_printf(b, ", %" PRId64, c->eos_more[i]);
	buf_puts(b, "],\n");
}

static void
put_real(struct buf *b, const char *before, double x)
{
	buf_puts(b, before);
	json_put_real(b, x);
}

static void
put_window(struct buf *b, const struct model_config *c)
{
	if (!c->qk_norm && !c->mistral) {
		buf_puts(b, "  \"mlp_bias\": false,\n"
			 "  \"pretraining_tp\": 1,\n");
		return;
	}
	if (c->qk_norm)
		buf_printf(b, "  \"use_sliding_window\": %s,\n",
			   c->window ? "true" : "false");
	if (c->qk_norm && c->window)
		buf_printf(b, "  \"max_window_layers\": %" PRId64 ",\n",
			   c->window_from);
	if (c->window)
		buf_printf(b, "  \"sliding_window\": %" PRId64 ",\n",
			   c->window);
	else
		buf_puts(b, "  \"sliding_window\": null,\n");
}

void
config_json(const struct model_config *c, struct buf *b)
{
	static const char *const names[] = {
		[K_F32] = "float32", [K_BF16] = "bfloat16",
		[K_F16] = "float16" };
	const char *dt = names[c->dtype];

	buf_printf(b, "{\n  \"architectures\": [\"%s\"],\n"
		   "  \"model_type\": \"%s\",\n"
		   "  \"vocab_size\": %" PRId64 ",\n"
		   "  \"hidden_size\": %" PRId64 ",\n"
		   "  \"intermediate_size\": %" PRId64 ",\n"
		   "  \"num_hidden_layers\": %" PRId64 ",\n"
		   "  \"num_attention_heads\": %" PRId64 ",\n"
		   "  \"num_key_value_heads\": %" PRId64 ",\n"
		   "  \"head_dim\": %" PRId64 ",\n"
		   "  \"max_position_embeddings\": %" PRId64 ",\n",
		   c->qk_norm ? "Qwen3ForCausalLM" : c->mistral ?
		   "MistralForCausalLM" : "LlamaForCausalLM",
		   c->qk_norm ? "qwen3" : c->mistral ? "mistral" : "llama",
		   c->vocab, c->hidden,
		   c->inter, c->layers, c->heads, c->kv_heads, c->head_dim,
		   c->max_pos);
	put_real(b, "  \"initializer_range\": ", c->init_std);
	put_real(b, ",\n  \"rms_norm_eps\": ", c->norm_eps);
	buf_puts(b, ",\n");
	config_rope_json(c, b);
	buf_puts(b, "  \"hidden_act\": \"silu\",\n"
		 "  \"attention_bias\": false,\n"
		 "  \"attention_dropout\": 0.0,\n");
	put_window(b, c);
	put_ids(b, c);
	buf_printf(b, "  \"pad_token_id\": null,\n"
		   "  \"tie_word_embeddings\": %s,\n"
		   "  \"use_cache\": true,\n  \"torch_dtype\": \"%s\",\n"
		   "  \"dtype\": \"%s\"\n}\n", c->tie ? "true" : "false", dt,
		   dt);
}

void
config_generation_json(const struct model_config *c, struct buf *b)
{
	buf_puts(b, "{\n");
	put_ids(b, c);
	buf_puts(b, "  \"do_sample\": false\n}\n");
}
