/*
 * options_resolve.c - see options.h: values that follow from others
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "train/options_priv.h"

void
options_mark_derived(struct options *o)
{
	size_t tie = options_find(span_str("tie-embeddings"));
	size_t norm = options_find(span_str("qk-norm")), i;
	struct options defaults;

	options_init(&defaults);
	for (i = 0; i < options_nspecs; i++) {
		const struct spec *s = &options_specs[i];

		o->derived[i] = s->flags & DERIVED &&
			options_same(o, &defaults, s);
	}
	if (!o->init_from)
		return;
	o->derived[tie] = !o->given[tie] && !o->in_file[tie];
	o->derived[norm] = !o->given[norm] && !o->in_file[norm];
}

int
options_prefer_folder(struct options *o, struct err *e)
{
	static const char *const names[] = {"preset", "init-std",
		"embed-scale"};
	size_t from = options_find(span_str("init-from")), i;
	struct options defaults;

	options_init(&defaults);
	for (i = 0; o->init_from && i < sizeof names / sizeof *names; i++) {
		size_t row = options_find(span_str(names[i]));
		const struct spec *s = &options_specs[row];

		if (options_same(o, &defaults, s))
			continue;
		if (o->given[row] || !o->given[from])
			return err_set(e, "--init-from and --%s exclude each"
				       " other", names[i]);
		memcpy(options_at(o, s), options_at(&defaults, s),
		       options_size(s));
	}
	return 0;
}

static int
is_given(const struct options *o, const char *name)
{
	return o->given[options_find(span_str(name))];
}

int
options_check_effects(const struct options *o, struct err *e)
{
	int prompts = o->prompts || o->prompt.n;

	if (is_given(o, "decay-steps") && o->schedule != SCHEDULE_WSD)
		return err_set(e, "--decay-steps needs --schedule wsd");
	if (is_given(o, "min-lr") && o->schedule == SCHEDULE_CONSTANT)
		return err_set(e, "--min-lr has no effect with --schedule"
			       " constant");
	if (!o->val_data.n && is_given(o, "eval-windows"))
		return err_set(e, "--eval-windows needs --val-data");
	if (!prompts && is_given(o, "sample-tokens"))
		return err_set(e, "--sample-tokens needs --prompts or"
			       " --prompt");
	return 0;
}

int
options_set_epochs(struct options *o, const struct options *cmd,
		   uint64_t windows, uint64_t step, uint64_t sample,
		   struct buf *changed, struct err *e)
{
	int64_t was = o->steps;
	double left;

	if (is_given(cmd, "steps") && o->epochs > 0) {
		if (o->resume)
			buf_printf(changed, "epochs %.15g 0\n", o->epochs);
		o->epochs = 0;
	}
	if (!(o->epochs > 0) || (o->resume && !is_given(cmd, "epochs") &&
				 !is_given(cmd, "batch-size")))
		return 0;
	/* E may be rounded down, as 0.29 is */
	left = o->epochs * (double)windows * (1 + 1e-15) - (double)sample;
	left = floor(left / (double)o->batch_size);
	if (left < 0)
		return err_set(e, "--epochs is %.15g, but %" PRIu64 " samples"
			       " are done (%" PRIu64 " windows a pass)",
			       o->epochs, sample, windows);
	if (left + (double)step < 1)
		return err_set(e, "--epochs %.15g: less than one step of %"
			       PRId64 " windows (there are %" PRIu64 ")",
			       o->epochs, o->batch_size, windows);
	o->steps = (int64_t)step + (int64_t)left;
	if (o->resume && o->steps != was)
		buf_printf(changed, "steps %" PRId64 " %" PRId64 "\n", was,
			   o->steps);
	return 0;
}

struct pair {
	const char *name;
	int64_t *opt, *conf;
};

enum { NPAIRS = 7 };

static void
pair_up(struct options *o, struct model_config *c, struct pair p[NPAIRS])
{
	const struct pair all[NPAIRS] = {
		{"hidden-size", &o->hidden_size, &c->hidden},
		{"layers", &o->layers, &c->layers},
		{"heads", &o->heads, &c->heads},
		{"kv-heads", &o->kv_heads, &c->kv_heads},
		{"head-dim", &o->head_dim, &c->head_dim},
		{"intermediate-size", &o->intermediate_size, &c->inter},
		{"vocab-size", &o->vocab_size, &c->vocab},
	};

	memcpy(p, all, sizeof all);
}

static int
agree_switch(const struct options *o, const char *name, int opt, int have,
	     struct err *e)
{
	size_t i = options_find(span_str(name));

	if ((o->given[i] || o->in_file[i]) && opt != have)
		return err_set(e, "--%s%s does not agree with the model"
			       " folder", opt ? "" : "no-", name);
	return 0;
}

static int
shape_from_folder(struct options *o, const char *folder,
		  struct model_config *c, struct err *e)
{
	struct pair p[NPAIRS];
	size_t i;

	if (config_load(c, folder, e) < 0)
		return -1;
	if (c->dropout != 0)
		return err_set(e, "%s/config.json: attention_dropout is %g,"
			       " which training does not support (set it to"
			       " 0)", folder, c->dropout);
	pair_up(o, c, p);
	for (i = 0; i < NPAIRS; i++)
		if (*p[i].opt && *p[i].opt != *p[i].conf)
			return err_set(e, "--%s is %" PRId64 ", the model"
				       " folder has %" PRId64, p[i].name,
				       *p[i].opt, *p[i].conf);
	if (agree_switch(o, "tie-embeddings", o->tie_embeddings, c->tie,
			 e) < 0)
		return -1;
	return agree_switch(o, "qk-norm", o->qk_norm, c->qk_norm, e);
}

static int
shape_from_options(struct options *o, struct model_config *c, struct err *e)
{
	struct pair p[NPAIRS];
	size_t i;

	config_preset(c, (enum preset)o->preset);
	if (o->heads)
		c->kv_heads = o->heads;
	pair_up(o, c, p);
	for (i = 0; i < NPAIRS; i++)
		if (*p[i].opt)
			*p[i].conf = *p[i].opt;
	if (!c->hidden || !c->layers || !c->heads || !c->inter)
		return err_set(e, "no shape: use --preset, --init-from, or"
			       " --hidden-size, --layers, --heads and"
			       " --intermediate-size");
	if (!o->head_dim && c->hidden % c->heads)
		return err_set(e, "hidden size %" PRId64 " is not a multiple"
			       " of %" PRId64 " heads: set --head-dim",
			       c->hidden, c->heads);
	if (!o->head_dim)
		c->head_dim = c->hidden / c->heads;
	c->tie = o->tie_embeddings;
	c->qk_norm = o->qk_norm;
	c->init_std = o->init_std;
	c->bos = c->eos = -1;
	return 0;
}

/* Store the shape in the options. */
static void
store_shape(struct options *o, struct model_config *c)
{
	struct pair p[NPAIRS];
	size_t i;

	pair_up(o, c, p);
	for (i = 0; i < NPAIRS; i++)
		*p[i].opt = *p[i].conf;
	o->tie_embeddings = c->tie;
	o->qk_norm = c->qk_norm;
	o->rope_theta = c->rope_theta;
	o->norm_eps = c->norm_eps;
}

static int
resolve_batch(struct options *o, struct err *e)
{
	int64_t fits = 4096 / o->seq_len, need;

	if (!o->micro_batch && o->accum)
		o->micro_batch = (o->batch_size + o->accum - 1) / o->accum;
	if (!o->micro_batch)
		o->micro_batch = fits < 1 ? 1 : fits;
	if (o->micro_batch > o->batch_size)
		o->micro_batch = o->batch_size;
	need = (o->batch_size + o->micro_batch - 1) / o->micro_batch;
	if (o->accum && o->accum != need)
		return err_set(e, "--accum is %" PRId64 ", but a batch of %"
			       PRId64 " windows in micro-batches of %" PRId64
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
	if (o->rope_theta)
		c->rope_theta = o->rope_theta;
	if (o->norm_eps)
		c->norm_eps = o->norm_eps;
	if (!c->vocab)
		c->vocab = vocab;
	if (!c->vocab)
		return err_set(e, "no vocabulary: use --tokenizer or"
			       " --vocab-size");
	if (folder && c->vocab + 1 == vocab)	/* often a pad token */
		warn("the tokenizer has one token more than the model, id %"
		     PRId64 ": documents must not have it", c->vocab);
	else if (c->vocab < vocab)
		return err_set(e, "the model has %" PRId64 " ids, the data has"
			       " %" PRId64, c->vocab, vocab);
	/* dynamic RoPE depends on it: a window is a text of seq_len tokens */
	if (c->max_pos < o->seq_len && c->rope.type != ROPE_DYNAMIC)
		c->max_pos = o->seq_len;
	c->dtype = (enum kdtype)o->dtype;
	store_shape(o, c);
	if (o->min_lr < 0)
		o->min_lr = o->lr / 10;
	if (o->decay_steps < 0)
		o->decay_steps = o->steps / 5;
	if (resolve_batch(o, e) < 0)
		return -1;
	return config_check(c, e);
}
