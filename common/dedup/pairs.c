/*
 * pairs.c - one candidate pair, verified
 *
 * A pair that is joined already is not compared: the clusters are the same.
 * So a bucket of k documents that are all alike costs k - 1 comparisons.  A
 * comparison stops as soon as too little can be common.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dedup/dedup_priv.h"
#include "dedup/edit_distance.h"

enum { FAILED = 1 << 20 };	/* pairs remembered */

void
dedup_pairs_open(struct pairs *p, const struct dedup_opts *o,
		 const struct corpus *c, size_t mem)
{
	p->o = o;
	p->corpus = c;
	p->mem = mem;
	p->sets = spool_new(mem / 4 - mem / 16);	/* the index: 1/16 */
}

void
dedup_pairs_start(struct pairs *p, const struct members *m)
{
	p->m = m->v;
	p->n = m->n;
	union_find_init(&p->near, m->n);
}

void
dedup_pairs_clear(struct pairs *p)
{
	size_t i;

	spool_free(p->sets);
	for (i = 0; i < 4; i++)
		buf_clear(&p->row[i]);
	union_find_clear(&p->near);
	free(p->failed);
	free(p->ref);
}

/* n elements of the sets spool at `at`, in place or in b. */
static const uint64_t *
load(struct pairs *p, uint64_t at, size_t n, struct buf *b, struct err *e)
{
	const void *v = spool_view(p->sets, 8 * at, 8 * n);

	if (v)
		return v;
	buf_reset(b);
	v = buf_reserve(b, 8 * n + 8);
	return spool_read(p->sets, 8 * at, b->p, 8 * n, e) ? NULL : v;
}

const uint64_t *
dedup_pairs_set(struct pairs *p, uint32_t member, int row,
		struct err *e)
{
	const struct member *m = &p->m[member];

	return load(p, m->set, m->nset, &p->row[row], e);
}

/* 1, 0, or -1: error. */
static int
edits(struct pairs *p, uint32_t a, uint32_t b, struct err *e)
{
	const struct member *x = &p->m[a], *y = &p->m[b];
	const uint64_t *v, *w;

	v = load(p, x->words, x->nwords, &p->row[2], e);
	w = v ? load(p, y->words, y->nwords, &p->row[3], e) : NULL;
	if (!w)
		return -1;
	return edit_similar(v, x->nwords, w, y->nwords, p->o->edit_sim);
}

int
dedup_similar(const uint64_t *a, size_t na, const uint64_t *b, size_t nb,
	      double t)
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

/* 1: similar, 0: not, -1: error. */
static int
verify(struct pairs *p, uint32_t a, uint32_t b, struct err *e)
{
	const struct member *x = &p->m[a], *y = &p->m[b];
	uint64_t pair = (uint64_t)a << 32 | b;
	uint64_t *failed;
	double small = x->nset < y->nset ? x->nset : y->nset;
	double large = x->nset < y->nset ? y->nset : x->nset;
	const uint64_t *v, *w;
	int r = 1;

	if (!p->failed)
		p->failed = xcalloc(FAILED, sizeof(*p->failed));
	failed = &p->failed[pair * UINT64_C(0x9e3779b97f4a7c17) >> 44];
	if (*failed == pair)
		return 0;
	p->compared++;
	*failed = pair;
	if (small / large < p->o->threshold)
		return 0;
	v = dedup_pairs_set(p, a, 0, e);
	w = v ? dedup_pairs_set(p, b, 1, e) : NULL;
	if (!w)
		return -1;
	if (!dedup_similar(v, x->nset, w, y->nset, p->o->threshold))
		return 0;
	if (p->o->has_edit)
		r = edits(p, a, b, e);
	p->similar += r > 0;
	return r;
}

/* --direct: a is a reference, before any other known to be like b. */
static int
is_earlier_ref(const struct pairs *p, uint32_t a, uint32_t b)
{
	uint32_t nref = p->corpus->nref;

	return p->ref && p->m[a].doc < nref && p->m[b].doc >= nref &&
		a < p->ref[b];
}

int
dedup_pairs_join(struct pairs *p, uint32_t a, uint32_t b, struct err *e)
{
	int ref, r;

	if (a > b)
		return dedup_pairs_join(p, b, a, e);
	ref = is_earlier_ref(p, a, b);
	if (!ref && union_find_first(&p->near, a) ==
	    union_find_first(&p->near, b))
		return 0;
	r = verify(p, a, b, e);
	if (r > 0 && ref)
		p->ref[b] = a;
	return r > 0 ? union_find_join(&p->near, a, b) : r;
}

/*
 * The similarity of i to another member; unknown where they fail the test of
 * edit similarity, so that --direct keeps i.
 */
int
dedup_pairs_measure(struct pairs *p, uint32_t i, uint32_t other,
		    struct err *e)
{
	uint32_t a = p->m[other].same, b = p->m[i].same;
	const struct member *x = &p->m[a], *y = &p->m[b];
	const uint64_t *v, *w;
	int r = 1;

	p->m[i].sim = -1;
	if (!p->o->near || !p->o->verify || !x->nset || !y->nset)
		return 0;
	v = dedup_pairs_set(p, a, 0, e);
	w = v ? dedup_pairs_set(p, b, 1, e) : NULL;
	if (!w)
		return -1;
	p->m[i].sim = x == y ? 1 : set_jaccard(v, x->nset, w, y->nset);
	if (p->o->has_edit && p->o->direct && x != y)
		r = edits(p, a, b, e);
	if (r == 0)
		p->m[i].sim = -1;
	return r < 0 ? -1 : 0;
}
