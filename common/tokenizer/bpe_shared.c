/*
 * bpe_shared.c - the pieces that all threads have in common
 */
#include "tokenizer/bpe_shared.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct pool *
pool_new(size_t bytes)
{
	struct pool *p = xcalloc(1, sizeof(*p));
	size_t n = 2;

	/* eight ninths for the places, as far as a power of two allows */
	while (2 * n * sizeof(*p->place) <= bytes / 9 * 8)
		n *= 2;
	p->mask = n - 2;
	p->place = mem_pages(n * sizeof(*p->place));
	p->area_cap = bytes / 9 / sizeof(*p->area);
	p->area = mem_pages(p->area_cap * sizeof(*p->area));
	return p;
}

void
pool_free(struct pool *p)
{
	if (!p)
		return;
	mem_pages_free(p->place, (p->mask + 2) * sizeof(*p->place));
	mem_pages_free(p->area, p->area_cap * sizeof(*p->area));
	free(p);
}

/* The first free place is now ours; NULL: there is none. */
static struct place *
take_place(struct place *x, struct key key)
{
	uint64_t was;

	for (int i = 0; i < 2; i++, x++) {
		was = 0;
		if (atomic_compare_exchange_strong(&x->hi, &was, POOL_BUSY))
			return x;
		/* Another thread was quicker with the same piece. */
		if (place_is(x, key))
			return NULL;
	}
	return NULL;
}

void
pool_add(struct pool *p, struct place *x, struct key key, const uint32_t *id,
	 size_t n)
{
	size_t at = 0;

	if (n == 0 || pool_full(p, x))
		return;
	if (n > IDS_INLINE) {
		at = atomic_fetch_add(&p->area_n, n);
		if (at + n > p->area_cap)
			return;
	}
	x = take_place(x, key);
	if (!x)
		return;
	atomic_store_explicit(&x->lo, key.lo, memory_order_relaxed);
	if (n <= IDS_INLINE) {
		memcpy(x->id, id, n * sizeof(*id));
		x->id[0] |= (uint32_t)(n - 1) << IDS_SHIFT;
	} else {
		memcpy(p->area + at, id, n * sizeof(*id));
		x->id[0] = (uint32_t)IDS_MORE << IDS_SHIFT | (uint32_t)n;
		x->id[1] = (uint32_t)at;
	}
	atomic_store_explicit(&x->hi, key.hi, memory_order_release);
}
