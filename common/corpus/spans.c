/*
 * spans.c - long passages that stand in a corpus before
 *
 * Three steps, each one pass over all texts, laid one behind the other:
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
 * The first of its kind is enough: if it overlaps the window in the same
 * document, so does every other one before the window.
 *
 * Where characters have several bytes, a window may have to be longer than N
 * to end at a bound, and longer ones are not always made of shorter ones: from
 * a character of c bytes go the shortest, and all shorter than N + c.  With
 * these the union is that of all windows.  They are told apart by their hash.
 *
 * Following to the left is for the report (spans that are maximal) and may
 * visit a place again for another copy; everything else is linear.
 */
#include "corpus/spans.h"

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

struct spans {
	size_t least, half;
	size_t char_max;	/* bytes of the longest character */
	struct buf text;	/* all of them */
	uint32_t *start;	/* of each document, and the end */
	size_t ndocs, cap;
	uint64_t *hit;		/* a bit a byte */
	struct table windows;
	struct text_span *v;
	size_t n, vcap;
};

struct spans *
spans_new(size_t least)
{
	struct spans *s = xcalloc(1, sizeof(*s));

	s->least = least;
	s->char_max = 4;
	s->half = least > 1 ? least / 2 : 1;
	return s;
}

void
spans_longest_char(struct spans *s, size_t bytes)
{
	s->char_max = bytes;
}

int
spans_add(struct spans *s, struct span text, struct err *e)
{
	if (text.n > MAX_TEXT - s->text.n)
		return err_set(e, "--spans: more than 4 GiB of text: "
			       "deduplicate in parts");
	if (s->ndocs + 1 >= s->cap) {
		s->cap = s->cap ? 2 * s->cap : 1024;
		s->start = xreallocarray(s->start, s->cap, sizeof(*s->start));
	}
	s->start[s->ndocs++] = (uint32_t)s->text.n;
	buf_put(&s->text, text.p, text.n);
	return 0;
}

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

static void
table_grow(struct table *t)
{
	struct table old = *t;
	size_t i, k;

	if (4 * t->n < 3 * (t->mask + 1))
		return;
	table_init(t, 2 * (old.mask + 1));
	for (i = 0; i <= old.mask; i++) {
		if (old.v[i].at == FREE)
			continue;
		for (k = home(t, old.v[i].hash); t->v[k].at != FREE;)
			k = (k + 1) & t->mask;
		table_put(t, k, old.v[i].hash, old.v[i].at - 1);
	}
	table_free(&old);
}

void
spans_free(struct spans *s)
{
	if (!s)
		return;
	buf_clear(&s->text);
	free(s->start);
	free(s->hit);
	table_free(&s->windows);
	free(s->v);
	free(s);
}

/* --- hashes: sum(byte[i] * M^(n-1-i)), then mixed --- */

static inline uint64_t
byte_at(const struct spans *s, size_t i)
{
	return (unsigned char)s->text.p[i];
}

static uint64_t
hash_of(const struct spans *s, size_t at, size_t n)
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
hit(struct spans *s, size_t at)
{
	s->hit[at / 64] |= UINT64_C(1) << at % 64;
}

static void
index_blocks(const struct spans *s, struct table *t, uint64_t *bits,
	     size_t bit_mask)
{
	size_t at, i, k, n, blocks = s->text.n / s->half;
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
look_for_block(struct spans *s, const struct table *t, uint32_t x, size_t at)
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
find_hits(struct spans *s, const struct table *t, const uint64_t *bits,
	  size_t bit_mask)
{
	uint64_t h = hash_of(s, 0, s->half), out = power(s->half);
	size_t at, i, k, n, last = s->text.n - s->half;
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

static void
filter(struct spans *s)
{
	size_t blocks = s->text.n / s->half + 1, nbits = 1 << 16;
	struct table t;
	uint64_t *bits;

	s->hit = xcalloc(s->text.n / 64 + 1, sizeof(*s->hit));
	if (s->text.n < s->half)
		return;
	while (nbits < 16 * blocks && nbits < (size_t)1 << 31)
		nbits *= 2;
	bits = mem_pages(nbits / 8);
	table_init(&t, 2 * blocks);
	index_blocks(s, &t, bits, nbits - 1);
	find_hits(s, &t, bits, nbits - 1);
	table_free(&t);
	mem_pages_free(bits, nbits / 8);
}

/* The first hit in [from, to), or to. */
static size_t
next_hit(const struct spans *s, size_t from, size_t to)
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

struct doc_at {
	uint32_t doc;
	size_t begin, end;	/* in all texts */
	size_t covered;		/* windows that end up to here are copies */
	size_t from;		/* ... if they start here or behind */
};

static inline int
is_bound(const struct spans *s, size_t i, size_t end)
{
	return i >= end || (s->text.p[i] & 0xc0) != 0x80;
}

static uint32_t
doc_of(const struct spans *s, uint32_t at)
{
	size_t lo = 0, hi = s->ndocs;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->start[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	/* empty documents begin where the next one does */
	return (uint32_t)lo;
}

/* text[x, x + n) is a copy of text[q, q + n): follow it to both sides. */
static void
follow(struct spans *s, struct doc_at *d, size_t x, size_t q, size_t n)
{
	const char *p = s->text.p;
	uint32_t first = doc_of(s, (uint32_t)q);
	size_t first_begin = s->start[first], first_end = s->start[first + 1];
	int same = first == d->doc;
	size_t end = x + n, start = x, room;

	room = first_end - (q + n);
	if (same)
		room = x - (q + n);
	if (room > d->end - end)
		room = d->end - end;
	for (; room && p[end] == p[q + (end - x)]; room--)
		end++;
	while (!is_bound(s, end, d->end))
		end--;
	/* the first copy must end before this one begins */
	room = same ? x - (q + (end - x)) : d->begin < start ? start : 0;
	while (room && start > d->begin && q - (x - start) > first_begin &&
	       p[start - 1] == p[q - (x - start) - 1]) {
		start--;
		room--;
	}
	while (!is_bound(s, start, d->end))
		start++;
	/* ends ascend, so what begins here or later lies inside */
	while (s->n && s->v[s->n - 1].doc == d->doc &&
	       s->v[s->n - 1].start >= start - d->begin)
		s->n--;
	if (s->n == s->vcap) {
		s->vcap = s->vcap ? 2 * s->vcap : 1024;
		s->v = xreallocarray(s->v, s->vcap, sizeof(*s->v));
	}
	s->v[s->n++] = (struct text_span){
		d->doc, first, (uint32_t)(start - d->begin),
		(uint32_t)(end - d->begin),
		(uint32_t)(q - (x - start) - first_begin)
	};
	d->covered = end;
	d->from = start;
}

static void
look_up(struct spans *s, struct doc_at *d, size_t x, size_t n, uint32_t h)
{
	struct table *t = &s->windows;
	size_t i;

	if (x >= d->from && x + n <= d->covered)
		return;
	for (i = home(t, h); t->v[i].at != FREE; i = (i + 1) & t->mask) {
		size_t q = t->v[i].at - 1;

		if (t->v[i].hash != h || q + n > s->text.n ||
		    memcmp(s->text.p + q, s->text.p + x, n))
			continue;
		if (q < d->begin || q + n <= x)
			follow(s, d, x, q, n);
		return;
	}
	table_put(t, i, h, (uint32_t)x);
	table_grow(t);
}

/* The windows from x: h is the hash of the `least` bytes there. */
static void
windows_at(struct spans *s, struct doc_at *d, size_t x, uint64_t h)
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
run_windows(struct spans *s, struct doc_at *d, size_t from, size_t to,
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
find_in_doc(struct spans *s, uint32_t doc, uint64_t out)
{
	struct doc_at d = {doc, s->start[doc], s->start[doc + 1], 0, 0};
	size_t reach = s->least + s->char_max - s->half;
	size_t at = d.begin, last, from, to, done = d.begin;

	if (d.end - d.begin < s->least)
		return;
	last = d.end - s->least;	/* of the starts */
	while ((at = next_hit(s, at, d.end)) < d.end) {
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

const struct text_span *
spans_find(struct spans *s, size_t *n)
{
	uint64_t out = power(s->least);
	size_t i;

	buf_reserve(&s->text, 1);
	if (!s->start)
		s->start = xcalloc(1, sizeof(*s->start));
	s->start[s->ndocs] = (uint32_t)s->text.n;
	filter(s);
	table_init(&s->windows, s->text.n / 32);
	for (i = 0; i < s->ndocs; i++)
		find_in_doc(s, (uint32_t)i, out);
	table_free(&s->windows);
	free(s->hit);
	s->hit = NULL;
	*n = s->n;
	return s->v;
}

static int
cmp_start(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (x[0] > y[0]) - (x[0] < y[0]);
}

size_t
spans_merge(const struct text_span *v, size_t n, uint32_t (*range)[2])
{
	size_t i, k = 0;

	for (i = 0; i < n; i++) {
		range[i][0] = v[i].start;
		range[i][1] = v[i].end;
	}
	qsort(range, n, sizeof(*range), cmp_start);
	for (i = 0; i < n; i++) {
		if (k && range[i][0] <= range[k - 1][1]) {
			if (range[i][1] > range[k - 1][1])
				range[k - 1][1] = range[i][1];
			continue;
		}
		range[k][0] = range[i][0];
		range[k++][1] = range[i][1];
	}
	return k;
}
