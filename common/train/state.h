/*
 * state.h - what stands in a checkpoint folder (ckpt.5)
 *
 * config.json, generation_config.json, model.safetensors (the weights the
 * forward pass used, in their type), tokenizer.json, tokenizer_config.json;
 * optimizer.safetensors (float: master.NAME, m.NAME, v.NAME); and
 * train_state.json.
 */
#ifndef ASSAY_STATE_H
#define ASSAY_STATE_H

#include <stdint.h>

#include "model/optim.h"
#include "train/options.h"

/* Where a run is.  Everything else follows from step and options. */
struct run_state {
	uint64_t step;		/* updates made or refused: the next batch */
	uint64_t updates;	/* made: t of AdamW */
	uint64_t tokens;	/* trained on */
	int64_t last_eval, last_sample;	/* step, -1: never */
};

/* The data a run was started with; a resume must find the same. */
struct data_id {
	uint64_t hash, tokens, windows;	/* of the training shards */
	uint64_t val_hash;		/* 0: no evaluation shards */
	uint64_t fingerprint;		/* of the tokenizer; 0: none */
};

/* Bytes copied into every checkpoint; n 0: there is none. */
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
	struct span history;	/* members of a JSON array: one a start */
};

/* -1 where a checkpoint has no room in run now; of s m and tok are read. */
int state_room(const char *run, const struct state_src *s, struct err *e);

/* Write run/step-N as ckpt.h describes. */
int state_save(const char *run, const struct state_src *s, struct err *e);

/*
 * Read train_state.json of a checkpoint.  history gets the members of its
 * "history" array as they stand (NULL: not wanted).
 */
int state_load(const char *dir, struct run_state *at, struct data_id *data,
	       struct buf *history, struct err *e);

/* Master weights and moments of a checkpoint; sets the model's weights. */
int state_load_tensors(const char *dir, struct llama *m, struct optim *opt,
		       struct err *e);

#endif
