/*
 * pool.c - the team of threads and its scratch memory
 *
 * A team is an OpenMP parallel region over tiles.  Tiles go to any idle
 * thread: which thread computes a tile does not affect its bits.
 */
#include "kernels/cpu/cpu.h"

#include <omp.h>
#include <stdlib.h>

#include "base/mem.h"

/*
 * In the calling thread.  Outside a team oneDNN would start threads of its
 * own, so the thread count is set to 1.
 */
static void
alone(int64_t n, void (*fn)(void *arg, int64_t i, int thread), void *arg)
{
	int threads = omp_get_max_threads();

	omp_set_num_threads(1);
	for (int64_t i = 0; i < n; i++)
		fn(arg, i, 0);
	omp_set_num_threads(threads);
}

void
cpu_each(struct cpu *c, int64_t n, void (*fn)(void *arg, int64_t i, int thread),
	 void *arg)
{
	if (c->plan_only)
		return;
	if (n == 1 || c->threads == 1) {
		alone(n, fn, arg);
		return;
	}
#pragma omp parallel num_threads(c->threads)
	{
		int thread = omp_get_thread_num();

#pragma omp for schedule(dynamic, 1) nowait
		for (int64_t i = 0; i < n; i++)
			fn(arg, i, thread);
	}
}

void *
cpu_scratch(struct cpu_scratch *s, size_t n)
{
	if (s->n < n) {
		free(s->p);
		s->n = (n + 4095) & ~(size_t)4095;
		s->p = xaligned(s->n);
	}
	return s->p;
}

int64_t
cpu_part(int64_t n, int64_t most, int64_t unit)
{
	int64_t parts = (n + most - 1) / most, len;

	if (parts > 1)
		parts = (parts + 1) / 2 * 2;
	len = (n + parts - 1) / parts;
	return (len + unit - 1) / unit * unit;
}
