/*
 * front.h - the tokens before each text: those that training put there
 *
 * A checkpoint of lm-train says in train_state.json whether its shards have a
 * BOS, and what a template puts after it.  Any other folder gets what its
 * tokenizer adds: bos_token_id of config.json alone adds nothing.
 */
#ifndef ASSAY_FRONT_H
#define ASSAY_FRONT_H

#include "model/config.h"
#include "record/vocab.h"
#include "tokenizer/ids.h"

enum front_source { FRONT_RUN, FRONT_TOKENIZER };

/*
 * Append the tokens for the model in dir, whose tokenizer is v (NULL: none, no
 * token unless it is a run's).  *source gets who decided.  -1: train_state.json
 * cannot be read.
 */
int front_load(const char *dir, const struct model_config *c,
	       const struct vocab *v, struct ids *out,
	       enum front_source *source, struct err *e);

#endif
