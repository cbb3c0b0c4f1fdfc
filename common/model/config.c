/*
 * config.c - see config.h
 *
 * Keys that would change the arithmetic are checked first, then the numbers
 * are read.  rope_theta has two spellings.  If both are present and differ,
 * that is an error: a reader that knows only the old one would use the wrong
 * base, which costs 0.7 nats per token.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/json.h"
#include "model/config.h"

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

double
config_flops_per_token(const struct model_config *c, int64_t seq_len)
{
	int64_t matrices = c->vocab * c->hidden +
		c->layers * layer_matrices(c);

	return 6.0 * (double)matrices +
		6.0 * (double)c->layers * (double)c->heads *
		(double)c->head_dim * (double)seq_len;
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

struct reader {
	const struct json *j;
	const char *path;
	struct err *e;
};

/* what: "is ..." or "has ...". */
static int
refuse(struct reader *r, const char *key, const char *what)
{
	return err_set(r->e, "%s: %s %s, which is not supported", r->path, key,
		       what);
}

static int
is_str(const struct json *v, const char *s)
{
	return v->type == JSON_STRING && span_eq(v->str, span_str(s));
}

/* In these files null means absent. */
static const struct json *
value(const struct reader *r, const char *key)
{
	const struct json *v = json_get(r->j, key);

	return v && v->type != JSON_NULL ? v : NULL;
}

static int
get_int(struct reader *r, const char *key, int64_t *to, int needed)
{
	const struct json *v = value(r, key);

	if (!v)
		return needed ? err_set(r->e, "%s: %s is missing", r->path,
					key) : 0;
	if (v->type != JSON_NUMBER || !v->is_int)
		return err_set(r->e, "%s: %s is not an integer", r->path, key);
	*to = v->i;
	return 0;
}

static int
get_real(struct reader *r, const char *key, double *to)
{
	const struct json *v = value(r, key);

	if (!v)
		return 0;
	if (v->type != JSON_NUMBER)
		return err_set(r->e, "%s: %s is not a number", r->path, key);
	*to = v->num;
	return 0;
}

static int
check_rope(struct reader *r, const char *table)
{
	const struct json *v = value(r, table);
	size_t i;

	if (!v)
		return 0;
	if (v->type != JSON_OBJECT)
		return refuse(r, table, "is not an object");
	for (i = 0; i < v->n; i++) {
		const struct json *m = &v->kids[i];
		int theta = span_eq(m->key, span_str("rope_theta"));

		if (theta && m->type != JSON_NUMBER)
			return refuse(r, table, "has a rope_theta that is not"
				      " a number");
		if (theta || m->type == JSON_NULL ||
		    (span_eq(m->key, span_str("partial_rotary_factor")) &&
		     m->type == JSON_NUMBER && m->num == 1))
			continue;
		if (!span_eq(m->key, span_str("rope_type")) &&
		    !span_eq(m->key, span_str("type")))
			return refuse(r, table, "has keys other than rope_type"
				      " and rope_theta");
		if (!is_str(m, "default"))
			return refuse(r, table, "has a type other than"
				      " default");
	}
	return 0;
}

static int
get_theta(struct reader *r, double *theta)
{
	const struct json *old = value(r, "rope_theta");
	const struct json *new = value(r, "rope_parameters.rope_theta");

	if (!new)	/* an older name of the same table */
		new = value(r, "rope_scaling.rope_theta");
	*theta = 10000;
	if (check_rope(r, "rope_scaling") < 0 ||
	    check_rope(r, "rope_parameters") < 0 ||
	    get_real(r, "rope_theta", theta) < 0)
		return -1;
	if (new && old && new->num != *theta)
		return err_set(r->e, "%s: rope_theta is %g, but %g in"
			       " rope_parameters", r->path, *theta, new->num);
	if (new)
		*theta = new->num;
	return 0;
}

static int
get_type(struct reader *r, struct model_config *c)
{
	const struct json *v = value(r, "model_type");

	if (!v || v->type != JSON_STRING)
		return err_set(r->e, "%s: model_type is missing", r->path);
	c->qk_norm = is_str(v, "qwen3");
	if (c->qk_norm || is_str(v, "llama"))
		return 0;
	return err_set(r->e, "%s: model_type \"%.*s\" is not supported (llama"
		       " and qwen3 are)", r->path,
		       (int)(v->str.n > 30 ? 30 : v->str.n), v->str.p);
}

static int
get_id(const struct reader *r, const char *key, const struct json *v,
       int64_t *id)
{
	if (v->type != JSON_NUMBER || !v->is_int || v->i < 0)
		return err_set(r->e, "%s: %s is not a token id", r->path, key);
	*id = v->i;
	return 0;
}

static int
get_bos(const struct reader *r, struct model_config *c)
{
	const struct json *v = value(r, "bos_token_id");

	return v ? get_id(r, "bos_token_id", v, &c->bos) : 0;
}

/* One id, or a list of ids. */
static int
get_eos(const struct reader *r, struct model_config *c)
{
	const char *key = "eos_token_id";
	const struct json *v = value(r, key);
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
check_arithmetic(struct reader *r)
{
	static const char *const off[] = {"attention_bias", "mlp_bias",
		"use_sliding_window", "quantization_config",
		"residual_multiplier", "logits_scaling",
		"embedding_multiplier", "attention_multiplier",
		"attention_dropout"};
	const struct json *v;
	size_t i;

	for (i = 0; i < sizeof off / sizeof *off; i++) {
		v = value(r, off[i]);
		if (v && v->type != JSON_FALSE &&
		    (v->type != JSON_NUMBER || v->num != 0))
			return refuse(r, off[i], "is set");
	}
	v = value(r, "partial_rotary_factor");
	if (v && v->num != 1)
		return refuse(r, "partial_rotary_factor", "is not 1");
	v = value(r, "hidden_act");
	if (v && !is_str(v, "silu") && !is_str(v, "swish"))
		return refuse(r, "hidden_act", "is not silu");
	v = value(r, "layer_types");
	for (i = 0; v && i < v->n; i++)
		if (!is_str(&v->kids[i], "full_attention"))
			return refuse(r, "layer_types",
				      "has types other than full_attention");
	return 0;
}

static int
get_shape(struct reader *r, struct model_config *c)
{
	const struct json *tie = value(r, "tie_word_embeddings");

	if (get_int(r, "vocab_size", &c->vocab, 1) < 0 ||
	    get_int(r, "hidden_size", &c->hidden, 1) < 0 ||
	    get_int(r, "num_hidden_layers", &c->layers, 1) < 0 ||
	    get_int(r, "num_attention_heads", &c->heads, 1) < 0 ||
	    get_int(r, "intermediate_size", &c->inter, 1) < 0)
		return -1;
	c->kv_heads = c->heads;
	/* defaults of LlamaConfig and Qwen3Config in transformers */
	c->head_dim = c->qk_norm ? 128 : c->heads > 0 ?
		c->hidden / c->heads : 0;
	c->max_pos = c->qk_norm ? 32768 : 2048;
	c->norm_eps = 1e-6;
	c->init_std = 0.02;
	if (get_int(r, "num_key_value_heads", &c->kv_heads, 0) < 0 ||
	    get_int(r, "head_dim", &c->head_dim, 0) < 0 ||
	    get_int(r, "max_position_embeddings", &c->max_pos, 0) < 0 ||
	    get_real(r, "rms_norm_eps", &c->norm_eps) < 0 ||
	    get_real(r, "initializer_range", &c->init_std) < 0)
		return -1;
	if (tie && tie->type != JSON_TRUE && tie->type != JSON_FALSE)
		return refuse(r, "tie_word_embeddings",
			      "is neither true nor false");
	c->tie = tie && tie->type == JSON_TRUE;
	return get_theta(r, &c->rope_theta);
}

static int
load_ids(struct model_config *c, const char *dir, struct err *e)
{
	char *path = path_join(dir, "generation_config.json");
	struct json *root = NULL;
	struct reader r = {NULL, path, e};
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

/* A run folder of lm-train holds models but is not one. */
static int
is_run(const char *dir)
{
	char *latest = xstrf("%s/latest/config.json", dir);
	int rc = access(latest, F_OK) == 0;

	free(latest);
	return rc;
}

int
config_load(struct model_config *c, const char *dir, struct err *e)
{
	char *path = path_join(dir, "config.json");
	struct json *root = json_load(path, e);
	struct reader r = {root, path, e};
	struct err why = {0};
	int rc = -1;

	memset(c, 0, sizeof *c);
	c->bos = c->eos = -1;
	if (!root)
		goto out;
	if (!value(&r, "model_type") && is_run(dir)) {
		err_set(e, "%s: is a run folder, not a model: use %s/latest",
			dir, dir);
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

static void
put_id(struct buf *b, const char *key, int64_t id)
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

	put_id(b, "bos_token_id", c->bos);
	if (!c->neos_more) {
		put_id(b, "eos_token_id", c->eos);
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

void
config_json(const struct model_config *c, struct buf *b)
{
	const char *dt = c->bf16 ? "bfloat16" : "float32";

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
		   c->qk_norm ? "Qwen3ForCausalLM" : "LlamaForCausalLM",
		   c->qk_norm ? "qwen3" : "llama", c->vocab, c->hidden,
		   c->inter, c->layers, c->heads, c->kv_heads, c->head_dim,
		   c->max_pos);
	put_real(b, "  \"initializer_range\": ", c->init_std);
	put_real(b, ",\n  \"rms_norm_eps\": ", c->norm_eps);
	put_real(b, ",\n  \"rope_theta\": ", c->rope_theta);
	put_real(b, ",\n  \"rope_scaling\": null,\n  \"rope_parameters\":"
		 " {\"rope_type\": \"default\", \"rope_theta\": ",
		 c->rope_theta);
	buf_puts(b, "},\n  \"hidden_act\": \"silu\",\n"
		 "  \"attention_bias\": false,\n"
		 "  \"attention_dropout\": 0.0,\n");
	buf_puts(b, c->qk_norm ? "  \"use_sliding_window\": false,\n"
		 "  \"sliding_window\": null,\n" :
		 "  \"mlp_bias\": false,\n  \"pretraining_tp\": 1,\n");
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
