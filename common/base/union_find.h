/*
 * union_find.h - sets of equivalent documents
 *
 * Elements are numbered in input order.  The root of a set is its least
 * element, in whatever order sets are joined.
 */
#ifndef ASSAY_UNION_FIND_H
#define ASSAY_UNION_FIND_H

#include <stdint.h>

struct union_find {
	uint32_t *parent;	/* at most the element itself */
	uint32_t n;
};

void union_find_init(struct union_find *c, uint32_t n);	/* n sets of one */
void union_find_clear(struct union_find *c);

/* The least element of i's set; shortens the path for later calls. */
static inline uint32_t
union_find_first(struct union_find *c, uint32_t i)
{
	uint32_t *p = c->parent;

	while (p[i] != i)
		i = p[i] = p[p[i]];
	return i;
}

/* Join the sets of a and b; 0 if they are one already. */
static inline int
union_find_join(struct union_find *c, uint32_t a, uint32_t b)
{
	a = union_find_first(c, a);
	b = union_find_first(c, b);
	if (a < b)
		c->parent[b] = a;
	else
		c->parent[a] = b;
	return a != b;
}

#endif
