/*
 * union_find.h - which documents are one: union-find, first one kept
 *
 * Elements are numbered in input order; the root of a set is its least
 * element, whatever the order of the unions.
 */
#ifndef ASSAY_UNION_FIND_H
#define ASSAY_UNION_FIND_H

#include <stdint.h>

struct union_find {
	uint32_t *parent;	/* never greater than the element */
	uint32_t n;
};

void union_find_init(struct union_find *c, uint32_t n);	/* n sets of one */
void union_find_clear(struct union_find *c);

/* The least element of i's set; shortens the way for the next one. */
static inline uint32_t
union_find_first(struct union_find *c, uint32_t i)
{
	uint32_t *p = c->parent;

	while (p[i] != i)
		i = p[i] = p[p[i]];
	return i;
}

/* One set of two; 0 when they were one already. */
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
