/*
 * move.c - copies and zeros, in blocks, by the whole team
 */
#include "kernels/cpu/cpu.h"

#include <string.h>

struct move {
	char *dst;
	const char *src;	/* NULL: zeros */
	size_t n;
};

enum { MOVE = 1 << 20 };

static void
move_task(void *arg, int64_t i, int thread)
{
	struct move *m = arg;
	size_t at = (size_t)i * MOVE, n = m->n - at < MOVE ? m->n - at : MOVE;

	(void)thread;
	if (m->src)
		memcpy(m->dst + at, m->src + at, n);
	else
		memset(m->dst + at, 0, n);
}

static void
move(struct kernels *k, void *dst, const void *src, size_t n)
{
	struct move m = { dst, src, n };

	cpu_each(cpu_of(k), (int64_t)((n + MOVE - 1) / MOVE), move_task, &m);
}

void
cpu_upload(struct kernels *k, const struct k_upload *a)
{
	move(k, a->dst, a->src, a->n);
}

void
cpu_fetch(struct kernels *k, const struct k_fetch *a)
{
	move(k, a->dst, a->src, a->n);
}

void
cpu_copy(struct kernels *k, const struct k_copy *a)
{
	move(k, a->dst, a->src, a->n);
}

void
cpu_zero(struct kernels *k, const struct k_zero *a)
{
	move(k, a->dst, NULL, a->n);
}

void
cpu_release(struct kernels *k, const struct k_release *a)
{
	k->mem_put(k->mem_ctx, a->p);
}
