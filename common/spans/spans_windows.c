/*
 * spans_windows.c - step 2 of the search: windows, and the first place of each
 *
 * The hash of a window is the value at a random base of the polynomial over
 * its bytes + 1, mod 2^61 - 1, mixed with its length.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "spans/spans_priv.h"

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

/* Add a byte and remove the one that leaves. */
static inline uint64_t
roll(const struct roll *r, uint64_t h, char out, char in)
{
	return fold(times(h, r->base) + r->out[(unsigned char)out] +
		    (unsigned char)in + 1);
}

/* fold() leaves one of two representatives. */
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

	h = spans_mix(residue(h) ^ more * SPANS_MIX);
	if (s->weak)
		h &= UINT64_C(0xf) << 60 | 0xf;
	return partition_put(s->windows, t->k,
			     (size_t)((h >> 32) * s->buckets >> 32),
			     (struct record){h, x * s->s->char_max + more},
			     &t->e);
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

/* Windows that start in [from, to] of the segment. */
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

/* Those of a document at [begin, end) of t->text that start before `until`. */
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

/* The distinct windows of a bucket, each with its first place. */
struct firsts {
	struct record *v;
	size_t n, cap;
	uint32_t *slot;		/* of v, + 1; 0: free */
	size_t mask;
};

static uint32_t *
slot_of(const struct firsts *f, uint64_t key)
{
	size_t i = (key ^ key >> 32) & f->mask;

	while (f->slot[i] && f->v[f->slot[i] - 1].key != key)
		i = (i + 1) & f->mask;
	return &f->slot[i];
}

static void
grow(struct firsts *f)
{
	size_t i;

	f->cap = f->cap ? 2 * f->cap : 1024;
	f->v = xreallocarray(f->v, f->cap, sizeof(*f->v));
	f->mask = 2 * f->cap - 1;
	free(f->slot);
	f->slot = xcalloc(f->mask + 1, sizeof(*f->slot));
	for (i = 0; i < f->n; i++)
		*slot_of(f, f->v[i].key) = (uint32_t)i + 1;
}

static int
note_firsts(struct thread *t, struct firsts *f, const struct record *v,
	    size_t n)
{
	size_t i;

	(void)t;
	for (i = 0; i < n; i++) {
		uint32_t *slot;

		if (f->n == f->cap)
			grow(f);
		slot = slot_of(f, v[i].key);
		if (!*slot) {
			f->v[f->n++] = v[i];
			*slot = (uint32_t)f->n;
		} else if (f->v[*slot - 1].value > v[i].value) {
			f->v[*slot - 1].value = v[i].value;
		}
	}
	return 0;
}

static int
put_copies(struct thread *t, struct firsts *f, const struct record *v,
	   size_t n)
{
	struct search *s = t->s;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t x = v[i].value / s->s->char_max, q;

		q = f->v[*slot_of(f, v[i].key) - 1].value /
			s->s->char_max;
		if (q + s->s->least + v[i].value % s->s->char_max > x)
			continue;
		if (partition_put(s->copies, t->k, (size_t)(x / s->range),
				(struct record){v[i].value, q}, &t->e))
			return -1;
	}
	return 0;
}

/* pass() over all windows of a bucket, up to `room` at a time. */
static int
read_bucket(struct thread *t, uint64_t bucket, struct firsts *f,
	    struct record *v, size_t room,
	    int (*pass)(struct thread *t, struct firsts *f,
			const struct record *v, size_t n))
{
	struct partition_at at = {0};
	size_t n;

	do {
		if (partition_read(t->s->windows, bucket, &at, v, room, &n,
				 &t->e) || pass(t, f, v, n))
			return -1;
	} while (n);
	return 0;
}

/*
 * A bucket may have any number of copies of a window, but not of different
 * ones: it is read twice, and never as a whole.
 */
int
spans_firsts(struct thread *t, uint64_t bucket)
{
	size_t n = partition_count(t->s->windows, bucket);
	size_t room = n < t->s->room ? n : t->s->room;
	struct record *v = xreallocarray(NULL, room + 1, sizeof(*v));
	struct firsts f = {0};
	int r;

	r = read_bucket(t, bucket, &f, v, room, note_firsts) ||
	    read_bucket(t, bucket, &f, v, room, put_copies) ? -1 : 0;
	free(v);
	free(f.v);
	free(f.slot);
	return r;
}
