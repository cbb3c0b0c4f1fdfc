/*
 * setup.h - the parts of job_open(), in this order
 *
 * Each fills in its members of struct job from its options and those before
 * it; 0, or -1 with why.  Nothing is written, and what a part has opened
 * job_close() closes.
 */
#ifndef ASSAY_SETUP_H
#define ASSAY_SETUP_H

#include "train/job.h"

/* 1: DIR/NAME is there. */
int setup_exists(const char *dir, const char *name);

/* vocab and the bytes that checkpoints get, where there is a tokenizer. */
int setup_tokenizer(struct job *j, struct err *e);

/* data, val, id; seq_len where nobody chose it. */
int setup_data(struct job *j, struct err *e);

/* c, the configuration of the model, and every option as resolved. */
int setup_shape(struct job *j, struct err *e);

/* tokenizer_config.json: the one beside the tokenizer, else one of ours. */
int setup_token_config(struct job *j, struct err *e);

/* Model, optimizer, buffers; the weights, new, of a folder or a checkpoint. */
int setup_model(struct job *j, struct err *e);

#endif
