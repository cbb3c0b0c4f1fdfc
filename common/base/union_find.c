/*
 * union_find.c - sets of equivalent documents
 *
 * The root is the least element, not that of the larger set, so that path
 * halving alone limits the depth: O(log n) amortized per call (Tarjan and van
 * Leeuwen 1984).
 */
#include "base/union_find.h"

#include <stdlib.h>

#include "base/mem.h"

void
union_find_init(struct union_find *c, uint32_t n)
{
	uint32_t i;

	c->n = n;
	c->parent = xreallocarray(NULL, (size_t)n + 1, sizeof(*c->parent));
	for (i = 0; i < n; i++)
		c->parent[i] = i;
}

void
union_find_clear(struct union_find *c)
{
	free(c->parent);
	*c = (struct union_find){0};
}
