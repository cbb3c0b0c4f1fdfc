/*
 * tally.c - which examples are dirty, and in how many documents an n-gram is
 *
 * Only the few documents with hits arrive here.  Their hits are grouped by
 * n-gram, and the positions of each n-gram lead to the examples.  Unless a
 * list is wanted, an n-gram that was met before is not followed again.
 */
#include "contam/tally.h"

#include <stdlib.h>

#include "base/mem.h"

void
tally_init(struct tally *t, struct benchmark_index *x, uint64_t max_df)
{
	*t = (struct tally){.x = x, .max_df = max_df};
	t->met = xcalloc(x->positions + 1, 1);
	if (max_df)
		t->df = xcalloc(x->positions + 1, sizeof(*t->df));
}

void
tally_clear(struct tally *t)
{
	free(t->df);
	free(t->met);
	free(t->tmp);
	memset(t, 0, sizeof(*t));
}

/* --- orders --- */

static int
order(uint64_t a, uint64_t b, uint64_t then_a, uint64_t then_b)
{
	if (a == b)
		return (then_a > then_b) - (then_a < then_b);
	return a < b ? -1 : 1;
}

static int
by_gram(const void *a, const void *b)
{
	const struct ngram_hit *x = a, *y = b;

	return order(x->gram, y->gram, x->start, y->start);
}

static int
by_start(const void *a, const void *b)
{
	const struct ngram_hit *x = a, *y = b;

	return order(x->start, y->start, x->gram, y->gram);
}

static int
matches_by_example(const void *a, const void *b)
{
	const struct tally_match *x = a, *y = b;

	return order(x->ex, y->ex, x->start, y->start);
}

static int
matches_by_start(const void *a, const void *b)
{
	const struct tally_match *x = a, *y = b;

	return order(x->start, y->start, x->ex, y->ex);
}

static int
ignored_by_docs(const void *a, const void *b)
{
	const struct tally_ignored *x = a, *y = b;

	return order(y->docs, x->docs, x->gram, y->gram);
}

/* A copy of the hits, by n-gram. */
static const struct ngram_hit *
grouped(struct tally *t, const struct ngram_hits *h)
{
	GROW(t->tmp, t->tmpcap, h->n);
	memcpy(t->tmp, h->v, h->n * sizeof(*h->v));
	qsort(t->tmp, h->n, sizeof(*t->tmp), by_gram);
	return t->tmp;
}

/* --- document frequency --- */

void
tally_count(struct tally *t, const struct ngram_hits *h)
{
	const struct ngram_hit *v;
	size_t i;

	if (!h->n)
		return;
	v = grouped(t, h);
	for (i = 0; i < h->n; i++)
		if (!i || v[i].gram != v[i - 1].gram)
			t->df[v[i].gram] += t->df[v[i].gram] < UINT32_MAX;
}

static int
is_ignored(const struct tally *t, uint32_t gram)
{
	return t->df && t->df[gram] > t->max_df;
}

struct tally_ignored *
tally_ignored(const struct tally *t, size_t *n)
{
	struct tally_ignored *v = NULL;
	size_t i, cap = 0;

	for (*n = i = 0; t->df && i < t->x->positions; i++) {
		if (!is_ignored(t, (uint32_t)i))
			continue;
		GROW(v, cap, *n + 1);
		v[(*n)++] = (struct tally_ignored){t->df[i], (uint32_t)i};
	}
	if (*n)
		qsort(v, *n, sizeof(*v), ignored_by_docs);
	return v;
}

/* --- dirty examples --- */

/* Mark the examples with one n-gram; m has its range in the document. */
static void
follow(struct tally *t, uint32_t gram, struct tally_match m,
       struct tally_matches *out)
{
	size_t last = SIZE_MAX;
	uint32_t at;

	if (t->met[gram] && !out)
		return;
	t->met[gram] = 1;
	for (at = gram; at != NGRAM_NONE; at = ngram_next(t->x->ngrams, at)) {
		m.ex = ngram_example(t->x->ngrams, at);
		if (m.ex == last)
			continue;
		last = m.ex;
		t->x->b.ex[m.ex].dirty = 1;
		if (!out)
			continue;
		GROW(out->v, out->cap, out->n + 1);
		out->v[out->n++] = m;
	}
}

/* One entry per example, from its first to its last n-gram. */
static void
merge(struct tally_matches *o)
{
	struct tally_match *to, *m;
	size_t i, n = 0;

	qsort(o->v, o->n, sizeof(*o->v), matches_by_example);
	for (i = 0; i < o->n; i++) {
		m = &o->v[i];
		to = n ? &o->v[n - 1] : NULL;
		if (!to || to->ex != m->ex) {
			o->v[n++] = *m;
			continue;
		}
		if (m->end > to->end)
			to->end = m->end;
		to->grams += m->grams;
	}
	o->n = n;
	qsort(o->v, o->n, sizeof(*o->v), matches_by_start);
}

void
tally_judge(struct tally *t, struct ngram_hits *h, struct tally_matches *out)
{
	const struct ngram_hit *v;
	size_t i, first, n = 0;

	if (out)
		out->n = 0;
	for (i = 0; i < h->n; i++)
		if (!is_ignored(t, h->v[i].gram))
			h->v[n++] = h->v[i];
	h->n = n;
	if (!n)
		return;
	v = grouped(t, h);
	for (first = i = 0; i < n; i++) {
		if (i + 1 < n && v[i + 1].gram == v[first].gram)
			continue;
		follow(t, v[first].gram, (struct tally_match){
			.start = v[first].start, .end = v[i].end,
			.grams = i + 1 - first,
		}, out);
		first = i + 1;
	}
	if (out && out->n)
		merge(out);
	qsort(h->v, n, sizeof(*h->v), by_start);
}
