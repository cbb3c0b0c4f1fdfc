/*
 * bpe_shared.c - pre-tokens and their ids, shared by all threads
 */
#include "tokenizer/bpe_shared_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct bpe_shared *
bpe_shared_new(size_t bytes)
{
	struct bpe_shared *p = xcalloc(1, sizeof(*p));
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
bpe_shared_free(struct bpe_shared *p)
{
	if (!p)
		return;
	mem_pages_free(p->place, (p->mask + 2) * sizeof(*p->place));
	mem_pages_free(p->area, p->area_cap * sizeof(*p->area));
	free(p);
}

/* Claim the first free place; NULL: there is none. */
static struct place *
take_place(struct place *x, struct pretoken_key key)
{
	uint64_t was;

	for (int i = 0; i < 2; i++, x++) {
		was = 0;
		if (atomic_compare_exchange_strong(&x->hi, &was, SHARED_BUSY))
			return x;
		/* Another thread has just added this pre-token. */
		if (place_is(x, key))
			return NULL;
	}
	return NULL;
}

void
bpe_shared_add(struct bpe_shared *p, struct place *x, struct pretoken_key key,
	       const uint32_t *id, size_t n)
{
	size_t at = 0;

	if (n == 0 || bpe_shared_full(p, x))
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
	packed_set(x->id, p->area, at, id, n);
	atomic_store_explicit(&x->hi, key.hi, memory_order_release);
}
