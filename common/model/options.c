/*
 * options.c - see options.h
 *
 * The table below is the program's manual in one place.  STATE says what a
 * resume may do with a row: FIXED decides the numbers of the run, FREE does
 * not, START belongs to one start and is not stored.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/options.h"
#include "record/shard.h"

enum state { FIXED, FREE, START };

struct spec {
	const char *name;
	char letter;
	enum arg_type type;
	size_t at;
	const char *meta, *help;
	double lo, hi;
	const char *const *choices;
	enum state state;
};

static const char *const dtype_names[] = {"fp32", "bf16", NULL};

#define AT(m) offsetof(struct options, m)
#define BIG 9007199254740992.0

static const struct spec specs[] = {
	{"Shape", 0, ARG_SECTION, 0, 0, "Shape of the model", 0, 0, 0, START},
	{"preset", 0, ARG_ENUM, AT(preset), "NAME",
	 "shape by name", 0, 0, preset_names, FIXED},
	{"hidden-size", 0, ARG_INT, AT(hidden_size), "N",
	 "width of the residual stream; 0: the preset's", 0, 1048576, 0,
	 FIXED},
	{"layers", 0, ARG_INT, AT(layers), "N", "layers; 0: the preset's", 0,
	 4096, 0, FIXED},
	{"heads", 0, ARG_INT, AT(heads), "N",
	 "query heads; 0: the preset's", 0, 65536, 0, FIXED},
	{"kv-heads", 0, ARG_INT, AT(kv_heads), "N",
	 "key and value heads; 0: the preset's, else as many as heads", 0,
	 65536, 0, FIXED},
	{"head-dim", 0, ARG_INT, AT(head_dim), "N",
	 "width of a head; 0: hidden size / heads", 0, 256, 0, FIXED},
	{"intermediate-size", 0, ARG_INT, AT(intermediate_size), "N",
	 "width of the feed-forward part; 0: the preset's", 0, 1048576, 0,
	 FIXED},
	{"vocab-size", 0, ARG_INT, AT(vocab_size), "N",
	 "ids of the model; 0: those of the tokenizer or the shards", 0,
	 2147483583, 0, FIXED},
	{"rope-theta", 0, ARG_REAL, AT(rope_theta), "X",
	 "base of the rotation; 0: 10000 or the folder's", 0, 1e12, 0, FIXED},
	{"norm-eps", 0, ARG_REAL, AT(norm_eps), "X",
	 "epsilon of RMSNorm; 0: 1e-5 or the folder's", 0, 1, 0, FIXED},
	{"tie-embeddings", 0, ARG_BOOL, AT(tie_embeddings), NULL,
	 "the output matrix is the embedding", 0, 0, 0, FIXED},
	{"qk-norm", 0, ARG_BOOL, AT(qk_norm), NULL,
	 "normalize queries and keys; saved as Qwen3", 0, 0, 0, FIXED},
	{"init-std", 0, ARG_REAL, AT(init_std), "X",
	 "standard deviation of initial weights", 1e-9, 100, 0, FIXED},
	{"embed-scale", 0, ARG_REAL, AT(embed_scale), "X",
	 "factor on the initial embedding", 1e-9, 1e9, 0, FIXED},
	{"init-from", 0, ARG_STR, AT(init_from), "DIR",
	 "start from a Llama or Qwen3 folder of Hugging Face", 0, 0, 0, FIXED},

	{"Data", 0, ARG_SECTION, 0, 0, "Data", 0, 0, 0, START},
	{"data", 0, ARG_STRS, AT(data), "PATH",
	 "shards to train on: files or folders (repeatable)", 0, 0, 0, FREE},
	{"val-data", 0, ARG_STRS, AT(val_data), "PATH",
	 "shards to evaluate on (repeatable)", 0, 0, 0, FREE},
	{"shard-format", 0, ARG_ENUM, AT(shard_format), "NAME",
	 "format of the shards; auto: by magic number", 0, 0,
	 shard_read_names, FIXED},
	{"tokenizer", 0, ARG_STR, AT(tokenizer), "FILE",
	 "tokenizer.json; saved in every checkpoint", 0, 0, 0, FREE},
	{"split", 0, ARG_STR, AT(split), "NAME",
	 "split of a .tiktoken file", 0, 0, 0, FIXED},
	{"seq-len", 0, ARG_INT, AT(seq_len), "N",
	 "tokens a window; 0: as the shards were packed", 0, 16777216, 0,
	 FIXED},
	{"batch-size", 0, ARG_INT, AT(batch_size), "N", "windows a step", 1,
	 16777216, 0, FIXED},
	{"micro-batch", 0, ARG_INT, AT(micro_batch), "N",
	 "windows at once, the rest accumulates; 0: about 4096 tokens", 0,
	 16777216, 0, FIXED},
	{"accum", 0, ARG_INT, AT(accum), "N",
	 "micro-batches a step; 0: as --micro-batch says", 0, 16777216, 0,
	 FIXED},
	{"order", 0, ARG_ENUM, AT(order), "NAME",
	 "order of windows; random draws with replacement", 0, 0,
	 order_names, FIXED},
	{"doc-mask", 0, ARG_BOOL, AT(doc_mask), NULL,
	 "documents of a window do not see each other", 0, 0, 0, FIXED},

	{"Opt", 0, ARG_SECTION, 0, 0, "Optimizer", 0, 0, 0, START},
	{"steps", 0, ARG_INT, AT(steps), "N", "updates in the whole run", 0,
	 BIG, 0, FREE},
	{"lr", 0, ARG_REAL, AT(lr), "X", "peak learning rate", 1e-12, 1e3, 0,
	 FIXED},
	{"min-lr", 0, ARG_REAL, AT(min_lr), "X",
	 "learning rate at the end; -1: a tenth of --lr", -1, 1e3, 0, FIXED},
	{"warmup-steps", 0, ARG_INT, AT(warmup_steps), "N",
	 "steps of linear warm-up", 0, BIG, 0, FIXED},
	{"schedule", 0, ARG_ENUM, AT(schedule), "NAME",
	 "of the learning rate; wsd: warm-up, stable, decay", 0, 0,
	 schedule_names, FIXED},
	{"decay-steps", 0, ARG_INT, AT(decay_steps), "N",
	 "steps of the decay of wsd; -1: a fifth of --steps", -1, BIG, 0,
	 FIXED},
	{"beta1", 0, ARG_REAL, AT(beta1), "X", "AdamW: decay of the mean", 0,
	 0.9999999, 0, FIXED},
	{"beta2", 0, ARG_REAL, AT(beta2), "X",
	 "AdamW: decay of the square", 0, 0.9999999, 0, FIXED},
	{"eps", 0, ARG_REAL, AT(eps), "X", "AdamW: epsilon", 1e-30, 1, 0,
	 FIXED},
	{"weight-decay", 0, ARG_REAL, AT(weight_decay), "X",
	 "AdamW: decay of matrices", 0, 100, 0, FIXED},
	{"decay-embeddings", 0, ARG_BOOL, AT(decay_embeddings), NULL,
	 "the decay is for the embedding too", 0, 0, 0, FIXED},
	{"clip", 0, ARG_REAL, AT(clip), "X",
	 "largest norm of the whole gradient; 0: no limit", 0, 1e30, 0,
	 FIXED},
	{"z-loss", 0, ARG_REAL, AT(z_loss), "X",
	 "weight of the mean of log(Z)^2 in what is minimized", 0, 1, 0,
	 FIXED},
	{"seed", 0, ARG_INT, AT(seed), "N",
	 "of initial weights and of the order", 0, BIG, 0, FIXED},
	{"dtype", 0, ARG_ENUM, AT(dtype), "NAME",
	 "of weights and activations", 0, 0, dtype_names, FIXED},

	{"Run", 0, ARG_SECTION, 0, 0, "Run", 0, 0, 0, START},
	{"out", 'o', ARG_STR, AT(out), "DIR", "folder of the run", 0, 0, 0,
	 START},
	{"save-every", 0, ARG_INT, AT(save_every), "N",
	 "steps between checkpoints; 0: only at the end", 0, BIG, 0, FREE},
	{"keep", 0, ARG_INT, AT(keep), "N",
	 "checkpoints to keep; 0: all", 0, BIG, 0, FREE},
	{"after-save", 0, ARG_STR, AT(after_save), "CMD",
	 "run by sh after each checkpoint, ASSAY_CHECKPOINT names it", 0, 0,
	 0, FREE},
	{"eval-every", 0, ARG_INT, AT(eval_every), "N",
	 "steps between evaluations; 0: only at the end", 0, BIG, 0, FREE},
	{"eval-windows", 0, ARG_INT, AT(eval_windows), "N",
	 "windows of --val-data to evaluate on; 0: all", 0, BIG, 0, FREE},
	{"sample-every", 0, ARG_INT, AT(sample_every), "N",
	 "steps between samples; 0: only at the end", 0, BIG, 0, FREE},
	{"sample-tokens", 0, ARG_INT, AT(sample_tokens), "N",
	 "tokens a sample", 1, 1048576, 0, FREE},
	{"prompts", 0, ARG_STR, AT(prompts), "FILE",
	 "prompts of the samples, JSON Lines {\"prompt\"}", 0, 0, 0, FREE},
	{"prompt", 0, ARG_STRS, AT(prompt), "TEXT",
	 "a prompt of the samples (repeatable)", 0, 0, 0, FREE},
	{"peak-tflops", 0, ARG_REAL, AT(peak_tflops), "X",
	 "yardstick of mfu; 0: measured at the start", 0, 1e9, 0, FREE},
	{"config", 0, ARG_STR, AT(config), "FILE",
	 "options from a JSON file, same names", 0, 0, 0, START},
	{"resume", 0, ARG_STR, AT(resume), "DIR",
	 "go on from the newest valid checkpoint of a run", 0, 0, 0, START},
	{"stop-after", 0, ARG_INT, AT(stop_after), "N",
	 "end saved after N steps of this start; 0: at --steps", 0, BIG, 0,
	 START},
	{"device", 0, ARG_STR, AT(device), "NAME",
	 "table of kernels: cpu, cpu:ISA, ref", 0, 0, 0, START},
	{"allow-changed-data", 0, ARG_FLAG, AT(allow_changed_data), NULL,
	 "resume although the shards are others", 0, 0, 0, START},
	{"allow-changed-config", 0, ARG_FLAG, AT(allow_changed_config), NULL,
	 "resume with other values of fixed options", 0, 0, 0, START},
};

enum { NSPECS = sizeof specs / sizeof *specs };

void
options_init(struct options *o)
{
	memset(o, 0, sizeof *o);
	o->init_std = 0.02;
	o->embed_scale = 1;
	o->tie_embeddings = 1;
	o->batch_size = 16;
	o->order = ORDER_SHUFFLE;
	o->doc_mask = 1;
	o->steps = 1000;
	o->decay_steps = -1;
	o->lr = 1e-3;
	o->min_lr = -1;
	o->beta1 = 0.9;
	o->beta2 = 0.95;
	o->eps = 1e-8;
	o->weight_decay = 0.1;
	o->clip = 1;
	o->dtype = K_BF16;
	o->eval_windows = 64;
	o->sample_tokens = 64;
	o->device = "cpu";
}

size_t
options_table(struct options *o, struct arg *rows)
{
	size_t i;

	_Static_assert((int)NSPECS <= (int)OPTIONS_MAX, "given[] is too short");
	for (i = 0; i < NSPECS; i++) {
		const struct spec *s = &specs[i];

		rows[i] = (struct arg){s->type == ARG_SECTION ? "" : s->name,
			s->letter, s->type, (char *)o + s->at, s->meta,
			s->help, s->lo, s->hi, s->choices, &o->given[i]};
		if (s->type == ARG_SECTION)
			rows[i].to = NULL;
	}
	return NSPECS;
}

/* ---- files ---- */

/* "seq-len" and "seq_len" are one name. */
static int
same_key(const char *name, struct span key)
{
	size_t i;

	for (i = 0; i < key.n && name[i]; i++)
		if (name[i] != (key.p[i] == '_' ? '-' : key.p[i]))
			return 0;
	return i == key.n && !name[i];
}

static size_t
find_spec(struct span key)
{
	size_t i;

	for (i = 0; i < NSPECS; i++)
		if (specs[i].type != ARG_SECTION &&
		    same_key(specs[i].name, key))
			return i;
	return NSPECS;
}

static int
bad_value(const struct spec *s, const char *path, const char *want,
	  struct err *e)
{
	return err_set(e, "%s: %s: expected %s", path, s->name, want);
}

static int
in_bounds(const struct spec *s, double v, const char *path, struct err *e)
{
	if ((s->lo != 0 || s->hi != 0) && !(v >= s->lo && v <= s->hi))
		return err_set(e, "%s: %s: %g is out of range (%g to %g)",
			       path, s->name, v, s->lo, s->hi);
	return 0;
}

static int
set_list(struct arg_list *l, const struct json *j)
{
	size_t i;

	free(l->v);
	l->v = NULL;
	l->n = 0;
	if (j->type != JSON_ARRAY)
		return -1;
	l->v = xcalloc(j->n + 1, sizeof *l->v);
	for (i = 0; i < j->n; i++) {
		if (j->kids[i].type != JSON_STRING)
			return -1;
		l->v[l->n++] = xmemdup0(j->kids[i].str.p, j->kids[i].str.n);
	}
	return 0;
}

static int
set_choice(const struct spec *s, int *to, const struct json *j)
{
	int i;

	for (i = 0; s->choices[i] && j->type == JSON_STRING; i++)
		if (span_eq(span_str(s->choices[i]), j->str)) {
			*to = i;
			return 0;
		}
	return -1;
}

/* Strings of a file live as long as the program. */
static int
set_json(const struct spec *s, void *to, const struct json *j,
	 const char *path, struct err *e)
{
	switch (s->type) {
	case ARG_INT:
		if (j->type != JSON_NUMBER || !j->is_int)
			return bad_value(s, path, "an integer", e);
		*(int64_t *)to = j->i;
		return in_bounds(s, (double)j->i, path, e);
	case ARG_REAL:
		if (j->type != JSON_NUMBER)
			return bad_value(s, path, "a number", e);
		*(double *)to = j->num;
		return in_bounds(s, j->num, path, e);
	case ARG_FLAG:
	case ARG_BOOL:
		if (j->type != JSON_TRUE && j->type != JSON_FALSE)
			return bad_value(s, path, "true or false", e);
		*(int *)to = j->type == JSON_TRUE;
		return 0;
	case ARG_ENUM:
		if (set_choice(s, to, j) < 0)
			return bad_value(s, path, s->help, e);
		return 0;
	case ARG_STRS:
		if (set_list(to, j) < 0)
			return bad_value(s, path, "an array of strings", e);
		return 0;
	default:
		if (j->type != JSON_STRING && j->type != JSON_NULL)
			return bad_value(s, path, "a string or null", e);
		*(const char **)to = j->type == JSON_NULL ? NULL :
			xmemdup0(j->str.p, j->str.n);
		return 0;
	}
}

/* Keys that run/config.json has beside the options. */
static int
is_extra(struct span key)
{
	return span_eq(key, span_str("world_size")) ||
		span_eq(key, span_str("data_hash")) ||
		span_eq(key, span_str("val_hash")) ||
		span_eq(key, span_str("version"));
}

/*
 * A preset on the command line takes the place of all that a file says of the
 * shape: the config.json of a run has every dimension, as it was resolved, and
 * none of them would be left for the preset.
 */
static int
preset_replaces(const struct options *o, size_t at)
{
	size_t preset = find_spec(span_str("preset"));

	return o->given[preset] && at > preset &&
		at <= find_spec(span_str("intermediate-size"));
}

int
options_load(struct options *o, const char *path, struct err *e)
{
	struct json *root = json_load(path, e);
	size_t i;
	int rc = 0;

	if (!root)
		return -1;
	if (root->type != JSON_OBJECT)
		rc = err_set(e, "%s: no JSON object", path);
	for (i = 0; rc == 0 && i < root->n; i++) {
		const struct json *j = &root->kids[i];
		size_t at = find_spec(j->key);

		if (is_extra(j->key))
			continue;
		if (at == NSPECS || specs[at].state == START)
			rc = err_set(e, "%s: %.*s is no option that a file"
				     " may set", path, (int)j->key.n,
				     j->key.p);
		else if (!o->given[at] && !preset_replaces(o, at))
			rc = set_json(&specs[at], (char *)o + specs[at].at, j,
				      path, e);
	}
	json_free(root);
	return rc;
}

static void
put_list(const struct arg_list *l, struct buf *b)
{
	size_t i;

	buf_putc(b, '[');
	for (i = 0; i < l->n; i++) {
		if (i)
			buf_puts(b, ", ");
		json_put_str(b, span_str(l->v[i]));
	}
	buf_putc(b, ']');
}

static void
put_value(const struct spec *s, const void *p, struct buf *b)
{
	const char *str;

	switch (s->type) {
	case ARG_INT:
		buf_printf(b, "%" PRId64, *(const int64_t *)p);
		break;
	case ARG_REAL:
		json_put_real(b, *(const double *)p);
		break;
	case ARG_FLAG:
	case ARG_BOOL:
		buf_puts(b, *(const int *)p ? "true" : "false");
		break;
	case ARG_ENUM:
		json_put_str(b, span_str(s->choices[*(const int *)p]));
		break;
	case ARG_STRS:
		put_list(p, b);
		break;
	default:
		str = *(const char *const *)p;
		if (str)
			json_put_str(b, span_str(str));
		else
			buf_puts(b, "null");
	}
}

void
options_json(const struct options *o, struct buf *b)
{
	const char *p;
	size_t i;
	int first = 1;

	for (i = 0; i < NSPECS; i++) {
		if (specs[i].state == START)
			continue;
		buf_puts(b, first ? "\"" : ",\n  \"");
		first = 0;
		for (p = specs[i].name; *p; p++)
			buf_putc(b, *p == '-' ? '_' : *p);
		buf_puts(b, "\": ");
		put_value(&specs[i], (const char *)o + specs[i].at, b);
	}
}

/* ---- resume ---- */

static size_t
type_size(enum arg_type t)
{
	switch (t) {
	case ARG_INT: return sizeof(int64_t);
	case ARG_REAL: return sizeof(double);
	case ARG_STR: return sizeof(char *);
	case ARG_STRS: return sizeof(struct arg_list);
	default: return sizeof(int);
	}
}

int
options_override(struct options *o, const struct options *cmd,
		 struct buf *changed, struct err *e)
{
	struct buf was = {0}, is = {0};
	size_t i;
	int rc = 0;

	for (i = 0; i < NSPECS && rc == 0; i++) {
		const struct spec *s = &specs[i];

		if (s->type == ARG_SECTION ||
		    (s->state != START && !cmd->given[i]))
			continue;
		if (s->state != START) {
			buf_reset(&was);
			buf_reset(&is);
			put_value(s, (char *)o + s->at, &was);
			put_value(s, (const char *)cmd + s->at, &is);
			if (span_eq(buf_span(&was), buf_span(&is)))
				continue;
			if (s->state == FIXED && !cmd->allow_changed_config)
				rc = err_set(e, "--%s is %.*s, the run has"
					     " %.*s (--allow-changed-config"
					     " changes it)", s->name,
					     (int)is.n, is.p, (int)was.n,
					     was.p);
			buf_printf(changed, "%s %.*s %.*s\n", s->name,
				   (int)was.n, was.p, (int)is.n, is.p);
		}
		memcpy((char *)o + s->at, (const char *)cmd + s->at,
		       type_size(s->type));
	}
	buf_clear(&was);
	buf_clear(&is);
	return rc;
}

/* ---- resolving ---- */

static int
is_given(const struct options *o, const char *name)
{
	return o->given[find_spec(span_str(name))];
}

/* An option, when it is there, must agree with the folder. */
static int
agree(const char *name, int64_t *opt, int64_t have, struct err *e)
{
	if (*opt && *opt != have)
		return err_set(e, "--%s is %" PRId64 ", the model's"
			       " folder has %" PRId64, name, *opt, have);
	*opt = have;
	return 0;
}

static int
shape_from_folder(struct options *o, const char *folder,
		  struct model_config *c, struct err *e)
{
	if (config_load(c, folder, e) < 0)
		return -1;
	if (agree("hidden-size", &o->hidden_size, c->hidden, e) < 0 ||
	    agree("layers", &o->layers, c->layers, e) < 0 ||
	    agree("heads", &o->heads, c->heads, e) < 0 ||
	    agree("kv-heads", &o->kv_heads, c->kv_heads, e) < 0 ||
	    agree("head-dim", &o->head_dim, c->head_dim, e) < 0 ||
	    agree("intermediate-size", &o->intermediate_size, c->inter,
		  e) < 0 ||
	    agree("vocab-size", &o->vocab_size, c->vocab, e) < 0)
		return -1;
	if (is_given(o, "tie-embeddings") && o->tie_embeddings != c->tie)
		return err_set(e, "--%stie-embeddings: the model's"
			       " folder says otherwise",
			       o->tie_embeddings ? "" : "no-");
	if (is_given(o, "qk-norm") && o->qk_norm != c->qk_norm)
		return err_set(e, "--%sqk-norm: the model's folder says"
			       " otherwise", o->qk_norm ? "" : "no-");
	o->tie_embeddings = c->tie;
	o->qk_norm = c->qk_norm;
	if (o->rope_theta)
		c->rope_theta = o->rope_theta;
	if (o->norm_eps)
		c->norm_eps = o->norm_eps;
	o->rope_theta = c->rope_theta;
	o->norm_eps = c->norm_eps;
	return 0;
}

static int
shape_from_options(struct options *o, struct model_config *c, struct err *e)
{
	config_preset(c, (enum preset)o->preset);
	if (o->hidden_size)
		c->hidden = o->hidden_size;
	if (o->layers)
		c->layers = o->layers;
	if (o->heads)
		c->heads = c->kv_heads = o->heads;
	if (o->kv_heads)
		c->kv_heads = o->kv_heads;
	if (o->intermediate_size)
		c->inter = o->intermediate_size;
	if (!c->hidden || !c->layers || !c->heads || !c->inter)
		return err_set(e, "no shape: give --preset, --init-from, or"
			       " --hidden-size, --layers, --heads and"
			       " --intermediate-size");
	if (!o->head_dim && c->hidden % c->heads)
		return err_set(e, "hidden size %" PRId64 " is no multiple of %"
			       PRId64 " heads (--head-dim says it otherwise)",
			       c->hidden, c->heads);
	c->head_dim = o->head_dim ? o->head_dim : c->hidden / c->heads;
	c->rope_theta = o->rope_theta ? o->rope_theta : 10000;
	c->norm_eps = o->norm_eps ? o->norm_eps : 1e-5;
	c->tie = o->tie_embeddings;
	c->qk_norm = o->qk_norm;
	c->init_std = o->init_std;
	c->bos = c->eos = -1;
	return 0;
}

static void
resolve_batch(struct options *o)
{
	int64_t fits = 4096 / o->seq_len;

	if (!o->micro_batch && o->accum)
		o->micro_batch = (o->batch_size + o->accum - 1) / o->accum;
	if (!o->micro_batch)
		o->micro_batch = fits < 1 ? 1 : fits;
	if (o->micro_batch > o->batch_size)
		o->micro_batch = o->batch_size;
}

static int
check_accum(const struct options *o, struct err *e)
{
	int64_t need = (o->batch_size + o->micro_batch - 1) / o->micro_batch;

	if (o->accum && o->accum != need)
		return err_set(e, "--accum %" PRId64 ": a batch of %" PRId64
			       " windows in micro-batches of %" PRId64
			       " needs %" PRId64, o->accum, o->batch_size,
			       o->micro_batch, need);
	return 0;
}

int
options_resolve(struct options *o, const char *folder, int64_t vocab,
		struct model_config *c, struct err *e)
{
	memset(c, 0, sizeof *c);
	if ((folder ? shape_from_folder(o, folder, c, e) :
	     shape_from_options(o, c, e)) < 0)
		return -1;
	if (!folder)
		c->vocab = o->vocab_size ? o->vocab_size : vocab;
	if (!c->vocab)
		return err_set(e, "no vocabulary: give --tokenizer or"
			       " --vocab-size");
	if (c->vocab < vocab)
		return err_set(e, "the model has %" PRId64 " ids, the data %"
			       PRId64, c->vocab, vocab);
	if (c->max_pos < o->seq_len)
		c->max_pos = o->seq_len;
	c->bf16 = o->dtype == K_BF16;
	o->hidden_size = c->hidden;
	o->layers = c->layers;
	o->heads = c->heads;
	o->kv_heads = c->kv_heads;
	o->head_dim = c->head_dim;
	o->intermediate_size = c->inter;
	o->vocab_size = c->vocab;
	o->rope_theta = c->rope_theta;
	o->norm_eps = c->norm_eps;
	if (o->min_lr < 0)
		o->min_lr = o->lr / 10;
	if (o->decay_steps < 0)
		o->decay_steps = o->steps / 5;
	resolve_batch(o);
	if (check_accum(o, e) < 0)
		return -1;
	return config_check(c, e);
}

struct schedule
options_schedule(const struct options *o)
{
	return (struct schedule){.kind = (enum schedule_kind)o->schedule,
		.steps = o->steps, .warmup = o->warmup_steps,
		.decay = o->decay_steps, .peak = o->lr, .min = o->min_lr};
}
