/*
 * members.c - documents that share a key: they may be duplicates
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "dedup/dedup_priv.h"

void
dedup_members_open(struct members *m, size_t mem)
{
	m->exact = extsort_new(mem / 8);
	m->bands = extsort_new(mem / 2);
}

void
dedup_members_clear(struct members *m)
{
	extsort_free(m->exact);
	extsort_free(m->bands);
	free(m->v);
}

uint32_t
dedup_member(const struct members *m, uint32_t doc)
{
	uint32_t i;

	FIND_FIRST(i, 0, m->n, m->v[i].doc >= doc);
	return i < m->n && m->v[i].doc == doc ? i : NOT;
}

void
dedup_members_restart(struct members *m, struct corpus *c)
{
	uint32_t i;

	for (i = 0; i < c->n; i++)
		if (c->flag[i] & DOC_COPY)
			c->flag[i] ^= DOC_COPY | DOC_MEMBER;
	free(m->v);
	m->v = NULL;
	m->n = 0;
}

static int
mark_groups(struct corpus *c, struct extsort *s, int apart, struct err *e)
{
	const uint32_t *doc;
	size_t n, i;
	int r;

	if (extsort_rewind(s, e))
		return -1;
	while ((r = extsort_group(s, &doc, &n, e)) > 0)
		for (i = 0; i < n; i++)
			c->flag[doc[i]] |= apart && i &&
				!(c->flag[doc[i]] & DOC_WORDS) ? DOC_COPY :
				DOC_MEMBER;
	return r;
}

/* The first member with a key represents all until they are compared. */
static int
exact_groups(struct members *m, struct err *e)
{
	const uint32_t *doc;
	uint32_t first, k;
	size_t n, i;
	int r;

	if (extsort_rewind(m->exact, e))
		return -1;
	while ((r = extsort_group(m->exact, &doc, &n, e)) > 0) {
		first = dedup_member(m, doc[0]);
		m->v[first].copies = (uint32_t)n;
		for (i = 1; i < n; i++) {
			k = dedup_member(m, doc[i]);
			if (k != NOT)
				m->v[k].exact = first;
		}
	}
	return r;
}

int
dedup_members_find(struct members *m, struct corpus *c, int apart,
		   struct err *e)
{
	uint32_t i, n = 0;

	if (mark_groups(c, m->exact, apart, e) ||
	    mark_groups(c, m->bands, 0, e))
		return -1;
	for (i = 0; i < c->n; i++)
		n += (c->flag[i] & DOC_MEMBER) != 0;
	m->v = xcalloc((size_t)n + 1, sizeof(*m->v));
	for (i = 0; i < c->n; i++) {
		if (!(c->flag[i] & DOC_MEMBER))
			continue;
		m->v[m->n] = (struct member){
			.doc = i, .exact = m->n, .same = m->n, .copies = 1
		};
		m->n++;
	}
	return exact_groups(m, e);
}
