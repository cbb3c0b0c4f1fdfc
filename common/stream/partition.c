/*
 * partition.c - pairs of numbers, spooled by bucket
 *
 * A full buffer of a bucket is appended to one spool as a chunk.  A chunk
 * begins with where the bucket's previous one is, so that memory does not grow
 * with the number of records.  A buffer has room for that, so that a chunk is
 * written and read at once.
 *
 * A short record has the upper half of a word for its key, and the lower one
 * for its value less that of the chunk, which is that of its first record.  A
 * value that is too far from it begins a new chunk.
 */
#include "stream/partition.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "stream/spool.h"

#define NO_CHUNK UINT64_MAX

enum {
	LINE = 64 / sizeof(uint64_t),
	WIDE = 2,		/* words of a record */
	HEAD = 2, HEAD_SHORT	/* words of {chunk before}, {it, value} */
};

struct bucket {
	struct record last;	/* chunk: {offset or NO_CHUNK, records} */
	uint64_t n;		/* records in chunks */
};

/* A chunk that a writer fills: what every record needs is in one place. */
struct filling {
	uint64_t value;		/* short: that of the chunk */
	uint32_t fill;		/* words, with its head */
};

struct writer {
	uint64_t *buf;		/* of each bucket: the head, records */
	struct filling *filling; /* of each bucket */
};

struct partition {
	struct spool *spool;
	struct bucket *bucket;
	size_t buckets, writers;
	int is_short;
	size_t head, words;	/* of a chunk; of a record */
	size_t cap;		/* words of a buffer */
	size_t stride;		/* from one to the next */
	struct writer *writer;	/* NULL: flushed */
	pthread_mutex_t lock;
};

struct partition *
partition_new(size_t buckets, size_t writers, size_t buffers, size_t mem,
	      int is_short)
{
	struct partition *s = xcalloc(1, sizeof(*s));
	size_t i;

	s->spool = spool_new(mem);
	s->buckets = buckets;
	s->writers = writers;
	s->is_short = is_short;
	s->head = is_short ? HEAD_SHORT : HEAD;
	s->words = is_short ? 1 : WIDE;
	s->cap = buffers / writers / buckets / sizeof(uint64_t) / s->words;
	if (s->cap < PARTITION_LEAST)
		s->cap = PARTITION_LEAST;
	if (s->cap > PARTITION_MOST)
		s->cap = PARTITION_MOST;
	s->cap *= s->words;
	/* buffers a power of two apart would share a few lines of the cache */
	s->stride = s->cap < 16 * LINE ? s->cap : s->cap + LINE;
	s->bucket = xcalloc(buckets, sizeof(*s->bucket));
	for (i = 0; i < buckets; i++)
		s->bucket[i].last.key = NO_CHUNK;
	s->writer = xcalloc(writers, sizeof(*s->writer));
	for (i = 0; i < writers; i++)
		s->writer[i] = (struct writer){
			mem_pages(buckets * s->stride * sizeof(uint64_t)),
			xcalloc(buckets, sizeof(struct filling))
		};
	for (i = 0; i < writers * buckets; i++)
		s->writer[i / buckets].filling[i % buckets].fill =
			(uint32_t)s->head;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void
free_buffers(struct partition *s)
{
	size_t i;

	for (i = 0; i < s->writers && s->writer; i++) {
		mem_pages_free(s->writer[i].buf, s->buckets * s->stride *
			       sizeof(uint64_t));
		free(s->writer[i].filling);
	}
	free(s->writer);
	s->writer = NULL;
}

void
partition_free(struct partition *s)
{
	if (!s)
		return;
	free_buffers(s);
	spool_free(s->spool);
	free(s->bucket);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int
put_chunk(struct partition *s, struct writer *w, size_t i, struct err *e)
{
	uint64_t *v = w->buf + i * s->stride;
	struct bucket *b = &s->bucket[i];
	size_t words = w->filling[i].fill, n = (words - s->head) / s->words;
	int r;

	pthread_mutex_lock(&s->lock);
	v[0] = b->last.key;
	v[1] = b->last.value;
	if (s->is_short)
		v[HEAD] = w->filling[i].value;
	b->last = (struct record){spool_size(s->spool), n};
	b->n += n;
	r = spool_append(s->spool, v, words * sizeof(*v), e);
	pthread_mutex_unlock(&s->lock);
	w->filling[i].fill = (uint32_t)s->head;
	return r;
}

static int
put_short(struct partition *s, struct writer *w, size_t bucket,
	  uint64_t key, uint64_t value, struct err *e)
{
	struct filling *c = &w->filling[bucket];
	uint64_t *at;

	if (c->fill > HEAD_SHORT && (value - c->value) >> 32 &&
	    put_chunk(s, w, bucket, e))
		return -1;
	if (c->fill == HEAD_SHORT)
		c->value = value;
	at = w->buf + bucket * s->stride + c->fill;
	*at = key << 32 | (value - c->value);
	__builtin_prefetch(at + LINE, 1);
	return ++c->fill < s->cap ? 0 : put_chunk(s, w, bucket, e);
}

int
partition_put(struct partition *s, size_t writer, size_t bucket,
	      uint64_t key, uint64_t value, struct err *e)
{
	struct writer *w = &s->writer[writer];
	struct filling *c;
	uint64_t *at;

	if (s->is_short)
		return put_short(s, w, bucket, key, value, e);
	c = &w->filling[bucket];
	at = w->buf + bucket * s->stride + c->fill;
	at[0] = key;
	at[1] = value;
	__builtin_prefetch(at + LINE, 1);
	c->fill += WIDE;
	return c->fill < s->cap ? 0 : put_chunk(s, w, bucket, e);
}

int
partition_flush(struct partition *s, struct err *e)
{
	size_t w, i;

	for (w = 0; w < s->writers; w++)
		for (i = 0; i < s->buckets; i++)
			if (s->writer[w].filling[i].fill > s->head &&
			    put_chunk(s, &s->writer[w], i, e))
				return -1;
	free_buffers(s);
	return 0;
}

uint64_t
partition_count(const struct partition *s, size_t bucket)
{
	return s->bucket[bucket].n;
}

/* The n records of the chunk at `off` to v, and where the one before is. */
static int
read_short(struct partition *s, uint64_t off, size_t n, struct record *v,
	   struct record *before, struct err *e)
{
	uint64_t chunk[PARTITION_MOST];
	const size_t bytes = (HEAD_SHORT + n) * sizeof(*chunk);
	const uint64_t *p = spool_view(s->spool, off, bytes);
	size_t i;

	if (!p && spool_read(s->spool, off, chunk, bytes, e))
		return -1;
	p = p ? p : chunk;
	*before = (struct record){p[0], p[1]};
	for (i = 0; i < n; i++)
		v[i] = (struct record){
			p[HEAD_SHORT + i] >> 32,
			(uint32_t)p[HEAD_SHORT + i] + p[HEAD]
		};
	return 0;
}

static int
read_chunks(struct partition *s, struct record *at, struct record *v,
	    size_t room, size_t *n, struct err *e)
{
	size_t k;

	for (*n = 0; at->key != NO_CHUNK && at->value < room - *n; *n += k) {
		k = (size_t)at->value;
		if (s->is_short) {
			if (read_short(s, at->key, k, v + *n, at, e))
				return -1;
			continue;
		}
		if (spool_read(s->spool, at->key, v + *n,
			       (k + 1) * sizeof(*v), e))
			return -1;
		*at = v[*n];
		v[*n] = v[*n + k];
	}
	return 0;
}

int
partition_read(struct partition *s, size_t bucket, struct partition_at *at,
	     struct record *v, size_t room, size_t *n, struct err *e)
{
	int r;

	if (!at->begun)
		*at = (struct partition_at){s->bucket[bucket].last, 1};
	pthread_mutex_lock(&s->lock);
	r = read_chunks(s, &at->next, v, room, n, e);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int
partition_on_disk(const struct partition *s)
{
	return spool_on_disk(s->spool);
}
