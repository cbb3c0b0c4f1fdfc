/*
 * optim.c - cpu: sums of losses and gradients, clipping, AdamW
 *
 * Each segment is cut into blocks of fixed size; a task takes a block.  Sums
 * of blocks are added in order, in double.
 */
#include "kernels/cpu/cpu.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 16384 };

struct flat {
	struct cpu *c;
	const void *a;
	const struct k_segment *seg;
	int64_t nseg;
	int64_t *first;		/* (nseg + 1) blocks before each segment */
	double *part;		/* (blocks, sums) of each block */
	struct vec_adamw adamw[2];	/* of a segment with decay 0, 1 */
};

static size_t
scratch(int64_t blocks, int64_t sums, int64_t nseg)
{
	return (size_t)(blocks * sums) * sizeof(double) +
	       (size_t)(nseg + 1) * sizeof(int64_t);
}

size_t
cpu_update_scratch(int64_t n, int64_t nseg)
{
	return scratch(n / BLOCK + nseg, 3, nseg);
}

/* Cut segments into blocks, with room for `sums` numbers of each. */
static void
cut(struct flat *f, const struct k_segment *seg, int64_t nseg, int64_t sums)
{
	int64_t blocks = 0;

	f->seg = seg;
	f->nseg = nseg;
	for (int64_t s = 0; s < nseg; s++)
		blocks += (seg[s].n + BLOCK - 1) / BLOCK;
	f->part = cpu_shared(f->c, scratch(blocks, sums, nseg));
	f->first = (int64_t *)(void *)(f->part + blocks * sums);
	f->first[0] = 0;
	for (int64_t s = 0; s < nseg; s++)
		f->first[s + 1] = f->first[s] + (seg[s].n + BLOCK - 1) / BLOCK;
}

/* The segment of block i, and the block's elements [*i0, *i1). */
static const struct k_segment *
find(const struct flat *f, int64_t i, int64_t *i0, int64_t *i1)
{
	int64_t lo = 0, hi = f->nseg;
	const struct k_segment *s;

	while (hi - lo > 1) {
		int64_t mid = (lo + hi) / 2;

		if (f->first[mid] <= i)
			lo = mid;
		else
			hi = mid;
	}
	s = &f->seg[lo];
	*i0 = s->at + (i - f->first[lo]) * BLOCK;
	*i1 = cpu_min(*i0 + BLOCK, s->at + s->n);
	return s;
}

/* out (nseg, sums) = the sums of each segment's blocks. */
static void
add_blocks(const struct flat *f, double *out, int64_t sums)
{
	for (int64_t s = 0; s < f->nseg; s++)
		for (int64_t j = 0; j < sums; j++) {
			double sum = 0;

			for (int64_t i = f->first[s]; i < f->first[s + 1]; i++)
				sum += f->part[i * sums + j];
			out[s * sums + j] = sum;
		}
}

/* One chain of additions: rows are few compared to what made them. */
void
cpu_loss_sum(struct kernels *k, const struct k_loss_sum *a)
{
	double loss = a->accumulate ? a->sums[0] : 0;
	double z = a->accumulate ? a->sums[1] : 0;
	double count = a->accumulate ? a->sums[2] : 0;

	(void)k;
	for (int64_t n = 0; n < a->n; n++)
		if (a->target[n] >= 0) {
			loss += a->loss[n];
			z += (double)a->logz[n] * a->logz[n];
			count++;
		}
	a->sums[0] = loss;
	a->sums[1] = z;
	a->sums[2] = count;
}

static void
sumsq_task(void *arg, int64_t i, int thread)
{
	struct flat *f = arg;
	const struct k_sumsq *a = f->a;
	int64_t i0, i1;

	(void)thread;
	find(f, i, &i0, &i1);
	f->part[i] = f->c->vec->sumsq(a->g + i0, i1 - i0);
}

void
cpu_sumsq(struct kernels *k, const struct k_sumsq *a)
{
	struct flat f = { .c = cpu_of(k), .a = a };

	cut(&f, a->seg, a->nseg, 1);
	cpu_each(f.c, f.first[a->nseg], sumsq_task, &f);
	add_blocks(&f, a->out, 1);
}

void
cpu_clip(struct kernels *k, const struct k_clip *a)
{
	double share = a->sums[2] > 0 ? a->rows / a->sums[2] : 0, sum = 0;
	struct k_step *t = a->step;

	(void)k;
	t->bad = a->nseg;
	for (int64_t s = 0; s < a->nseg; s++) {
		sum += a->sumsq[s];
		if (!isfinite(a->sumsq[s]))
			t->bad = s;
	}
	t->norm = share * sqrt(sum);
	t->factor = a->max_norm > 0 && t->norm > a->max_norm ?
		share * (a->max_norm / t->norm) : share;
	t->apply = a->sums[2] > 0 && isfinite(a->sums[0]) &&
		isfinite(a->sums[1]) && isfinite(t->norm);
}

static void
adamw_task(void *arg, int64_t i, int thread)
{
	struct flat *f = arg;
	const struct k_adamw *a = f->a;
	int64_t i0, i1;
	const struct k_segment *s = find(f, i, &i0, &i1);

	(void)thread;
	f->c->vec->adamw(a, &f->adamw[s->decay != 0], i0, i1,
			 a->stats ? f->part + 3 * i : NULL);
}

static struct vec_adamw
constants(const struct k_adamw *a, double decay)
{
	const struct k_step *t = a->step;
	double c1 = t ? t->corr1 : 1 - pow(a->beta1, (double)a->t);
	double c2 = t ? t->corr2 : 1 - pow(a->beta2, (double)a->t);
	double lr = t ? t->lr : a->lr;

	return (struct vec_adamw){
		.gscale = (float)(t ? t->factor : a->gscale),
		.mix1 = (float)(1 - a->beta1), .mix2 = (float)(1 - a->beta2),
		.rate = (float)(lr / c1), .rc2 = (float)(1 / sqrt(c2)),
		.eps = (float)a->eps, .shrink = (float)(lr * decay),
	};
}

void
cpu_adamw(struct kernels *k, const struct k_adamw *a)
{
	struct flat f = { .c = cpu_of(k), .a = a };

	if (a->step && !a->step->apply)
		return;
	f.adamw[0] = constants(a, 0);
	f.adamw[1] = constants(a, a->decay);
	cut(&f, a->seg, a->nseg, a->stats ? 3 : 0);
	cpu_each(f.c, f.first[a->nseg], adamw_task, &f);
	if (a->stats)
		add_blocks(&f, a->stats, 3);
}
