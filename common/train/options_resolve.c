/*
 * options_resolve.c - see options.h: values that follow from others
 */
#include <inttypes.h>
#include <string.h>

#include "train/options_priv.h"

/* What options_init() leaves open, and options_resolve() or job_open() fill. */
static const char *const open_names[] = {"hidden-size", "layers", "heads",
	"kv-heads", "head-dim", "intermediate-size", "vocab-size",
	"rope-theta", "norm-eps", "tokenizer", "seq-len", "micro-batch",
	"min-lr", "decay-steps"};

enum { NOPEN = sizeof open_names / sizeof *open_names };

/* Of these, what another value of the command line may change at a resume. */
static const char *const moves[] = {"micro-batch", "min-lr", "decay-steps"};

static int
is_given(const struct options *o, const char *name)
{
	size_t i = options_find(span_str(name));

	return o->given[i] || o->in_file[i];
}

void
options_mark_derived(struct options *o)
{
	struct options open;
	size_t k, i;

	options_init(&open);
	memset(o->derived, 0, sizeof o->derived);
	for (k = 0; k < NOPEN; k++) {
		const struct spec *s;

		i = options_find(span_str(open_names[k]));
		s = &options_specs[i];
		o->derived[i] = !memcmp((char *)o + s->at,
					(char *)&open + s->at,
					options_size(s->type));
	}
	if (!o->init_from)
		return;
	o->derived[options_find(span_str("tie-embeddings"))] =
		!is_given(o, "tie-embeddings");
	o->derived[options_find(span_str("qk-norm"))] =
		!is_given(o, "qk-norm");
}

void
options_forget_derived(struct options *o)
{
	struct options open;
	size_t k, i;

	options_init(&open);
	for (k = 0; k < sizeof moves / sizeof *moves; k++) {
		i = options_find(span_str(moves[k]));
		if (o->derived[i])
			memcpy((char *)o + options_specs[i].at,
			       (char *)&open + options_specs[i].at,
			       options_size(options_specs[i].type));
	}
}

void
options_note_derived(const struct options *o, const struct options *was,
		     struct buf *changed)
{
	size_t k;

	for (k = 0; k < sizeof moves / sizeof *moves; k++) {
		size_t i = options_find(span_str(moves[k]));
		const struct spec *s = &options_specs[i];

		if (!o->derived[i] ||
		    (s->at == offsetof(struct options, decay_steps) &&
		     o->schedule != SCHEDULE_WSD) ||	/* has none */
		    !memcmp((const char *)o + s->at,
			    (const char *)was + s->at, options_size(s->type)))
			continue;
		buf_printf(changed, "%s ", s->name);
		options_put(s, (const char *)was + s->at, changed);
		buf_putc(changed, ' ');
		options_put(s, (const char *)o + s->at, changed);
		buf_putc(changed, '\n');
	}
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
