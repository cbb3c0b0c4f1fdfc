/*
 * join.c - candidates to clusters
 *
 * All pairs of a bucket are candidates; prefix_filter.c skips those that
 * cannot be similar.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dedup/dedup_priv.h"

void
dedup_clusters_clear(struct clusters *c)
{
	free(c->size);
	free(c->second);
	free(c->copy);
	free(c->kept);
	free(c->kept_text);
}

static int
join_buckets(struct members *m, struct pairs *p, struct err *e)
{
	struct bucket b = {0};
	const uint32_t *doc;
	size_t n, i;
	int r;

	if (extsort_rewind(m->bands, e))
		return -1;
	while ((r = extsort_group(m->bands, &doc, &n, e)) > 0) {
		for (b.n = i = 0; i < n; i++)
			dedup_bucket_add(&b, dedup_member(m, doc[i]));
		r = dedup_bucket_join(p, &b, e);
		if (r)
			break;
	}
	free(b.v);
	return r;
}

/* --direct: unlike the first of its cluster, but like a reference? */
static int
find_ref(struct pairs *p, uint32_t i, struct err *e)
{
	uint32_t same = p->m[i].same, nref = p->corpus->nref;
	uint32_t ref = p->m[same].doc < nref ? same : p->ref[same];

	p->ref[i] = NOT;
	if (p->m[i].sim >= p->o->threshold || p->m[i].doc < nref || ref == NOT)
		return 0;
	p->ref[i] = ref;
	return dedup_pairs_measure(p, i, ref, e);
}

uint32_t *
dedup_no_members(uint32_t n)
{
	uint32_t *v = xreallocarray(NULL, n, sizeof(*v));

	memset(v, 0xff, n * sizeof(*v));
	return v;
}

/* Join equal texts; --drop-all asks for the second as well. */
static void
join_copies(struct pairs *p, struct clusters *c)
{
	uint32_t i, first;

	if (p->o->drop_all && p->o->exact)
		c->copy = dedup_no_members(p->n);
	for (i = 0; i < p->n; i++) {
		first = p->m[i].exact;
		if (first == i)
			continue;
		union_find_join(&p->near, first, i);
		if (c->copy && c->copy[first] == NOT)
			c->copy[first] = i;
	}
}

/* Roots in one step, sizes, second members, those kept, similarities. */
static int
finish(struct pairs *p, struct clusters *c, int apart, struct err *e)
{
	uint32_t i, first;

	c->size = xcalloc((size_t)p->n + 1, sizeof(*c->size));
	c->second = xcalloc((size_t)p->n + 1, sizeof(*c->second));
	join_copies(p, c);
	for (i = 0; i < p->n; i++) {
		first = union_find_first(&p->near, i);
		p->near.parent[i] = first;
		if (c->size[first]++ == 1)
			c->second[first] = i;
		if (apart && p->m[i].exact == i &&
		    !(p->corpus->flag[p->m[i].doc] & DOC_WORDS))
			c->size[first] += p->m[i].copies - 1;
	}
	dedup_keep_choose(p, c);
	for (i = 0; i < p->n; i++) {
		first = dedup_kept(c->kept, p->near.parent[i]);
		if (first == i)
			continue;
		if (dedup_pairs_measure(p, i, first, e) ||
		    (p->ref && find_ref(p, i, e)))
			return -1;
	}
	for (i = 0; i < p->n; i++) {
		c->n += c->size[i] > 1;
		if (c->size[i] > c->largest)
			c->largest = c->size[i];
	}
	return 0;
}

int
dedup_join(struct dedup *d, struct err *e)
{
	struct pairs *p = &d->pairs;
	int r = 0;

	if (!p->n)
		return 0;
	if (d->o->near) {
		if (d->o->direct && d->corpus.nref)
			p->ref = dedup_no_members(p->n);
		r = d->o->apply ? dedup_apply_join(&d->applied, p, e) :
			join_buckets(&d->members, p, e);
	}
	return r ? r : finish(p, &d->clusters, d->apart, e);
}
