/*
 * job.h - a training run: opened, run, closed
 *
 * job_open() checks everything that can be checked before the first step and
 * writes nothing until all of it has passed; job_run() is the loop.  Order
 * within the loop, at the state after s updates: evaluation, samples,
 * checkpoint (each when due), then batch s, whose line is written when its
 * update is done.
 *
 * The table of kernels is the caller's, so that a test may wrap it.
 */
#ifndef ASSAY_JOB_H
#define ASSAY_JOB_H

#include "kernels/kernels.h"
#include "train/loader.h"
#include "model/pass.h"
#include "train/state.h"
#include "record/trainlog.h"
#include "record/vocab.h"

enum { JOB_MAX_REFUSED = 10 };	/* updates in a row; then the run ends */

struct prompt {
	struct span text;
	uint32_t *ids;		/* without BOS */
	size_t n;
};

struct job {
	struct options o;
	struct model_config c;
	char *run;		/* its folder */
	char *from;		/* checkpoint resumed from, or NULL */
	struct options stored;	/* of the run, where resumed */
	int resumed;
	char *tok_path;		/* tokenizer in use, or NULL */
	int lock;		/* descriptor of run, locked */
	struct vocab *vocab;	/* NULL: no tokenizer */
	struct token_files tok;
	struct shards *data, *val;	/* val NULL: none */
	struct data_id id;
	struct kernels *k;	/* borrowed */
	struct llama *m;
	struct optim opt;
	struct pass *pass;
	struct loader_conf train, eval;
	struct trainlog *log;
	struct run_state at;
	struct buf history, changed;
	const struct prompt *prompts;	/* borrowed; set before job_run() */
	size_t nprompts;
	double peak;		/* operations a second; 0: unknown */
	int64_t saved;		/* step of the newest checkpoint, or -1 */
	/* since this start */
	uint64_t first_step, tokens;
	double seconds, last_loss;
	int refused;		/* updates in a row */
	/* device: a whole step, (B, T) */
	int32_t *tok_d, *target_d, *start_d;
	float *loss_d, *logz_d;
	float *loss, *logz;	/* host */
};

/*
 * cmd: the command line (options_init(), then args_parse()).  Ends with the
 * model in place and the log open.  -1: error; job_close() is still due.
 */
int job_open(struct job *j, const struct options *cmd, struct kernels *k,
	     struct err *e);

/* 0: done; a signal number: saved, end by it; -1: error. */
int job_run(struct job *j, struct err *e);

/* Closes what is open; -1 when the log could not be written out. */
int job_close(struct job *j, struct err *e);

/* Memory that a run of these options takes, by the formula of lm-train(1). */
int64_t job_bytes(const struct options *o, const struct model_config *c);

/* --- parts of both --- */

/* Old checkpoints go; one that cannot be removed is no reason to end a run. */
void job_prune(const struct job *j);

/* --- parts of job_run(), in eval.c --- */

/* Copy a batch of at most B windows to the device; n: its windows. */
void job_upload(struct job *j, const struct batch *b, int64_t n);

/* 0, or 1 when a signal came before it was complete, or -1. */
int job_evaluate(struct job *j, struct err *e);
int job_sample(struct job *j, struct err *e);

#endif
