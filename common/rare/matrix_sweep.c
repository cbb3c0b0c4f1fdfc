/*
 * matrix_sweep.c - see matrix.h
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rare/matrix.h"

enum { BLOCKS = 64, BLOCK_ROWS = 32 };

void
row_sweep_init(struct row_sweep *w, const struct rows *m)
{
	memset(w, 0, sizeof(*w));
	w->m = *m;
	w->o = row_ops(ROW_OPS_BEST);
	w->per = (m->V + BLOCKS - 1) / BLOCKS;
	if (w->per < BLOCK_ROWS)
		w->per = BLOCK_ROWS;
	w->blocks = (m->V + w->per - 1) / w->per;
	w->part = xcalloc(w->blocks * m->C + 1, sizeof(double));
}

void
row_sweep_clear(struct row_sweep *w)
{
	free(w->part);
}

static void *
worker(void *arg)
{
	struct row_sweep *w = arg;
	double *row = xreallocarray(NULL, 2 * w->m.C, sizeof(*row));
	size_t b, to;

	while ((b = atomic_fetch_add(&w->next, 1)) < w->blocks) {
		to = (b + 1) * w->per;
		w->block(w, b, b * w->per, to < w->m.V ? to : w->m.V, row);
	}
	free(row);
	return NULL;
}

void
row_sweep_run(struct row_sweep *w, int threads)
{
	pthread_t t[BLOCKS];
	int n = 0, i;

	atomic_store(&w->next, 0);
	while (n + 1 < threads && (size_t)n + 1 < w->blocks &&
	       !pthread_create(&t[n], NULL, worker, w))
		n++;
	worker(w);
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

void
row_sweep_sum(const struct row_sweep *w, double *y)
{
	size_t b;

	memset(y, 0, w->m.C * sizeof(double));
	for (b = 0; b < w->blocks; b++)
		w->o->add(y, 1, w->part + b * w->m.C, w->m.C);
}
