/*
 * bpe_pairs_priv.h - pairs of neighbouring symbols by key, for bpe_train.c
 */
#ifndef ASSAY_BPE_PAIRS_PRIV_H
#define ASSAY_BPE_PAIRS_PRIV_H

#include <stddef.h>
#include <stdint.h>

/* Memory in use, counted against a limit. */
struct budget {
	uint64_t limit, now, peak;	/* limit 0: none */
	int over;		/* now passed the limit at some time */
};

static inline void
budget_add(struct budget *m, uint64_t n)
{
	m->now += n;
	if (m->now > m->peak)
		m->peak = m->now;
	if (m->limit && m->now > m->limit)
		m->over = 1;
}

#define PAIR_NONE (~(uint64_t)0)	/* key of an empty entry */

struct pair {
	uint64_t key;		/* left << 32 | right, or PAIR_NONE */
	uint64_t count;
	uint32_t *place;	/* [nplace] of the left symbol, ascending */
	uint64_t nplace;
};

struct bpe_pairs {		/* open addressing, linear probing */
	struct pair *v;		/* [1 << bits] */
	size_t n;
	unsigned bits;
	struct budget *mem;
};

void bpe_pairs_init(struct bpe_pairs *h, struct budget *mem, unsigned bits);
void bpe_pairs_clear(struct bpe_pairs *h);

/* The entry of a key, made with count 0 and no places if it is new. */
struct pair *bpe_pairs_add(struct bpe_pairs *h, uint64_t key);

static inline uint64_t
pair_key(uint32_t left, uint32_t right)
{
	return (uint64_t)left << 32 | right;
}

/* The entry of a key, or the empty one where it belongs. */
static inline struct pair *
bpe_pairs_slot(const struct bpe_pairs *h, uint64_t key)
{
	size_t mask = ((size_t)1 << h->bits) - 1;
	size_t i = (key * 0x9e3779b97f4a7c15u ^ key >> 29)
		* 0xbf58476d1ce4e5b9u >> (64 - h->bits);

	while (h->v[i].key != key && h->v[i].key != PAIR_NONE)
		i = (i + 1) & mask;
	return &h->v[i];
}

static inline struct pair *
bpe_pairs_find(const struct bpe_pairs *h, uint64_t key)
{
	struct pair *p = bpe_pairs_slot(h, key);

	return p->key == key ? p : NULL;
}

#endif
