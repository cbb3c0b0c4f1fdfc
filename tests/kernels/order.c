/*
 * order.c - the gradient of the embedding, with and without an order of rows
 *
 * For ref and every instruction set of this processor: equal bits, and what a
 * float64 sum gives.  Tokens are skewed as in text: one takes half of the rows,
 * so that its rows fill many tasks.
 */
#include "tests/kernels/must.h"
#include "tests/kernels/tables.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "kernels/kernels.h"

static struct kernels *k;
static const char *table;

enum { V = 700 };

struct embed {
	int64_t n, c;
	int32_t *tok, *order;
	float *dx, *dw[2], *old;
};

static void *
room(int64_t n)
{
	return must_alloc(k, (size_t)n * sizeof(float));
}

/* Host tables only: device memory is written directly. */
static void
embed_new(struct embed *e, int64_t n, int64_t c, int alike)
{
	int64_t i = 0;

	*e = (struct embed){ .n = n, .c = c, .tok = room(n),
		.order = room(n), .dx = room(n * c), .old = room(V * c),
		.dw = { room(V * c), room(V * c) } };
	for (int64_t m = 0; m < n; m++)
		e->tok[m] = alike || rng_below(1, RNG_TEST, (uint64_t)m, 2) ?
			V / 2 : (int32_t)rng_below(2, RNG_TEST, (uint64_t)m, V);
	for (int32_t v = 0; v < V; v++)
		for (int64_t m = 0; m < n; m++)
			if (e->tok[m] == v)
				e->order[i++] = (int32_t)m;
	for (i = 0; i < n * c; i++)
		e->dx[i] = (float)rng_normal(3, RNG_TEST, (uint64_t)i);
	for (i = 0; i < V * c; i++)
		e->old[i] = (float)rng_normal(4, RNG_TEST, (uint64_t)i);
}

static void
embed_free(struct embed *e)
{
	kernels_release(k, e->tok);
	kernels_release(k, e->order);
	kernels_release(k, e->dx);
	kernels_release(k, e->old);
	kernels_release(k, e->dw[0]);
	kernels_release(k, e->dw[1]);
}

static int
right(const struct embed *e, int accumulate)
{
	double *want = xcalloc((size_t)(V * e->c), sizeof *want), worst = 0;

	for (int64_t i = 0; accumulate && i < V * e->c; i++)
		want[i] = e->old[i];
	for (int64_t i = 0; i < e->n * e->c; i++)
		want[e->tok[i / e->c] * e->c + i % e->c] += e->dx[i];
	for (int64_t i = 0; i < V * e->c; i++)
		worst = fmax(worst, fabs(e->dw[0][i] - want[i]));
	free(want);
	return worst <= 2e-7 * (double)(e->n + 10) * 3;
}

static int
one(int64_t n, int64_t c, int alike)
{
	size_t bytes = (size_t)(V * c) * sizeof(float);
	struct embed e;
	int ok = 1;

	embed_new(&e, n, c, alike);
	for (int acc = 0; acc < 2; acc++) {
		for (int i = 0; i < 2; i++) {
			memcpy(e.dw[i], e.old, bytes);
			k->embed_bwd(k, &(struct k_embed_bwd){ .n = n, .c = c,
				.v = V, .tok = e.tok,
				.order = i ? e.order : NULL, .dx = e.dx,
				.dw = e.dw[i], .accumulate = acc });
		}
		must_sync(k);
		ok &= memcmp(e.dw[0], e.dw[1], bytes) == 0 && right(&e, acc);
	}
	embed_free(&e);
	if (!ok)
		printf("# wrong: %lld rows of %lld\n", (long long)n,
		       (long long)c);
	return ok;
}

static void
test_table(const char *name, struct kernels *opened)
{
	static const int64_t rows[] = { 1, 2, 255, 256, 257, 512, 1800 };
	static const int64_t cols[] = { 1, 40, 300 };
	int ok[2] = { 1, 1 };

	table = name;
	k = opened;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t j = 0; j < sizeof cols / sizeof *cols; j++)
			for (int alike = 0; alike < 2; alike++)
				ok[alike] &= one(rows[i], cols[j], alike);
	tap_ok(ok[0], "%s: an order of rows changes no bit", table);
	tap_ok(ok[1], "%s: nor do rows of one token", table);
}

int
main(void)
{
	tap_start();
	each_table(0, 2, test_table);
	return tap_end();
}
