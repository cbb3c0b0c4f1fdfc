/*
 * options.c - see options.h: the table
 */
#include <string.h>

#include "record/shard.h"
#include "train/options_priv.h"

static const char *const dtype_names[] = {"fp32", "bf16", NULL};

#define BIG 9007199254740992.0

/* Rows point into this one; options_at() translates. */
struct options options_any;
#define AT(member) (&options_any.member)

const struct spec options_specs[] = {
	{OPT_GROUP("Shape of the model"), START},
	{OPT_ENUM("preset", AT(preset), "NAME", config_presets,
	 "Use a named shape"), FIXED},
	{OPT_INT("hidden-size", AT(hidden_size), "N", 0, 1048576,
	 "Width of the residual stream; 0: the preset's"), DERIVED},
	{OPT_INT("layers", AT(layers), "N", 0, 4096,
	 "Number of layers; 0: the preset's"), DERIVED},
	{OPT_INT("heads", AT(heads), "N", 0, 65536,
	 "Query heads; 0: the preset's"), DERIVED},
	{OPT_INT("kv-heads", AT(kv_heads), "N", 0, 65536,
	 "Key and value heads; 0: the preset's, else --heads"), DERIVED},
	{OPT_INT("head-dim", AT(head_dim), "N", 0, 256,
	 "Width of a head; 0: hidden size / heads", .brief = 1), DERIVED},
	{OPT_INT("intermediate-size", AT(intermediate_size), "N", 0, 1048576,
	 "Width of the MLP; 0: the preset's", .brief = 1), DERIVED},
	{OPT_INT("vocab-size", AT(vocab_size), "N", 0, 2147483583,
	 "Vocabulary; 0: that of the tokenizer or the shards",
	 .brief = 1), DERIVED},
	{OPT_REAL("rope-theta", AT(rope_theta), "X", 0, 1e12,
	 "RoPE base; 0: 10000 or the folder's", .brief = 1), DERIVED},
	{OPT_REAL("norm-eps", AT(norm_eps), "X", 0, 1,
	 "RMSNorm epsilon; 0: 1e-5 or the folder's", .brief = 1), DERIVED},
	{OPT_BOOL("tie-embeddings", AT(tie_embeddings),
	 "Use the embedding as the output matrix", .brief = 1), FIXED},
	{OPT_BOOL("qk-norm", AT(qk_norm),
	 "Normalize queries and keys; saved as Qwen3", .brief = 1), FIXED},
	{OPT_REAL("init-std", AT(init_std), "X", 1e-9, 100,
	 "Standard deviation of initial weights", .brief = 1), FIXED},
	{OPT_REAL("embed-scale", AT(embed_scale), "X", 1e-9, 1e9,
	 "Multiply the initial embedding by X", .brief = 1), FIXED},
	{OPT_STR("init-from", AT(init_from), "DIR",
	 "Start from a Hugging Face folder (Llama, Mistral, Qwen3)"), FIXED},

	{OPT_GROUP("Data"), START},
	{OPT_STRS("data", AT(data), "PATH",
	 "Train on these shards, PATH or PATH:WEIGHT (repeatable)"), FREE},
	{OPT_STRS("val-data", AT(val_data), "PATH",
	 "Evaluate on these shards (repeatable)"), FREE},
	{OPT_FLAG("allow-other-val", AT(allow_other_val),
	 "Accept validation shards of another run of pack", .of = "val-data",
	 .brief = 1), FREE},
	{OPT_ENUM("shard-format", AT(shard_format), "NAME", shard_read_names,
	 "Format of the shards; auto: by magic number", .brief = 1), FIXED},
	{OPT_ENUM("id-bytes", AT(id_bytes), "N", shard_id_bytes_names,
	 "Bytes per id in files that do not say it", .brief = 1), FIXED},
	{OPT_STR("tokenizer", AT(tokenizer), "FILE",
	 "Tokenizer; copied into every checkpoint"), FREE | DERIVED},
	{OPT_STR("split", AT(split), "NAME",
	 "Pre-tokenization of a .tiktoken file", .brief = 1), FIXED},
	{OPT_INT("seq-len", AT(seq_len), "N", 0, 16777216,
	 "Tokens per window; 0: as packed"), DERIVED},
	{OPT_INT("batch-size", AT(batch_size), "N", 1, 16777216,
	 "Windows per step"), FIXED},
	{OPT_INT("micro-batch", AT(micro_batch), "N", 0, 16777216,
	 "Windows computed at once; 0: about 4096 tokens",
	 .brief = 1), REDERIVED},
	{OPT_INT("accum", AT(accum), "N", 0, 16777216,
	 "Micro-batches per step; 0: from --micro-batch", .brief = 1), FIXED},
	{OPT_ENUM("order", AT(order), "NAME", order_names,
	 "Order of windows; random: with replacement", .brief = 1), FIXED},
	{OPT_BOOL("doc-mask", AT(doc_mask),
	 "Mask attention across document boundaries", .brief = 1), FIXED},

	{OPT_GROUP("Optimizer"), START},
	{OPT_INT("steps", AT(steps), "N", 0, BIG,
	 "Updates in the whole run"), FREE},
	{OPT_REAL("epochs", AT(epochs), "E", 0, 1e9,
	 "Passes over the data, instead of --steps; 0: off"), FREE},
	{OPT_REAL("lr", AT(lr), "X", 1e-12, 1e3, "Peak learning rate"), FIXED},
	{OPT_REAL("min-lr", AT(min_lr), "X", -1, 1e3,
	 "Final learning rate; -1: --lr / 10"), REDERIVED},
	{OPT_INT("warmup-steps", AT(warmup_steps), "N", 0, BIG,
	 "Steps of linear warmup"), FIXED},
	{OPT_ENUM("schedule", AT(schedule), "NAME", schedule_names,
	 "Learning rate schedule"), FIXED},
	{OPT_INT("decay-steps", AT(decay_steps), "N", -1, BIG,
	 "Steps of wsd's final decay; -1: --steps / 5"), REDERIVED},
	{OPT_REAL("beta1", AT(beta1), "X", 0, 0.9999999, "AdamW beta1",
	 .brief = 1), FIXED},
	{OPT_REAL("beta2", AT(beta2), "X", 0, 0.9999999, "AdamW beta2",
	 .brief = 1), FIXED},
	{OPT_REAL("eps", AT(eps), "X", 1e-30, 1, "AdamW epsilon",
	 .brief = 1), FIXED},
	{OPT_REAL("weight-decay", AT(weight_decay), "X", 0, 100,
	 "Weight decay of matrices"), FIXED},
	{OPT_BOOL("decay-embeddings", AT(decay_embeddings),
	 "Decay the embedding too", .brief = 1), FIXED},
	{OPT_REAL("clip", AT(clip), "X", 0, 1e30,
	 "Clip the gradient norm to X; 0: off"), FIXED},
	{OPT_REAL("z-loss", AT(z_loss), "X", 0, 1,
	 "Weight of the z-loss", .brief = 1), FIXED},
	{OPT_INT("seed", AT(seed), "N", 0, BIG,
	 "Seed of the initial weights and the order", .brief = 1), FIXED},
	{OPT_ENUM("dtype", AT(dtype), "NAME", dtype_names,
	 "Type of weights and activations", .brief = 1), FIXED},

	{OPT_GROUP("Run"), START},
	{OPT_STR("output", AT(out), "DIR",
	 "Create the run in DIR", .letter = 'o'), START},
	{OPT_FLAG("overwrite", AT(overwrite),
	 "Replace a run that is already there", .of = "output"), START},
	{OPT_INT("save-every", AT(save_every), "N", 0, BIG,
	 "Steps between checkpoints; 0: only at the end"), FREE},
	{OPT_INT("keep", AT(keep), "N", 0, BIG,
	 "Keep the N newest checkpoints; 0: all"), FREE},
	{OPT_STR("after-save", AT(after_save), "CMD",
	 "Run CMD with sh after each checkpoint"), FREE},
	{OPT_INT("eval-every", AT(eval_every), "N", 0, BIG,
	 "Steps between evaluations; 0: only at the end"), FREE},
	{OPT_INT("eval-windows", AT(eval_windows), "N", 0, BIG,
	 "Windows per evaluation; 0: all", .brief = 1), FREE},
	{OPT_INT("sample-every", AT(sample_every), "N", 0, BIG,
	 "Steps between samples; 0: only at the end"), FREE},
	{OPT_INT("sample-tokens", AT(sample_tokens), "N", 1, 1048576,
	 "Tokens per sample", .brief = 1), FREE},
	{OPT_STR("prompts", AT(prompts), "FILE",
	 "Read prompts for samples, JSON Lines {\"prompt\"}"), FREE},
	{OPT_STRS("prompt", AT(prompt), "TEXT",
	 "Prompt for samples (repeatable)"), FREE},
	{OPT_REAL("peak-tflops", AT(peak_tflops), "X", 0, 1e9,
	 "Peak rate that mfu is relative to; 0: measure", .brief = 1), FREE},
	{OPT_STR("config", AT(config), "FILE",
	 "Read options from a JSON file"), START},
	{OPT_STR("resume", AT(resume), "DIR",
	 "Resume a run from its newest valid checkpoint"), START},
	{OPT_INT("stop-after", AT(stop_after), "N", 0, BIG,
	 "Save and exit after N more steps; 0: run to --steps"), START},
	{OPT_STR("device", AT(device), "NAME",
	 "Kernels to use: cpu, cpu:ISA, ref", .brief = 1), START},
	{OPT_FLAG("allow-changed-data", AT(allow_changed_data),
	 "Resume even if the shards have changed", .of = "resume",
	 .brief = 1), START},
	{OPT_FLAG("allow-changed-config", AT(allow_changed_config),
	 "Resume even if fixed options have changed", .of = "resume",
	 .brief = 1), START},
};

enum { NSPECS = sizeof options_specs / sizeof *options_specs };

const size_t options_nspecs = NSPECS;

const char *const options_exclude[] = {
	"init-from: preset init-std embed-scale",
	"resume: output overwrite config", "steps epochs", NULL
};

void
options_init(struct options *o)
{
	*o = (struct options){.init_std = 0.02, .embed_scale = 1,
		.tie_embeddings = 1, .batch_size = 16, .order = ORDER_SHUFFLE,
		.doc_mask = 1, .steps = 1000, .decay_steps = -1, .lr = 1e-3,
		.min_lr = -1, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8,
		.weight_decay = 0.1, .clip = 1, .seed = 1, .dtype = K_BF16,
		.eval_windows = 64, .sample_tokens = 64, .device = "cpu"};
}

size_t
options_table(struct options *o, struct arg *rows)
{
	size_t i;

	_Static_assert((int)NSPECS < (int)OPTIONS_MAX, "given[] is too short");
	for (i = 0; i < NSPECS; i++) {
		const struct spec *s = &options_specs[i];

		rows[i] = s->arg;
		if (s->arg.type == ARG_GROUP)
			continue;
		rows[i].to = options_at(o, s);
		rows[i].given = &o->given[i];
	}
	rows[i] = (struct arg)OPT_END;
	return NSPECS;
}

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

size_t
options_find(struct span key)
{
	size_t i;

	for (i = 0; i < NSPECS; i++)
		if (options_specs[i].arg.type != ARG_GROUP &&
		    same_key(options_specs[i].arg.name, key))
			return i;
	return NSPECS;
}

size_t
options_size(const struct spec *s)
{
	switch (s->arg.type) {
	case ARG_INT: return sizeof(int64_t);
	case ARG_REAL: return sizeof(double);
	case ARG_STR: return sizeof(char *);
	case ARG_STRS: return sizeof(struct arg_list);
	default: return sizeof(int);
	}
}

int
options_same(const struct options *a, const struct options *b,
	     const struct spec *s)
{
	return !memcmp(options_at(a, s), options_at(b, s), options_size(s));
}

struct schedule
options_schedule(const struct options *o)
{
	return (struct schedule){.kind = (enum schedule_kind)o->schedule,
		.steps = o->steps, .warmup = o->warmup_steps,
		.decay = o->decay_steps, .peak = o->lr, .min = o->min_lr};
}

struct trainer_conf
options_trainer(const struct options *o)
{
	return (struct trainer_conf){.seq_len = o->seq_len,
		.batch_size = o->batch_size, .micro_batch = o->micro_batch,
		.dtype = (enum kdtype)o->dtype,
		.sample_rows = !o->sample_every ? 0 :
			o->seq_len < 64 ? o->seq_len : 64,
		.doc_mask = o->doc_mask,
		.z_loss = o->z_loss, .optim = {o->beta1, o->beta2, o->eps,
			o->weight_decay, o->decay_embeddings, o->clip}};
}
