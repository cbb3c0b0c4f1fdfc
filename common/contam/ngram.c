/*
 * ngram.c - an exact index of n-grams
 *
 * The hash of an n-gram is a polynomial in B over the hashes of its units, mod
 * 2^64, so that a step to the right takes two multiplications, whatever n is.
 * Mixed with n it gives 64 bits: the upper half selects a block of the filter
 * and a slot of the table, the lower half two bits of the block and a tag.
 *
 * The filter is a Bloom filter with about 11 bits per n-gram.  Both bits of an
 * n-gram are in one 64-bit block; one in 25 other n-grams passes.  The filter
 * is small: 70 kB for 50,000 n-grams, which fits in the L2 cache, and 4 MB
 * for 3 million.  Only n-grams that pass are looked up in the table (open
 * addressing, linear probing, at most two thirds full), and only those with
 * the same tag are compared unit by unit.
 *
 * A slot holds the first position of its n-gram.  Later positions are linked
 * in ascending order through next[]; therefore the table is filled from the
 * last position to the first.
 */
#include "contam/ngram.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"

#define B UINT64_C(0x9e3779b97f4a7c15)
#define MIX UINT64_C(0xd6e8feb86659fd93)

enum { TAG_N = 127, AHEAD = 24, STEP = 64, PER_BLOCK = 6 };

struct slot {
	uint32_t at;		/* position + 1; 0: empty */
	uint32_t tag;		/* 25 bits of the hash, 7 of n */
};

struct ngram_index {
	uint32_t *unit;		/* of all examples */
	size_t nunit, unitcap;
	uint32_t *start;	/* [nex + 1] */
	uint8_t *size;		/* [nex] n of each example */
	size_t nex, startcap, sizecap;
	uint32_t *next;		/* [nunit] */
	struct slot *slot;
	uint64_t *block;
	uint64_t slots, blocks;
	size_t grams;		/* distinct */
	uint8_t sizes[NGRAM_MAX + 1];	/* the n that occur, 0 at the end */
};

static inline uint64_t
finish(uint64_t h, unsigned n)
{
	unsigned __int128 x;

	x = (unsigned __int128)(h ^ MIX * (2 * n + 1)) * MIX;
	return (uint64_t)x ^ (uint64_t)(x >> 64);
}

static inline uint64_t
scale(uint64_t f, uint64_t range)
{
	return (f >> 32) * range >> 32;
}

static inline uint64_t
bits_of(uint64_t f)
{
	return UINT64_C(1) << (f >> 7 & 63) | UINT64_C(1) << (f >> 13 & 63);
}

static inline uint32_t
tag_of(uint64_t f, unsigned n)
{
	return ((uint32_t)f & ~(uint32_t)TAG_N) | n;
}

static uint64_t
power(unsigned n)
{
	uint64_t p = 1;

	while (n--)
		p *= B;
	return p;
}

struct ngram_index *
ngram_new(void)
{
	return xcalloc(1, sizeof(struct ngram_index));
}

static void
tables_free(struct ngram_index *g)
{
	if (!g->slot)
		return;
	mem_pages_free(g->slot, g->slots * sizeof(*g->slot));
	mem_pages_free(g->block, g->blocks * sizeof(*g->block));
}

void
ngram_free(struct ngram_index *g)
{
	if (!g)
		return;
	tables_free(g);
	free(g->unit);
	free(g->start);
	free(g->size);
	free(g->next);
	free(g);
}

int
ngram_add(struct ngram_index *g, const uint32_t *unit, size_t n, struct err *e)
{
	if (n >= NGRAM_NONE - g->nunit)
		return err_set(e, "the benchmarks have more than 4,294,967,294 "
			       "words");
	/* by half and not by GROW(): it is the largest array of the program */
	if (g->nunit + n > g->unitcap) {
		g->unitcap = g->nunit + n + g->unitcap / 2 + 1024;
		g->unit = xreallocarray(g->unit, g->unitcap, sizeof(*g->unit));
	}
	GROW(g->start, g->startcap, g->nex + 2);
	GROW(g->size, g->sizecap, g->nex + 1);
	if (n)
		memcpy(g->unit + g->nunit, unit, n * sizeof(*unit));
	g->start[g->nex] = (uint32_t)g->nunit;
	g->size[g->nex++] = 0;
	g->nunit += n;
	g->start[g->nex] = (uint32_t)g->nunit;
	return 0;
}

void
ngram_set_n(struct ngram_index *g, size_t i, unsigned n)
{
	g->size[i] = (uint8_t)n;
}

size_t
ngram_length(const struct ngram_index *g, size_t i)
{
	return g->start[i + 1] - g->start[i];
}

/* --- building --- */

/* The hash of the n-gram at each position of an example; h is zeroed. */
static size_t
hash_example(const struct ngram_index *g, size_t ex, const uint64_t *hash,
	     uint64_t *h)
{
	const uint32_t *u = g->unit + g->start[ex];
	size_t len = ngram_length(g, ex), i;
	unsigned n = g->size[ex];
	uint64_t out = power(n), roll = 0, f;

	if (len < n || !n)
		return 0;
	h += g->start[ex];
	for (i = 0; i < len; i++) {
		roll = roll * B + hash[u[i]];
		if (i >= n)
			roll -= out * hash[u[i - n]];
		if (i + 1 < n)
			continue;
		f = finish(roll, n);
		h[i + 1 - n] = f ? f : 1;
	}
	return len - n + 1;
}

static void
insert(struct ngram_index *g, uint32_t at, uint64_t f, unsigned n)
{
	uint64_t i = scale(f, g->slots);
	uint32_t tag = tag_of(f, n);
	struct slot *s;

	for (; (s = &g->slot[i])->at; i = i + 1 == g->slots ? 0 : i + 1) {
		if (s->tag != tag || memcmp(g->unit + s->at - 1, g->unit + at,
					    n * sizeof(*g->unit)))
			continue;
		g->next[at] = s->at - 1;
		s->at = at + 1;
		return;
	}
	*s = (struct slot){at + 1, tag};
	g->next[at] = NGRAM_NONE;
	g->block[scale(f, g->blocks)] |= bits_of(f);
	g->grams++;
}

static void
list_sizes(struct ngram_index *g)
{
	uint8_t seen[NGRAM_MAX + 1] = {0};
	size_t i, n = 0;

	for (i = 0; i < g->nex; i++)
		if (ngram_length(g, i) >= g->size[i])
			seen[g->size[i]] = 1;
	for (i = 1; i <= NGRAM_MAX; i++)
		if (seen[i])
			g->sizes[n++] = (uint8_t)i;
	g->sizes[n] = 0;
}

void
ngram_build(struct ngram_index *g, const uint64_t *hash)
{
	size_t bytes = (g->nunit + AHEAD) * sizeof(uint64_t), total = 0, ex, i;
	uint64_t *all = mem_pages(bytes), *h = all + AHEAD;

	for (ex = 0; ex < g->nex; ex++)
		total += hash_example(g, ex, hash, h);
	list_sizes(g);
	g->slots = total + total / 2 + 2;
	g->blocks = total / PER_BLOCK + 1;
	g->slot = mem_pages(g->slots * sizeof(*g->slot));
	g->block = mem_pages(g->blocks * sizeof(*g->block));
	g->next = xreallocarray(NULL, g->nunit + 1, sizeof(*g->next));
	g->grams = 0;
	for (ex = g->nex; ex-- > 0;) {
		for (i = g->start[ex + 1]; i-- > g->start[ex];) {
			/* h is preceded by AHEAD zeros */
			const uint64_t *soon = h + i - AHEAD;

			__builtin_prefetch(&g->slot[scale(*soon, g->slots)]);
			if (h[i])
				insert(g, (uint32_t)i, h[i], g->size[ex]);
		}
	}
	mem_pages_free(all, bytes);
}

size_t
ngram_count(const struct ngram_index *g)
{
	return g->grams;
}

size_t
ngram_bytes(const struct ngram_index *g)
{
	return g->slots * sizeof(*g->slot) + g->blocks * sizeof(*g->block) +
	       g->nunit * (sizeof(*g->unit) + sizeof(*g->next)) +
	       g->nex * (sizeof(*g->start) + 1);
}

uint32_t
ngram_next(const struct ngram_index *g, uint32_t at)
{
	return g->next[at];
}

size_t
ngram_example(const struct ngram_index *g, uint32_t at)
{
	size_t i;

	/* the last example that starts at or before it and is not empty */
	FIND_FIRST(i, 1, g->nex, g->start[i] > at);
	return i - 1;
}

const uint32_t *
ngram_units(const struct ngram_index *g, uint32_t at, unsigned *n)
{
	*n = g->size[ngram_example(g, at)];
	return g->unit + at;
}

/* --- searching a text --- */

struct scan {
	const struct ngram_index *g;
	const struct word *w;
	int (*same)(void *ctx, size_t i, uint32_t unit);
	void *ctx;
	struct ngram_hits *out;
};

static int
same_run(const struct scan *s, size_t i, uint32_t at, unsigned n)
{
	const uint32_t *u = s->g->unit + at;
	unsigned k;

	for (k = 0; k < n; k++)
		if (!s->same(s->ctx, i + k, u[k]))
			return 0;
	return 1;
}

/* The run that begins at word i has passed the filter. */
static void __attribute__((noinline))
look_up(const struct scan *s, size_t i, uint64_t f, unsigned n)
{
	const struct ngram_index *g = s->g;
	struct ngram_hits *o = s->out;
	uint64_t k = scale(f, g->slots);
	uint32_t tag = tag_of(f, n), at;

	for (; (at = g->slot[k].at); k = k + 1 == g->slots ? 0 : k + 1) {
		if (g->slot[k].tag != tag || !same_run(s, i, at - 1, n))
			continue;
		GROW(o->v, o->cap, o->n + 1);
		o->v[o->n++] = (struct ngram_hit){at - 1, s->w[i].start,
						  s->w[i + n - 1].end};
		return;
	}
}

/*
 * Runs are taken STEP at a time, so that memory is prefetched well before it
 * is used: filter blocks while the hashes are computed, then the slots of the
 * runs that pass the filter.
 */
static void
scan_step(const struct scan *s, size_t first, const uint64_t *f, size_t m,
	  unsigned n)
{
	const struct ngram_index *g = s->g;
	uint8_t pass[STEP];
	uint64_t bits;
	size_t k, passed = 0;

	for (k = 0; k < m; k++) {
		bits = bits_of(f[k]);
		pass[passed] = (uint8_t)k;
		passed += (g->block[scale(f[k], g->blocks)] & bits) == bits;
	}
	for (k = 0; k < passed; k++)
		__builtin_prefetch(&g->slot[scale(f[pass[k]], g->slots)]);
	for (k = 0; k < passed; k++)
		look_up(s, first + pass[k], f[pass[k]], n);
}

static void
scan_size(const struct scan *s, size_t len, unsigned n)
{
	const struct word *w = s->w;
	const uint64_t *block = s->g->block;
	uint64_t blocks = s->g->blocks, out = power(n - 1), roll = 0, f[STEP];
	size_t i, k, m, runs;

	if (len < n)
		return;
	runs = len - n + 1;
	for (i = 0; i + 1 < n; i++)
		roll = roll * B + w[i].hash;
	for (i = 0; i < runs; i += m) {
		m = runs - i < STEP ? runs - i : STEP;
		for (k = 0; k < m; k++) {
			roll = roll * B + w[i + k + n - 1].hash;
			f[k] = finish(roll, n);
			f[k] = f[k] ? f[k] : 1;
			__builtin_prefetch(&block[scale(f[k], blocks)]);
			roll -= out * w[i + k].hash;
		}
		scan_step(s, i, f, m, n);
	}
}

void
ngram_scan(const struct ngram_index *g, const struct word *w, size_t n,
	   int (*same)(void *ctx, size_t i, uint32_t unit), void *ctx,
	   struct ngram_hits *out)
{
	const struct scan s = {g, w, same, ctx, out};
	size_t i;

	for (i = 0; g->sizes[i]; i++)
		scan_size(&s, n, g->sizes[i]);
}
