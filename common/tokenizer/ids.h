/*
 * ids.h - a growing array of token ids; all zero is empty, free(v) frees it
 */
#ifndef ASSAY_IDS_H
#define ASSAY_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct ids {
	uint32_t *v;
	size_t n, cap;
};

/* Make room for n more; returns where they go. */
static inline uint32_t *
ids_reserve(struct ids *o, size_t n)
{
	if (o->n + n > o->cap)
		GROW(o->v, o->cap, o->n + n);
	return o->v + o->n;
}

static inline void
ids_add(struct ids *o, uint32_t id)
{
	*ids_reserve(o, 1) = id;
	o->n++;
}

#endif
