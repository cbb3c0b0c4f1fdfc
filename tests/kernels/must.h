/*
 * must.h - calls on a table that cannot fail in a test
 */
#ifndef ASSAY_MUST_H
#define ASSAY_MUST_H

#include "kernels/kernels.h"

static inline void *
must_alloc(struct kernels *k, size_t bytes)
{
	return k->alloc(k, bytes);
}

static inline struct kweight *
must_weight(struct kernels *k, enum kdtype dt, int64_t out, int64_t in,
	    int use)
{
	return k->weight_new(k, dt, out, in, use);
}

static inline void
must_sync(struct kernels *k)
{
	k->sync(k);
}

static inline void
must_download(struct kernels *k, void *dst, const void *src, size_t n)
{
	kernels_download(k, dst, src, n);
}

#endif
