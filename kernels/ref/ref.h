/*
 * ref.h - the definition of every kernel, to be read along with kernels.h
 *
 * matmul.c: matmuls, the head and the loss; attn.c: RoPE, attention and the KV
 * cache; optim.c: sums and AdamW; stats.c: statistics; rows.c: everything
 * else.
 *
 * Plain loops over doubles; a value is rounded once, where it is stored.
 * Nothing here is fast or clever: if another table differs from ref, read
 * ref.  Single-threaded; every call is done when it returns.
 */
#ifndef ASSAY_REF_H
#define ASSAY_REF_H

#include "kernels/kernels.h"

struct kernels *ref_open(void);		/* never NULL */

#define X(op) void ref_##op(struct kernels *k, const struct k_##op *a);
KERNEL_OPS(X)
#undef X

/* n numbers of scratch, not initialized. */
double *ref_scratch(struct kernels *k, int64_t n);

/* Element i of an array of type dt. */
static inline double
ref_get(const void *p, enum kdtype dt, int64_t i)
{
	return kdtype_get(p, dt, i);
}

static inline void
ref_set(void *p, enum kdtype dt, int64_t i, double x)
{
	kdtype_set(p, dt, i, (float)x);
}

#endif
