/*
 * spans_windows.c - step 2 of the search on disk: windows, and where each
 * stands first
 *
 * The hash of a window is the value at a random base of the polynomial over
 * its bytes + 1, mod 2^61 - 1, mixed with its length.
 */
#include "corpus/spans_disk.h"

#include <stdlib.h>

#include "base/mem.h"

#define P ((UINT64_C(1) << 61) - 1)

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

void
spans_roll(struct search *s, uint64_t base)
{
	struct roll *r = &s->roll;
	uint64_t p = 1, i, x;

	r->base = base & P;
	for (i = 0; i < s->s->least; i++)
		p = fold(times(p, r->base));
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

/* --- windows --- */

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

int
spans_windows(struct thread *t, uint64_t segment)
{
	struct search *s = t->s;
	size_t n, all, k;
	uint64_t at, begin, end;

	if (spans_hits(t, segment, &at, &n, &all))
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

/* --- first places --- */

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
int
spans_firsts(struct thread *t, uint64_t bucket)
{
	struct search *s = t->s;
	struct bucket b = {.n = scatter_count(s->windows, bucket), .mask = 15};
	size_t k;
	int r;

	while (b.mask < b.n + b.n / 2)
		b.mask = 2 * b.mask + 1;
	b.v = xreallocarray(NULL, b.n + 1, sizeof(*b.v));
	b.slot = xcalloc(b.mask + 1, sizeof(*b.slot));
	r = scatter_read(s->windows, bucket, b.v, &t->e);
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
