/*
 * bpe_pairs.c - pairs of neighbouring symbols by key, for bpe_train.c
 */
#include "tokenizer/bpe_pairs_priv.h"

#include <stdlib.h>

#include "base/mem.h"

void
bpe_pairs_init(struct bpe_pairs *h, struct budget *mem, unsigned bits)
{
	h->v = xreallocarray(NULL, (size_t)1 << bits, sizeof *h->v);
	for (size_t i = 0; i < (size_t)1 << bits; i++)
		h->v[i].key = PAIR_NONE;
	h->n = 0;
	h->bits = bits;
	h->mem = mem;
	budget_add(mem, sizeof *h->v << bits);
}

void
bpe_pairs_clear(struct bpe_pairs *h)
{
	if (!h->v)
		return;
	h->mem->now -= sizeof *h->v << h->bits;
	free(h->v);
	h->v = NULL;
}

static void
grow(struct bpe_pairs *h)
{
	struct bpe_pairs to;

	bpe_pairs_init(&to, h->mem, h->bits + 1);
	for (size_t i = 0; i < (size_t)1 << h->bits; i++)
		if (h->v[i].key != PAIR_NONE)
			*bpe_pairs_slot(&to, h->v[i].key) = h->v[i];
	to.n = h->n;
	bpe_pairs_clear(h);
	*h = to;
}

struct pair *
bpe_pairs_add(struct bpe_pairs *h, uint64_t key)
{
	struct pair *p = bpe_pairs_slot(h, key);

	if (p->key == key)
		return p;
	if (4 * (h->n + 1) > (size_t)3 << h->bits) {
		grow(h);
		p = bpe_pairs_slot(h, key);
	}
	h->n++;
	*p = (struct pair){.key = key};
	return p;
}
