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
 * Longer pieces and those of more ids are kept in a second table beside an
 * area for their bytes and ids; when that is full it starts anew.
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
	COUNT_SHIFT = 29,
	BATCH = 256,
	LONGEST = 1024,	/* bytes of a piece in the second */
	DEFAULT_BYTES = 40 << 20
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
		bytes = DEFAULT_BYTES;
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

static void
long_put(struct cache *k, uint64_t hash, const char *p, size_t n,
	 const uint32_t *id, size_t nids)
{
	struct long_entry *x = &k->entry[hash & (k->nentries - 1)];
	size_t words = (n + 3) / 4 + nids;

	if (n > LONGEST || words > k->area_cap / 4)
		return;
	if (k->area_n + words > k->area_cap) {
		memset(k->entry, 0, k->nentries * sizeof(*k->entry));
		k->area_n = 1;
	}
	*x = (struct long_entry){hash, (uint32_t)k->area_n, (uint32_t)n,
		(uint32_t)nids, 0};
	memcpy(k->area + k->area_n, id, nids * sizeof(*id));
	memcpy(k->area + k->area_n + nids, p, n);
	k->area_n += words;
}

/* A piece that is not in the first table, by the second or by merging. */
static size_t
long_encode(struct bpe_enc *c, const char *p, size_t n, struct ids *out)
{
	struct cache *k = c->cache;
	uint64_t hash = XXH3_64bits(p, n);
	const struct long_entry *x = &k->entry[hash & (k->nentries - 1)];
	size_t start = out->n;

	if (x->at && x->hash == hash && x->nbytes == n &&
	    memcmp(k->area + x->at + x->nids, p, n) == 0) {
		memcpy(ids_reserve(out, x->nids), k->area + x->at,
		       x->nids * sizeof(*out->v));
		out->n += x->nids;
		return x->nids;
	}
	piece_encode(c, p, n, out);
	if (n > SHORT || out->n - start > INLINE)
		long_put(k, hash, p, n, out->v + start, out->n - start);
	return out->n - start;
}

static __attribute__((noinline)) void
miss(struct bpe_enc *c, struct line *l, struct key key, const char *p,
     size_t n, struct ids *out)
{
	size_t k = long_encode(c, p, n, out);
	struct way *w = &l->way[l->way[0].key.hi != 0];

	if (k == 0 || k > INLINE)
		return;
	w->key = key;
	memcpy(w->id, out->v + out->n - k, k * sizeof(*w->id));
	w->id[0] |= (uint32_t)(k - 1) << COUNT_SHIFT;
}

static inline int
same(struct key a, struct key b)
{
	return ((a.lo ^ b.lo) | (a.hi ^ b.hi)) == 0;
}

static inline void
emit(const struct way *w, struct ids *out)
{
	uint32_t *o = out->v + out->n, first = w->id[0];

	memcpy(o, w->id, sizeof(w->id));
	o[0] = first & ((UINT32_C(1) << COUNT_SHIFT) - 1);
	out->n += (first >> COUNT_SHIFT) + 1;
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

void
cache_encode(struct bpe_enc *c, const char *text, size_t n, size_t start,
	     const uint32_t *ends, size_t k, struct ids *out)
{
	struct batch b;

	prepare(c->cache, &b, text, n, start, ends, k);
	ids_reserve(out, ends[k - 1] - start + INLINE);
	for (size_t i = 0; i < k; i++) {
		struct line *l = b.line[i];

		if (b.key[i].hi == 0) {
			long_encode(c, text + start, ends[i] - start, out);
		} else if (same(l->way[0].key, b.key[i])) {
			emit(&l->way[0], out);
		} else if (same(l->way[1].key, b.key[i])) {
			struct way w = l->way[1];

			emit(&w, out);
			l->way[1] = l->way[0];
			l->way[0] = w;
		} else {
			miss(c, l, b.key[i], text + start, ends[i] - start,
			     out);
		}
		start = ends[i];
	}
}
