/*
 * state.h - the contents of a checkpoint folder (ckpt.5)
 */
#ifndef ASSAY_STATE_H
#define ASSAY_STATE_H

#include <stdint.h>

#include "model/optim.h"
#include "order/plan.h"
#include "record/safetensors.h"
#include "record/vocab.h"
#include "train/options.h"

/* Where a run is.  Everything else follows from step, plan and options. */
struct run_state {
	uint64_t step;		/* updates made or skipped; the next batch */
	uint64_t updates;	/* made: t of AdamW */
	uint64_t tokens;	/* trained on */
	int64_t last_eval, last_sample;	/* step, -1: never */
};

/* The data of a run; a resume must find the same. */
struct data_id {
	uint64_t hash, tokens, windows;	/* of the training shards */
	uint64_t val_hash;		/* 0: no evaluation shards */
	uint64_t fingerprint;		/* of the tokenizer; 0: none */
	int64_t bos, eos;		/* around each document; -1: none */
	struct vocab_around front;	/* bos, and more of a template */
};

/* Files copied into every checkpoint; empty: none. */
struct token_files {
	struct buf tokenizer, config;
};

struct state_src {
	const struct llama *m;
	const struct optim *opt;
	const struct options *o;
	const struct data_id *data;
	const struct token_files *tok;
	const struct run_state *at;
	const struct plan *plan;
	struct span history;	/* members of a JSON array: one per start */
};

/*
 * -1 if a checkpoint does not fit on the disk of run but the run will write
 * one.  Reads s->m, s->tok, s->at, s->o.
 */
int state_room(const char *run, const struct state_src *s, struct err *e);

#define SAVE_SHARD UINT64_C(5000000000)	/* as transformers has it */

/* The type of weights in a checkpoint: that of the model. */
static inline enum st_dtype
state_dtype(enum kdtype dt)
{
	return dt == K_F32 ? ST_F32 : dt == K_BF16 ? ST_BF16 : ST_F16;
}

struct save_conf {
	uint64_t shard_bytes;	/* most in a file of weights; 0: SAVE_SHARD */
	int no_copy;		/* write before returning */
};

struct state_save;

/*
 * Begin to write run/step-N as ckpt.h describes.  If half of the available
 * memory holds a copy of the state, a thread writes it, and the caller may
 * train on; else it is written when the call returns.  Weights that need more
 * than one file are named by model.safetensors.index.json.  NULL: error, and
 * nothing was written.
 */
struct state_save *state_save_begin(const char *run, const struct state_src *s,
				    const struct save_conf *c, struct err *e);
int state_save_is_done(const struct state_save *x);

/* Wait until it is written, and free x.  seconds: since the beginning. */
int state_save_end(struct state_save *x, double *seconds, struct err *e);

/*
 * Read train_state.json of a checkpoint.  Appends the members of its
 * "history" array to history; plan must be empty.
 */
int state_load(const char *dir, struct run_state *at, struct data_id *data,
	       struct plan *plan, struct buf *history, struct err *e);

/* Read master weights and moments of a checkpoint; set the weights. */
int state_load_tensors(const char *dir, struct llama *m, struct optim *opt,
		       struct err *e);

#endif
