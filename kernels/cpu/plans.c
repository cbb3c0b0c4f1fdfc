/*
 * plans.c - see plans.h: open addressing, at most half full
 */
#include "kernels/cpu/plans.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

_Static_assert(sizeof(struct gemm_shape) ==
	       6 * sizeof(int64_t) + 6 * sizeof(int), "padding in a key");

static uint64_t
shape_hash(const struct gemm_shape *s)
{
	uint64_t v[sizeof *s / sizeof(uint64_t)], h = 0;

	memcpy(v, s, sizeof v);
	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		h = (h ^ v[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
	return h;
}

int
shape_eq(const struct gemm_shape *a, const struct gemm_shape *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* The slot of s, empty if there is no such plan. */
static void **
slot(const struct plans *p, const struct gemm_shape *s)
{
	size_t mask = 2 * p->cap - 1, i = shape_hash(s) & mask;

	while (p->hash[i] && !shape_eq(p->hash[i], s))
		i = (i + 1) & mask;
	return &p->hash[i];
}

void *
plans_find(const struct plans *p, const struct gemm_shape *s)
{
	return p->cap ? *slot(p, s) : NULL;
}

static void
grow(struct plans *p)
{
	p->cap = p->cap ? 2 * p->cap : 64;
	p->v = xreallocarray(p->v, p->cap, sizeof *p->v);
	free(p->hash);
	p->hash = xcalloc(2 * p->cap, sizeof *p->hash);
	for (size_t i = 0; i < p->n; i++)
		*slot(p, p->v[i]) = p->v[i];
}

void
plans_add(struct plans *p, void *plan)
{
	if (p->n == p->cap)
		grow(p);
	*slot(p, plan) = plan;
	p->v[p->n++] = plan;
}

void
plans_clear(struct plans *p)
{
	free(p->v);
	free(p->hash);
}
