/*
 * spans_segments.c - work on segments and buckets, on all threads
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "spans/spans_priv.h"

struct run {
	struct search *s;
	struct thread *t;
	int (*work)(struct thread *t, uint64_t i);
	uint64_t n;
	_Atomic uint64_t next;	/* segment or bucket */
};

static void
run_thread(void *ctx, int k)
{
	struct run *r = ctx;
	struct thread *t = &r->t[k];
	uint64_t i;

	while (!t->e.set && (i = r->next++) < r->n)
		if (r->work(t, i))
			break;
}

int
spans_run(struct search *s, uint64_t n, int segments,
	  int (*work)(struct thread *t, uint64_t i))
{
	size_t bytes = s->segment + 2 * s->over, k;
	size_t threads = (size_t)s->threads;
	struct thread *t = xcalloc(threads, sizeof(*t));
	struct run r = {s, t, work, n, 0};

	for (k = 0; k < threads; k++) {
		t[k] = (struct thread){.s = s, .k = k};
		if (segments && !s->s->p)
			t[k].room = xmalloc(bytes);
		if (segments)
			t[k].hash = xcalloc(bytes + SOME, sizeof(*t->hash));
	}
	parallel_run(s->threads, run_thread, &r);
	for (k = 0; k < threads; k++) {
		if (t[k].e.set && !s->e->set)
			*s->e = t[k].e;
		free(t[k].room);
		free(t[k].hash);
		free(t[k].firsts.in);
		free(t[k].firsts.v);
		free(t[k].firsts.slot);
	}
	free(t);
	if (s->s->err.set && !s->e->set)
		*s->e = s->s->err;
	return s->e->set ? -1 : 0;
}

void
spans_load(struct thread *t, uint64_t from, uint64_t to)
{
	const struct search *s = t->s;

	t->at = from < s->over ? 0 : from - s->over;
	t->end = s->s->n - to < s->over ? s->s->n : to + s->over;
	t->text = spool_view(s->s->text, t->at, (size_t)(t->end - t->at));
	if (t->text)
		return;
	t->text = t->room;
	spans_read(s->s, t->at, t->room, (size_t)(t->end - t->at));
}

void
spans_sort(struct record *v, struct record *tmp, size_t n, uint64_t base,
	   uint64_t most)
{
	unsigned at;
	size_t i, k, sum;

	for (at = 0; n && at < 64 && most >> at; at += 8) {
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
