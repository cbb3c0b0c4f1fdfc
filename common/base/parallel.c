/*
 * parallel.c - one function on several threads
 */
#include "base/parallel.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"

struct call {
	void (*fn)(void *ctx, int thread);
	void *ctx;
	int number, started;
	pthread_t thread;
};

static void *
call_main(void *arg)
{
	struct call *c = arg;

	c->fn(c->ctx, c->number);
	return NULL;
}

void
parallel_run(int threads, void (*fn)(void *ctx, int thread), void *ctx)
{
	struct call *c = xcalloc(threads > 1 ? (size_t)threads : 1, sizeof *c);
	int i;

	for (i = 1; i < threads; i++) {
		c[i] = (struct call){ .fn = fn, .ctx = ctx, .number = i };
		c[i].started = !pthread_create(&c[i].thread, NULL, call_main,
					       &c[i]);
	}
	fn(ctx, 0);
	for (i = 1; i < threads; i++)
		if (!c[i].started)
			fn(ctx, i);
	for (i = 1; i < threads; i++)
		if (c[i].started)
			pthread_join(c[i].thread, NULL);
	free(c);
}
