/*
 * table.c - the ref table
 */
#include "kernels/ref/ref.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void
ref_move(struct kernels *k, void *dst, const void *src, size_t n)
{
	(void)k;
	memmove(dst, src, n);
}

static void
ref_zero(struct kernels *k, void *dst, size_t n)
{
	(void)k;
	memset(dst, 0, n);
}

static void
ref_sync(struct kernels *k)
{
	(void)k;
}

static void
ref_weight_update(struct kernels *k, struct kweight *w)
{
	(void)k;
	(void)w;
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
	k->upload = ref_move;
	k->download = ref_move;
	k->copy = ref_move;
	k->zero = ref_zero;
	k->sync = ref_sync;
	k->weight_new = kernels_weight_new;
	k->weight_free = kernels_weight_free;
	k->weight_update = ref_weight_update;
	k->peak = ref_peak;
	k->close = ref_close;
#define X(op) k->op = ref_##op;
	KERNEL_OPS(X)
#undef X
	return k;
}
