/*
 * stats.c - cpu: statistics of a matrix, in blocks joined in their order
 *
 * A matrix without gaps is one long row.  A long row is cut into blocks, short
 * ones are taken together; there are at most 2 MOST blocks, so that what they
 * found needs little memory.
 */
#include "kernels/cpu/cpu.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 16384, MOST = 1024 };	/* numbers; half of the blocks */
enum { COL_ROWS = 16, COL_MOST = 64 };	/* colmax: rows; blocks */

struct stats {
	struct cpu *c;
	const void *a;
	int64_t rows, cols, ld;
	int64_t row_step, col_step, col_n;
	struct k_stats_out *part;
	float *max;		/* (blocks, cols) */
};

static void
stats_task(void *arg, int64_t i, int thread)
{
	struct stats *s = arg;
	const struct k_stats *a = s->a;
	int64_t r = i / s->col_n * s->row_step;
	int64_t c = i % s->col_n * s->col_step;
	int64_t rows = cpu_min(s->row_step, s->rows - r);
	int64_t cols = cpu_min(s->col_step, s->cols - c);
	struct k_stats_out *out = &s->part[i];

	(void)thread;
	s->c->vec->stats(cpu_at(a->x, a->dt, r * s->ld + c), a->dt, rows, cols,
			 s->ld, out);
	if (out->first >= 0)
		out->first = (r + out->first / cols) * s->cols + c +
			     out->first % cols;
}

/* Blocks of a row follow each other, so the first in order is the first. */
static void
join(struct k_stats_out *to, const struct k_stats_out *x)
{
	to->sum += x->sum;
	to->sumsq += x->sumsq;
	to->min = fmin(to->min, x->min);
	to->max = fmax(to->max, x->max);
	to->tiny = fmin(to->tiny, x->tiny);
	to->zeros += x->zeros;
	to->subnormals += x->subnormals;
	to->nonfinite += x->nonfinite;
	if (x->first >= 0 && (to->first < 0 || x->first < to->first))
		to->first = x->first;
}

void
cpu_stats(struct kernels *k, const struct k_stats *a)
{
	struct stats s = { .c = cpu_of(k), .a = a, .rows = a->rows,
			   .cols = a->cols, .ld = a->ld };
	struct k_stats_out sum = { .min = INFINITY, .max = -INFINITY,
				   .tiny = INFINITY, .first = -1 };
	int64_t most, n;

	if (s.ld == s.cols)
		s.ld = s.cols = s.rows * s.cols, s.rows = 1;
	most = (s.rows * s.cols + MOST - 1) / MOST;
	most = most < BLOCK ? BLOCK : most;
	s.row_step = s.cols > most ? 1 : most / s.cols;
	s.col_step = cpu_min(s.cols, most);
	s.col_n = (s.cols + s.col_step - 1) / s.col_step;
	n = (s.rows + s.row_step - 1) / s.row_step * s.col_n;
	s.part = cpu_shared(s.c, (2 * MOST + 1) * sizeof *s.part);
	if (s.c->plan_only)
		return;
	cpu_each(s.c, n, stats_task, &s);
	for (int64_t i = 0; i < n; i++)
		join(&sum, &s.part[i]);
	sum.min += 0;		/* -0 becomes 0 */
	sum.max += 0;
	*a->out = sum;
}

static void
colmax_task(void *arg, int64_t i, int thread)
{
	struct stats *s = arg;
	const struct k_colmax *a = s->a;
	int64_t r = i * s->row_step;

	(void)thread;
	s->c->vec->colmax(cpu_at(a->x, a->dt, r * a->ld), a->dt,
			  cpu_min(s->row_step, a->rows - r), a->cols, a->ld,
			  s->max + i * a->cols);
}

void
cpu_colmax(struct kernels *k, const struct k_colmax *a)
{
	struct stats s = { .c = cpu_of(k), .a = a };
	int64_t n;

	s.row_step = (a->rows + COL_MOST - 1) / COL_MOST;
	s.row_step = s.row_step < COL_ROWS ? COL_ROWS : s.row_step;
	n = (a->rows + s.row_step - 1) / s.row_step;
	s.max = cpu_shared(s.c, (size_t)(n * a->cols) * sizeof *s.max);
	if (s.c->plan_only)
		return;
	cpu_each(s.c, n, colmax_task, &s);
	s.c->vec->colmax(s.max, K_F32, n, a->cols, a->cols, a->out);
}
