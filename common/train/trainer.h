/*
 * trainer.h - a model, its optimizer, and one training step
 *
 * Needs no run folder, no log and no data set: the caller passes batches of
 * B windows of T tokens.  One thread, as for the table of kernels.
 */
#ifndef ASSAY_TRAINER_H
#define ASSAY_TRAINER_H

#include "model/optim.h"
#include "model/pass.h"
#include "train/batch.h"

struct trainer_conf {
	int64_t seq_len;	/* T */
	int64_t batch_size;	/* B */
	int64_t micro_batch;	/* windows computed at once */
	enum kdtype dtype;
	int64_t sample_rows;	/* rows of a call that samples; 0: none */
	int doc_mask;
	double z_loss;		/* weight; 0: off */
	struct optim_conf optim;
};

struct trainer {
	struct kernels *k;	/* borrowed */
	struct trainer_conf c;
	struct llama *m;
	struct optim opt;
	struct pass *pass;
	void *block;		/* device: the next six, (B, T) each */
	int32_t *tok_d, *target_d, *start_d, *order_d;
	int sorted;		/* order_d is that of the batch */
	float *loss_d, *logz_d;
	double *sums_d;		/* device (3): loss_sum of the step */
	double sums[3];		/* the same on the host */
	float *loss;		/* host (B, T); see trainer_eval() */
};

/*
 * Weights are not yet set: fill opt.master, then call llama_set().  -1: too
 * little device memory; t is cleared.
 */
int trainer_init(struct trainer *t, struct kernels *k,
		 const struct model_config *c, const struct trainer_conf *tc,
		 struct err *e);
void trainer_clear(struct trainer *t);	/* all zero is fine */

/*
 * Take the scratch of a run before it starts; no step, evaluation or sample
 * allocates any later.
 */
int trainer_reserve(struct kernels *k, const struct trainer_conf *tc,
		    const struct model_config *c, struct err *e);

/* Memory in bytes of a training run, by the formula in lm-train-rules(7). */
int64_t trainer_bytes(struct kernels *k, const struct trainer_conf *tc,
		      const struct model_config *c);

struct trainer_result {
	double loss;		/* mean over target tokens, before the update */
	double z_loss;		/* what z-loss added; -1: off */
	double grad_norm;	/* before clipping */
	const char *skipped;	/* why there was no update, or NULL */
	/*
	 * If skipped: the first bad place in the order of computation.  A
	 * module with such an output (forward), or else the tensor with such a
	 * gradient; "": none.
	 */
	char tensor[PASS_NAME];
	int forward;
};

/*
 * Forward, backward and update.  update: number of this update, from 1 (t of
 * AdamW).  If the loss or the gradient is not finite, weights and moments stay
 * as they were and r->skipped says why.  Returns when the update is done.  -1:
 * the table failed, and weights and moments are lost.
 */
int trainer_step(struct trainer *t, const struct batch *b, double lr,
		 uint64_t update, struct trainer_result *r, struct err *e);

/*
 * Forward pass over the first n windows of b, n <= micro_batch: sets
 * t->loss[0 .. n*T), in nats.
 */
int trainer_eval(struct trainer *t, const struct batch *b, int64_t n,
		 struct err *e);

#endif
