/*
 * weight.c - weights as every table has them: one matrix in device memory
 *
 * The memory is the caller's.  A table that keeps other copies of a weight
 * makes them around these calls.
 */
#include "kernels/kernels.h"

#include <stdlib.h>

#include "base/mem.h"

struct kweight *
host_weight_new(struct kernels *k, const struct k_weight_new *a, struct err *e)
{
	struct kweight *w = xcalloc(1, sizeof *w);

	(void)k;
	(void)e;
	w->dt = a->dt;
	w->out = a->out;
	w->in = a->in;
	w->use = a->use;
	w->data = a->data;
	return w;
}

void
host_weight_free(struct kernels *k, struct kweight *w)
{
	(void)k;
	free(w);
}
