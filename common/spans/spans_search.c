/*
 * spans_search.c - the search for spans, in bounded memory
 *
 * What any search must do: hash every place of the text, read copied text at
 * both places to compare it, write each copy down once.  What it need not do is
 * to store something for every byte.
 *
 * 1. Of each window one place, its anchor, is chosen by its bytes alone; about
 *    four places per window length are anchors.  The hash of the block that
 *    begins there (half a window) is partitioned by value (spans_anchors.c).
 * 2. One bucket after the other goes into a table that gives the first place
 *    of each hash.  Anchors that occur earlier are partitioned again, by place,
 *    with it (spans_firsts.c).
 * 3. These come back in order of their places, and text is compared with the
 *    first place of each.  Windows that agree have their first place there.
 *    The others, near the ends of passages that occur three times or more, go
 *    through steps 2 and 3 again in cells, which are a few windows that have
 *    most of their bytes in common.  What is left then is hashed window by
 *    window; step 2 gives their first places (spans_matches.c).
 * 4. All copies come back in order of their places, and become spans
 *    (spans_cover.c).
 *
 * Steps 1 to 3 run on segments of the texts and on buckets, on all threads;
 * step 4 is sequential.
 *
 * Hashes of windows are polynomials mod 2^61 - 1.  On a hash collision, where
 * a window does not occur at its first place, the search is repeated with
 * another base: what is found is exact.
 */
#include <stdlib.h>

#include "base/rng.h"
#include "spans/spans_priv.h"

enum {
	SEGMENT = 1 << 18, SMALL_SEGMENT = 1 << 14,
	BUFFER = PARTITION_MOST * sizeof(struct record), /* of a bucket */
	CELL = 256,
	TRIES = 20
};

static void
sizes(struct search *s, size_t mem)
{
	uint64_t n = s->s->n;
	size_t most;

	s->starts = s->s->least / 2 ? s->s->least / 2 : 1;
	s->grams = s->starts;
	if (s->s->least >= 4 * GRAM) {
		s->starts = (s->s->least - GRAM + 1) / 2;
		s->grams = 2 * s->starts;
	}
	s->block = s->s->least - s->starts + 1;
	s->gram = s->block < GRAM ? s->block : GRAM;
	s->cell = (s->starts + 4) / 6;
	s->cell = s->cell < 1 ? 1 : s->cell > CELL ? CELL : s->cell;
	s->over = s->s->least + 2 * s->s->char_max + s->cell;
	s->threads = s->s->threads;
	/* 1 / 512: buffers of the partition and the bytes of a bucket */
	while (s->threads > 1 && (double)s->threads * s->threads * 262144.0 *
	       (double)n > (double)mem * (double)mem)
		s->threads--;
	s->segment = mem / 64 / (size_t)s->threads;
	if (s->segment > SEGMENT)
		s->segment = SEGMENT;
	if (s->segment < SMALL_SEGMENT)
		s->segment = SMALL_SEGMENT;
	if (s->segment < s->over)
		s->segment = s->over;
	/* a record takes 16 bytes, a distinct one 24 to 48: about mem / 3 */
	s->buckets = (size_t)(128.0 * (double)n * s->threads / (double)mem) +
		1;
	/* a bucket that fits into the cache, if there is room for buffers */
	most = mem / 8 / (size_t)s->threads / BUFFER;
	most = most < 1024 ? most : 1024;
	if (most > n >> 16)
		most = (size_t)(n >> 16);
	if (s->buckets < most)
		s->buckets = most;
	/* large buffers of few records would only take memory */
	s->buffers = mem / 8 < n / 16 ? mem / 8 : (size_t)(n / 16);
	s->range = n / s->buckets + 1;
	s->room = mem / 256 / (size_t)s->threads;
	if (s->room < PARTITION_MOST)
		s->room = PARTITION_MOST;
}

/* No more records: free s->..., which is read no more either. */
static void
done(struct search *s, struct partition **p)
{
	s->s->spilled |= *p && partition_on_disk(*p);
	partition_free(*p);
	*p = NULL;
}

/* Step 2. */
static int
find_repeats(struct search *s, size_t mem)
{
	size_t n = s->buckets, threads = (size_t)s->threads;

	if (partition_flush(s->blocks, s->e))
		return -1;
	s->repeats = partition_new(n, threads, s->buffers, mem / 8, 0);
	if (spans_run(s, n, 0, spans_put_repeats) ||
	    partition_flush(s->repeats, s->e))
		return -1;
	done(s, &s->blocks);
	return 0;
}

/* The steps to windows and copies. */
static int
find_copies(struct search *s, size_t mem)
{
	uint64_t segments = (s->s->n + s->segment - 1) / s->segment;
	size_t threads = (size_t)s->threads, n = s->buckets;

	s->unit = 1;
	s->blocks = partition_new(n, threads, s->buffers, mem / 4, 1);
	if (spans_run(s, segments, 1, spans_put_anchors) ||
	    find_repeats(s, mem))
		return -1;
	s->windows = partition_new(n, threads, s->buffers / 2, mem / 8, 0);
	s->copies = partition_new(n, threads, s->buffers / 2, mem / 8, 0);
	s->blocks = partition_new(n, threads, s->buffers / 2, mem / 8, 0);
	if (spans_run(s, n, 1, spans_matches))
		return -1;
	done(s, &s->repeats);
	s->unit = (uint64_t)s->cell * s->cell;
	if (find_repeats(s, mem) || spans_run(s, n, 1, spans_matches) ||
	    partition_flush(s->windows, s->e))
		return -1;
	done(s, &s->repeats);
	return spans_run(s, n, 0, spans_put_copies) ||
		partition_flush(s->copies, s->e) ? -1 : 0;
}

static int
search(struct search *s, size_t mem)
{
	int r = find_copies(s, mem);

	done(s, &s->blocks);
	done(s, &s->repeats);
	done(s, &s->windows);
	if (!r)
		r = spans_cover(s);
	done(s, &s->copies);
	return r;
}

int
spans_search(struct spans *s, struct err *e)
{
	struct search d = {.s = s, .e = e};
	size_t mem = s->mem - (s->p ? (size_t)s->n :
			       spool_view(s->text, 0, 1) ? s->mem / 4 :
			       s->mem / 16);
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
