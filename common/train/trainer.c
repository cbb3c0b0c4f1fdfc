/*
 * trainer.c - see trainer.h
 *
 * A step queues all micro-batches, the sums of their losses and the update,
 * and waits once.  Gradients are scaled by 1 / (B T); the device counts the
 * targets, and the update scales the sum to the mean over them.  So the result
 * does not depend on how the batch was split.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/carve.h"
#include "model/need.h"
#include "train/trainer.h"

static size_t
carve_step(struct trainer *t, char *base)
{
	struct carve v = {base, 0};
	int64_t n = t->c.batch_size * t->c.seq_len;

	t->tok_d = carve(&v, n, 4);
	t->target_d = carve(&v, n, 4);
	t->start_d = carve(&v, n, 4);
	t->order_d = carve(&v, n, 4);
	t->loss_d = carve(&v, n, 4);
	t->logz_d = carve(&v, n, 4);
	t->sums_d = carve(&v, 3, sizeof *t->sums_d);
	return v.at;
}

int
trainer_init(struct trainer *t, struct kernels *k,
	     const struct model_config *c, const struct trainer_conf *tc,
	     struct err *e)
{
	size_t n = (size_t)(tc->batch_size * tc->seq_len);

	*t = (struct trainer){.k = k, .c = *tc};
	t->m = llama_new(k, c, tc->dtype, K_USE_TRAIN, tc->seq_len, e);
	if (t->m && optim_init(&t->opt, t->m, &tc->optim, e) == 0 &&
	    (t->pass = pass_new(t->m, tc->micro_batch, tc->seq_len, e)))
		t->block = k->alloc(k, carve_step(t, NULL), e);
	if (!t->block) {
		trainer_clear(t);
		return -1;
	}
	carve_step(t, t->block);
	t->loss = xmalloc(n * sizeof *t->loss);
	return 0;
}

void
trainer_clear(struct trainer *t)
{
	if (!t->m)
		return;
	pass_free(t->pass);
	if (t->opt.m)
		optim_clear(&t->opt);
	llama_free(t->m);
	kernels_release(t->k, t->block);
	free(t->loss);
	*t = (struct trainer){0};
}

static struct run_shape
run_shape(const struct trainer_conf *tc)
{
	return (struct run_shape){.use = K_USE_TRAIN, .b = tc->micro_batch,
		.last_b = tc->batch_size % tc->micro_batch, .t = tc->seq_len,
		.rows = tc->sample_rows,
		.positions = tc->sample_rows ? tc->seq_len : 0};
}

int
trainer_reserve(struct kernels *k, const struct trainer_conf *tc,
		const struct model_config *c, struct err *e)
{
	struct run_shape r = run_shape(tc);

	return need_reserve(k, c, tc->dtype, &r, e);
}

int64_t
trainer_bytes(struct kernels *k, const struct trainer_conf *tc,
	      const struct model_config *c)
{
	int64_t s = (int64_t)kdtype_size(tc->dtype);
	struct run_shape r = run_shape(tc);

	return config_params(c) * (s + 16) +
		(int64_t)need_copies(k, c, tc->dtype, r.use) +
		(int64_t)need_scratch(k, c, tc->dtype, &r) +
		pass_bytes(c, tc->dtype, tc->micro_batch, tc->seq_len) +
		tc->batch_size * tc->seq_len * 64 + 24000000;
}

static void
upload(struct trainer *t, const struct batch *b, int64_t n)
{
	size_t bytes = (size_t)(n * t->c.seq_len) * 4;

	kernels_upload(t->k, t->tok_d, b->tok, bytes);
	kernels_upload(t->k, t->target_d, b->target, bytes);
	kernels_upload(t->k, t->start_d, b->start, bytes);
	t->sorted = b->sorted == t->c.micro_batch;
	if (t->sorted)
		kernels_upload(t->k, t->order_d, b->order, bytes);
}

static int64_t
rows_of(const struct trainer *t)
{
	return t->c.batch_size * t->c.seq_len;
}

/* The micro-batch from window w on. */
static struct pass_batch
micro_batch(const struct trainer *t, int64_t w)
{
	int64_t left = t->c.batch_size - w, at = w * t->c.seq_len;

	return (struct pass_batch){
		.b = left < t->c.micro_batch ? left : t->c.micro_batch,
		.tok = t->tok_d + at, .target = t->target_d + at,
		.start = t->c.doc_mask ? t->start_d + at : NULL,
		.order = t->sorted ? t->order_d + at : NULL,
		.scale = (float)(1.0 / (double)rows_of(t)),
		.zcoef = (float)t->c.z_loss,
		.loss = t->loss_d + at, .logz = t->logz_d + at,
		.grad = t->opt.grad, .accumulate = w > 0};
}

static void
queue_batch(struct trainer *t, const struct batch *b)
{
	int64_t w;

	upload(t, b, t->c.batch_size);
	for (w = 0; w < t->c.batch_size; w += t->c.micro_batch) {
		struct pass_batch m = micro_batch(t, w);

		pass_run(t->pass, &m);
		t->k->loss_sum(t->k, &(struct k_loss_sum){
			.n = m.b * t->c.seq_len, .target = m.target,
			.loss = m.loss, .logz = m.logz, .sums = t->sums_d,
			.accumulate = w > 0});
	}
}

/* Where the first bad number of a skipped step was computed. */
static int
find_bad(struct trainer *t, struct trainer_result *r, struct err *e)
{
	size_t bad = (size_t)t->opt.done.bad;
	int64_t w;

	r->forward = 0;
	r->tensor[0] = '\0';
	if (!t->sums[2])
		return 0;
	if (bad < t->m->nparams)
		snprintf(r->tensor, sizeof r->tensor, "%s",
			 llama_param_name(t->m, bad));
	for (w = 0; w < t->c.batch_size && !r->forward;
	     w += t->c.micro_batch) {
		struct pass_batch m = micro_batch(t, w);

		r->forward = pass_first_bad(t->pass, &m, r->tensor, e);
	}
	return r->forward < 0 ? -1 : 0;
}

int
trainer_step(struct trainer *t, const struct batch *b, double lr,
	     uint64_t update, struct trainer_result *r, struct err *e)
{
	double targets;

	queue_batch(t, b);
	optim_step(&t->opt, lr, (int64_t)update, rows_of(t), t->sums_d);
	kernels_fetch(t->k, t->sums, t->sums_d, sizeof t->sums);
	if (t->k->sync(t->k, e) < 0)
		return -1;
	targets = t->sums[2];
	r->loss = t->sums[0] / targets;
	r->z_loss = t->c.z_loss > 0 ? t->c.z_loss * t->sums[1] / targets : -1;
	r->grad_norm = t->opt.done.norm;
	r->skipped = t->opt.done.apply ? NULL :
		!targets ? "no target tokens" :
		!isfinite(r->loss) ? "loss is not finite" :
		"gradient is not finite";
	return r->skipped ? find_bad(t, r, e) : 0;
}

int
trainer_eval(struct trainer *t, const struct batch *b, int64_t n,
	     struct err *e)
{
	upload(t, b, n);
	pass_run(t->pass, &(struct pass_batch){.b = n, .tok = t->tok_d,
		.target = t->target_d,
		.start = t->c.doc_mask ? t->start_d : NULL,
		.loss = t->loss_d, .logz = t->logz_d});
	return kernels_download(t->k, t->loss, t->loss_d,
				(size_t)(n * t->c.seq_len) * sizeof *t->loss,
				e);
}
