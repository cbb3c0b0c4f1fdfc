/*
 * spans_firsts.c - step 2 of the search: the first place of each hash
 *
 * A bucket may have any number of records with one hash, but not of different
 * ones: one that is too large is read twice, and not as a whole.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "spans/spans_priv.h"

enum { TWO_BITS = 3, SMALL = 1024, LARGE = 1 << 16 };

/* The distinct hashes of a bucket. */
struct firsts {
	struct record *v;	/* value: the least * 4 + how many, up to 3 */
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

/* Room for n. */
static void
grow(struct firsts *f, size_t n)
{
	size_t i;

	f->cap = n;
	f->v = xreallocarray(f->v, f->cap, sizeof(*f->v));
	for (f->mask = 1; f->mask < 2 * n;)
		f->mask *= 2;
	f->mask--;
	free(f->slot);
	f->slot = xcalloc(f->mask + 1, sizeof(*f->slot));
	for (i = 0; i < f->n; i++)
		*slot_of(f, f->v[i].key) = (uint32_t)i + 1;
}

static int
note(struct thread *t, struct firsts *f, const struct record *v, size_t n)
{
	size_t i;

	(void)t;
	for (i = 0; i < n; i++) {
		struct record *r;
		uint32_t *slot;

		if (f->n == f->cap)
			grow(f, 2 * f->cap);
		slot = slot_of(f, v[i].key);
		if (!*slot) {
			f->v[f->n++] = (struct record){v[i].key,
						       v[i].value << 2 | 1};
			*slot = (uint32_t)f->n;
			continue;
		}
		r = &f->v[*slot - 1];
		r->value += (r->value & TWO_BITS) < TWO_BITS;
		if (r->value >> 2 > v[i].value)
			r->value = v[i].value << 2 | (r->value & TWO_BITS);
	}
	return 0;
}

static int
put_repeats(struct thread *t, struct firsts *f, const struct record *v,
	    size_t n)
{
	struct search *s = t->s;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t x = f->v[*slot_of(f, v[i].key) - 1].value;
		struct record r = {
			v[i].value, (x >> 2) << 1 | (x & TWO_BITS) / TWO_BITS
		};

		if (x >> 2 != v[i].value &&
		    partition_put(s->repeats, t->k,
				  (size_t)(v[i].value / s->range), r, &t->e))
			return -1;
	}
	return 0;
}

static int
put_copies(struct thread *t, struct firsts *f, const struct record *v,
	   size_t n)
{
	const struct spans *s = t->s->s;
	size_t i;

	for (i = 0; i < n; i++) {
		uint64_t x = v[i].value / s->char_max, q;
		size_t more = (size_t)(v[i].value % s->char_max);

		q = f->v[*slot_of(f, v[i].key) - 1].value >> 2;
		q /= s->char_max;
		if (q + s->least + more <= x &&
		    spans_put_copy(t, x, more, COPY_WINDOW, q))
			return -1;
	}
	return 0;
}

/* pass() over all records of a bucket, up to `room` at a time. */
static int
read_bucket(struct thread *t, struct partition *from, uint64_t bucket,
	    struct firsts *f, struct record *v, size_t room,
	    int (*pass)(struct thread *t, struct firsts *f,
			const struct record *v, size_t n))
{
	struct partition_at at = {0};
	size_t n;

	do {
		if (partition_read(from, bucket, &at, v, room, &n, &t->e) ||
		    pass(t, f, v, n))
			return -1;
	} while (n);
	return 0;
}

static int
firsts(struct thread *t, struct partition *from, uint64_t bucket,
       int (*put)(struct thread *t, struct firsts *f, const struct record *v,
		  size_t n))
{
	size_t n = partition_count(from, bucket);
	size_t room = n < t->s->room ? n : t->s->room;
	struct record *v = xreallocarray(NULL, room + 1, sizeof(*v));
	struct partition_at at = {0};
	struct firsts f = {0};
	int r;

	grow(&f, n < SMALL ? SMALL : n < LARGE ? n : LARGE);
	if (n == room)
		r = partition_read(from, bucket, &at, v, room, &n, &t->e) ||
			note(t, &f, v, n) || put(t, &f, v, n) ? -1 : 0;
	else
		r = read_bucket(t, from, bucket, &f, v, room, note) ||
			read_bucket(t, from, bucket, &f, v, room, put) ?
			-1 : 0;
	free(v);
	free(f.v);
	free(f.slot);
	return r;
}

int
spans_put_repeats(struct thread *t, uint64_t bucket)
{
	return firsts(t, t->s->anchors, bucket, put_repeats);
}

int
spans_put_copies(struct thread *t, uint64_t bucket)
{
	return firsts(t, t->s->windows, bucket, put_copies);
}
