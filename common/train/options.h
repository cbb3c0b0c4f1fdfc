/*
 * options.h - everything that lm-train can be told, as one struct
 *
 * One table names each option once: it makes the command line, --config FILE,
 * run/config.json and the comparison at a resume.  Keys in a file are the
 * option's name with _ or - between words ("seq_len"); switches are true or
 * false, lists are arrays.
 *
 * Values in order of strength: command line, --config FILE, the preset or the
 * folder of --init-from, the defaults.
 */
#ifndef ASSAY_OPTIONS_H
#define ASSAY_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/args.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "kernels/kernels.h"
#include "model/config.h"
#include "model/schedule.h"
#include "record/order.h"

enum { OPTIONS_MAX = 80 };

struct options {
	/* shape; 0: from the preset or the folder */
	int preset;
	int64_t hidden_size, layers, heads, kv_heads, head_dim,
		intermediate_size, vocab_size;
	double rope_theta, norm_eps, init_std, embed_scale;
	int tie_embeddings, qk_norm;
	const char *init_from;
	/* data */
	struct arg_list data, val_data;
	int shard_format;
	const char *tokenizer, *split;
	int64_t seq_len;	/* T; 0: that of the shards */
	int64_t batch_size;	/* windows a step */
	int64_t micro_batch;	/* windows at once; 0: chosen */
	int64_t accum;		/* micro-batches a step; 0: by micro_batch */
	int order;		/* enum order_kind */
	int doc_mask;
	/* optimizer */
	int64_t steps, warmup_steps, decay_steps;
	double lr, min_lr;	/* min_lr < 0: lr / 10 */
	int schedule;		/* enum schedule_kind */
	double beta1, beta2, eps, weight_decay, clip, z_loss;
	int decay_embeddings;
	int64_t seed;
	int dtype;		/* enum kdtype */
	/* the run */
	const char *out;
	int64_t save_every, keep;
	const char *after_save;
	int64_t eval_every, eval_windows, sample_every, sample_tokens;
	const char *prompts;
	struct arg_list prompt;
	double peak_tflops;
	/* of this start alone: not stored */
	const char *config, *resume, *device;
	int64_t stop_after;
	int allow_changed_data, allow_changed_config;
	/* a row of the table each */
	int given[OPTIONS_MAX];		/* on the command line */
	int in_file[OPTIONS_MAX];	/* of --config, chosen there */
	int derived[OPTIONS_MAX];	/* chosen by nobody: follows from others */
};

void options_init(struct options *o);

/* Rows of the option table that write into o; returns how many. */
size_t options_table(struct options *o, struct arg *rows);

/*
 * For a new run: take the values of a file, except those that stood on the
 * command line and those that the file itself calls derived.  A key that is
 * no option, a wrong type or a value out of range is an error.
 */
int options_load(struct options *o, const char *path, struct err *e);

/* For a resume: take all values of a run's config.json, and what is derived. */
int options_restore(struct options *o, const char *path, struct err *e);

/*
 * For a resume: o holds the stored run; every option given in cmd replaces
 * its value.  One that decides what is computed may only be repeated with the
 * stored value, unless allow_changed_config: error by name.  What changed is
 * appended to `changed` as "name old new" lines.  After a change min_lr,
 * decay_steps and micro_batch, where derived, wait for options_resolve().
 */
int options_override(struct options *o, const struct options *cmd,
		     struct buf *changed, struct err *e);

/* Before anything is resolved, in a new run: what nobody chose is derived. */
void options_mark_derived(struct options *o);

/* Append to `changed` what was derived anew and is another value now. */
void options_note_derived(const struct options *o, const struct options *was,
			  struct buf *changed);

/*
 * Fill in what follows from other values: the shape into c (from a folder, of
 * --init-from or of the checkpoint, else from the preset and the options),
 * min_lr, micro_batch.  seq_len is set.  vocab: ids of the tokenizer or the
 * shards.  Sets the options to what was resolved.
 */
int options_resolve(struct options *o, const char *folder, int64_t vocab,
		    struct model_config *c, struct err *e);

/*
 * The stored options as members "key": value of a JSON object, a line each,
 * without braces; every line begins with ",\n  " except the first.  The last
 * one is "derived", the names of those that nobody chose.
 */
void options_json(const struct options *o, struct buf *b);

struct schedule options_schedule(const struct options *o);

#endif
