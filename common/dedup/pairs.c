/*
 * pairs.c - candidate pairs: verified, then joined
 *
 * All pairs of a bucket are candidates; prefix_filter.c leaves out those that
 * cannot be similar.  Of documents with one set only the first stands in it,
 * and a pair that is joined already need not be looked at: the clusters are
 * the same.  So a bucket of k documents that are all alike costs k - 1
 * comparisons.  A comparison is given up as soon as too little can be common.
 */
#include "dedup/dedup_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dedup/edit_distance.h"

enum { FAILED = 1 << 20 };	/* pairs remembered */

/* n elements of the sets spool from at on, in place or in b. */
static const uint64_t *
load(struct dedup *d, uint64_t at, size_t n, struct buf *b, struct err *e)
{
	const void *p = spool_view(d->sets, 8 * at, 8 * n);

	if (p)
		return p;
	buf_reset(b);
	p = buf_reserve(b, 8 * n + 8);
	return spool_read(d->sets, 8 * at, b->p, 8 * n, e) ? NULL : p;
}

const uint64_t *
dedup_set(struct dedup *d, uint32_t member, int row, struct err *e)
{
	const struct member *m = &d->m[member];

	return load(d, m->set, m->nset, &d->row[row], e);
}

/* 1, 0, or -1: error. */
static int
edits(struct dedup *d, uint32_t a, uint32_t b, struct err *e)
{
	const struct member *x = &d->m[a], *y = &d->m[b];
	const uint64_t *p, *q;

	p = load(d, x->words, x->nwords, &d->row[2], e);
	q = p ? load(d, y->words, y->nwords, &d->row[3], e) : NULL;
	if (!q)
		return -1;
	return edit_similar(p, x->nwords, q, y->nwords, d->o->edit_sim);
}

/* 1 or 0: is Jaccard >= t; the similarity itself when it is. */
static int
similar(const uint64_t *a, size_t na, const uint64_t *b, size_t nb, double t)
{
	size_t i = 0, k = 0, n = 0, stop;
	double least = t / (1 + t) * (double)(na + nb) - 1;

	while (i < na && k < nb) {
		stop = i + 256 < na ? i + 256 : na;
		while (i < stop && k < nb) {
			uint64_t x = a[i], y = b[k];

			n += x == y;
			i += x <= y;
			k += y <= x;
		}
		if ((double)(n + (na - i < nb - k ? na - i : nb - k)) < least)
			return 0;
	}
	return (double)n / (double)(na + nb - n) >= t;
}

/* 1 when they are similar, 0, -1 error. */
static int
verify(struct dedup *d, uint32_t a, uint32_t b, struct err *e)
{
	const struct member *x = &d->m[a], *y = &d->m[b];
	uint64_t pair = (uint64_t)a << 32 | b;
	uint64_t *failed = &d->failed[pair * UINT64_C(0x9e3779b97f4a7c17) >>
				      44];
	double small = x->nset < y->nset ? x->nset : y->nset;
	double large = x->nset < y->nset ? y->nset : x->nset;
	const uint64_t *p, *q;
	int r = 1;

	if (*failed == pair)
		return 0;
	d->candidates++;
	*failed = pair;
	if (small / large < d->o->threshold)
		return 0;
	p = dedup_set(d, a, 0, e);
	q = p ? dedup_set(d, b, 1, e) : NULL;
	if (!q)
		return -1;
	if (!similar(p, x->nset, q, y->nset, d->o->threshold))
		return 0;
	if (d->o->has_edit)
		r = edits(d, a, b, e);
	d->verified += r > 0;
	return r;
}

/* For --direct: a is a reference, and the first known that b resembles. */
static int
is_earlier_ref(const struct dedup *d, uint32_t a, uint32_t b)
{
	return d->ref && d->m[a].doc < d->nref && d->m[b].doc >= d->nref &&
		a < d->ref[b];
}

int
dedup_compare(struct dedup *d, uint32_t a, uint32_t b, struct err *e)
{
	int ref = is_earlier_ref(d, a, b), r;

	if (!ref &&
	    union_find_first(&d->near, a) == union_find_first(&d->near, b))
		return 0;
	r = verify(d, a, b, e);
	if (r > 0 && ref)
		d->ref[b] = a;
	return r;
}

void
members_add(struct members *b, uint32_t member)
{
	if (2 * b->n + 2 > b->cap) {
		b->cap = 2 * b->cap + 64;
		b->v = xreallocarray(b->v, b->cap, sizeof(*b->v));
	}
	b->v[b->n++] = member;
}

static int
join_buckets(struct dedup *d, struct err *e)
{
	struct members b = {0};
	const uint32_t *doc;
	size_t n, i;
	int r;

	if (extsort_rewind(d->bands, e))
		return -1;
	while ((r = extsort_group(d->bands, &doc, &n, e)) > 0) {
		for (b.n = i = 0; i < n; i++)
			members_add(&b, dedup_member(d, doc[i]));
		r = dedup_join_bucket(d, b.v, b.n, e);
		if (r)
			break;
	}
	free(b.v);
	return r;
}

/*
 * The similarity of i to another member; unknown where they fail the second
 * test, so that --direct keeps i.
 */
static int
measure(struct dedup *d, uint32_t i, uint32_t other, struct err *e)
{
	uint32_t a = d->m[other].same, b = d->m[i].same;
	const struct member *x = &d->m[a], *y = &d->m[b];
	const uint64_t *p, *q;
	int r = 1;

	d->m[i].sim = -1;
	if (!d->o->near || !d->o->verify || !x->nset || !y->nset)
		return 0;
	p = dedup_set(d, a, 0, e);
	q = p ? dedup_set(d, b, 1, e) : NULL;
	if (!q)
		return -1;
	d->m[i].sim = x == y ? 1 : set_jaccard(p, x->nset, q, y->nset);
	if (d->o->has_edit && d->o->direct && x != y)
		r = edits(d, a, b, e);
	if (r == 0)
		d->m[i].sim = -1;
	return r < 0 ? -1 : 0;
}

/* --direct: not like the first of its cluster, but like a reference? */
static int
find_ref(struct dedup *d, uint32_t i, struct err *e)
{
	uint32_t same = d->m[i].same;
	uint32_t ref = d->m[same].doc < d->nref ? same : d->ref[same];

	d->ref[i] = NOT;
	if (d->m[i].sim >= d->o->threshold || d->m[i].doc < d->nref ||
	    ref == NOT)
		return 0;
	d->ref[i] = ref;
	return measure(d, i, ref, e);
}

/* Of equal texts the first; --drop-all asks for the second as well. */
static void
join_copies(struct dedup *d)
{
	uint32_t i, first;

	if (d->o->drop_all && d->o->exact) {
		d->copy = xreallocarray(NULL, d->nm, sizeof(*d->copy));
		memset(d->copy, 0xff, d->nm * sizeof(*d->copy));
	}
	for (i = 0; i < d->nm; i++) {
		first = d->m[i].exact;
		if (first == i)
			continue;
		union_find_join(&d->near, first, i);
		if (d->copy && d->copy[first] == NOT)
			d->copy[first] = i;
	}
}

/* Roots at once, sizes, seconds, similarities. */
static int
finish(struct dedup *d, struct err *e)
{
	uint32_t i, first;

	d->size = xcalloc((size_t)d->nm + 1, sizeof(*d->size));
	d->second = xcalloc((size_t)d->nm + 1, sizeof(*d->second));
	join_copies(d);
	for (i = 0; i < d->nm; i++) {
		first = union_find_first(&d->near, i);
		d->near.parent[i] = first;
		if (d->size[first]++ == 1)
			d->second[first] = i;
		if (first == i)
			continue;
		if (measure(d, i, first, e) ||
		    (d->ref && find_ref(d, i, e)))
			return -1;
	}
	for (i = 0; i < d->nm; i++) {
		d->clusters += d->size[i] > 1;
		if (d->size[i] > d->largest)
			d->largest = d->size[i];
	}
	return 0;
}

int
dedup_join(struct dedup *d, struct err *e)
{
	int r = 0;

	if (!d->nm)
		return 0;
	if (d->o->near) {
		d->failed = xcalloc(FAILED, sizeof(*d->failed));
		if (d->o->direct && d->nref) {
			d->ref = xreallocarray(NULL, d->nm, sizeof(*d->ref));
			memset(d->ref, 0xff, d->nm * sizeof(*d->ref));
		}
		r = d->o->apply ? dedup_join_applied(d, e) :
			join_buckets(d, e);
	}
	return r ? r : finish(d, e);
}
