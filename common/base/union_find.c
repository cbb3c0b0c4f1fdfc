/*
 * union_find.c - union-find
 *
 * Roots are least elements, not those of larger sets, so the depth is kept
 * down by halving paths alone: O(log n) a step over all (Tarjan and van
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
