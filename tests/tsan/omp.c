/*
 * omp.c - OpenMP's run time, as far as the sources call it, for TSan
 *
 * GCC's libgomp is not built with ThreadSanitizer and waits on futexes, so
 * the sanitizer sees neither where a team begins nor where it ends: every
 * parallel region looks like a race, and suppressing those would suppress
 * ours too.  A build with SANITIZE=thread links these few functions instead.
 * A team is pthread_create and pthread_join, which the sanitizer knows, and
 * nothing else orders its threads: tiles are handed out by a relaxed counter,
 * which says nothing about what was written before.  So two tiles that touch
 * the same word are reported, on whichever threads they ran.
 *
 * It is linked in libgomp's place, not before it: a construct that is not
 * here (critical, a second loop in one region, tasks) fails to link or stops.
 * oneDNN's calls land here as well.  Inside a team a region is a team of one.
 */
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void GOMP_parallel(void (*fn)(void *), void *data, unsigned n, unsigned flags);
void GOMP_barrier(void);
bool GOMP_loop_nonmonotonic_dynamic_start(long from, long to, long step,
					  long chunk, long *first, long *end);
bool GOMP_loop_nonmonotonic_dynamic_next(long *first, long *end);
void GOMP_loop_end_nowait(void);

struct team {
	void (*fn)(void *);
	void *data;
	int n;
	bool parallel;			/* more than one here or further out */
	long taken;			/* chunks of the loop handed out */
	pthread_barrier_t barrier;
};

struct member {
	struct team *team;
	pthread_t thread;
	int number;
	int loops;			/* loops begun in this region */
	long from, to, step;		/* the loop; step counts a chunk */
};

static _Thread_local struct member *me;
static _Thread_local int asked;		/* omp_set_num_threads */

static void
stop(const char *what)
{
	fprintf(stderr, "tests/tsan/omp.c: %s\n", what);
	abort();
}

int
omp_get_max_threads(void)
{
	const char *s = getenv("OMP_NUM_THREADS");

	if (asked > 0)
		return asked;
	if (s && atol(s) > 0)
		return (int)atol(s);
	return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void
omp_set_num_threads(int n)
{
	asked = n;
}

int
omp_get_num_threads(void)
{
	return me ? me->team->n : 1;
}

int
omp_get_thread_num(void)
{
	return me ? me->number : 0;
}

int
omp_in_parallel(void)
{
	return me && me->team->parallel;
}

static void *
member_run(void *arg)
{
	struct member *outer = me;

	me = arg;
	me->team->fn(me->team->data);
	me = outer;
	return NULL;
}

void
GOMP_parallel(void (*fn)(void *), void *data, unsigned n, unsigned flags)
{
	struct team team = { .fn = fn, .data = data };
	struct member *all;
	int i;

	(void)flags;
	team.n = omp_in_parallel() ? 1 : n ? (int)n : omp_get_max_threads();
	team.parallel = omp_in_parallel() || team.n > 1;
	all = calloc((size_t)team.n, sizeof *all);
	if (!all || pthread_barrier_init(&team.barrier, NULL, (unsigned)team.n))
		stop("no memory");
	for (i = 0; i < team.n; i++) {
		all[i].team = &team;
		all[i].number = i;
		if (i > 0 && pthread_create(&all[i].thread, NULL, member_run,
					    &all[i]) != 0)
			stop("no thread");
	}
	member_run(&all[0]);
	for (i = 1; i < team.n; i++)
		pthread_join(all[i].thread, NULL);
	pthread_barrier_destroy(&team.barrier);
	free(all);
}

void
GOMP_barrier(void)
{
	if (me)
		pthread_barrier_wait(&me->team->barrier);
}

bool
GOMP_loop_nonmonotonic_dynamic_next(long *first, long *end)
{
	long k = __atomic_fetch_add(&me->team->taken, 1, __ATOMIC_RELAXED);
	long at = me->from + k * me->step;

	if (at >= me->to)
		return false;
	*first = at;
	*end = at + me->step < me->to ? at + me->step : me->to;
	return true;
}

bool
GOMP_loop_nonmonotonic_dynamic_start(long from, long to, long step,
				     long chunk, long *first, long *end)
{
	if (!me || step != 1 || me->loops++ > 0)
		stop("a loop alone, downwards, or the second of a region");
	me->from = from;
	me->to = to;
	me->step = chunk;
	return GOMP_loop_nonmonotonic_dynamic_next(first, end);
}

void
GOMP_loop_end_nowait(void)
{
}
