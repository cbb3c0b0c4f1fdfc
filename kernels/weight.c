/*
 * weight.c - weights as every table has them: one matrix in device memory
 *
 * A table that keeps other copies of a weight makes them around these calls.
 */
#include "kernels/kernels.h"

#include <stdlib.h>

#include "base/mem.h"

struct kweight *
host_weight_new(struct kernels *k, enum kdtype dt, int64_t out, int64_t in,
		int use)
{
	struct kweight *w = xcalloc(1, sizeof *w);

	w->dt = dt;
	w->out = out;
	w->in = in;
	w->use = use;
	w->data = k->alloc(k, (size_t)out * (size_t)in * kdtype_size(dt));
	return w;
}

void
host_weight_free(struct kernels *k, struct kweight *w)
{
	kernels_release(k, w->data);
	free(w);
}
