/*
 * spans_disk.c - spans of texts of any size, in bounded memory
 *
 * 1. Blocks of N - N / 4 bytes (and up to one more) that begin at multiples of
 *    N / 4 go into a filter of bits by their hash: each window of N bytes
 *    holds one.  A second filter has those that come again, at such a place or
 *    any other.  All places with a block of the second filter are hits; two
 *    equal windows hold a hit each.  Where the filters are too large for
 *    memory, hashes are dealt with in parts, and the hits of the parts before
 *    are kept on disk, a bit a byte.
 * 2. Windows around hits are put aside by hash.  One bucket after the other
 *    goes into a table that gives the first place of each hash; windows that
 *    stand before are put aside again, by place, with it.
 * 3. These come back in order of their places; all texts are compared and
 *    followed there.
 *
 * Steps 1 and 2 work on segments of the texts and on buckets, on all threads;
 * step 3 is one thread's, since each span depends on the one before.
 *
 * Hashes of windows are polynomials mod 2^61 - 1.  Where a window turns out
 * not to stand at its first place, a hash lied, and all of it is done again
 * with another base: what is found is exact, and costs a second search once in
 * many.
 */
#include "corpus/spans_int.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "corpus/scatter.h"

#define M UINT64_C(0x9e3779b97f4a7c15)
#define P ((UINT64_C(1) << 61) - 1)
#define MIX UINT64_C(0xd6e8feb86659fd93)

enum {
	AHEAD = 32,		/* places whose bits are asked for at once */
	LENGTHS = 16,		/* of windows from one place */
	SEGMENT = 1 << 20, SMALL_SEGMENT = 1 << 14,
	PARTS = 8, TRIES = 20
};

/* The hash of a window, mod P, that rolls. */
struct roll {
	uint64_t base, out[256];
};

struct search {
	struct spans *s;
	size_t step, block, over;	/* over: bytes past a segment */
	size_t segment;
	int threads;
	struct roll roll;
	uint64_t out;		/* M to the power of `block` */
	_Atomic uint64_t *once, *again;	/* the filters: a block is 5 bits */
	size_t words;		/* of each, for 1 to 2 blocks */
	size_t part, parts;	/* of the hashes */
	struct spool *hits, *new_hits;	/* of the parts before */
	uint64_t *hits_at, *new_at;	/* of a segment */
	struct scatter *windows, *copies;
	size_t buckets;
	uint64_t range;		/* places of a bucket of copies */
	_Atomic uint64_t next;	/* segment or bucket */
	int lied, weak;
	struct err *e;		/* under the lock */
};

/* --- hashes --- */

static inline uint64_t
fold(uint64_t h)
{
	return (h & P) + (h >> 61);
}

/* h and b below 2^62, the result below 2^62. */
static inline uint64_t
times(uint64_t h, uint64_t b)
{
	unsigned __int128 x = (unsigned __int128)h * b;

	return ((uint64_t)x & P) + (uint64_t)(x >> 61);
}

static void
roll_init(struct roll *r, uint64_t base, size_t n)
{
	uint64_t p = 1, i, x;

	r->base = base;
	for (i = 0; i < n; i++)
		p = fold(times(p, base));
	for (i = 0; i < 256; i++) {
		x = fold(times(i + 1, p));
		x = x >= P ? x - P : x;
		r->out[i] = P - x;
	}
}

static uint64_t
roll_start(const struct roll *r, const char *p, size_t n)
{
	uint64_t h = 0;

	while (n--)
		h = fold(times(h, r->base) + (unsigned char)*p++ + 1);
	return h;
}

/* One byte in, and the one that leaves out. */
static inline uint64_t
roll(const struct roll *r, uint64_t h, char out, char in)
{
	return fold(times(h, r->base) + r->out[(unsigned char)out] +
		    (unsigned char)in + 1);
}

/* fold() may leave it as one of two numbers. */
static inline uint64_t
residue(uint64_t h)
{
	return h >= P ? h - P : h;
}

static inline uint64_t
mix(uint64_t h)
{
	h ^= h >> 32;
	h *= MIX;
	h ^= h >> 32;
	h *= MIX;
	return h ^ h >> 32;
}

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

/* --- threads --- */

struct thread {
	struct search *s;
	int (*work)(struct thread *t, uint64_t i);
	uint64_t n;
	size_t k;		/* number of the thread */
	struct err e;
	char *text;		/* of a segment, and `over` bytes */
	uint64_t *hit, *old;	/* a bit a byte of both */
	pthread_t id;
};

static void *
run_thread(void *arg)
{
	struct thread *t = arg;
	struct search *s = t->s;
	uint64_t i;

	while (!t->e.set && (i = s->next++) < t->n)
		if (t->work(t, i))
			break;
	return NULL;
}

/* work(0..n-1) on all threads; the text of segments is for those who ask. */
static int
run(struct search *s, uint64_t n, int segments,
    int (*work)(struct thread *t, uint64_t i))
{
	size_t words = (s->segment + s->over) / 64 + 2, k;
	size_t threads = (size_t)s->threads;
	struct thread *t = xcalloc(threads, sizeof(*t));

	s->next = 0;
	for (k = 0; k < threads; k++) {
		t[k] = (struct thread){.s = s, .work = work, .n = n, .k = k};
		if (segments) {
			t[k].text = xmalloc(s->segment + s->over);
			t[k].hit = xcalloc(words, sizeof(*t->hit));
			t[k].old = xcalloc(words, sizeof(*t->old));
		}
		if (k && pthread_create(&t[k].id, NULL, run_thread, &t[k]))
			t[k].n = 0;
	}
	run_thread(&t[0]);
	for (k = 0; k < threads; k++) {
		if (k && t[k].n)
			pthread_join(t[k].id, NULL);
		if (t[k].e.set && !s->e->set)
			*s->e = t[k].e;
		free(t[k].text);
		free(t[k].hit);
		free(t[k].old);
	}
	free(t);
	if (s->s->err.set && !s->e->set)
		*s->e = s->s->err;
	return s->e->set ? -1 : 0;
}

/* --- step 1: places with a block that comes again --- */

/* Read segment i: where it begins, its bytes, and those with what is over. */
static uint64_t
load(struct thread *t, uint64_t i, size_t *n, size_t *all)
{
	struct search *s = t->s;
	uint64_t at = i * s->segment, left = s->s->n - at;

	*n = left < s->segment ? (size_t)left : s->segment;
	*all = left < s->segment + s->over ? (size_t)left :
		s->segment + s->over;
	spans_read(s->s, at, t->text, *all);
	return at;
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
	uint64_t at = load(t, segment, &n, &all), h[AHEAD], now, x;

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
	uint64_t at = load(t, segment, &n, &all), h[AHEAD], now;

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

/* For the parts behind this one. */
static int
keep_hits(struct thread *t, uint64_t segment)
{
	struct search *s = t->s;
	size_t n, all;
	int r;

	load(t, segment, &n, &all);
	find_hits(t, all);
	if (add_hits(t, segment))
		return -1;
	pthread_mutex_lock(&s->s->lock);
	s->new_at[segment] = spool_size(s->new_hits);
	r = spool_append(s->new_hits, t->hit, hit_bytes(s), &t->e);
	pthread_mutex_unlock(&s->s->lock);
	return r;
}

/* --- step 2: windows, and where each stands first --- */

/* The first hit in [from, to), or to. */
static size_t
next_hit(const uint64_t *hit, size_t from, size_t to)
{
	uint64_t w;

	while (from < to) {
		w = hit[from / 64] >> from % 64;
		if (w) {
			from += (size_t)__builtin_ctzll(w);
			return from < to ? from : to;
		}
		from = (from / 64 + 1) * 64;
	}
	return to;
}

static inline int
is_bound(const char *p, size_t i, size_t end)
{
	return i >= end || (p[i] & 0xc0) != 0x80;
}

static int
put_window(struct thread *t, uint64_t x, size_t more, uint64_t h)
{
	struct search *s = t->s;

	h = mix(residue(h) ^ more * MIX);
	if (s->weak)
		h &= UINT64_C(0xf) << 60 | 0xf;
	return scatter_put(s->windows, t->k,
			   (size_t)((h >> 32) * s->buckets >> 32),
			   (struct record){h, x * LENGTHS + more}, &t->e);
}

/*
 * The windows from text[x], which is in a document that ends at `end`; h is
 * the hash of `least` bytes there.
 */
static int
windows_at(struct thread *t, uint64_t at, size_t x, size_t end, uint64_t h)
{
	const struct roll *r = &t->s->roll;
	size_t least = t->s->s->least, n, c = 1;
	const char *p = t->text;
	int found = 0;

	if (!is_bound(p, x, end))
		return 0;
	while (!is_bound(p, x + c, end))
		c++;
	for (n = least; x + n <= end && n < least + t->s->s->char_max; n++) {
		if (found && n >= least + c)
			break;
		if (is_bound(p, x + n, end)) {
			if (put_window(t, at + x, n - least, h))
				return -1;
			found = 1;
		}
		if (x + n < end)
			h = fold(times(h, r->base) + (unsigned char)p[x + n] +
				 1);
	}
	return 0;
}

/* All window starts in [from, to] of the segment. */
static int
run_windows(struct thread *t, uint64_t at, size_t from, size_t to, size_t end)
{
	const struct roll *r = &t->s->roll;
	size_t least = t->s->s->least;
	uint64_t h = roll_start(r, t->text + from, least);

	for (; from <= to; from++) {
		if (windows_at(t, at, from, end, h))
			return -1;
		if (from + least < end)
			h = roll(r, h, t->text[from], t->text[from + least]);
	}
	return 0;
}

/* Those of a document, [begin, end) of what is loaded, before `until`. */
static int
doc_windows(struct thread *t, uint64_t at, size_t begin, size_t end,
	    size_t until)
{
	struct search *s = t->s;
	size_t least = s->s->least, reach = least + s->s->char_max - s->block;
	size_t x = begin, last, from, to, done = begin;

	if (end - begin < least)
		return 0;
	last = end - least < until - 1 ? end - least : until - 1;
	while ((x = next_hit(t->hit, x, end)) < end) {
		from = x > done + reach ? x - reach : done;
		to = x;
		while ((x = next_hit(t->hit, to + 1, end)) < end &&
		       x <= to + reach)
			to = x;
		if (from > last)
			break;
		if (run_windows(t, at, from, to < last ? to : last, end))
			return -1;
		done = to + 1;
	}
	return 0;
}

static int
put_windows(struct thread *t, uint64_t segment)
{
	struct search *s = t->s;
	size_t n, all, k;
	uint64_t at = load(t, segment, &n, &all), begin, end;

	find_hits(t, all);
	if (add_hits(t, segment))
		return -1;
	for (k = spans_doc_of(s->s, at); k < s->s->ndocs &&
	     s->s->start[k] < at + n; k++) {
		begin = s->s->start[k] > at ? s->s->start[k] - at : 0;
		end = s->s->start[k + 1] - at;
		if (doc_windows(t, at, (size_t)begin,
				end < all ? (size_t)end : all, n))
			return -1;
	}
	return 0;
}

struct bucket {
	struct record *v;
	size_t n;
	uint32_t *slot;		/* record + 1 of the first place; 0: free */
	size_t mask;
};

static uint32_t *
slot_of(const struct bucket *b, uint64_t key)
{
	size_t i = (key ^ key >> 32) & b->mask;

	while (b->slot[i] && b->v[b->slot[i] - 1].key != key)
		i = (i + 1) & b->mask;
	return &b->slot[i];
}

static int
put_copies(struct thread *t, const struct bucket *b)
{
	struct search *s = t->s;
	size_t i;

	for (i = 0; i < b->n; i++) {
		const struct record *r = &b->v[i];
		uint64_t x = r->value / LENGTHS, q;

		q = b->v[*slot_of(b, r->key) - 1].value / LENGTHS;
		if (q + s->s->least + r->value % LENGTHS > x)
			continue;
		if (scatter_put(s->copies, t->k, (size_t)(x / s->range),
				(struct record){r->value, q}, &t->e))
			return -1;
	}
	return 0;
}

/* Of a bucket of windows: which is the first of its kind, which are copies. */
static int
find_firsts(struct thread *t, uint64_t i)
{
	struct search *s = t->s;
	struct bucket b = {.n = scatter_count(s->windows, i), .mask = 15};
	size_t k;
	int r;

	while (b.mask < b.n + b.n / 2)
		b.mask = 2 * b.mask + 1;
	b.v = xreallocarray(NULL, b.n + 1, sizeof(*b.v));
	b.slot = xcalloc(b.mask + 1, sizeof(*b.slot));
	r = scatter_read(s->windows, i, b.v, &t->e);
	for (k = 0; k < b.n && !r; k++) {
		uint32_t *slot = slot_of(&b, b.v[k].key);

		if (!*slot || b.v[*slot - 1].value > b.v[k].value)
			*slot = (uint32_t)k + 1;
	}
	if (!r)
		r = put_copies(t, &b);
	free(b.v);
	free(b.slot);
	return r;
}

/* --- step 3: spans --- */

/* By key, of which bits [0, bits) differ. */
static void
sort(struct record *v, struct record *tmp, size_t n, unsigned bits)
{
	unsigned at;
	size_t i, k, sum;

	for (at = 0; n && at < bits; at += 8) {
		size_t count[256] = {0};

		for (i = 0; i < n; i++)
			count[v[i].key >> at & 255]++;
		if (count[v[0].key >> at & 255] == n)
			continue;
		for (k = sum = 0; k < 256; k++) {
			sum += count[k];
			count[k] = sum - count[k];
		}
		for (i = 0; i < n; i++)
			tmp[count[v[i].key >> at & 255]++] = v[i];
		memcpy(v, tmp, n * sizeof(*v));
	}
}

static void
follow_copies(struct search *s, const struct record *v, size_t n,
	      struct doc_at *d, size_t *k)
{
	size_t i;

	for (i = 0; i < n && !s->lied; i++) {
		uint64_t x = v[i].key / LENGTHS;
		size_t len = s->s->least + v[i].key % LENGTHS;

		if (x >= d->end) {
			while (x >= s->s->start[*k + 1])
				++*k;
			*d = spans_doc(s->s, *k);
		}
		if (!spans_inside(d, x, len) &&
		    !spans_follow(s->s, d, x, v[i].value, len))
			s->lied = 1;
	}
}

static int
follow_all(struct search *s, size_t buckets)
{
	struct doc_at d = {0, 0, 0, 0, 0};
	struct record *v = NULL, *tmp = NULL;
	size_t i, k = 0, n, cap = 0;
	unsigned bits = 1;
	int r = 0;

	while (s->s->n * LENGTHS >> bits)
		bits++;
	for (i = 0; i < buckets && !r && !s->lied; i++) {
		n = scatter_count(s->copies, i);
		if (n > cap) {
			cap = n;
			v = xreallocarray(v, cap, sizeof(*v));
			tmp = xreallocarray(tmp, cap, sizeof(*tmp));
		}
		r = scatter_read(s->copies, i, v, s->e);
		if (!r) {
			sort(v, tmp, n, bits);
			follow_copies(s, v, n, &d, &k);
		}
	}
	free(v);
	free(tmp);
	if (s->s->err.set && !s->e->set)
		*s->e = s->s->err;
	return s->e->set ? -1 : 0;
}

/* --- wiring --- */

static int
filter_part(struct search *s, uint64_t segments)
{
	memset((void *)s->once, 0, s->words * sizeof(*s->once));
	memset((void *)s->again, 0, s->words * sizeof(*s->again));
	if (run(s, segments, 1, index_blocks) ||
	    run(s, segments, 1, seek_blocks))
		return -1;
	if (s->part + 1 == s->parts)
		return run(s, segments, 1, put_windows);
	s->new_hits = spool_new(0);
	s->new_at = xcalloc(segments, sizeof(*s->new_at));
	if (run(s, segments, 1, keep_hits))
		return -1;
	spool_free(s->hits);
	free(s->hits_at);
	s->hits = s->new_hits;
	s->hits_at = s->new_at;
	s->new_hits = NULL;
	s->new_at = NULL;
	return 0;
}

static int
filter(struct search *s, size_t mem)
{
	uint64_t segments = (s->s->n + s->segment - 1) / s->segment;
	uint64_t blocks = s->s->n / s->step + 1, most = 1024, want = 1024;
	int r = 0;

	while (4 * most * sizeof(*s->once) <= mem)
		most *= 2;
	while (2 * want < blocks)
		want *= 2;
	s->words = (size_t)(want < most ? want : most);
	s->parts = want / s->words < PARTS ? (size_t)(want / s->words) : PARTS;
	s->once = mem_pages(s->words * sizeof(*s->once));
	s->again = mem_pages(s->words * sizeof(*s->again));
	for (s->part = 0; s->part < s->parts && !r; s->part++)
		r = filter_part(s, segments);
	mem_pages_free((void *)s->once, s->words * sizeof(*s->once));
	mem_pages_free((void *)s->again, s->words * sizeof(*s->again));
	spool_free(s->hits);
	spool_free(s->new_hits);
	free(s->hits_at);
	free(s->new_at);
	s->hits = s->new_hits = NULL;
	s->hits_at = s->new_at = NULL;
	return r ? r : scatter_flush(s->windows, s->e);
}

static void
sizes(struct search *s, size_t mem)
{
	uint64_t n = s->s->n;
	size_t i;

	s->step = s->s->least / 4 ? s->s->least / 4 : 1;
	s->block = s->s->least - s->step + 1;
	for (s->out = 1, i = 0; i < s->block; i++)
		s->out *= M;
	s->over = s->s->least + 2 * s->s->char_max;
	s->threads = s->s->threads;
	/* 1 / 512: see scatter's buffers and the bytes of a bucket */
	while (s->threads > 1 && (double)s->threads * s->threads * 262144.0 *
	       (double)n > (double)mem * (double)mem)
		s->threads--;
	s->segment = mem / 32 / (size_t)s->threads;
	if (s->segment > SEGMENT)
		s->segment = SEGMENT;
	if (s->segment < SMALL_SEGMENT)
		s->segment = SMALL_SEGMENT;
	if (s->segment < s->over)
		s->segment = s->over;
	/* a window takes 16 bytes, 8 to 16 more in a table; all in mem / 4 */
	s->buckets = (size_t)(128.0 * (double)n * s->threads / (double)mem) +
		1;
	/* in the cache, too */
	if (s->buckets < 64 && n > 1 << 22)
		s->buckets = 64;
	s->range = n / s->buckets + 1;
}

static int
search(struct search *s, size_t mem)
{
	size_t threads = (size_t)s->threads;
	int r;

	s->windows = scatter_new(s->buckets, threads, mem / 8, mem / 4);
	r = filter(s, mem / 2);
	s->copies = scatter_new(s->buckets, threads, mem / 8, mem / 8);
	if (!r)
		r = run(s, s->buckets, 0, find_firsts);
	s->s->spilled |= scatter_on_disk(s->windows);
	scatter_free(s->windows);
	if (!r)
		r = scatter_flush(s->copies, s->e);
	if (!r)
		r = follow_all(s, s->buckets);
	s->s->spilled |= scatter_on_disk(s->copies);
	scatter_free(s->copies);
	return r;
}

int
spans_on_disk(struct spans *s, struct err *e)
{
	struct search d = {.s = s, .e = e};
	size_t mem = s->mem - (s->p ? (size_t)s->n : s->mem / 16);
	uint64_t base;
	int try, r;

	sizes(&d, mem);
	for (try = 0; try < TRIES; try++) {
		d.lied = 0;
		d.weak = s->weak && try < 2;
		base = (rng_u64((uint64_t)try, RNG_PICK, 1) & P) | 1 << 20;
		roll_init(&d.roll, base, s->least);
		s->nv = 0;
		r = search(&d, mem);
		if (r || !d.lied)
			return r;
	}
	return err_set(e, "--spans: hashes of windows are equal over and over");
}
