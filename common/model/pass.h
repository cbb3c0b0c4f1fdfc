/*
 * pass.h - forward and backward through the model, over B windows of T tokens
 *
 * A pass owns the activations for up to max_b windows; running it queues
 * calls on the table and returns: nothing is known on the host until a
 * download or sync.  Windows are independent; positions are 0..T-1 in each.
 *
 * Memory of a training pass, in bytes a token, with s bytes a number (2 in
 * bf16, 4 in fp32) and Q = (H + 2G) D:
 *	kept, each layer:	8C + 8 + 4H + s (2C + Q + HD + 2F), with QK-norm
 *				s Q more
 *	scratch, once:		8C + 8 + s (2C + F + max(F, HD) + Q), and 2C
 *				more in bf16
 * Without train one layer's part serves all, and of the scratch only
 * 4C + 8 + s (C + F) is there.  pass_bytes() gives the sum.
 */
#ifndef ASSAY_PASS_H
#define ASSAY_PASS_H

#include "model/llama.h"

struct pass;

/* train: keep what the backward pass needs. */
struct pass *pass_new(struct llama *m, int64_t max_b, int64_t t, int train);
void pass_free(struct pass *p);		/* NULL is fine */

/* Device memory of a pass of these sizes. */
int64_t pass_bytes(const struct model_config *c, enum kdtype dt, int64_t max_b,
		   int64_t t, int train);

struct pass_batch {
	int64_t b;		/* windows, 1..max_b */
	const int32_t *tok;	/* device, (b, T) */
	const int32_t *target;	/* device, (b, T); -1: does not count */
	const int32_t *start;	/* device, (b, T) of k_attn_fwd, or NULL */
	float scale;		/* of the gradients: 1 / targets of the step */
	float zcoef;		/* of z-loss; 0: none */
	float *loss, *logz;	/* device, (b, T) */
	int32_t *argmax;	/* device, (b, T) or NULL */
	float *grad;		/* flat, device; NULL: no backward pass */
	int accumulate;		/* grad += instead of grad = */
};

/* Forward, loss, and with grad (a training pass) backward. */
void pass_run(struct pass *p, const struct pass_batch *b);

/* Forward alone, then logits (device, (b*T, Vp) float; columns >= V unset). */
void pass_logits(struct pass *p, const struct pass_batch *b, float *logits);

#endif
