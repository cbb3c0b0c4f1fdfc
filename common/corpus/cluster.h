/*
 * cluster.h - which documents are one: union-find, first one kept
 *
 * Elements are numbered in input order; the root of a set is its least
 * element, whatever the order of the unions.
 */
#ifndef ASSAY_CLUSTER_H
#define ASSAY_CLUSTER_H

#include <stdint.h>

struct cluster {
	uint32_t *parent;	/* never greater than the element */
	uint32_t n;
};

void cluster_init(struct cluster *c, uint32_t n);	/* n sets of one */
void cluster_clear(struct cluster *c);

/* The least element of i's set; shortens the way for the next one. */
static inline uint32_t
cluster_first(struct cluster *c, uint32_t i)
{
	uint32_t *p = c->parent;

	while (p[i] != i)
		i = p[i] = p[p[i]];
	return i;
}

/* One set of two; 0 when they were one already. */
static inline int
cluster_join(struct cluster *c, uint32_t a, uint32_t b)
{
	a = cluster_first(c, a);
	b = cluster_first(c, b);
	if (a < b)
		c->parent[b] = a;
	else
		c->parent[a] = b;
	return a != b;
}

#endif
