/*
 * spans_filter.c - step 1 of the search: places with a block that occurs again
 *
 * For each part of the hashes three passes over all segments.  Blocks at
 * multiples of `step` go into the filter `once`.  Blocks anywhere that are in
 * it go into `again`, and their places are spooled, one bit each.  Of these
 * the places with a block of `again` are hits.  A filter may take another
 * block for one that it holds: an extra hit costs time, and none is lost.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "spans/spans_priv.h"

#define M UINT64_C(0x9e3779b97f4a7c15)

enum {
	AHEAD = 64,		/* places whose bits are prefetched */
	PARTS = 8
};

/* The hash of a block; equal bytes have equal hashes, that is all it needs. */
static inline uint64_t
block_start(const struct search *s, const char *p)
{
	uint64_t h = 0;
	size_t i;

	for (i = 0; i < s->block; i++)
		h = h * M + (unsigned char)p[i] + 1;
	return h;
}

static inline uint64_t
block_roll(const struct search *s, uint64_t h, const char *p)
{
	return h * M + ((unsigned char)p[s->block] + 1 -
		s->out * ((unsigned char)p[0] + UINT64_C(1)));
}

static inline uint64_t
bits_of(uint64_t h)
{
	return UINT64_C(1) << (h & 63) | UINT64_C(1) << (h >> 6 & 63) |
		UINT64_C(1) << (h >> 12 & 63) |
		UINT64_C(1) << (h >> 18 & 63) | UINT64_C(1) << (h >> 24 & 63);
}

static inline size_t
word_of(const struct search *s, uint64_t h)
{
	return (h >> 30) & (s->words - 1);
}

static inline int
is_mine(const struct search *s, uint64_t h)
{
	return s->parts == 1 || (h >> 32) * s->parts >> 32 == s->part;
}

static inline void
put(_Atomic uint64_t *word, uint64_t bits)
{
	atomic_fetch_or_explicit(word, bits, memory_order_relaxed);
}

static inline void
see(const struct search *s, uint64_t h)
{
	uint64_t bits = bits_of(h), old;
	size_t i = word_of(s, h);

	old = atomic_fetch_or_explicit(&s->once[i], bits,
				       memory_order_relaxed);
	if ((old & bits) == bits)
		put(&s->again[i], bits);
}

static inline int
is_in(const _Atomic uint64_t *word, uint64_t bits)
{
	return (atomic_load_explicit(word, memory_order_relaxed) & bits) ==
		bits;
}

/* Hashes of the blocks at the next places, h[0..n), for this filter. */
static inline void
next_hashes(const struct search *s, const _Atomic uint64_t *filter,
	    const char *p, size_t n, size_t left, uint64_t *now, uint64_t *h)
{
	size_t i;

	for (i = 0; i < n; i++) {
		h[i] = spans_mix(*now);
		__builtin_prefetch((const void *)&filter[word_of(s, h[i])]);
		if (i + 1 < left)
			*now = block_roll(s, *now, p + i);
	}
}

/* Blocks at multiples of `step`. */
static int
index_blocks(struct thread *t, uint64_t segment)
{
	struct search *s = t->s;
	size_t n, all, i = 0, to, k = 0, j;
	uint64_t at = spans_load(t, segment, &n, &all), h[AHEAD], now, x;

	if (all < s->block)
		return 0;
	now = block_start(s, t->text);
	for (to = (s->step - at % s->step) % s->step;
	     to < n && to + s->block <= all; to += s->step) {
		for (; i < to; i++)
			now = block_roll(s, now, t->text + i);
		x = spans_mix(now);
		if (!is_mine(s, x))
			continue;
		__builtin_prefetch((const void *)&s->once[word_of(s, x)], 1);
		h[k++] = x;
		for (j = 0; k == AHEAD && j < AHEAD; j++)
			see(s, h[j]);
		k %= AHEAD;
	}
	while (k--)
		see(s, h[k]);
	return 0;
}

/* --- bits of segments --- */

static size_t
bit_bytes(const struct search *s)
{
	return ((s->segment + s->over) / 64 + 2) * sizeof(uint64_t);
}

static int
bits_put(struct thread *t, struct bits *b, uint64_t segment,
	 const uint64_t *bit)
{
	struct search *s = t->s;
	int r;

	pthread_mutex_lock(&s->s->lock);
	b->at[segment] = spool_size(b->spool);
	r = spool_append(b->spool, bit, bit_bytes(s), &t->e);
	pthread_mutex_unlock(&s->s->lock);
	return r;
}

static int
bits_get(struct thread *t, const struct bits *b, uint64_t segment,
	 uint64_t *bit)
{
	struct search *s = t->s;
	int r;

	pthread_mutex_lock(&s->s->lock);
	r = spool_read(b->spool, b->at[segment], bit, bit_bytes(s), &t->e);
	pthread_mutex_unlock(&s->s->lock);
	return r;
}

static void
bits_open(struct bits *b, uint64_t segments, size_t mem)
{
	b->spool = spool_new(mem);
	b->at = xcalloc(segments, sizeof(*b->at));
}

static void
bits_close(struct bits *b)
{
	spool_free(b->spool);
	free(b->at);
	*b = (struct bits){0};
}

/* --- the passes --- */

/* Blocks in `once` that occur at another place too; their places. */
static int
seek_blocks(struct thread *t, uint64_t segment)
{
	struct search *s = t->s;
	size_t n, all, i, j, k, some, few, places;
	uint64_t at = spans_load(t, segment, &n, &all), h[AHEAD], now;
	uint8_t few_at[AHEAD];

	memset(t->hit, 0, bit_bytes(s));
	places = all < s->block ? 0 : all - s->block + 1;
	now = places ? block_start(s, t->text) : 0;
	for (i = 0; i < places; i += some) {
		some = places - i < AHEAD ? places - i : AHEAD;
		next_hashes(s, s->once, t->text + i, some, places - i, &now,
			    h);
		for (k = few = 0; k < some; k++) {
			few_at[few] = (uint8_t)k;
			few += atomic_load_explicit(&s->once[word_of(s, h[k])],
				memory_order_relaxed) >> (h[k] & 63) & 1;
		}
		for (j = 0; j < few; j++) {
			k = few_at[j];
			if (!is_in(&s->once[word_of(s, h[k])],
				   bits_of(h[k])) || !is_mine(s, h[k]))
				continue;
			t->hit[(i + k) / 64] |= UINT64_C(1) << (i + k) % 64;
			if ((at + i + k) % s->step)
				put(&s->again[word_of(s, h[k])],
				    bits_of(h[k]));
		}
	}
	return bits_put(t, &s->known, segment, t->hit);
}

static void
clear_misses(const struct search *s, uint64_t *hit, const uint64_t *h,
	     const size_t *at, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!is_in(&s->again[word_of(s, h[i])], bits_of(h[i])))
			hit[at[i] / 64] &= ~(UINT64_C(1) << at[i] % 64);
}

/* The hits of a segment and what is over, of this part, into t->hit. */
static int
find_hits(struct thread *t, uint64_t segment, size_t all)
{
	struct search *s = t->s;
	size_t at[AHEAD], i = 0, x, k = 0, w;
	uint64_t h[AHEAD], now, left;

	if (bits_get(t, &s->known, segment, t->hit))
		return -1;
	if (all < s->block)
		return 0;
	now = block_start(s, t->text);
	for (w = 0; w <= all / 64; w++) {
		for (left = t->hit[w]; left; left &= left - 1) {
			x = 64 * w + (size_t)__builtin_ctzll(left);
			for (; i < x; i++)
				now = block_roll(s, now, t->text + i);
			h[k] = spans_mix(now);
			__builtin_prefetch((const void *)
					   &s->again[word_of(s, h[k])]);
			at[k++] = x;
			if (k == AHEAD) {
				clear_misses(s, t->hit, h, at, k);
				k = 0;
			}
		}
	}
	clear_misses(s, t->hit, h, at, k);
	return 0;
}

int
spans_hits(struct thread *t, uint64_t segment, uint64_t *at, size_t *n,
	   size_t *all)
{
	struct search *s = t->s;
	size_t i;

	*at = spans_load(t, segment, n, all);
	if (find_hits(t, segment, *all))
		return -1;
	if (!s->part)
		return 0;
	if (bits_get(t, &s->hits, segment, t->old))
		return -1;
	for (i = 0; i < bit_bytes(s) / sizeof(*t->old); i++)
		t->hit[i] |= t->old[i];
	return 0;
}

/* For the parts after this one. */
static int
keep_hits(struct thread *t, uint64_t segment)
{
	uint64_t at;
	size_t n, all;

	if (spans_hits(t, segment, &at, &n, &all))
		return -1;
	return bits_put(t, &t->s->new_hits, segment, t->hit);
}

static int
filter_part(struct search *s, uint64_t segments, size_t mem,
	    int (*last)(struct thread *t, uint64_t segment))
{
	memset((void *)s->once, 0, s->words * sizeof(*s->once));
	memset((void *)s->again, 0, s->words * sizeof(*s->again));
	bits_close(&s->known);
	bits_open(&s->known, segments, mem / 8);
	if (spans_run(s, segments, 1, index_blocks) ||
	    spans_run(s, segments, 1, seek_blocks))
		return -1;
	if (s->part + 1 == s->parts)
		return spans_run(s, segments, 1, last);
	bits_open(&s->new_hits, segments, 0);
	if (spans_run(s, segments, 1, keep_hits))
		return -1;
	bits_close(&s->hits);
	s->hits = s->new_hits;
	s->new_hits = (struct bits){0};
	return 0;
}

int
spans_filter(struct search *s, size_t mem,
	     int (*last)(struct thread *t, uint64_t segment))
{
	uint64_t segments = (s->s->n + s->segment - 1) / s->segment;
	uint64_t blocks = s->s->n / s->step + 1, most = 1024, want = 1024;
	size_t i;
	int r = 0;

	while (4 * most * sizeof(*s->once) <= mem)
		most *= 2;
	while (2 * want < blocks)
		want *= 2;
	s->words = (size_t)(want < most ? want : most);
	for (s->out = 1, i = 0; i < s->block; i++)
		s->out *= M;
	s->parts = want / s->words < PARTS ? (size_t)(want / s->words) : PARTS;
	s->once = mem_pages(s->words * sizeof(*s->once));
	s->again = mem_pages(s->words * sizeof(*s->again));
	for (s->part = 0; s->part < s->parts && !r; s->part++)
		r = filter_part(s, segments, mem, last);
	mem_pages_free((void *)s->once, s->words * sizeof(*s->once));
	mem_pages_free((void *)s->again, s->words * sizeof(*s->again));
	bits_close(&s->known);
	bits_close(&s->hits);
	bits_close(&s->new_hits);
	return r;
}
