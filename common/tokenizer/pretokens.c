/*
 * pretokens.c - distinct pre-tokens and their counts
 *
 * Nearly all pre-tokens are short and recur, so the time goes into one
 * look-up per pre-token.  One of up to 15 bytes is its own key
 * (pretoken_key.h): a look-up compares two words and touches one slot.  The
 * keys of a batch are made, hashed and prefetched before the first of them is
 * looked up, so that cache misses overlap.  Longer pre-tokens are in a second
 * table, by 64-bit hash, their bytes in an arena.
 *
 * Both tables are open addressing with linear probing, at most 5/8 full, and
 * grow before a batch, never inside it.
 */
#include "tokenizer/pretokens.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/arena.h"
#include "base/mem.h"
#include "tokenizer/pretoken_key.h"

enum {
	BATCH = 256,		/* pre-tokens looked up together */
	BITS = 14,		/* slots of a new table, as a power of two */
	BLOCK = 1 << 20		/* bytes of an arena block */
};

struct brief {			/* slot of the short table; empty: hi 0 */
	struct pretoken_key key;
	uint64_t count;
};

struct lengthy {		/* slot of the long table; empty: p NULL */
	const char *p;
	uint64_t n, hash, count;
};

struct pretokens {
	struct brief *brief;	/* [1 << bits] */
	size_t nbrief;
	unsigned bits;
	struct lengthy *lengthy;	/* [1 << lbits] */
	size_t nlengthy;
	unsigned lbits;
	struct arena arena;	/* bytes of long pre-tokens */
	uint64_t total, bytes;
	uint64_t long_bytes;	/* bytes of long pre-tokens */
};

struct pretokens *
pretokens_new(void)
{
	struct pretokens *p = xcalloc(1, sizeof *p);

	p->bits = p->lbits = BITS;
	p->brief = mem_pages(sizeof *p->brief << p->bits);
	p->lengthy = mem_pages(sizeof *p->lengthy << p->lbits);
	return p;
}

void
pretokens_free(struct pretokens *p)
{
	if (!p)
		return;
	arena_clear(&p->arena);
	mem_pages_free(p->brief, sizeof *p->brief << p->bits);
	mem_pages_free(p->lengthy, sizeof *p->lengthy << p->lbits);
	free(p);
}

/* ---- short pre-tokens ---- */

static inline size_t
key_hash(struct pretoken_key k, unsigned bits)
{
	uint64_t h = (k.lo ^ (k.hi << 32 | k.hi >> 32) * 0x9e3779b97f4a7c15u)
		* 0xd6e8feb86659fd93u;

	return (h ^ h >> 32) * 0x9e3779b97f4a7c15u >> (64 - bits);
}

static inline void
brief_count(struct brief *t, size_t mask, size_t i, struct pretoken_key k,
	    uint64_t weight, size_t *fresh)
{
	for (;; i = (i + 1) & mask) {
		if (t[i].key.lo == k.lo && t[i].key.hi == k.hi)
			break;
		if (t[i].key.hi == 0) {
			t[i].key = k;
			++*fresh;
			break;
		}
	}
	t[i].count += weight;
}

static void
brief_grow(struct pretokens *p)
{
	struct brief *old = p->brief;
	size_t n = (size_t)1 << p->bits, fresh = 0;

	p->bits++;
	p->brief = mem_pages(sizeof *old << p->bits);
	for (size_t i = 0; i < n; i++)
		if (old[i].key.hi)
			brief_count(p->brief, 2 * n - 1,
				    key_hash(old[i].key, p->bits),
				    old[i].key, old[i].count, &fresh);
	mem_pages_free(old, sizeof *old * n);
}

/* ---- long pre-tokens ---- */

static void
lengthy_grow(struct pretokens *p)
{
	struct lengthy *old = p->lengthy;
	size_t n = (size_t)1 << p->lbits, mask = 2 * n - 1;

	p->lbits++;
	p->lengthy = mem_pages(sizeof *old << p->lbits);
	for (size_t i = 0; i < n; i++) {
		size_t at = old[i].hash & mask;

		if (!old[i].p)
			continue;
		while (p->lengthy[at].p)
			at = (at + 1) & mask;
		p->lengthy[at] = old[i];
	}
	mem_pages_free(old, sizeof *old * n);
}

static void
lengthy_count(struct pretokens *p, const char *s, size_t n, uint64_t weight)
{
	uint64_t hash = XXH3_64bits(s, n);
	size_t mask = ((size_t)1 << p->lbits) - 1, i = hash & mask;
	struct lengthy *l;

	for (; l = &p->lengthy[i], l->p; i = (i + 1) & mask)
		if (l->hash == hash && l->n == n && memcmp(l->p, s, n) == 0)
			break;
	if (!l->p) {
		char *copy = arena_take(&p->arena, n, BLOCK);

		memcpy(copy, s, n);
		*l = (struct lengthy){copy, n, hash, 0};
		p->long_bytes += n;
		if (8 * ++p->nlengthy > (size_t)5 << p->lbits) {
			l->count = weight;
			lengthy_grow(p);
			return;
		}
	}
	l->count += weight;
}

/* ---- texts ---- */

static void
batch_add(struct pretokens *p, const char *text, size_t n, size_t start,
	  const uint32_t *ends, size_t nends, uint64_t weight)
{
	struct pretoken_key key[BATCH];
	uint32_t slot[BATCH];
	size_t nkeys = 0, mask = ((size_t)1 << p->bits) - 1;

	for (size_t i = 0; i < nends; i++) {
		size_t len = ends[i] - start;
		const char *s = text + start;

		if (len > PRETOKEN_SHORT) {
			lengthy_count(p, s, len, weight);
		} else {
			key[nkeys] = pretoken_key(s, len, n - start);
			slot[nkeys] = key_hash(key[nkeys], p->bits);
			__builtin_prefetch(&p->brief[slot[nkeys]], 1);
			nkeys++;
		}
		start = ends[i];
	}
	for (size_t i = 0; i < nkeys; i++)
		brief_count(p->brief, mask, slot[i], key[i], weight,
			    &p->nbrief);
}

/* Count n pre-tokens of `bytes` bytes, `weight` times; -1: 2^63 or more. */
static int
totals_add(struct pretokens *p, uint64_t n, uint64_t bytes, uint64_t weight,
	   struct err *e)
{
	uint64_t more, sum;

	if (__builtin_mul_overflow(bytes, weight, &more) ||
	    __builtin_add_overflow(p->bytes, more, &sum) || sum >> 63)
		return err_set(e, "the texts have more than 2^63 bytes, "
			       "counted with their weights: scale the "
			       "weights down");
	p->bytes = sum;
	p->total += n * weight;
	return 0;
}

int
pretokens_add(struct pretokens *p, const char *text, size_t n, size_t start,
	   const uint32_t *ends, size_t nends, uint64_t weight, struct err *e)
{
	if (nends == 0 || weight == 0)
		return 0;
	if (totals_add(p, nends, ends[nends - 1] - start, weight, e))
		return -1;
	while (nends) {
		size_t k = nends < BATCH ? nends : BATCH;

		while (8 * (p->nbrief + BATCH) > (size_t)5 << p->bits)
			brief_grow(p);
		batch_add(p, text, n, start, ends, k, weight);
		start = ends[k - 1];
		ends += k;
		nends -= k;
	}
	return 0;
}

int
pretokens_merge(struct pretokens *to, const struct pretokens *from,
		struct err *e)
{
	size_t mask;

	if (totals_add(to, 0, from->bytes, 1, e))
		return -1;
	to->total += from->total;
	for (size_t i = 0; i < (size_t)1 << from->bits; i++) {
		const struct brief *b = &from->brief[i];

		if (!b->key.hi)
			continue;
		if (8 * (to->nbrief + 1) > (size_t)5 << to->bits)
			brief_grow(to);
		mask = ((size_t)1 << to->bits) - 1;
		brief_count(to->brief, mask, key_hash(b->key, to->bits),
			    b->key, b->count, &to->nbrief);
	}
	for (size_t i = 0; i < (size_t)1 << from->lbits; i++) {
		const struct lengthy *l = &from->lengthy[i];

		if (l->p)
			lengthy_count(to, l->p, l->n, l->count);
	}
	return 0;
}

/* ---- sizes, walk ---- */

uint64_t
pretokens_memory(const struct pretokens *p)
{
	return (sizeof *p->brief << p->bits) +
		(sizeof *p->lengthy << p->lbits) + p->arena.held;
}

void
pretokens_size(const struct pretokens *p, struct pretokens_size *s)
{
	s->total = p->total;
	s->bytes = p->bytes;
	s->distinct = p->nbrief + p->nlengthy;
	s->distinct_bytes = p->long_bytes;
	for (size_t i = 0; i < (size_t)1 << p->bits; i++)
		s->distinct_bytes += p->brief[i].key.hi >> 56;
	s->memory = pretokens_memory(p);
}

int
pretokens_next(const struct pretokens *p, size_t *it, struct pretoken *out)
{
	size_t n = (size_t)1 << p->bits, m = (size_t)1 << p->lbits;

	for (; *it < n; ++*it) {
		const struct brief *b = &p->brief[*it];

		if (!b->key.hi)
			continue;
		memcpy(out->room, &b->key, sizeof out->room);
		out->bytes = (struct span){out->room, b->key.hi >> 56};
		out->count = b->count;
		++*it;
		return 1;
	}
	for (; *it < n + m; ++*it) {
		const struct lengthy *l = &p->lengthy[*it - n];

		if (!l->p)
			continue;
		out->bytes = (struct span){l->p, l->n};
		out->count = l->count;
		++*it;
		return 1;
	}
	return 0;
}
