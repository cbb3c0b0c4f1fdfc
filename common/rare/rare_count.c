/*
 * rare_count.c - see rare_count.h
 *
 * A thread takes some records at a time and reads their tokens in long runs.
 * Within a document ids are counted in an array of 32-bit numbers, small
 * enough for the cache, and each id that is new to it is noted; at its end
 * the noted ones go to the thread's table.  Sums, and the greatest with the
 * first record of equals, do not depend on who counted what.
 */
#include "rare/rare_count.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"

enum { RUN = 1 << 15, MAX_THREADS = 256, RUN_NO_BOUNDS = 1 << 20 };

struct job {
	const struct shards *s;
	const struct shard_info *info;
	uint32_t n;
	uint64_t units, step;	/* records, or runs of tokens without bounds */
	_Atomic uint64_t next;
	_Atomic int failed;
};

struct counter {
	struct job *j;
	struct rare_count *v;	/* [n] */
	uint32_t *local;	/* [n] of this document, zero between */
	uint32_t *seen;		/* [n] its distinct ids */
	size_t nseen;
	uint32_t *ids;		/* [RUN]: tokens [from, to) of the stream */
	uint64_t from, to;
	struct err e;
	pthread_t thread;
};

static int
check(struct counter *c, const uint32_t *ids, size_t n, uint64_t at)
{
	uint32_t most = 0;
	size_t i;

	for (i = 0; i < n; i++)
		most = ids[i] > most ? ids[i] : most;
	if (most < c->j->n)
		return 0;
	for (i = 0; ids[i] < c->j->n; i++)
		;
	return err_set(&c->e, "token %" PRIu64 " of the shards: id %u, but "
		       "the tokenizer has ids 0 to %u", at + i, ids[i],
		       c->j->n - 1);
}

/* Tokens from `at` on, as many as lie there, at most up to end. */
static const uint32_t *
tokens(struct counter *c, uint64_t at, uint64_t end, size_t *n)
{
	if (at < c->from || at >= c->to) {
		uint64_t all = c->j->info->tokens;
		size_t k = all - at < RUN ? (size_t)(all - at) : RUN;

		if (shards_read(c->j->s, at, k, c->ids, &c->e))
			return NULL;
		c->from = at;
		c->to = at + k;
	}
	*n = (size_t)((end < c->to ? end : c->to) - at);
	if (check(c, c->ids + (at - c->from), *n, at))
		return NULL;
	return c->ids + (at - c->from);
}

static int
add(struct counter *c, uint64_t at, uint64_t end)
{
	uint32_t *local = c->local, *seen = c->seen;
	size_t n, i, k = c->nseen;
	const uint32_t *p;

	while (at < end) {
		p = tokens(c, at, end, &n);
		if (!p)
			return -1;
		for (i = 0; i < n; i++) {
			seen[k] = p[i];
			k += local[p[i]]++ == 0;
		}
		at += n;
	}
	c->nseen = k;
	return 0;
}

/* The end of record d: what it had goes to the table. */
static void
flush(struct counter *c, uint64_t d, int doc)
{
	struct rare_count *x;
	uint64_t n;
	size_t i;

	for (i = 0; i < c->nseen; i++) {
		x = c->v + c->seen[i];
		n = c->local[c->seen[i]];
		c->local[c->seen[i]] = 0;
		x->count += n;
		if (!doc)
			continue;
		x->docs++;
		if (n > x->top || (n == x->top && d < x->top_doc)) {
			x->top = n;
			x->top_doc = d;
		}
	}
	c->nseen = 0;
}

static int
record(struct counter *c, uint64_t d)
{
	uint64_t at, end, k;
	struct shard_doc doc;

	if (shards_doc(c->j->s, d, &doc, &c->e))
		return -1;
	at = doc.start + (doc.from > 0 && doc.end > doc.start);
	/* The numbers in between have 32 bits, so a document of more than
	 * 4 Gi tokens goes in parts. */
	for (; at < doc.end; at = end) {
		k = doc.end - at;
		end = at + (k < UINT32_MAX ? k : UINT32_MAX);
		if (add(c, at, end))
			return -1;
		flush(c, d, 1);
	}
	return 0;
}

static int
unit(struct counter *c, uint64_t u)
{
	uint64_t at, end;

	if (c->j->info->docs)
		return record(c, u);
	at = u * RUN_NO_BOUNDS;
	end = at + RUN_NO_BOUNDS;
	if (end > c->j->info->tokens)
		end = c->j->info->tokens;
	if (add(c, at, end))
		return -1;
	flush(c, 0, 0);
	return 0;
}

static void *
worker(void *arg)
{
	struct counter *c = arg;
	struct job *j = c->j;
	uint64_t u, end;

	while (!atomic_load(&j->failed) &&
	       (u = atomic_fetch_add(&j->next, j->step)) < j->units) {
		end = u + j->step < j->units ? u + j->step : j->units;
		for (; u < end; u++)
			if (unit(c, u)) {
				atomic_store(&j->failed, 1);
				return NULL;
			}
		progress_add(j->step);
	}
	return NULL;
}

static void
counter_init(struct counter *c, struct job *j)
{
	memset(c, 0, sizeof(*c));
	c->j = j;
	c->v = xcalloc((size_t)j->n + 1, sizeof(*c->v));
	c->local = xcalloc((size_t)j->n + 1, sizeof(*c->local));
	c->seen = xcalloc((size_t)j->n + 1, sizeof(*c->seen));
	c->ids = xreallocarray(NULL, RUN, sizeof(*c->ids));
}

/* The counts of one thread to those of all, and its memory back. */
static void
counter_end(struct counter *c, struct rare_count *v)
{
	struct rare_count *x = c->v;
	uint32_t i;

	for (i = 0; i < c->j->n; i++) {
		v[i].count += x[i].count;
		v[i].docs += x[i].docs;
		if (x[i].top > v[i].top ||
		    (x[i].top == v[i].top && x[i].top_doc < v[i].top_doc)) {
			v[i].top = x[i].top;
			v[i].top_doc = x[i].top_doc;
		}
	}
	free(c->v);
	free(c->local);
	free(c->seen);
	free(c->ids);
}

static int
count(struct job *j, struct rare_count *v, int threads, struct err *e)
{
	struct counter *c;
	int n = 0, i;

	if (threads > MAX_THREADS)
		threads = MAX_THREADS;
	c = xcalloc((size_t)threads, sizeof(*c));
	progress_start("counting", j->info->docs ? "docs" : "blocks", j->units);
	for (i = 0; i < threads; i++)
		counter_init(&c[i], j);
	while (n + 1 < threads && (uint64_t)n + 1 < j->units &&
	       !pthread_create(&c[n + 1].thread, NULL, worker, &c[n + 1]))
		n++;
	worker(&c[0]);
	for (i = 1; i <= n; i++)
		pthread_join(c[i].thread, NULL);
	progress_stop();
	for (i = 0; i < threads; i++) {
		if (c[i].e.set && !e->set)
			*e = c[i].e;
		counter_end(&c[i], v);
	}
	free(c);
	return e->set ? -1 : 0;
}

int
rare_counts_get(struct rare_counts *c, const struct shards *s, uint32_t n,
		int64_t bos, int64_t eos, int threads, struct err *e)
{
	struct job j = {.s = s, .info = shards_info(s), .n = n};
	uint32_t i;

	memset(c, 0, sizeof(*c));
	c->n = n;
	c->bos = bos;
	c->eos = eos;
	c->shards = s;
	c->docs = j.info->docs ? j.info->pieces : 0;
	c->v = xcalloc((size_t)n + 1, sizeof(*c->v));
	j.units = c->docs ? c->docs :
		  (j.info->tokens + RUN_NO_BOUNDS - 1) / RUN_NO_BOUNDS;
	j.step = c->docs ? j.units / ((uint64_t)threads * 64) + 1 : 1;
	if (j.step > 1024)
		j.step = 1024;
	if (count(&j, c->v, threads, e)) {
		rare_counts_clear(c);
		return -1;
	}
	for (i = 0; i < n; i++)
		*(i == bos || i == eos ? &c->boundary : &c->tokens) +=
			c->v[i].count;
	return 0;
}

void
rare_counts_clear(struct rare_counts *c)
{
	free(c->v);
	memset(c, 0, sizeof(*c));
}
