/*
 * loader.c - see loader.h
 *
 * One mutex and one condition guard two slots: slot s % 2 holds step s once
 * ready[s % 2] is set.  The thread fills step `made` as soon as that slot is
 * not the one in the caller's hands, so it is at most one step ahead.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/clock.h"
#include "train/loader.h"

struct loader {
	struct loader_conf c;
	struct batch slot[2];
	uint64_t made;		/* steps below are filled */
	uint64_t taken;		/* steps below were handed out */
	int stop, failed;
	struct err e;
	pthread_mutex_t lock;
	pthread_cond_t change;
	pthread_t thread;
};

void
batch_init(struct batch *b, uint32_t windows, uint32_t t)
{
	size_t n = (size_t)windows * t;

	memset(b, 0, sizeof *b);
	b->tok = xcalloc(n, sizeof *b->tok);
	b->target = xcalloc(n, sizeof *b->target);
	b->start = xcalloc(n, sizeof *b->start);
}

void
batch_clear(struct batch *b)
{
	free(b->tok);
	free(b->target);
	free(b->start);
	memset(b, 0, sizeof *b);
}

static int
bad_id(uint64_t k, uint32_t i, uint32_t id, int64_t vocab, struct err *e)
{
	return err_set(e, "window %" PRIu64 ", token %" PRIu32 ": id %" PRIu32
		       ", the model has %" PRId64 " ids", k, i, id, vocab);
}

/* Ids and targets are read in place: both types have 32 bits. */
static int
read_window(struct batch *b, size_t at, const struct loader_conf *c,
	    uint64_t k, uint8_t *mask, uint32_t *seg, struct err *e)
{
	uint32_t *ids = (uint32_t *)b->tok + at;
	uint32_t *target = (uint32_t *)b->target + at, i;

	if (shards_window(c->shards, c->t, k, c->doc_mask, ids, target, mask,
			  seg, e) < 0)
		return -1;
	for (i = 0; i < c->t; i++) {
		if (ids[i] >= c->vocab)
			return bad_id(k, i, ids[i], c->vocab, e);
		if (mask[i] && target[i] >= c->vocab)
			return bad_id(k, i + 1, target[i], c->vocab, e);
	}
	return 0;
}

int
batch_window(struct batch *b, uint32_t row, const struct loader_conf *c,
	     uint64_t k, struct err *e)
{
	size_t at = (size_t)row * c->t;
	uint8_t *mask = xmalloc(c->t);
	uint32_t *seg = xmalloc(c->t * sizeof *seg), i, first = 0;
	int rc = read_window(b, at, c, k, mask, seg, e);

	for (i = 0; rc == 0 && i < c->t; i++) {
		if (c->doc_mask && i && seg[i] != seg[i - 1])
			first = i;
		b->start[at + i] = (int32_t)first;
		if (mask[i])
			b->targets++;
		else
			b->target[at + i] = -1;
	}
	free(mask);
	free(seg);
	return rc;
}

static int
fill(struct loader *l, struct batch *b, uint64_t step, struct err *e)
{
	const struct loader_conf *c = &l->c;
	uint64_t n = shards_windows(c->shards, c->t);
	uint32_t i;

	b->step = step;
	b->targets = 0;
	for (i = 0; i < c->b; i++)
		if (batch_window(b, i, c, order_window(c->order, c->seed, n,
						       step * c->b + i),
				 e) < 0)
			return -1;
	return 0;
}

static void *
run(void *arg)
{
	struct loader *l = arg;

	pthread_mutex_lock(&l->lock);
	while (!l->stop && !l->failed) {
		struct batch *b = &l->slot[l->made % 2];
		struct err e = {0};
		int rc;

		if (l->made > l->taken) {
			pthread_cond_wait(&l->change, &l->lock);
			continue;
		}
		pthread_mutex_unlock(&l->lock);
		rc = fill(l, b, l->made, &e);
		pthread_mutex_lock(&l->lock);
		if (rc < 0) {
			l->failed = 1;
			l->e = e;
		} else
			l->made++;
		pthread_cond_broadcast(&l->change);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* Signals are the main thread's. */
static int
start_thread(struct loader *l)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&l->thread, NULL, run, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

struct loader *
loader_new(const struct loader_conf *c, uint64_t step)
{
	struct loader *l = xcalloc(1, sizeof *l);

	l->c = *c;
	l->made = l->taken = step;
	batch_init(&l->slot[0], c->b, c->t);
	batch_init(&l->slot[1], c->b, c->t);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->change, NULL);
	if (start_thread(l) != 0)
		die("cannot start a thread to read data");
	return l;
}

void
loader_free(struct loader *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = 1;
	pthread_cond_broadcast(&l->change);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->change);
	batch_clear(&l->slot[0]);
	batch_clear(&l->slot[1]);
	free(l);
}

const struct batch *
loader_next(struct loader *l, double *wait_s, struct err *e)
{
	const struct batch *b = NULL;
	double start = clock_s();

	pthread_mutex_lock(&l->lock);
	while (l->made == l->taken && !l->failed)
		pthread_cond_wait(&l->change, &l->lock);
	if (l->made > l->taken) {
		b = &l->slot[l->taken % 2];
		l->taken++;
		pthread_cond_broadcast(&l->change);
	} else
		*e = l->e;
	pthread_mutex_unlock(&l->lock);
	*wait_s = clock_s() - start;
	return b;
}
