/*
 * bpecache.c - pieces seen before
 *
 * The table has two ways in each cache line.  A way is 32 bytes: the piece
 * itself, up to 15 bytes with its length in the last (so that a hit is one
 * comparison of 16 bytes and touches one line), and up to four ids, their
 * number in the top bits of the first.  A new piece goes into the second
 * way; a hit there changes places with the first: so a piece that comes
 * again pushes out one that does not, and a flood of new pieces leaves the
 * frequent ones alone.
 *
 * The ids of a piece that has more lie in an area; a second table is for
 * longer pieces, whose bytes lie there too.  When the area is full it starts
 * anew.
 *
 * Pieces are looked up in batches: keys and hashes first, with a prefetch of
 * each line, then the lookups.  What is in the cache never changes the ids.
 */
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "corpus/bpe_priv.h"

enum {
	SHORT = 15,		/* bytes of a piece in the first table */
	INLINE = 4,		/* its ids */
	COUNT_SHIFT = 29,	/* above it: ids less one, or ... */
	MORE = 7,		/* ... number, place in the area, its age */
	BATCH = 256,
	LONGEST = 1024	/* bytes of a piece in the second */
};

struct key {
	uint64_t lo, hi;
};

struct way {
	struct key key;		/* hi 0: empty, since the length is in it */
	uint32_t id[INLINE];
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

/* A short piece that is not in its line. */
static __attribute__((noinline)) void
encode_new(struct bpe_enc *c, struct way *w, struct key key, const char *p,
	   size_t n, struct ids *out)
{
	struct cache *k = c->cache;
	size_t start = out->n, nids, at;

	piece_encode(c, p, n, out);
	nids = out->n - start;
	if (nids == 0)
		return;
	if (nids <= INLINE) {
		w->key = key;
		memcpy(w->id, out->v + start, nids * sizeof(*w->id));
		w->id[0] |= (uint32_t)(nids - 1) << COUNT_SHIFT;
		return;
	}
	at = area_take(k, nids);
	if (!at)
		return;
	w->key = key;
	w->id[0] = (uint32_t)MORE << COUNT_SHIFT | (uint32_t)nids;
	w->id[1] = (uint32_t)at;
	w->id[2] = k->age;
	memcpy(k->area + at, out->v + start, nids * sizeof(*out->v));
}

static inline int
same(struct key a, struct key b)
{
	return ((a.lo ^ b.lo) | (a.hi ^ b.hi)) == 0;
}

/* The ids of a way; 0: they are gone from the area. */
static inline int
emit(const struct cache *k, const struct way *w, struct ids *out)
{
	uint32_t *o = out->v + out->n, first = w->id[0];

	if (first >> COUNT_SHIFT == MORE) {
		if (w->id[2] != k->age)
			return 0;
		put_ids(out, k->area + w->id[1],
			first & ((UINT32_C(1) << COUNT_SHIFT) - 1));
		return 1;
	}
	memcpy(o, w->id, sizeof(w->id));
	o[0] = first & ((UINT32_C(1) << COUNT_SHIFT) - 1);
	out->n += (first >> COUNT_SHIFT) + 1;
	return 1;
}

/* Keys and lines of a batch; a piece too long has key.hi 0. */
struct batch {
	struct key key[BATCH];
	struct line *line[BATCH];
};

static void
prepare(const struct cache *c, struct batch *b, const char *text, size_t n,
	size_t start, const uint32_t *ends, size_t k)
{
	for (size_t i = 0; i < k; i++) {
		size_t len = ends[i] - start;

		if (len <= SHORT) {
			b->key[i] = make_key(text + start, len,
					     n - start >= 16);
			b->line[i] = &c->line[hash_key(b->key[i]) &
					      (c->nlines - 1)];
			__builtin_prefetch(b->line[i]);
		} else {
			b->key[i].hi = 0;
		}
		start = ends[i];
	}
}

/* A piece that is not in the first way of its line. */
static __attribute__((noinline)) void
second(struct bpe_enc *c, struct line *l, struct key key, const char *p,
       size_t n, struct ids *out)
{
	struct way w = l->way[1];

	if (same(l->way[0].key, key)) {		/* its ids are gone */
		encode_new(c, &l->way[0], key, p, n, out);
	} else if (same(w.key, key) && emit(c->cache, &w, out)) {
		l->way[1] = l->way[0];
		l->way[0] = w;
	} else {
		encode_new(c, &l->way[l->way[0].key.hi != 0], key, p, n, out);
	}
}

void
cache_encode(struct bpe_enc *c, const char *text, size_t n, size_t start,
	     const uint32_t *ends, size_t k, struct ids *out)
{
	struct batch b;

	prepare(c->cache, &b, text, n, start, ends, k);
	ids_reserve(out, ends[k - 1] - start + INLINE);
	for (size_t i = 0; i < k; i++) {
		struct line *l = b.line[i];

		if (b.key[i].hi == 0)
			encode_long(c, text + start, ends[i] - start, out);
		else if (!same(l->way[0].key, b.key[i]) ||
			 !emit(c->cache, &l->way[0], out))
			second(c, l, b.key[i], text + start, ends[i] - start,
			       out);
		start = ends[i];
	}
}
