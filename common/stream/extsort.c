/*
 * extsort.c - external sort of (key, document) records
 *
 * In memory: American flag sort (McIlroy, Bostic and McIlroy 1993), in place,
 * by each of the 12 bytes from the most significant one, with insertion sort
 * for small parts.  Runs: each is read through a window, and a heap yields the
 * least of their heads.
 */
#include "stream/extsort.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/mem.h"
#include "stream/spool.h"

enum { SMALL = 32, BYTES = 12, WINDOW_MIN = 1024 };

struct record {
	uint32_t high, low, doc;	/* of the key */
};

/* The next record of a run. */
struct head {
	struct record x;
	uint32_t run;
};

struct run {
	uint64_t next, end;	/* of the spool, in records */
	struct record *window;
	size_t at, n;
};

struct extsort {
	struct record *v;	/* what is not in a run */
	size_t n, cap, max, at;
	int sorted;
	struct spool *spool;	/* NULL: no run */
	struct run *run;
	struct head *heap;
	size_t nrun, nheap, window;
	struct record held;	/* extsort_group() read one ahead */
	int holds;
	uint32_t *group;
	size_t group_cap;
};

struct extsort *
extsort_new(size_t mem)
{
	struct extsort *s = xcalloc(1, sizeof(*s));

	s->max = mem / sizeof(*s->v);
	if (s->max < WINDOW_MIN)
		s->max = WINDOW_MIN;
	return s;
}

void
extsort_free(struct extsort *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->nrun; i++)
		free(s->run[i].window);
	free(s->run);
	free(s->heap);
	free(s->v);
	free(s->group);
	spool_free(s->spool);
	free(s);
}

static int
less(const struct record *a, const struct record *b)
{
	if (a->high != b->high)
		return a->high < b->high;
	if (a->low != b->low)
		return a->low < b->low;
	return a->doc < b->doc;
}

static unsigned
byte_of(const struct record *r, unsigned depth)
{
	uint32_t word = depth < 4 ? r->high : depth < 8 ? r->low : r->doc;

	return word >> (24 - 8 * (depth & 3)) & 255;
}

static void
small_sort(struct record *v, size_t n)
{
	size_t i, k;

	for (i = 1; i < n; i++) {
		struct record x = v[i];

		for (k = i; k && less(&x, &v[k - 1]); k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

static void
flag_sort(struct record *v, size_t n, unsigned depth)
{
	size_t count[256], at[256], i, sum;
	unsigned b;

	for (; n > SMALL && depth < BYTES; depth++) {
		memset(count, 0, sizeof(count));
		for (i = 0; i < n; i++)
			count[byte_of(&v[i], depth)]++;
		if (count[byte_of(&v[0], depth)] == n)
			continue;
		for (b = 0, sum = 0; b < 256; b++) {
			at[b] = sum;
			sum += count[b];
		}
		for (b = 0, sum = 0; b < 256; b++) {
			sum += count[b];
			while (at[b] < sum) {
				struct record x = v[at[b]], y;
				unsigned to = byte_of(&x, depth);

				while (to != b) {
					y = v[at[to]];
					v[at[to]++] = x;
					x = y;
					to = byte_of(&x, depth);
				}
				v[at[b]++] = x;
			}
		}
		for (b = 0, sum = 0; b < 256; sum += count[b++])
			flag_sort(v + sum, count[b], depth + 1);
		return;
	}
	if (depth < BYTES)
		small_sort(v, n);
}

static int
spill(struct extsort *s, struct err *e)
{
	struct run *r;

	flag_sort(s->v, s->n, 0);
	if (!s->spool)
		s->spool = spool_new(0);
	s->run = xreallocarray(s->run, s->nrun + 1, sizeof(*s->run));
	r = &s->run[s->nrun++];
	memset(r, 0, sizeof(*r));
	r->end = spool_size(s->spool) / sizeof(*s->v) + s->n;
	if (spool_append(s->spool, s->v, s->n * sizeof(*s->v), e))
		return -1;
	s->n = 0;
	return 0;
}

int
extsort_put(struct extsort *s, uint64_t key, uint32_t doc, struct err *e)
{
	if (s->n == s->max && spill(s, e))
		return -1;
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap + s->cap / 2 : 1024;
		if (s->cap > s->max)
			s->cap = s->max;
		s->v = xreallocarray(s->v, s->cap, sizeof(*s->v));
	}
	s->v[s->n++] = (struct record){
		(uint32_t)(key >> 32), (uint32_t)key, doc
	};
	return 0;
}

static inline int
head_less(struct head a, struct head b)
{
	return less(&a.x, &b.x);
}
HEAP(heads, struct head, head_less)

/* Put the next record of a run, if there is one, on the heap. */
static int
put_head(struct extsort *s, uint32_t i, struct err *e)
{
	struct run *r = &s->run[i];
	uint64_t left = r->end - r->next;

	if (r->at == r->n) {
		r->at = 0;
		r->n = left < s->window ? (size_t)left : s->window;
		if (r->n == 0)
			return 0;
		if (spool_read(s->spool, r->next * sizeof(*r->window),
			       r->window, r->n * sizeof(*r->window), e))
			return -1;
		r->next += r->n;
	}
	heads_push(s->heap, s->nheap++, (struct head){r->window[r->at++], i});
	return 0;
}

static int
rewind_runs(struct extsort *s, struct err *e)
{
	uint64_t from = 0;
	uint32_t i;

	for (i = 0, s->nheap = 0; i < s->nrun; i++) {
		struct run *r = &s->run[i];

		r->next = from;
		from = r->end;
		if (!r->window)
			r->window = xreallocarray(NULL, s->window,
						  sizeof(*r->window));
		r->at = r->n = 0;
		if (put_head(s, i, e))
			return -1;
	}
	return 0;
}

int
extsort_rewind(struct extsort *s, struct err *e)
{
	s->at = 0;
	s->holds = 0;
	if (!s->sorted && s->nrun) {
		if (spill(s, e))
			return -1;
		free(s->v);
		s->v = NULL;
		s->heap = xreallocarray(NULL, s->nrun, sizeof(*s->heap));
		s->window = s->max / s->nrun;
		if (s->window < WINDOW_MIN)
			s->window = WINDOW_MIN;
	} else if (!s->sorted) {
		flag_sort(s->v, s->n, 0);
	}
	s->sorted = 1;
	return rewind_runs(s, e);
}

static int
next(struct extsort *s, struct record *x, struct err *e)
{
	struct head h;

	if (s->holds) {
		*x = s->held;
		s->holds = 0;
		return 1;
	}
	if (!s->nrun) {
		if (s->at == s->n)
			return 0;
		*x = s->v[s->at++];
		return 1;
	}
	if (s->nheap == 0)
		return 0;
	h = heads_pop(s->heap, s->nheap--);
	*x = h.x;
	return put_head(s, h.run, e) ? -1 : 1;
}

static void
group_add(struct extsort *s, size_t *n, uint32_t doc)
{
	if (*n && s->group[*n - 1] == doc)
		return;
	GROW(s->group, s->group_cap, *n + 1);
	s->group[(*n)++] = doc;
}

int
extsort_group(struct extsort *s, const uint32_t **doc, size_t *n,
	      struct err *e)
{
	struct record first, x;
	int r;

	while ((r = next(s, &first, e)) > 0) {
		*n = 0;
		group_add(s, n, first.doc);
		while ((r = next(s, &x, e)) > 0 && x.high == first.high &&
		       x.low == first.low)
			group_add(s, n, x.doc);
		if (r < 0)
			return -1;
		if (r > 0) {
			s->held = x;
			s->holds = 1;
		}
		*doc = s->group;
		if (*n > 1)
			return 1;
	}
	return r;
}

size_t
extsort_runs(const struct extsort *s)
{
	return s->nrun;
}
