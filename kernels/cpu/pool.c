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

/* 0, or -1 if memory has run out. */
static int
grow(struct cpu *c, struct cpu_scratch *s, size_t n)
{
	if (s->n >= n)
		return 0;
	free(s->p);
	n = (n + 4095) & ~(size_t)4095;
	s->p = aligned_alloc(64, n);
	s->n = s->p ? n : 0;
	c->grown++;
	return s->p ? 0 : -1;
}

static void
must_grow(struct cpu *c, struct cpu_scratch *s, size_t n)
{
	if (grow(c, s, n) < 0)
		die("cpu: cannot allocate %zu bytes of scratch", n);
}

static void *
block(struct cpu *c, struct cpu_scratch *s, size_t *want, size_t n)
{
	cpu_want(want, n);
	if (c->plan_only)
		return (void *)(uintptr_t)4096;
	must_grow(c, s, n);
	return s->p;
}

void *
cpu_shared(struct cpu *c, size_t n)
{
	return block(c, &c->shared, &c->want.shared, n);
}

void *
cpu_spare(struct cpu *c, size_t n)
{
	return block(c, &c->spare, &c->want.spare, n);
}

void
cpu_private(struct cpu *c, size_t n)
{
	cpu_want(&c->want.own, n);
	for (int t = 0; t < c->threads && !c->plan_only; t++)
		must_grow(c, &c->own[t], n);
}

void
cpu_room(struct cpu *c)
{
	for (int t = 0; t < c->threads && !c->plan_only; t++) {
		must_grow(c, &c->work[t], c->want.work);
		must_grow(c, &c->tile[t], c->want.tile);
	}
}

int
cpu_take(struct cpu *c)
{
	const struct cpu_sizes *w = &c->want;
	int rc = grow(c, &c->shared, w->shared);

	rc |= grow(c, &c->spare, w->spare);
	for (int t = 0; t < c->threads; t++) {
		rc |= grow(c, &c->own[t], w->own);
		rc |= grow(c, &c->tile[t], w->tile);
		rc |= grow(c, &c->work[t], w->work);
	}
	return rc;
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
