/*
 * spans_memory.c - spans of texts in memory, up to 4 GiB
 *
 * Three steps, each one pass over all texts:
 *
 * 1. Every aligned block of N / 2 bytes goes into a table, by hash.  Each
 *    window of N bytes holds one.
 * 2. A rolling hash of N / 2 bytes goes over all places and asks a bit map,
 *    then the table.  Where a block other than the one at that place has the
 *    same hash, both places are hit.  Two equal windows hold a hit each, so
 *    all others are done with: of ordinary text nine in ten.
 * 3. Windows around hits are looked up in a table of windows, which holds the
 *    first of its kind, and are compared byte for byte.  One that is new is
 *    put in.  One that is a copy is followed to both sides; windows inside
 *    what was followed are copies too and are not looked up.
 *
 * Windows of several lengths are told apart by their hash.  Step 3 is for one
 * thread: what is first is known only when all before was looked at.
 */
#include "spans/spans_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define M UINT64_C(0x9e3779b97f4a7c15)
#define MIX UINT64_C(0xd6e8feb86659fd93)
#define MAX_TEXT (((size_t)4 << 30) - 4096)
#define FREE 0

enum { AHEAD = 32, BATCH = 64 };

/* Place of a block or window by the upper half of its hash. */
struct slot {
	uint32_t hash, at;	/* place + 1; FREE: none */
};

struct table {
	struct slot *v;
	size_t mask, n;
};

struct search {
	struct spans *s;
	const char *p;		/* all texts */
	size_t n, least, half, char_max;
	size_t room;		/* bytes for tables */
	uint64_t *hit;		/* a bit a byte */
	struct table blocks, windows;
	uint64_t *bits;
	size_t nbits;
	int full;		/* more than the room is needed */
};

/* --- tables --- */

static void
table_init(struct table *t, size_t want)
{
	size_t cap = 1024;

	while (cap < want)
		cap *= 2;
	t->v = mem_pages(cap * sizeof(*t->v));
	t->mask = cap - 1;
	t->n = 0;
}

static void
table_free(struct table *t)
{
	if (t->v)
		mem_pages_free(t->v, (t->mask + 1) * sizeof(*t->v));
	*t = (struct table){0};
}

static inline size_t
home(const struct table *t, uint32_t hash)
{
	return hash & t->mask;
}

static void
table_put(struct table *t, size_t i, uint32_t hash, uint32_t at)
{
	t->v[i] = (struct slot){hash, at + 1};
	t->n++;
}

/* 0 where it would take more than `room` bytes for a time. */
static int
table_grow(struct table *t, size_t room)
{
	struct table old = *t;
	size_t i, k;

	if (4 * t->n < 3 * (t->mask + 1))
		return 1;
	if (3 * (old.mask + 1) * sizeof(*t->v) > room)
		return 0;
	table_init(t, 2 * (old.mask + 1));
	for (i = 0; i <= old.mask; i++) {
		if (old.v[i].at == FREE)
			continue;
		for (k = home(t, old.v[i].hash); t->v[k].at != FREE;)
			k = (k + 1) & t->mask;
		table_put(t, k, old.v[i].hash, old.v[i].at - 1);
	}
	table_free(&old);
	return 1;
}

/* --- hashes: sum(byte[i] * M^(n-1-i)), then mixed --- */

static inline uint64_t
byte_at(const struct search *s, size_t i)
{
	return (unsigned char)s->p[i];
}

static uint64_t
hash_of(const struct search *s, size_t at, size_t n)
{
	uint64_t h = 0;
	size_t i;

	for (i = 0; i < n; i++)
		h = h * M + byte_at(s, at + i) + 1;
	return h;
}

static uint64_t
power(size_t n)
{
	uint64_t p = 1;

	while (n--)
		p *= M;
	return p;
}

static inline uint32_t
mix(uint64_t h)
{
	h ^= h >> 32;
	h *= MIX;
	return (uint32_t)(h >> 32);
}

/* --- steps 1 and 2 --- */

static void
hit(struct search *s, size_t at)
{
	s->hit[at / 64] |= UINT64_C(1) << at % 64;
}

static void
index_blocks(const struct search *s, struct table *t, uint64_t *bits,
	     size_t bit_mask)
{
	size_t at, i, k, n, blocks = s->n / s->half;
	uint32_t h[BATCH];

	for (at = 0; at < blocks; at += n) {
		n = blocks - at < BATCH ? blocks - at : BATCH;
		for (i = 0; i < n; i++) {
			h[i] = mix(hash_of(s, (at + i) * s->half, s->half));
			__builtin_prefetch(&t->v[home(t, h[i])]);
			__builtin_prefetch(&bits[(h[i] & bit_mask) / 64]);
		}
		for (i = 0; i < n; i++) {
			bits[(h[i] & bit_mask) / 64] |= UINT64_C(1) <<
				h[i] % 64;
			for (k = home(t, h[i]); t->v[k].at != FREE &&
			     t->v[k].hash != h[i];)
				k = (k + 1) & t->mask;
			if (t->v[k].at == FREE)
				table_put(t, k, h[i],
					  (uint32_t)((at + i) * s->half));
		}
	}
}

/* Does a block other than that at `at` have this hash? */
static inline void
look_for_block(struct search *s, const struct table *t, uint32_t x, size_t at)
{
	size_t i = home(t, x);

	while (t->v[i].at != FREE && t->v[i].hash != x)
		i = (i + 1) & t->mask;
	if (t->v[i].at != FREE && t->v[i].at != at + 1) {
		hit(s, at);
		hit(s, t->v[i].at - 1);
	}
}

/*
 * BATCH places at a time, in three loops, so that memory is asked for long
 * before it is needed: hashes, bits, and the few that are left.
 */
static void
find_hits(struct search *s, const struct table *t, const uint64_t *bits,
	  size_t bit_mask)
{
	uint64_t h = hash_of(s, 0, s->half), out = power(s->half);
	size_t at, i, k, n, last = s->n - s->half;
	uint32_t x[BATCH];
	uint8_t some[BATCH];

	for (at = 0; at <= last; at += n) {
		n = last - at + 1 < BATCH ? last - at + 1 : BATCH;
		for (i = 0; i < n; i++) {
			x[i] = mix(h);
			__builtin_prefetch(&bits[(x[i] & bit_mask) / 64]);
			if (at + i == last)
				break;
			h = h * M + (byte_at(s, at + i + s->half) + 1) -
				out * (byte_at(s, at + i) + 1);
		}
		for (i = k = 0; i < n; i++) {
			some[k] = (uint8_t)i;
			k += bits[(x[i] & bit_mask) / 64] >> x[i] % 64 & 1;
		}
		for (i = 0; i < k; i++)
			__builtin_prefetch(&t->v[home(t, x[some[i]])]);
		for (i = 0; i < k; i++)
			look_for_block(s, t, x[some[i]], at + some[i]);
	}
}

/* The first hit in [from, to), or to. */
static size_t
next_hit(const struct search *s, size_t from, size_t to)
{
	uint64_t w;

	while (from < to) {
		w = s->hit[from / 64] >> from % 64;
		if (w) {
			from += (size_t)__builtin_ctzll(w);
			return from < to ? from : to;
		}
		from = (from / 64 + 1) * 64;
	}
	return to;
}

/* --- step 3 --- */

static inline int
is_bound(const struct search *s, size_t i, size_t end)
{
	return i >= end || (s->p[i] & 0xc0) != 0x80;
}

static void
look_up(struct search *s, struct doc_at *d, size_t x, size_t n, uint32_t h)
{
	struct table *t = &s->windows;
	size_t i;

	if (spans_inside(d, x, n))
		return;
	for (i = home(t, h); t->v[i].at != FREE; i = (i + 1) & t->mask) {
		size_t q = t->v[i].at - 1;

		if (t->v[i].hash != h || q + n > s->n ||
		    memcmp(s->p + q, s->p + x, n))
			continue;
		if (q + n > x && q >= d->begin)
			return;		/* overlaps: so do all others */
		/* 0: a hash that lies, and past its document's end */
		if (q + n <= x && spans_follow(s->s, d, x, q, n))
			return;
	}
	table_put(t, i, h, (uint32_t)x);
	if (!table_grow(t, s->room))
		s->full = 1;
}

/* The windows from x: h is the hash of the `least` bytes there. */
static void
windows_at(struct search *s, struct doc_at *d, size_t x, uint64_t h)
{
	size_t n = s->least, c = 1, found = 0;

	if (!is_bound(s, x, d->end))
		return;
	while (!is_bound(s, x + c, d->end))
		c++;
	for (; x + n <= d->end && n < s->least + s->char_max; n++) {
		if (found && n >= s->least + c)
			break;
		if (is_bound(s, x + n, d->end)) {
			look_up(s, d, x, n, mix(h ^ (n - s->least)));
			found = 1;
		}
		if (x + n < d->end)
			h = h * M + byte_at(s, x + n) + 1;
	}
}

/* All window starts in [from, to], which is not empty. */
static void
run_windows(struct search *s, struct doc_at *d, size_t from, size_t to,
	    uint64_t out)
{
	uint64_t h[AHEAD], now = hash_of(s, from, s->least);
	size_t n, i;

	for (; from <= to; from += n) {
		n = to - from + 1 < AHEAD ? to - from + 1 : AHEAD;
		for (i = 0; i < n; i++) {
			size_t x = from + i;

			h[i] = now;
			__builtin_prefetch(&s->windows.v[home(&s->windows,
							      mix(now))]);
			if (x + s->least < d->end)
				now = now * M + (byte_at(s, x + s->least) + 1) -
					out * (byte_at(s, x) + 1);
		}
		for (i = 0; i < n; i++)
			windows_at(s, d, from + i, h[i]);
	}
}

/* The windows of a document that hold a hit. */
static void
find_in_doc(struct search *s, size_t doc, uint64_t out)
{
	struct doc_at d = spans_doc(s->s, doc);
	size_t reach = s->least + s->char_max - s->half;
	size_t at = d.begin, last, from, to, done = d.begin;

	if (d.end - d.begin < s->least)
		return;
	last = d.end - s->least;	/* of the starts */
	while (!s->full && (at = next_hit(s, at, d.end)) < d.end) {
		from = at > done + reach ? at - reach : done;
		to = at;
		/* hits that touch make one run */
		while ((at = next_hit(s, to + 1, d.end)) < d.end &&
		       at <= to + reach)
			to = at;
		if (to > last)
			to = last;
		if (from <= to)
			run_windows(s, &d, from, to, out);
		done = to + 1;
	}
}

/* Texts and hits, and with them what is larger, blocks or windows. */
static int
fits(struct search *s, size_t mem)
{
	size_t blocks = s->n / s->half + 1, need = s->n + s->n / 8;
	size_t slots = 1024;

	for (s->nbits = 1 << 16; s->nbits < 16 * blocks &&
	     s->nbits < (size_t)1 << 31;)
		s->nbits *= 2;
	while (slots < 2 * blocks)
		slots *= 2;
	if (s->n > MAX_TEXT || mem < need)
		return 0;
	s->room = mem - need;
	return s->nbits / 8 + slots * sizeof(struct slot) <= s->room &&
	       s->n / 16 * sizeof(struct slot) <= s->room;
}

static void
filter(struct search *s)
{
	size_t blocks = s->n / s->half + 1;

	if (s->n < s->half)
		return;
	s->bits = mem_pages(s->nbits / 8);
	table_init(&s->blocks, 2 * blocks);
	index_blocks(s, &s->blocks, s->bits, s->nbits - 1);
	find_hits(s, &s->blocks, s->bits, s->nbits - 1);
	table_free(&s->blocks);
	mem_pages_free(s->bits, s->nbits / 8);
}

int
spans_in_memory(struct spans *s)
{
	struct search m = {
		.s = s, .p = s->p, .n = (size_t)s->n, .least = s->least,
		.half = s->least > 1 ? s->least / 2 : 1,
		.char_max = s->char_max
	};
	uint64_t out = power(s->least);
	size_t i;

	if (!fits(&m, s->mem))
		return 1;
	m.hit = xcalloc(m.n / 64 + 1, sizeof(*m.hit));
	filter(&m);
	table_init(&m.windows, m.n / 32);
	for (i = 0; i < s->ndocs && !m.full; i++)
		find_in_doc(&m, i, out);
	table_free(&m.windows);
	free(m.hit);
	if (m.full)
		s->nv = 0;
	return m.full;
}
