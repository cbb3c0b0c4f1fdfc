/*
 * bpe_cache.c - pre-tokens to ids, with those seen before remembered
 *
 * A pre-token of up to 15 bytes is looked up in the table that all threads
 * share (bpe_shared_priv.h).  When that is full, a thread uses a table of
 * its own.  Each cache line has two ways of 32 bytes: the pre-token with its
 * length in the last of 16 bytes, so that a hit is one comparison and one
 * line, and up to four ids.  A new pre-token goes into the second way; a hit
 * there swaps the two.  So one that recurs evicts one that does not, and a
 * flood of new ones leaves the frequent ones alone.
 *
 * More than four ids are kept in an area; longer pre-tokens are in a second
 * table, their bytes in the area, too.  When the area is full it is emptied.
 *
 * Pre-tokens are looked up in batches: all keys and hashes first, with a
 * prefetch of each line, then the tables.  What is kept never changes the
 * ids.
 */
#include "tokenizer/bpe_cache_priv.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "tokenizer/bpe.h"

enum { LONGEST = 1024 };	/* bytes of a pre-token that is kept */

struct way {
	struct pretoken_key key;	/* hi 0: empty */
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

struct bpe_cache {
	const struct bpe_merge *merge;
	struct bpe_merge_work work;
	struct bpe_shared *shared;
	struct line *line;
	size_t nlines;
	struct long_entry *entry;
	size_t nentries;
	uint32_t *area;
	size_t area_n, area_cap;	/* words */
	uint32_t age;			/* times it was emptied */
};

static size_t
power_below(size_t n)
{
	size_t k = 1;

	while (2 * k <= n)
		k *= 2;
	return k;
}

struct bpe_cache *
bpe_cache_new(const struct bpe_merge *m, struct bpe_shared *shared,
	      size_t bytes)
{
	struct bpe_cache *k = xcalloc(1, sizeof(*k));

	k->merge = m;
	k->shared = shared;
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
bpe_cache_free(struct bpe_cache *k)
{
	if (!k)
		return;
	bpe_merge_work_clear(&k->work);
	mem_pages_free(k->line, k->nlines * sizeof(*k->line));
	mem_pages_free(k->entry, k->nentries * sizeof(*k->entry));
	mem_pages_free(k->area, k->area_cap * sizeof(*k->area));
	free(k);
}

static inline uint64_t
hash_key(struct pretoken_key k)
{
	__uint128_t x = (__uint128_t)(k.lo ^ UINT64_C(0x2d358dccaa6c78a5)) *
		(k.hi ^ UINT64_C(0x8bb84b93962eacc9));

	return (uint64_t)x ^ (uint64_t)(x >> 64);
}

/*
 * Take words from the area; 0: too many.  When it is full it is emptied, and
 * what points into it is void.
 */
static size_t
area_take(struct bpe_cache *k, size_t words)
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

/* One too long for the first table, by the second or by merging. */
static __attribute__((noinline)) void
encode_long(struct bpe_cache *k, const char *p, size_t n, struct ids *out)
{
	uint64_t hash = XXH3_64bits(p, n);
	struct long_entry *x = &k->entry[hash & (k->nentries - 1)];
	size_t start = out->n, nids, at;

	if (x->at && x->hash == hash && x->nbytes == n &&
	    memcmp(k->area + x->at + x->nids, p, n) == 0) {
		memcpy(ids_reserve(out, x->nids), k->area + x->at,
		       x->nids * sizeof(*out->v));
		out->n += x->nids;
		return;
	}
	bpe_merge_encode(k->merge, &k->work, p, n, out);
	nids = out->n - start;
	if (n > LONGEST || !(at = area_take(k, (n + 3) / 4 + nids)))
		return;
	*x = (struct long_entry){hash, (uint32_t)at, (uint32_t)n,
		(uint32_t)nids, 0};
	memcpy(k->area + at, out->v + start, nids * sizeof(*out->v));
	memcpy(k->area + at + nids, p, n);
}

static inline int
same(struct pretoken_key a, struct pretoken_key b)
{
	return ((a.lo ^ b.lo) | (a.hi ^ b.hi)) == 0;
}

/* The ids of a way; 0: they are gone from the area. */
static int
way_put(const struct bpe_cache *k, const struct way *w, struct ids *out)
{
	if (w->id[0] >> IDS_SHIFT == IDS_MORE && w->id[2] != k->age)
		return 0;
	packed_put(w->id, k->area, out);
	return 1;
}

static void
way_set(struct bpe_cache *k, struct way *w, struct pretoken_key key,
	const uint32_t *id, size_t n)
{
	size_t at = 0;

	if (n == 0 || (n > IDS_INLINE && !(at = area_take(k, n))))
		return;
	w->key = key;
	packed_set(w->id, k->area, at, id, n);
	if (n > IDS_INLINE)
		w->id[2] = k->age;
}

/* A short one by the thread's own table or by merging. */
static void
encode_own(struct bpe_cache *k, struct pretoken_key key, const char *p,
	   size_t n, struct ids *out)
{
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
	bpe_merge_encode(k->merge, &k->work, p, n, out);
	way_set(k, w, key, out->v + start, out->n - start);
}

/* A short one that is not in its line of the shared table. */
static __attribute__((noinline)) void
encode_new(struct bpe_cache *c, struct place *x, struct pretoken_key key,
	   const char *p, size_t n, struct ids *out)
{
	size_t start = out->n;

	if (place_is(x, key)) {
		packed_put(x->id, c->shared->area, out);
		return;
	}
	if (bpe_shared_full(c->shared, x)) {
		encode_own(c, key, p, n, out);
		return;
	}
	bpe_merge_encode(c->merge, &c->work, p, n, out);
	bpe_shared_add(c->shared, x, key, out->v + start, out->n - start);
}

/* Keys and lines of a batch; a long pre-token has key.hi 0. */
struct batch {
	struct pretoken_key key[BPE_CACHE_BATCH];
	struct place *place[BPE_CACHE_BATCH];
};

static void
prepare(const struct bpe_shared *q, struct batch *b, const char *text, size_t n,
	size_t start, const uint32_t *ends, size_t k)
{
	for (size_t i = 0; i < k; i++) {
		size_t len = ends[i] - start;

		if (len <= PRETOKEN_SHORT) {
			b->key[i] = pretoken_key(text + start, len, n - start);
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
bpe_cache_encode(struct bpe_cache *c, const char *text, size_t n, size_t start,
	     const uint32_t *ends, size_t k, struct ids *out)
{
	struct bpe_shared *q = c->shared;
	struct batch b;

	prepare(q, &b, text, n, start, ends, k);
	ids_reserve(out, ends[k - 1] - start + IDS_INLINE);
	for (size_t i = 0; i < k; start = ends[i++]) {
		struct place *x = b.place[i];

		if (b.key[i].hi == 0)
			encode_long(c, text + start, ends[i] - start, out);
		else if (place_is(x += place_like(x + 1, b.key[i]), b.key[i]))
			packed_put(x->id, q->area, out);
		else
			encode_new(c, b.place[i], b.key[i], text + start,
				   ends[i] - start, out);
	}
}
