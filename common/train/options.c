/*
 * options.c - see options.h: the table, and what a resume may change
 *
 * The table below is the program's manual in one place.
 */
#include <stdlib.h>
#include <string.h>

#include "train/options_priv.h"
#include "record/shard.h"

static const char *const dtype_names[] = {"fp32", "bf16", NULL};

#define AT(m) offsetof(struct options, m)
#define BIG 9007199254740992.0

const struct spec options_specs[] = {
	{"Shape", 0, ARG_GROUP, 0, 0, "Shape of the model", 0, 0, 0, START},
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

	{"Data", 0, ARG_GROUP, 0, 0, "Data", 0, 0, 0, START},
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

	{"Opt", 0, ARG_GROUP, 0, 0, "Optimizer", 0, 0, 0, START},
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

	{"Run", 0, ARG_GROUP, 0, 0, "Run", 0, 0, 0, START},
	{"output", 'o', ARG_STR, AT(out), "DIR", "folder of the run", 0, 0, 0,
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

enum { NSPECS = sizeof options_specs / sizeof *options_specs };

const size_t options_nspecs = NSPECS;

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

	_Static_assert((int)NSPECS < (int)OPTIONS_MAX, "given[] is too short");
	for (i = 0; i < NSPECS; i++) {
		const struct spec *s = &options_specs[i];

		rows[i] = (struct arg){
			.name = s->type == ARG_GROUP ? s->help : s->name,
			.letter = s->letter, .type = s->type,
			.to = (char *)o + s->at, .meta = s->meta,
			.help = s->help, .lo = s->lo, .hi = s->hi,
			.choices = s->choices, .given = &o->given[i]};
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
		if (options_specs[i].type != ARG_GROUP &&
		    same_key(options_specs[i].name, key))
			return i;
	return NSPECS;
}

/* ---- resume ---- */

size_t
options_size(enum arg_type t)
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
		const struct spec *s = &options_specs[i];

		if (s->type == ARG_GROUP ||
		    (s->state != START && !cmd->given[i]))
			continue;
		if (s->state != START) {
			buf_reset(&was);
			buf_reset(&is);
			options_put(s, (char *)o + s->at, &was);
			options_put(s, (const char *)cmd + s->at, &is);
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
		       options_size(s->type));
		o->derived[i] = 0;
	}
	buf_clear(&was);
	buf_clear(&is);
	if (changed->n)
		options_forget_derived(o);
	return rc;
}
