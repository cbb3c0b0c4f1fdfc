/*
 * table.c - the ref table
 */
#include "kernels/ref/ref.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void
ref_upload(struct kernels *k, const struct k_upload *a)
{
	(void)k;
	memcpy(a->dst, a->src, a->n);
}

void
ref_fetch(struct kernels *k, const struct k_fetch *a)
{
	(void)k;
	memcpy(a->dst, a->src, a->n);
}

void
ref_copy(struct kernels *k, const struct k_copy *a)
{
	(void)k;
	memcpy(a->dst, a->src, a->n);
}

void
ref_zero(struct kernels *k, const struct k_zero *a)
{
	(void)k;
	memset(a->dst, 0, a->n);
}

void
ref_release(struct kernels *k, const struct k_release *a)
{
	k->mem_put(k->mem_ctx, a->p);
}

void
ref_weight_update(struct kernels *k, const struct k_weight_update *a)
{
	(void)k;
	(void)a;
}

void
ref_weight_free(struct kernels *k, const struct k_weight_free *a)
{
	host_weight_free(k, a->w);
}

static void
ref_sync(struct kernels *k)
{
	(void)k;
}

static double
ref_peak(struct kernels *k, enum kdtype dt)
{
	(void)k;
	(void)dt;
	return 0;
}

static void
ref_close(struct kernels *k)
{
	free(k);
}

struct kernels *
ref_open(void)
{
	struct kernels *k = xcalloc(1, sizeof *k);

	k->name = "ref";
	k->isa = "c";
	k->threads = 1;
	k->sync = ref_sync;
	k->weight_new = host_weight_new;
	k->peak = ref_peak;
	k->close = ref_close;
#define X(op) k->op = ref_##op;
	KERNEL_OPS(X)
#undef X
	return k;
}
