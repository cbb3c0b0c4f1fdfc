/*
 * pass.h - forward and backward through the model, over B windows of T tokens
 *
 * A pass owns the activations of up to max_b windows.  Running it queues calls
 * on the table of kernels and returns; results are on the host after a
 * download or sync.  Windows are independent, with positions 0..T-1 each.
 *
 * Memory in bytes per token, with s bytes per number (4 in fp32, else 2)
 * and Q = (H + 2G) D:
 *	kept per layer:	8C + 8 + 4H + s (2C + Q + HD + 2F), with QK-norm s Q
 *			more
 *	scratch:	8C + 8 + s (2C + F + max(F, HD) + Q), if s is 2 2C more
 */
#ifndef ASSAY_PASS_H
#define ASSAY_PASS_H

#include "model/llama.h"

struct pass;

/* NULL: too little device memory. */
struct pass *pass_new(struct llama *m, int64_t max_b, int64_t t,
		      struct err *e);
void pass_free(struct pass *p);		/* NULL is fine */

/* Device memory of a pass of these sizes. */
int64_t pass_bytes(const struct model_config *c, enum kdtype dt, int64_t max_b,
		   int64_t t);

struct pass_batch {
	int64_t b;		/* windows, 1..max_b */
	const int32_t *tok;	/* device, (b, T) */
	const int32_t *target;	/* device, (b, T); -1: not counted */
	const int32_t *start;	/* device, (b, T) of k_attn_fwd, or NULL */
	const int32_t *order;	/* device, (b, T) of k_embed_bwd, or NULL */
	float scale;		/* of the gradients: 1 / rows of the step */
	float zcoef;		/* of z-loss; 0: none */
	float *loss, *logz;	/* device, (b, T) */
	int32_t *argmax;	/* device, (b, T) or NULL */
	float *grad;		/* flat, device; NULL: no backward pass */
	int accumulate;		/* grad += instead of grad = */
};

/* Forward and loss; with grad, backward too. */
void pass_run(struct pass *p, const struct pass_batch *b);

enum { PASS_NAME = 80 };

/*
 * Run forward again and find the first module, in the order of computation,
 * with an output that is not finite; name gets its Hugging Face name.  An
 * attention or MLP whose matmuls are finite is named as a whole: "self_attn",
 * "mlp".  Returns 0 if all outputs and losses are finite, 1 if not, -1 if the
 * table fails.
 */
int pass_first_bad(struct pass *p, const struct pass_batch *b,
		   char name[PASS_NAME], struct err *e);

#endif
