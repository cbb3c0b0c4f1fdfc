/*
 * spans_firsts.c - step 2 of the search: the first place of each hash
 *
 * A bucket may have any number of records with one hash, but not of different
 * ones: one that is too large is read twice, and not as a whole.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "spans/spans_priv.h"

enum { TWO_BITS = 3, SMALL = 1 << 16, AHEAD = 16 };

static inline size_t
slot_at(const struct firsts *f, uint64_t key)
{
	return (key ^ key >> 32) & f->mask;
}

static uint32_t *
slot_of(const struct firsts *f, uint64_t key)
{
	size_t i = slot_at(f, key);

	while (f->slot[i] && f->v[f->slot[i] - 1].key != key)
		i = (i + 1) & f->mask;
	return &f->slot[i];
}

/* Room for n. */
static void
grow(struct firsts *f, size_t n)
{
	size_t i;

	for (f->mask = 1; f->mask < 2 * n;)
		f->mask *= 2;
	if (n > f->cap) {
		f->cap = n;
		f->v = xreallocarray(f->v, n, sizeof(*f->v));
		free(f->slot);
		f->slot = xreallocarray(NULL, f->mask, sizeof(*f->slot));
	}
	memset(f->slot, 0, f->mask-- * sizeof(*f->slot));
	f->most = n;
	for (i = 0; i < f->n; i++)
		*slot_of(f, f->v[i].key) = (uint32_t)i + 1;
}

/* Replace keys by their numbers in f->v; add: note those that are new too. */
static void
number(struct firsts *f, struct record *v, size_t n, int add)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct record *r;
		uint32_t *slot;

		if (i + AHEAD < n)
			__builtin_prefetch(&f->slot[slot_at(f,
							    v[i + AHEAD].key)]);
		if (add && f->n == f->most)
			grow(f, 2 * f->most);
		slot = slot_of(f, v[i].key);
		if (!*slot) {
			f->v[f->n++] = (struct record){v[i].key,
						       v[i].value << 2};
			*slot = (uint32_t)f->n;
		}
		r = &f->v[*slot - 1];
		v[i].key = *slot - 1;
		if (!add)
			continue;
		r->value += (r->value & TWO_BITS) < TWO_BITS;
		if (r->value >> 2 > v[i].value)
			r->value = v[i].value << 2 | (r->value & TWO_BITS);
	}
}

typedef int put_fn(struct thread *t, const struct record *v, size_t n);

/* v: {number, place}. */
static int
put_repeats(struct thread *t, const struct record *v, size_t n)
{
	struct search *s = t->s;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t x = t->firsts.v[v[i].key].value;
		uint64_t at, first;

		if (x >> 2 == v[i].value)
			continue;
		at = v[i].value / s->unit;
		first = (x >> 2) / s->unit;
		if (first < at &&
		    partition_put(s->repeats, t->k, (size_t)(at / s->range),
				  v[i].value, first << 1 |
				  (x & TWO_BITS) / TWO_BITS, &t->e))
			return -1;
	}
	return 0;
}

static int
put_copies(struct thread *t, const struct record *v, size_t n)
{
	const struct spans *s = t->s->s;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t x = v[i].value / s->char_max, q;
		size_t more = (size_t)(v[i].value % s->char_max);

		q = (t->firsts.v[v[i].key].value >> 2) / s->char_max;
		if (q + s->least + more <= x &&
		    spans_put_copy(t, x, more, COPY_WINDOW, q))
			return -1;
	}
	return 0;
}

/* All records of a bucket, up to `room` at a time: noted, or put. */
static int
read_bucket(struct thread *t, struct partition *from, uint64_t bucket,
	    size_t room, put_fn *put)
{
	struct firsts *f = &t->firsts;
	struct partition_at at = {0};
	size_t n;

	do {
		if (partition_read(from, bucket, &at, f->in, room, &n, &t->e))
			return -1;
		number(f, f->in, n, !put);
		if (put && put(t, f->in, n))
			return -1;
	} while (n);
	return 0;
}

static int
firsts(struct thread *t, struct partition *from, uint64_t bucket, put_fn *put)
{
	struct firsts *f = &t->firsts;
	size_t n = partition_count(from, bucket);
	size_t room = n < t->s->room ? n + 1 : t->s->room;
	struct partition_at at = {0};

	if (room > f->room) {
		free(f->in);
		f->in = xreallocarray(NULL, room, sizeof(*f->in));
		f->room = room;
	}
	f->n = 0;
	grow(f, n < room || n < SMALL ? n + 1 : SMALL);
	if (n >= room)
		return read_bucket(t, from, bucket, room, NULL) ||
			read_bucket(t, from, bucket, room, put) ? -1 : 0;
	if (partition_read(from, bucket, &at, f->in, room, &n, &t->e))
		return -1;
	number(f, f->in, n, 1);
	return put(t, f->in, n);
}

int
spans_put_repeats(struct thread *t, uint64_t bucket)
{
	return firsts(t, t->s->blocks, bucket, put_repeats);
}

int
spans_put_copies(struct thread *t, uint64_t bucket)
{
	return firsts(t, t->s->windows, bucket, put_copies);
}
