/*
 * options.h - all options of lm-train in one struct
 *
 * One table (options.c) names each option once.  The command line, --config
 * FILE, run/config.json and the comparison made by --resume all use it.  In a
 * file an option is a key with the same name, with _ or - between words
 * ("seq_len"); switches are true or false, lists are arrays.
 *
 * Precedence: command line, --config FILE, preset or --init-from folder,
 * defaults.
 */
#ifndef ASSAY_OPTIONS_H
#define ASSAY_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/args.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/config.h"
#include "model/schedule.h"
#include "order/order.h"
#include "stream/json.h"
#include "train/trainer.h"

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
	int shard_format, id_bytes;
	const char *tokenizer, *split;
	int64_t seq_len;	/* T; 0: that of the shards */
	int64_t batch_size;	/* windows per step */
	int64_t micro_batch;	/* windows at once; 0: chosen */
	int64_t accum;		/* micro-batches per step; 0: by micro_batch */
	int order;		/* enum order_kind */
	int doc_mask;
	/* optimizer */
	int64_t steps, warmup_steps, decay_steps;
	double epochs;		/* 0: steps counts */
	double lr, min_lr;	/* min_lr < 0: lr / 10 */
	int schedule;		/* enum schedule_kind */
	double beta1, beta2, eps, weight_decay, clip, z_loss;
	int decay_embeddings;
	int64_t seed;
	int dtype;		/* enum kdtype */
	/* run */
	const char *out;
	int64_t save_every, keep;
	const char *after_save;
	int64_t eval_every, eval_windows, sample_every, sample_tokens;
	const char *prompts;
	struct arg_list prompt;
	double peak_tflops;
	/* not stored */
	const char *config, *resume, *device;
	int64_t stop_after;
	int overwrite;
	int allow_other_val, allow_changed_data, allow_changed_config;
	/* indexed by row of the table */
	int given[OPTIONS_MAX];		/* set on the command line */
	int in_file[OPTIONS_MAX];	/* set by --config */
	int derived[OPTIONS_MAX];	/* set by nobody: follows from others */
};

void options_init(struct options *o);

/* Fill the rows of an option table that writes to o; returns their number. */
size_t options_table(struct options *o, struct arg *rows);

/* For struct args: options that exclude each other. */
extern const char *const options_exclude[];

/* Parts of the options, after options_resolve(). */
struct schedule options_schedule(const struct options *o);
struct trainer_conf options_trainer(const struct options *o);

/* --- options_json.c --- */

/*
 * Read a file.  Options from the command line keep their value; so do those
 * that the file lists as derived, unless `all` is set (for a resume).  An
 * unknown key, a wrong type or a value out of range is an error.
 */
int options_load(struct options *o, const char *path, int all, struct err *e);

/*
 * Write the stored options as members "key": value of a JSON object, one per
 * line, without braces.  The last member is "derived", the list of options
 * that nobody set.
 */
void options_json(const struct options *o, struct buf *b);

/* --- options_resolve.c --- */

/*
 * For a new run, once all is read: a model folder has its own shape and
 * weights, so a preset and initial values from a file no longer count.  Given
 * together with the folder, they are an error.
 */
int options_prefer_folder(struct options *o, struct err *e);

/*
 * With o->epochs, set o->steps to the number of steps that take the samples up
 * to epochs * windows; step and sample: where the run is.  For a resume, only
 * if epochs or the batch size is given in cmd; --steps there ends the epochs.
 * Changes are appended to `changed`.
 */
int options_set_epochs(struct options *o, const struct options *cmd,
		       uint64_t windows, uint64_t step, uint64_t sample,
		       struct buf *changed, struct err *e);

/* Is an option given that does nothing beside the others? */
int options_check_effects(const struct options *o, struct err *e);

/* For a new run, before options_resolve(): set o->derived. */
void options_mark_derived(struct options *o);

/*
 * Compute what follows from other values: the shape (from folder, which is
 * that of --init-from or a checkpoint, else from the preset and the options),
 * min_lr, decay_steps, micro_batch.  Stores the results in c and in o.
 * o->seq_len must be set.  vocab: ids in the tokenizer or the shards.
 */
int options_resolve(struct options *o, const char *folder, int64_t vocab,
		    struct model_config *c, struct err *e);

/* --- options_resume.c --- */

/*
 * For a resume: o holds the stored options; apply those given in cmd.  An
 * option that affects the result must keep its value, unless cmd has
 * allow_changed_config: otherwise an error by name.  Changes are appended to
 * `changed` as lines "key old new".  After a change, derived min_lr,
 * decay_steps and micro_batch are left for options_resolve().
 */
int options_override(struct options *o, const struct options *cmd,
		     struct buf *changed, struct err *e);

/* Append to `changed` the derived options that options_resolve() changed. */
void options_note_derived(const struct options *o, const struct options *was,
			  struct buf *changed);

#endif
