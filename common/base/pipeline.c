/*
 * pipeline.c - read in order, work in any order, write in order
 *
 * No thread only reads or only writes.  Each worker writes the oldest item if
 * that is finished, or else reads an item and works on it, or else waits.  Item
 * s is in slot s % size of a ring, whose size limits the items in flight.  One
 * lock guards the ring; it is not held during read(), work() or write().  The
 * flags `reading` and `writing` restrict those to one thread each.
 *
 * An error of read() takes a slot of its own, so that the writer meets it after
 * every item before it.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/pipeline.h"

enum { IN_FLIGHT_PER_THREAD = 4 };

struct slot {
	void *item;
	int finished;
	struct err *err;	/* owned; the item's error, or read()'s */
};

struct run {
	const struct pipeline *p;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct slot *ring;
	uint64_t size;
	uint64_t next_read, next_write;
	int reading, writing;
	int ended;		/* read() has given its last item */
	int stopped;		/* write() wants no more, or an error */
	struct err *err;	/* the caller's */
	int failed;		/* 0 or -1 */
};

static void
slot_fail(struct slot *s, const struct err *e)
{
	s->err = xmalloc(sizeof *e);
	*s->err = *e;
}

/* The lock is held when the functions below are called and when they return. */

static int
can_write(const struct run *r)
{
	return !r->writing && !r->stopped && r->next_write < r->next_read &&
	       r->ring[r->next_write % r->size].finished;
}

static int
can_read(const struct run *r)
{
	return !r->reading && !r->stopped && !r->ended &&
	       r->next_read - r->next_write < r->size;
}

static void
do_write(struct run *r)
{
	struct slot s = r->ring[r->next_write % r->size];
	struct err e = {0};
	int rc;

	r->writing = 1;
	pthread_mutex_unlock(&r->lock);
	rc = s.err ? -1 : r->p->write(r->p->ctx, s.item, &e);
	if (s.item)
		r->p->drop(r->p->ctx, s.item);
	pthread_mutex_lock(&r->lock);
	r->stopped |= rc != 0;
	if (rc < 0)
		r->failed = err_set(r->err, "%s", (s.err ? s.err : &e)->msg);
	free(s.err);
	r->ring[r->next_write % r->size] = (struct slot){0};
	r->next_write++;
	r->writing = 0;
	pthread_cond_broadcast(&r->changed);
}

static void
do_read_and_work(struct run *r, int number)
{
	struct slot *s = &r->ring[r->next_read % r->size];
	struct err e = {0};
	void *item;
	int rc;

	r->reading = 1;
	pthread_mutex_unlock(&r->lock);
	item = r->p->read(r->p->ctx, &e);
	pthread_mutex_lock(&r->lock);
	r->reading = 0;
	r->ended = !item;
	s->item = item;
	if (!item && e.set)
		slot_fail(s, &e);
	s->finished = !item;
	r->next_read += item || e.set;
	pthread_cond_broadcast(&r->changed);
	if (!item)
		return;
	pthread_mutex_unlock(&r->lock);
	rc = r->p->work(r->p->ctx, item, number, &e);
	pthread_mutex_lock(&r->lock);
	if (rc < 0)
		slot_fail(s, &e);
	s->finished = 1;
	pthread_cond_broadcast(&r->changed);
}

static void
worker_main(void *ctx, int number)
{
	struct run *r = ctx;

	pthread_mutex_lock(&r->lock);
	while (!r->stopped && !(r->ended && r->next_write == r->next_read)) {
		if (can_write(r))
			do_write(r);
		else if (can_read(r))
			do_read_and_work(r, number);
		else
			pthread_cond_wait(&r->changed, &r->lock);
	}
	pthread_mutex_unlock(&r->lock);
}

static int
run_alone(const struct pipeline *p, struct err *e)
{
	void *item;
	int rc;

	while ((item = p->read(p->ctx, e))) {
		rc = p->work(p->ctx, item, 0, e);
		if (rc == 0)
			rc = p->write(p->ctx, item, e);
		p->drop(p->ctx, item);
		if (rc)
			return rc < 0 ? -1 : 0;
	}
	return e->set ? -1 : 0;
}

/* Drop the items that were in flight. */
static void
drop_rest(struct run *r)
{
	for (uint64_t i = 0; i < r->size; i++) {
		if (r->ring[i].item)
			r->p->drop(r->p->ctx, r->ring[i].item);
		free(r->ring[i].err);
	}
}

int
pipeline_run(const struct pipeline *p, int threads, struct err *e)
{
	struct run r = { .p = p, .err = e };

	if (threads <= 1)
		return run_alone(p, e);
	r.size = (uint64_t)threads * IN_FLIGHT_PER_THREAD;
	r.ring = xcalloc(r.size, sizeof *r.ring);
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.changed, NULL);
	parallel_run(threads, worker_main, &r);
	drop_rest(&r);
	pthread_cond_destroy(&r.changed);
	pthread_mutex_destroy(&r.lock);
	free(r.ring);
	return r.failed;
}
