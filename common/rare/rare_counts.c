/*
 * rare_counts.c - see rare_counts.h
 *
 * A thread takes a few documents at a time and reads their tokens in long
 * runs.  Within a document it counts ids in an array of 32-bit numbers, small
 * enough for the cache, and lists the distinct ones; at the end of the document
 * those are added to the thread's table.  Sums, and the greatest count with
 * its first document, do not depend on which thread counted what.
 */
#include "rare/rare_counts.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/progress.h"

enum { RUN = 1 << 15, MAX_THREADS = 256, RUN_NO_BOUNDS = 1 << 20 };

struct job {
	const struct shards *s;
	const struct shard_info *info;
	uint32_t n;
	uint64_t units, step;	/* documents, or runs without boundaries */
	struct counter *counter;	/* one for each thread */
	_Atomic uint64_t next;
	_Atomic int failed;
};

struct counter {
	struct job *j;
	struct rare_count *v;	/* [n] */
	uint32_t *local;	/* [n] in this document, zero between them */
	uint32_t *seen;		/* [n] its distinct ids */
	size_t nseen;
	uint32_t *ids;		/* [RUN]: tokens [from, to) of the stream */
	uint64_t from, to;
	struct err e;
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

/* Tokens from `at` on: up to end, or to the end of the run. */
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

/* The end of document d: its counts are added to the table. */
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
document(struct counter *c, uint64_t d)
{
	uint64_t at, end, k;
	struct shard_doc doc;

	if (shards_doc(c->j->s, d, &doc, &c->e))
		return -1;
	at = doc.start + (doc.from > 0 && doc.end > doc.start);
	/* local[] has 32 bits: a longer document is counted in parts. */
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
		return document(c, u);
	at = u * RUN_NO_BOUNDS;
	end = at + RUN_NO_BOUNDS;
	if (end > c->j->info->tokens)
		end = c->j->info->tokens;
	if (add(c, at, end))
		return -1;
	flush(c, 0, 0);
	return 0;
}

static void
count_units(void *ctx, int thread)
{
	struct job *j = ctx;
	uint64_t u, end;

	while (!atomic_load(&j->failed) &&
	       (u = atomic_fetch_add(&j->next, j->step)) < j->units) {
		end = u + j->step < j->units ? u + j->step : j->units;
		for (; u < end; u++)
			if (unit(&j->counter[thread], u)) {
				atomic_store(&j->failed, 1);
				return;
			}
		progress_add(j->step);
	}
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

/* Add the counts of one thread to v, and free its memory. */
static void
counter_end(struct counter *c, struct rare_count *v)
{
	const struct rare_count *x = c->v;
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
	int i;

	if (threads > MAX_THREADS)
		threads = MAX_THREADS;
	j->counter = xcalloc((size_t)threads, sizeof(*j->counter));
	for (i = 0; i < threads; i++)
		counter_init(&j->counter[i], j);
	progress_start("counting", j->info->docs ? "docs" : "blocks", j->units);
	parallel_run((uint64_t)threads < j->units ? threads :
		     j->units > 0 ? (int)j->units : 1, count_units, j);
	progress_stop();
	for (i = 0; i < threads; i++) {
		if (j->counter[i].e.set && !e->set)
			*e = j->counter[i].e;
		counter_end(&j->counter[i], v);
	}
	free(j->counter);
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

/* ---- counts and merges ---- */

/*
 * A merge makes one token of two: a part that never occurs alone has been
 * absorbed.
 */
static void
find_parents(const struct rare_counts *c, struct rare *r)
{
	const struct vocab *v = r->vocab;
	uint32_t part, by, res;
	size_t m, k;

	for (m = 0; m < v->nmerges; m++) {
		res = v->merge[m][2];
		for (k = 0; k < 2; k++) {
			part = v->merge[m][k];
			by = r->swallowed_by[part];
			if (part != res &&
			    (by == RARE_NONE ||
			     c->v[res].count > c->v[by].count ||
			     (c->v[res].count == c->v[by].count && res < by)))
				r->swallowed_by[part] = res;
		}
	}
}

/*
 * best[]: the greatest count of all tokens that merges make of one, directly
 * or in several steps.  One walk is enough if merges are in the order of
 * training; in SentencePiece files they are not, so walk until nothing
 * changes.
 */
static void
greatest_above(const struct vocab *v, const struct rare_counts *c,
	       uint64_t *best)
{
	int changed = 1;
	size_t m, k;

	while (changed)
		for (changed = 0, m = v->nmerges; m-- > 0;) {
			const uint32_t *x = v->merge[m];
			uint64_t most = c->v[x[2]].count > best[x[2]] ?
					c->v[x[2]].count : best[x[2]];

			for (k = 0; k < 2; k++)
				if (x[k] != x[2] && best[x[k]] < most) {
					best[x[k]] = most;
					changed = 1;
				}
		}
}

void
rare_counts_join(const struct rare_counts *c, struct rare *r,
		 uint64_t rare_below)
{
	uint64_t *best = xcalloc((size_t)r->n + 1, sizeof(*best));
	uint32_t id;

	r->counts = c;
	r->rare_below = rare_below;
	r->swallowed_by = xreallocarray(NULL, (size_t)r->n + 1,
					sizeof(*r->swallowed_by));
	for (id = 0; id < r->n; id++)
		r->swallowed_by[id] = RARE_NONE;
	find_parents(c, r);
	greatest_above(r->vocab, c, best);
	for (id = 0; id < r->n; id++) {
		if (c->v[id].count && !rare_is(r, id, RARE_GIVEN))
			r->flags[id] &= (uint16_t)~RARE_UNUSED;
		if (id == c->bos || id == c->eos)
			r->flags[id] |= RARE_BOUNDARY;
		if (c->v[id].count >= rare_below)
			continue;
		if (best[id] >= rare_below)
			r->flags[id] |= RARE_STEP;
		else if (r->category[id] == RARE_CAT_OK &&
			 !rare_is(r, id, RARE_UNUSED | RARE_BOUNDARY))
			r->flags[id] |= RARE_RARE;
	}
	free(best);
}
