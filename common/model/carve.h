/*
 * carve.h - many arrays out of one allocation of device memory
 *
 * Call a function that carves all arrays in order twice: with base NULL, v.at
 * becomes the total size; with the allocation as base, it sets the pointers.
 * Each array starts at a multiple of 256 bytes, as alloc() does.
 */
#ifndef ASSAY_CARVE_H
#define ASSAY_CARVE_H

#include <stddef.h>
#include <stdint.h>

struct carve {
	char *base;
	size_t at;
};

/* Room for n values of size bytes; NULL while base is. */
static inline void *
carve(struct carve *v, int64_t n, size_t size)
{
	void *p = v->base ? v->base + v->at : NULL;

	v->at += ((size_t)n * size + 255) / 256 * 256;
	return p;
}

#endif
