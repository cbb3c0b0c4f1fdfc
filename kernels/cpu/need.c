/*
 * need.c - cpu: the scratch of a run, known before its first step
 *
 * Each entry of the run is called with the shapes that occur, while the table
 * only makes plans and notes the sizes that were asked for.
 */
#include "kernels/cpu/weight.h"

#include <string.h>

/* A weight without data, as entries see it while only planning. */
static void
weight_begin(struct kernels *k, struct kweight *w, const struct k_need *s,
	     enum kdtype dt, int64_t out, int64_t in)
{
	struct err e = {0};	/* nothing is allocated */

	*w = (struct kweight){ .dt = dt, .out = out, .in = in, .use = s->use,
			       .data = cpu_shared(cpu_of(k), 0) };
	weight_open(k, w, &e);
}

/* Rows of the calls: f(ctx, rows, gradients) for each number of rows. */
struct calls {
	struct kernels *k;
	const struct k_need *s;
	const struct kweight *w;
	enum kdtype ydt;	/* of a matmul */
	const void *add;
};

static void
each_rows(const struct calls *c, void (*f)(const struct calls *, int64_t, int))
{
	const struct k_need *s = c->s;

	for (int64_t b = 1; b <= s->b; b++)
		f(c, b * s->t, s->use & K_USE_BWD &&
		  (b == s->b || b == s->last_b));
	for (int64_t n = 1; n <= s->rows; n++)
		f(c, n, 0);
}

static void
matmul(const struct calls *c, int64_t n, int grad)
{
	struct kernels *k = c->k;
	const struct kweight *w = c->w;

	k->matmul_fwd(k, &(struct k_matmul_fwd){ .w = w, .n = n,
		.ydt = c->ydt, .add = c->add });
	if (!grad)
		return;
	k->matmul_dx(k, &(struct k_matmul_dx){ .w = w, .n = n });
	for (int add = 0; add < 2; add++)
		k->matmul_dw(k, &(struct k_matmul_dw){ .n = n, .out = w->out,
			.in = w->in, .dt = w->dt, .accumulate = add });
}

static void
matrix(struct kernels *k, const struct k_need *s, enum kdtype dt, int64_t out,
       int64_t in, int residual)
{
	struct kweight w;
	struct calls c = { k, s, &w, residual ? K_F32 : dt, NULL };

	weight_begin(k, &w, s, dt, out, in);
	c.add = residual ? w.data : NULL;
	each_rows(&c, matmul);
	weight_close(k, &w);
}

static void
head(const struct calls *c, int64_t n, int grad)
{
	struct kernels *k = c->k;

	for (int add = 0; add < 1 + grad; add++)
		k->ce_head(k, &(struct k_ce_head){ .w = c->w, .n = n,
			.v = c->s->v, .dh = grad ? c->w->data : NULL,
			.accumulate = add });
}

/* Logits of the rows of a step, as decoding takes them. */
static void
logits(const struct calls *c, int64_t n, int grad)
{
	(void)grad;
	if (n <= c->s->rows)
		matmul(c, n, 0);
}

static void
output(struct kernels *k, const struct k_need *s)
{
	struct kweight w;
	struct calls c = { k, s, &w, K_F32, NULL };

	weight_begin(k, &w, s, s->dt, s->vp, s->c);
	each_rows(&c, head);
	each_rows(&c, logits);
	weight_close(k, &w);
}

static void
attention(struct kernels *k, const struct k_need *s,
	  const struct k_need_layer *l)
{
	if (s->b)
		k->attn_fwd(k, &(struct k_attn_fwd){ .b = s->b, .t = s->t,
			.h = l->h, .g = l->g, .d = l->d, .dt = l->dt });
	if (s->b && s->use & K_USE_BWD)
		k->attn_bwd(k, &(struct k_attn_bwd){ .b = s->b, .t = s->t,
			.h = l->h, .g = l->g, .d = l->d, .dt = l->dt });
	if (s->rows)
		k->attn_cache(k, &(struct k_attn_cache){ .n = s->rows,
			.h = l->h, .g = l->g, .d = l->d, .p = s->positions,
			.dt = l->dt });
}

/* Sums over rows and over flat arrays; statistics of activations. */
static void
sums(struct kernels *k, const struct k_need *s)
{
	int64_t n = s->b * s->t;

	k->stats(k, &(struct k_stats){ .rows = 1, .cols = 1, .ld = 1 });
	for (int64_t i = 0; n && i < s->nlayers; i++)
		k->colmax(k, &(struct k_colmax){ .rows = n,
			.cols = 2 * s->layer[i].f, .ld = 2 * s->layer[i].f });

	if (n && s->use & K_USE_BWD) {
		k->rmsnorm_bwd(k, &(struct k_rmsnorm_bwd){ .n = n, .c = s->c,
			.dt = s->dt });
		for (int64_t i = 0; i < s->nlayers; i++)
			k->rope_bwd(k, &(struct k_rope_bwd){ .n = n,
				.h = s->layer[i].h, .g = s->layer[i].g,
				.d = s->layer[i].d, .dt = s->layer[i].dt,
				.qw = &s->layer[i] });
	}
	if (s->flat)
		cpu_shared(cpu_of(k), cpu_update_scratch(s->flat, s->nseg));
}

static size_t
total(const struct cpu *c)
{
	const struct cpu_sizes *w = &c->want;

	return w->shared + w->spare +
	       (size_t)c->threads * (w->own + w->tile + w->work);
}

size_t
cpu_need(struct kernels *k, const struct k_need *s)
{
	struct cpu *c = cpu_of(k);
	int before = c->plan_only;

	c->plan_only = 1;
	for (int64_t i = 0; i < s->nlayers; i++) {
		const struct k_need_layer *l = &s->layer[i];

		if (i > 0 && memcmp(l, l - 1, sizeof *l) == 0)
			continue;
		matrix(k, s, l->dt, (l->h + 2 * l->g) * l->d, s->c, 0);
		matrix(k, s, l->dt, s->c, l->h * l->d, 1);
		matrix(k, s, l->dt, 2 * l->f, s->c, 0);
		matrix(k, s, l->dt, s->c, l->f, 1);
		attention(k, s, l);
	}
	output(k, s);
	sums(k, s);
	c->plan_only = before;
	return total(c);
}

int
cpu_reserve(struct kernels *k, size_t bytes, struct err *e)
{
	struct cpu *c = cpu_of(k);

	if (bytes < total(c))
		return err_set(e, "cpu: %zu bytes of scratch are less than the"
			       " %zu that need() found", bytes, total(c));
	return cpu_take(c) == 0 ? 0 :
	       err_set(e, "cpu: cannot allocate %zu bytes of scratch", bytes);
}
