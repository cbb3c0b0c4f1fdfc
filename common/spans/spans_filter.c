/*
 * spans_filter.c - step 1 of the search on disk: places with a block that comes
 * again
 *
 * Three passes over all segments for each part of the hashes: blocks at
 * multiples of `step` into the filter `once`, blocks anywhere that it knows
 * into `again`, and the places of those of `again`, a bit each.  A filter may
 * take another block for one that it knows: a hit too many costs time, and
 * none is ever left out.
 */
#include "spans/spans_disk.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define M UINT64_C(0x9e3779b97f4a7c15)

enum {
	AHEAD = 32,		/* places whose bits are asked for at once */
	PARTS = 8
};

/* The hash of a block, which only has to be equal where bytes are. */
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
	return h * M + (unsigned char)p[s->block] + 1 -
		s->out * ((unsigned char)p[0] + UINT64_C(1));
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
		h[i] = mix(*now);
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
		x = mix(now);
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

/* Those that stand at another place as well. */
static int
seek_blocks(struct thread *t, uint64_t segment)
{
	struct search *s = t->s;
	size_t n, all, i, k, some, places;
	uint64_t at = spans_load(t, segment, &n, &all), h[AHEAD], now;

	if (all < s->block)
		return 0;
	places = all - s->block + 1 < n ? all - s->block + 1 : n;
	now = block_start(s, t->text);
	for (i = 0; i < places; i += some) {
		some = places - i < AHEAD ? places - i : AHEAD;
		next_hashes(s, s->once, t->text + i, some, places - i, &now,
			    h);
		for (k = 0; k < some; k++)
			if (is_in(&s->once[word_of(s, h[k])], bits_of(h[k])) &&
			    is_mine(s, h[k]) && (at + i + k) % s->step)
				put(&s->again[word_of(s, h[k])],
				    bits_of(h[k]));
	}
	return 0;
}

/* The hits of a segment and what is over, into t->hit. */
static void
find_hits(struct thread *t, size_t all)
{
	struct search *s = t->s;
	size_t i, k, some, places;
	uint64_t h[AHEAD], now;

	memset(t->hit, 0, (all / 64 + 1) * sizeof(*t->hit));
	if (all < s->block)
		return;
	places = all - s->block + 1;
	now = block_start(s, t->text);
	for (i = 0; i < places; i += some) {
		some = places - i < AHEAD ? places - i : AHEAD;
		next_hashes(s, s->again, t->text + i, some, places - i, &now,
			    h);
		for (k = 0; k < some; k++)
			if (is_in(&s->again[word_of(s, h[k])],
				  bits_of(h[k])) && is_mine(s, h[k]))
				t->hit[(i + k) / 64] |= UINT64_C(1) <<
					(i + k) % 64;
	}
}

/* The bits of a segment, of all parts so far. */
static size_t
hit_bytes(const struct search *s)
{
	return ((s->segment + s->over) / 64 + 2) * sizeof(uint64_t);
}

static int
add_hits(struct thread *t, uint64_t segment)
{
	struct search *s = t->s;
	size_t bytes = hit_bytes(s), i;
	int r;

	if (!s->part)
		return 0;
	pthread_mutex_lock(&s->s->lock);
	r = spool_read(s->hits, s->hits_at[segment], t->old, bytes, &t->e);
	pthread_mutex_unlock(&s->s->lock);
	for (i = 0; i < bytes / sizeof(*t->old); i++)
		t->hit[i] |= t->old[i];
	return r;
}

int
spans_hits(struct thread *t, uint64_t segment, uint64_t *at, size_t *n,
	   size_t *all)
{
	*at = spans_load(t, segment, n, all);
	find_hits(t, *all);
	return add_hits(t, segment);
}

/* For the parts behind this one. */
static int
keep_hits(struct thread *t, uint64_t segment)
{
	struct search *s = t->s;
	uint64_t at;
	size_t n, all;
	int r;

	if (spans_hits(t, segment, &at, &n, &all))
		return -1;
	pthread_mutex_lock(&s->s->lock);
	s->new_at[segment] = spool_size(s->new_hits);
	r = spool_append(s->new_hits, t->hit, hit_bytes(s), &t->e);
	pthread_mutex_unlock(&s->s->lock);
	return r;
}

static int
filter_part(struct search *s, uint64_t segments,
	    int (*last)(struct thread *t, uint64_t segment))
{
	memset((void *)s->once, 0, s->words * sizeof(*s->once));
	memset((void *)s->again, 0, s->words * sizeof(*s->again));
	if (spans_run(s, segments, 1, index_blocks) ||
	    spans_run(s, segments, 1, seek_blocks))
		return -1;
	if (s->part + 1 == s->parts)
		return spans_run(s, segments, 1, last);
	s->new_hits = spool_new(0);
	s->new_at = xcalloc(segments, sizeof(*s->new_at));
	if (spans_run(s, segments, 1, keep_hits))
		return -1;
	spool_free(s->hits);
	free(s->hits_at);
	s->hits = s->new_hits;
	s->hits_at = s->new_at;
	s->new_hits = NULL;
	s->new_at = NULL;
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
		r = filter_part(s, segments, last);
	mem_pages_free((void *)s->once, s->words * sizeof(*s->once));
	mem_pages_free((void *)s->again, s->words * sizeof(*s->again));
	spool_free(s->hits);
	spool_free(s->new_hits);
	free(s->hits_at);
	free(s->new_at);
	s->hits = s->new_hits = NULL;
	s->hits_at = s->new_at = NULL;
	return r;
}
