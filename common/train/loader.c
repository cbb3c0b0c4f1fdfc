/*
 * loader.c - see loader.h
 *
 * Slot s % 2 holds the batch of step s.  The thread fills step `made` as soon
 * as the caller no longer uses that slot, so it is at most one step ahead.
 */
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
	uint64_t made;		/* steps before this one are filled */
	uint64_t taken;		/* steps before this one were returned */
	int stop, failed;
	struct err e;
	pthread_mutex_t lock;
	pthread_cond_t change;
	pthread_t thread;
};

static int
fill(struct loader *l, struct batch *b, uint64_t step, struct err *e)
{
	const struct plan_part *p = l->c.part;
	struct batch_source src = l->c.source;
	struct err why = {0};
	uint64_t window;
	uint32_t i;
	size_t s;

	b->step = step;
	for (i = 0; i < p->batch_size; i++) {
		window = plan_window(p, step, i, &s);
		src.shards = l->c.shards[s];
		if (batch_window(b, i, &src, window, &why) < 0)
			return p->mix ? err_set(e, "%s: %s", p->data[s],
						why.msg) :
				err_set(e, "%s", why.msg);
	}
	batch_sort(b, l->c.micro_batch);
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

/* Signals go to the main thread. */
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
	batch_init(&l->slot[0], (uint32_t)c->part->batch_size, c->source.t);
	batch_init(&l->slot[1], (uint32_t)c->part->batch_size, c->source.t);
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->change, NULL);
	if (start_thread(l) != 0)
		die("cannot start the thread that reads batches");
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
