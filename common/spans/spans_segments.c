/*
 * spans_segments.c - work on segments and buckets, on all threads
 */
#include <stdatomic.h>
#include <stdlib.h>

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
	size_t words = (s->segment + s->over) / 64 + 2, k;
	size_t threads = (size_t)s->threads;
	struct thread *t = xcalloc(threads, sizeof(*t));
	struct run r = {s, t, work, n, 0};

	for (k = 0; k < threads; k++) {
		t[k] = (struct thread){.s = s, .k = k};
		if (segments) {
			t[k].text = xmalloc(s->segment + s->over);
			t[k].hit = xcalloc(words, sizeof(*t->hit));
			t[k].old = xcalloc(words, sizeof(*t->old));
		}
	}
	parallel_run(s->threads, run_thread, &r);
	for (k = 0; k < threads; k++) {
		if (t[k].e.set && !s->e->set)
			*s->e = t[k].e;
		free(t[k].text);
		free(t[k].hit);
		free(t[k].old);
	}
	free(t);
	if (s->s->err.set && !s->e->set)
		*s->e = s->s->err;
	return s->e->set ? -1 : 0;
}

uint64_t
spans_load(struct thread *t, uint64_t i, size_t *n, size_t *all)
{
	struct search *s = t->s;
	uint64_t at = i * s->segment, left = s->s->n - at;

	*n = left < s->segment ? (size_t)left : s->segment;
	*all = left < s->segment + s->over ? (size_t)left :
		s->segment + s->over;
	spans_read(s->s, at, t->text, *all);
	return at;
}
