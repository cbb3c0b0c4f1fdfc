/*
 * bpe_cache.c - pieces seen before
 *
 * A piece of up to 15 bytes is looked for in the table that all threads have
 * in common (bpe_shared.h).  Where that is full, a thread goes on with a table
 * of its own.  It has two ways in each cache line, a way being 32 bytes: the
 * piece with its length in the last of 16, so that a hit is one comparison
 * and touches one line, and up to four ids.  A new piece goes into the second
 * way; a hit there changes places with the first: so a piece that comes
 * again pushes out one that does not, and a flood of new pieces leaves the
 * frequent ones alone.
 *
 * The ids of a piece that has more lie in an area; another table is for
 * longer pieces, whose bytes lie there too.  When the area is full it starts
 * anew.
 *
 * Pieces are looked up in batches: keys and hashes first, with a prefetch of
 * each line, then the lookups.  What is kept where never changes the ids.
 */
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "tokenizer/bpe_priv.h"
#include "tokenizer/bpe_shared.h"

enum {
	SHORT = 15,		/* bytes of a piece in a key */
	BATCH = 256,
	LONGEST = 1024		/* bytes of a piece that is kept */
};

#define ID_MASK ((UINT32_C(1) << IDS_SHIFT) - 1)

struct way {
	struct key key;		/* hi 0: empty, since the length is in it */
	uint32_t id[IDS_INLINE];	/* of more, the third: the area's age */
};

struct line {
	struct way way[2];
};

struct long_entry {
	uint64_t hash;
	uint32_t at;		/* in area, words; 0: empty */
	uint32_t nbytes, nids;
	uint32_t pad;
};

struct cache {
	struct line *line;
	size_t nlines;
	struct long_entry *entry;
	size_t nentries;
	uint32_t *area;
	size_t area_n, area_cap;	/* words */
	uint32_t age;			/* how often it started anew */
};

static size_t
power_below(size_t n)
{
	size_t k = 1;

	while (2 * k <= n)
		k *= 2;
	return k;
}

struct cache *
cache_new(size_t bytes)
{
	struct cache *k = xcalloc(1, sizeof(*k));

	if (bytes == 0)
		bytes = BPE_CACHE;
	if (bytes < 65536)
		bytes = 65536;
	/* four fifths for the first table, as far as powers of two allow */
	k->nlines = power_below(bytes / 5 * 4 / sizeof(struct line));
	k->line = mem_pages(k->nlines * sizeof(*k->line));
	k->nentries = power_below(bytes / 20 / sizeof(struct long_entry));
	k->entry = mem_pages(k->nentries * sizeof(*k->entry));
	k->area_cap = bytes / 20 * 3 / sizeof(*k->area);
	k->area = mem_pages(k->area_cap * sizeof(*k->area));
	k->area_n = 1;
	return k;
}

void
cache_free(struct cache *k)
{
	if (!k)
		return;
	mem_pages_free(k->line, k->nlines * sizeof(*k->line));
	mem_pages_free(k->entry, k->nentries * sizeof(*k->entry));
	mem_pages_free(k->area, k->area_cap * sizeof(*k->area));
	free(k);
}

static inline uint64_t
hash_key(struct key k)
{
	__uint128_t x = (__uint128_t)(k.lo ^ UINT64_C(0x2d358dccaa6c78a5)) *
		(k.hi ^ UINT64_C(0x8bb84b93962eacc9));

	return (uint64_t)x ^ (uint64_t)(x >> 64);
}

/* n <= SHORT bytes at p; 16 are readable when whole is set. */
static inline struct key
make_key(const char *p, size_t n, int whole)
{
	struct key k = {0, 0};

	if (whole) {
		memcpy(&k, p, 16);
		if (n < 8) {
			k.lo &= (UINT64_C(1) << (8 * n)) - 1;
			k.hi = 0;
		} else {
			k.hi &= (UINT64_C(1) << (8 * (n - 8))) - 1;
		}
	} else {
		memcpy(&k, p, n);
	}
	k.hi |= (uint64_t)n << 56;
	return k;
}

/*
 * Room for words in the area, 0 where there will be none.  When it is full
 * it starts anew, and what points into the old one is void.
 */
static size_t
area_take(struct cache *k, size_t words)
{
	size_t at;

	if (words > k->area_cap / 4)
		return 0;
	if (k->area_n + words > k->area_cap) {
		memset(k->entry, 0, k->nentries * sizeof(*k->entry));
		k->area_n = 1;
		k->age++;
	}
	at = k->area_n;
	k->area_n += words;
	return at;
}

static void
put_ids(struct ids *out, const uint32_t *id, size_t n)
{
	memcpy(ids_reserve(out, n), id, n * sizeof(*id));
	out->n += n;
}

/* A piece too long for the first table, by the second or by merging. */
static __attribute__((noinline)) void
encode_long(struct bpe_enc *c, const char *p, size_t n, struct ids *out)
{
	struct cache *k = c->cache;
	uint64_t hash = XXH3_64bits(p, n);
	struct long_entry *x = &k->entry[hash & (k->nentries - 1)];
	size_t start = out->n, nids, at;

	if (x->at && x->hash == hash && x->nbytes == n &&
	    memcmp(k->area + x->at + x->nids, p, n) == 0) {
		put_ids(out, k->area + x->at, x->nids);
		return;
	}
	piece_encode(c, p, n, out);
	nids = out->n - start;
	if (n > LONGEST || !(at = area_take(k, (n + 3) / 4 + nids)))
		return;
	*x = (struct long_entry){hash, (uint32_t)at, (uint32_t)n,
		(uint32_t)nids, 0};
	memcpy(k->area + at, out->v + start, nids * sizeof(*out->v));
	memcpy(k->area + at + nids, p, n);
}

/* Up to IDS_INLINE ids; there is room for as many. */
static inline void
put_inline(struct ids *out, const uint32_t id[IDS_INLINE])
{
	uint32_t *o = out->v + out->n;

	memcpy(o, id, IDS_INLINE * sizeof(*id));
	o[0] = id[0] & ID_MASK;
	out->n += (id[0] >> IDS_SHIFT) + 1;
}

static inline int
same(struct key a, struct key b)
{
	return ((a.lo ^ b.lo) | (a.hi ^ b.hi)) == 0;
}

/* The ids of a way; 0: they are gone from the area. */
static int
way_put(const struct cache *k, const struct way *w, struct ids *out)
{
	if (w->id[0] >> IDS_SHIFT != IDS_MORE)
		put_inline(out, w->id);
	else if (w->id[2] == k->age)
		put_ids(out, k->area + w->id[1], w->id[0] & ID_MASK);
	else
		return 0;
	return 1;
}

/* Into a way, where there is room for its ids. */
static void
way_set(struct cache *k, struct way *w, struct key key, const uint32_t *id,
	size_t n)
{
	size_t at;

	if (n == 0)
		return;
	if (n <= IDS_INLINE) {
		w->key = key;
		memcpy(w->id, id, n * sizeof(*id));
		w->id[0] |= (uint32_t)(n - 1) << IDS_SHIFT;
		return;
	}
	at = area_take(k, n);
	if (!at)
		return;
	w->key = key;
	w->id[0] = (uint32_t)IDS_MORE << IDS_SHIFT | (uint32_t)n;
	w->id[1] = (uint32_t)at;
	w->id[2] = k->age;
	memcpy(k->area + at, id, n * sizeof(*id));
}

/* A short piece by the thread's own table or by merging. */
static void
encode_own(struct bpe_enc *c, struct key key, const char *p, size_t n,
	   struct ids *out)
{
	struct cache *k = c->cache;
	struct line *l = &k->line[hash_key(key) & (k->nlines - 1)];
	struct way *w = &l->way[0], swap;
	size_t start = out->n;

	if (same(w->key, key)) {
		if (way_put(k, w, out))
			return;
	} else if (same(l->way[1].key, key) && way_put(k, &l->way[1], out)) {
		swap = l->way[1];
		l->way[1] = l->way[0];
		l->way[0] = swap;
		return;
	} else if (w->key.hi) {
		w = &l->way[1];
	}
	piece_encode(c, p, n, out);
	way_set(k, w, key, out->v + start, out->n - start);
}

static inline __attribute__((always_inline)) void
place_put(const struct pool *q, const struct place *x, struct ids *out)
{
	if (x->id[0] >> IDS_SHIFT != IDS_MORE)
		put_inline(out, x->id);
	else
		put_ids(out, q->area + x->id[1], x->id[0] & ID_MASK);
}

/* A short piece that is not in its line of the pool. */
static __attribute__((noinline)) void
encode_new(struct bpe_enc *c, struct place *x, struct key key, const char *p,
	   size_t n, struct ids *out)
{
	size_t start = out->n;

	if (place_is(x, key)) {
		place_put(c->b->pool, x, out);
		return;
	}
	if (pool_full(c->b->pool, x)) {
		encode_own(c, key, p, n, out);
		return;
	}
	piece_encode(c, p, n, out);
	pool_add(c->b->pool, x, key, out->v + start, out->n - start);
}

/* Keys and lines of a batch; a piece too long has key.hi 0. */
struct batch {
	struct key key[BATCH];
	struct place *place[BATCH];
};

static void
prepare(const struct pool *q, struct batch *b, const char *text, size_t n,
	size_t start, const uint32_t *ends, size_t k)
{
	for (size_t i = 0; i < k; i++) {
		size_t len = ends[i] - start;

		if (len <= SHORT) {
			b->key[i] = make_key(text + start, len,
					     n - start >= 16);
			b->place[i] = &q->place[hash_key(b->key[i]) & q->mask];
			__builtin_prefetch(b->place[i]);
		} else {
			b->key[i].hi = 0;
			b->place[i] = NULL;
		}
		start = ends[i];
	}
}

void
cache_encode(struct bpe_enc *c, const char *text, size_t n, size_t start,
	     const uint32_t *ends, size_t k, struct ids *out)
{
	struct pool *q = c->b->pool;
	struct batch b;

	prepare(q, &b, text, n, start, ends, k);
	ids_reserve(out, ends[k - 1] - start + IDS_INLINE);
	for (size_t i = 0; i < k; start = ends[i++]) {
		struct place *x = b.place[i];

		if (b.key[i].hi == 0)
			encode_long(c, text + start, ends[i] - start, out);
		else if (place_is(x += place_like(x + 1, b.key[i]), b.key[i]))
			place_put(q, x, out);
		else
			encode_new(c, b.place[i], b.key[i], text + start,
				   ends[i] - start, out);
	}
}
