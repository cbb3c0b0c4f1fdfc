/*
 * must.h - calls on a table that cannot fail in a test
 */
#ifndef ASSAY_MUST_H
#define ASSAY_MUST_H

#include "kernels/kernels.h"

static inline void *
must_alloc(struct kernels *k, size_t bytes)
{
	struct err e = {0};
	void *p = k->alloc(k, bytes, &e);

	if (!p)
		die_err(&e);
	return p;
}

/* A weight with its data; end it with must_weight_free(). */
static inline struct kweight *
must_weight(struct kernels *k, enum kdtype dt, int64_t out, int64_t in,
	    int use)
{
	struct err e = {0};
	struct kweight *w = k->weight_new(k, &(struct k_weight_new){
		.dt = dt, .out = out, .in = in, .use = use,
		.data = must_alloc(k, (size_t)out * (size_t)in *
				   kdtype_size(dt)) }, &e);

	if (!w)
		die_err(&e);
	return w;
}

static inline void
must_weight_free(struct kernels *k, struct kweight *w)
{
	void *data = w->data;

	kernels_weight_free(k, w);
	kernels_release(k, data);
}

static inline void
must_sync(struct kernels *k)
{
	struct err e = {0};

	if (k->sync(k, &e) < 0)
		die_err(&e);
}

static inline void
must_download(struct kernels *k, void *dst, const void *src, size_t n)
{
	struct err e = {0};

	if (kernels_download(k, dst, src, n, &e) < 0)
		die_err(&e);
}

#endif
