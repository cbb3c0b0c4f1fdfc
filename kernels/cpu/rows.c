/*
 * rows.c - cpu: embedding, RMSNorm, SwiGLU, RoPE, casts
 *
 * Rows are cut into blocks of fixed size.  Sums over rows (gradients of norm
 * weights) are made per block, then added in block order.
 */
#include "kernels/cpu/cpu.h"

enum { BLOCK = 16384 };		/* numbers of a flat array a task takes */
enum { ORDER = 256 };		/* rows of an order */

/* What a task of one of these entries needs. */
struct rows {
	struct cpu *c;
	const void *a;
	int64_t step;		/* rows a block */
	float *part;		/* partial sums, a row a block */
};

static int64_t
blocks(int64_t n, int64_t step)
{
	return (n + step - 1) / step;
}

/* Rows of about 64 KiB together. */
static int64_t
row_step(int64_t c)
{
	int64_t s = 16384 / c;

	return s < 1 ? 1 : s;
}

/* At most 64 blocks, so that partial sums stay small. */
static int64_t
sum_step(int64_t n)
{
	int64_t s = (n + 63) / 64;

	return s < 8 ? 8 : s;
}

static void
embed_fwd_task(void *arg, int64_t i, int thread)
{
	struct rows *r = arg;
	const struct k_embed_fwd *a = r->a;
	int64_t end = cpu_min((i + 1) * r->step, a->n);

	(void)thread;
	for (int64_t n = i * r->step; n < end; n++)
		r->c->vec->cast(cpu_at(a->w, a->dt, a->tok[n] * a->c), a->dt,
				a->y + n * a->c, K_F32, a->c);
}

void
cpu_embed_fwd(struct kernels *k, const struct k_embed_fwd *a)
{
	struct rows r = { .c = cpu_of(k), .a = a, .step = row_step(a->c) };

	cpu_each(r.c, blocks(a->n, r.step), embed_fwd_task, &r);
}

/*
 * A task owns a range of columns and walks all rows in order: no two tasks
 * write the same number, and equal tokens add up in the order of rows.
 */
static void
embed_bwd_task(void *arg, int64_t i, int thread)
{
	struct rows *r = arg;
	const struct k_embed_bwd *a = r->a;
	int64_t c0 = i * r->step, len = cpu_min(r->step, a->c - c0);

	(void)thread;
	for (int64_t n = 0; n < a->n; n++)
		r->c->vec->row_add(a->dw + a->tok[n] * a->c + c0,
				   a->dx + n * a->c + c0, 1, len);
}

/*
 * With an order, a task owns a range of columns and the tokens whose first row
 * is in its part of the order; the last of them may go on after it.
 */
static void
embed_order_task(void *arg, int64_t i, int thread)
{
	struct rows *r = arg;
	const struct k_embed_bwd *a = r->a;
	const int32_t *o = a->order;
	int64_t cols = blocks(a->c, r->step), c0 = i % cols * r->step;
	int64_t len = cpu_min(r->step, a->c - c0);
	int64_t n = i / cols * ORDER, end = cpu_min(n + ORDER, a->n);

	(void)thread;
	while (n > 0 && n < end && a->tok[o[n]] == a->tok[o[n - 1]])
		n++;
	if (n == end)
		return;
	for (; n < a->n; n++) {
		if (n >= end && a->tok[o[n]] != a->tok[o[n - 1]])
			return;
		r->c->vec->row_add(a->dw + a->tok[o[n]] * a->c + c0,
				   a->dx + o[n] * a->c + c0, 1, len);
	}
}

void
cpu_embed_bwd(struct kernels *k, const struct k_embed_bwd *a)
{
	struct rows r = { .c = cpu_of(k), .a = a,
			  .step = cpu_part(a->c, 128, 16) };

	if (!a->accumulate)
		cpu_zero(k, &(struct k_zero){ a->dw, (size_t)(a->v * a->c) *
			 sizeof *a->dw });
	if (a->order)
		cpu_each(r.c, blocks(a->c, r.step) * blocks(a->n, ORDER),
			 embed_order_task, &r);
	else
		cpu_each(r.c, blocks(a->c, r.step), embed_bwd_task, &r);
}

/* Entries that compute each row by itself, in blocks of about 64 KiB. */
#define BY_ROWS(op, width) \
static void \
op##_task(void *arg, int64_t i, int thread) \
{ \
	struct rows *r = arg; \
	const struct k_##op *a = r->a; \
\
	(void)thread; \
	r->c->vec->op(a, i * r->step, cpu_min((i + 1) * r->step, a->n)); \
} \
\
void \
cpu_##op(struct kernels *k, const struct k_##op *a) \
{ \
	struct rows r = { .c = cpu_of(k), .a = a, .step = row_step(width) }; \
\
	cpu_each(r.c, blocks(a->n, r.step), op##_task, &r); \
}

BY_ROWS(rmsnorm_fwd, a->c)
BY_ROWS(swiglu_fwd, a->f)
BY_ROWS(swiglu_bwd, a->f)
BY_ROWS(rope_fwd, (a->h + 2 * a->g) * a->d)

/* to (n) (+)= the rows of part (rows, n), in order. */
static void
add_parts(float *to, int accumulate, const float *part, int64_t rows,
	  int64_t n, int64_t ld)
{
	for (int64_t i = 0; i < n; i++) {
		double sum = accumulate ? to[i] : 0;

		for (int64_t j = 0; j < rows; j++)
			sum += part[j * ld + i];
		to[i] = (float)sum;
	}
}

static void
rmsnorm_bwd_task(void *arg, int64_t i, int thread)
{
	struct rows *r = arg;
	const struct k_rmsnorm_bwd *a = r->a;

	(void)thread;
	r->c->vec->rmsnorm_bwd(a, i * r->step,
			       cpu_min((i + 1) * r->step, a->n),
			       r->part + i * a->c);
}

void
cpu_rmsnorm_bwd(struct kernels *k, const struct k_rmsnorm_bwd *a)
{
	struct rows r = { .c = cpu_of(k), .a = a, .step = sum_step(a->n) };
	int64_t n = blocks(a->n, r.step);

	r.part = cpu_shared(r.c, (size_t)(n * a->c) * sizeof(float));
	cpu_each(r.c, n, rmsnorm_bwd_task, &r);
	if (r.c->plan_only)
		return;
	add_parts(a->dw, a->dw_accumulate, r.part, n, a->c, a->c);
}

static void
rope_bwd_task(void *arg, int64_t i, int thread)
{
	struct rows *r = arg;
	const struct k_rope_bwd *a = r->a;

	(void)thread;
	r->c->vec->rope_bwd(a, i * r->step, cpu_min((i + 1) * r->step, a->n),
			    r->part ? r->part + i * 2 * a->d : NULL);
}

void
cpu_rope_bwd(struct kernels *k, const struct k_rope_bwd *a)
{
	struct rows r = { .c = cpu_of(k), .a = a, .step = sum_step(a->n) };
	int64_t n = blocks(a->n, r.step), d = a->d;

	if (a->qw)
		r.part = cpu_shared(r.c, (size_t)(n * 2 * d) * sizeof(float));
	cpu_each(r.c, n, rope_bwd_task, &r);
	if (!a->qw || r.c->plan_only)
		return;
	add_parts(a->dqw, a->accumulate, r.part, n, d, 2 * d);
	add_parts(a->dkw, a->accumulate, r.part + d, n, d, 2 * d);
}

static void
cast_task(void *arg, int64_t i, int thread)
{
	struct rows *r = arg;
	const struct k_cast *a = r->a;
	int64_t at = i * BLOCK;

	(void)thread;
	r->c->vec->cast(cpu_at(a->src, a->sdt, at), a->sdt,
			cpu_at(a->dst, a->ddt, at), a->ddt,
			cpu_min(BLOCK, a->n - at));
}

void
cpu_cast(struct kernels *k, const struct k_cast *a)
{
	struct rows r = { .c = cpu_of(k), .a = a };

	cpu_each(r.c, blocks(a->n, BLOCK), cast_task, &r);
}
