/*
 * spans_search.c - the search for spans, in bounded memory
 *
 * 1. Blocks of N - N / 2 bytes (and up to one more) that begin at multiples of
 *    N / 2 go into a filter of bits by their hash: each window of N bytes
 *    holds one.  A second filter has those that occur again, at such a place
 *    or any other.  All places with a block of the second filter are hits; two
 *    equal windows hold a hit each.  Where the filters are too large for
 *    memory, hashes are processed in parts, and the hits of the parts before
 *    are spooled, one bit per byte (spans_filter.c).
 * 2. Windows around hits are partitioned by hash.  One bucket after the other
 *    goes into a table that gives the first place of each hash; windows that
 *    occur earlier are partitioned again, by place, with it (spans_windows.c).
 * 3. These come back in order of their places; texts are compared and followed
 *    there.
 *
 * Steps 1 and 2 run on segments of the texts and on buckets, on all threads;
 * step 3 is sequential, since each span depends on the one before.
 *
 * Hashes of windows are polynomials mod 2^61 - 1.  On a hash collision, where
 * a window does not occur at its first place, the search is repeated with
 * another base: what is found is exact.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "spans/spans_priv.h"

enum {
	SEGMENT = 1 << 20, SMALL_SEGMENT = 1 << 14,
	BUFFER = PARTITION_MOST * sizeof(struct record), /* of a bucket */
	TRIES = 20
};

/* --- step 3: spans --- */

/* By key, which is base to base + 2^bits - 1. */
static void
sort(struct record *v, struct record *tmp, size_t n, uint64_t base,
     unsigned bits)
{
	unsigned at;
	size_t i, k, sum;

	for (at = 0; n && at < bits; at += 8) {
		size_t count[256] = {0};

		for (i = 0; i < n; i++)
			count[(v[i].key - base) >> at & 255]++;
		if (count[(v[0].key - base) >> at & 255] == n)
			continue;
		for (k = sum = 0; k < 256; k++) {
			sum += count[k];
			count[k] = sum - count[k];
		}
		for (i = 0; i < n; i++)
			tmp[count[(v[i].key - base) >> at & 255]++] = v[i];
		memcpy(v, tmp, n * sizeof(*v));
	}
}

static void
follow_copies(struct search *s, const struct record *v, size_t n,
	      struct doc_at *d, size_t *k)
{
	size_t i;

	for (i = 0; i < n && !s->collided; i++) {
		uint64_t x = v[i].key / s->s->char_max;
		size_t len = s->s->least + v[i].key % s->s->char_max;

		if (x >= d->end) {
			while (x >= s->s->start[*k + 1])
				++*k;
			*d = (struct doc_at){
				.doc = (uint32_t)*k, .begin = s->s->start[*k],
				.end = s->s->start[*k + 1]
			};
		}
		if ((x < d->from || x + len > d->covered) &&
		    !spans_follow(s->s, d, x, v[i].value, len))
			s->collided = 1;
	}
}

static int
follow_all(struct search *s, size_t buckets)
{
	struct doc_at d = {0, 0, 0, 0, 0};
	struct record *v = NULL, *tmp = NULL;
	size_t i, k = 0, n, cap = 0, tmp_cap = 0;
	struct partition_at at;
	unsigned bits = 1;
	int r = 0;

	while (s->range * s->s->char_max >> bits)
		bits++;
	for (i = 0; i < buckets && !r && !s->collided; i++) {
		n = partition_count(s->copies, i);
		GROW(v, cap, n);
		GROW(tmp, tmp_cap, n);
		at = (struct partition_at){0};
		r = partition_read(s->copies, i, &at, v, cap, &n, s->e);
		if (!r) {
			sort(v, tmp, n, i * s->range * s->s->char_max, bits);
			follow_copies(s, v, n, &d, &k);
		}
	}
	free(v);
	free(tmp);
	if (s->s->err.set && !s->e->set)
		*s->e = s->s->err;
	return s->e->set ? -1 : 0;
}

static void
sizes(struct search *s, size_t mem)
{
	uint64_t n = s->s->n;
	size_t most;

	s->step = s->s->least / 2 ? s->s->least / 2 : 1;
	s->block = s->s->least - s->step + 1;
	s->over = s->s->least + 2 * s->s->char_max;
	s->threads = s->s->threads;
	/* 1 / 512: buffers of the partition and the bytes of a bucket */
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
	/* a window takes 16 bytes, a distinct one 24 to 48: about mem / 3 */
	s->buckets = (size_t)(128.0 * (double)n * s->threads / (double)mem) +
		1;
	/* a bucket that fits into the cache, if there is room for buffers */
	most = mem / 8 / (size_t)s->threads / BUFFER;
	most = most < 1024 ? most : 1024;
	if (most > n >> 16)
		most = (size_t)(n >> 16);
	if (s->buckets < most)
		s->buckets = most;
	s->range = n / s->buckets + 1;
	s->room = mem / 256 / (size_t)s->threads;
	if (s->room < PARTITION_MOST)
		s->room = PARTITION_MOST;
}

static int
search(struct search *s, size_t mem)
{
	size_t threads = (size_t)s->threads;
	int r;

	s->windows = partition_new(s->buckets, threads, mem / 8, mem / 4);
	r = spans_filter(s, mem / 2, spans_windows);
	if (!r)
		r = partition_flush(s->windows, s->e);
	s->copies = partition_new(s->buckets, threads, mem / 8, mem / 8);
	if (!r)
		r = spans_run(s, s->buckets, 0, spans_firsts);
	s->s->spilled |= partition_on_disk(s->windows);
	partition_free(s->windows);
	if (!r)
		r = partition_flush(s->copies, s->e);
	if (!r)
		r = follow_all(s, s->buckets);
	s->s->spilled |= partition_on_disk(s->copies);
	partition_free(s->copies);
	return r;
}

int
spans_search(struct spans *s, struct err *e)
{
	struct search d = {.s = s, .e = e};
	size_t mem = s->mem - (s->p ? (size_t)s->n : s->mem / 16);
	int try, r;

	sizes(&d, mem);
	for (try = 0; try < TRIES; try++) {
		d.collided = 0;
		d.weak = s->weak && try < 2;
		spans_roll(&d, rng_u64((uint64_t)try, RNG_PICK, 1) | 1 << 20);
		s->nv = 0;
		r = search(&d, mem);
		if (r || !d.collided)
			return r;
	}
	return err_set(e, "hashes of windows collide over and over");
}
