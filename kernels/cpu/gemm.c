/*
 * gemm.c - matmuls of tiles from primitives of few shapes
 *
 * Rows of A are split into parts of GEMM_ROWS times a power of two, the
 * largest first.  What remains is copied to a block of GEMM_ROWS rows, the
 * rest of it zero.  A sum over rows is split in the same way, into parts of
 * GEMM_SUMS.  Where oneDNN's fast code refuses gaps between the rows of C, C
 * is computed in a dense copy.  Copies are a thread's own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/cpu/plans.h"
#include "kernels/cpu/prim.h"

enum { PARTS = 12 };

struct gemm {
	struct gemm_shape s;
	int sums;			/* split the sum, not the rows of A */
	int n, dense;
	const struct prim *part[PARTS];
	int64_t len[PARTS];		/* rows of A; summands if sums */
	int64_t whole;			/* their sum */
	const struct prim *tail;	/* of what remains, or NULL */
};

struct gemms {
	struct plans plans;
};

int
gemm_open(struct cpu *c, struct err *e)
{
	if (prim_open(c, e) < 0)
		return -1;
	c->gemms = xcalloc(1, sizeof *c->gemms);
	return 0;
}

void
gemm_close(struct cpu *c)
{
	struct gemms *d = c->gemms;

	for (size_t i = 0; d && i < d->plans.n; i++)
		free(d->plans.v[i]);
	if (d)
		plans_clear(&d->plans);
	free(d);
	prim_close(c);
}

/* Type of C while it is in a copy. */
static enum kdtype
copy_type(const struct gemm_shape *s)
{
	return s->accumulate ? K_F32 : s->cdt;
}

static void
part_plan(struct cpu *c, struct gemm *g, int i, int packed)
{
	struct gemm_shape s = g->s;

	s.packed = packed;
	*(g->sums ? &s.k : &s.m) = g->len[i];
	if (g->sums)
		s.accumulate = s.accumulate || i > 0;
	g->dense = prim_wants_dense(c, &s);
	if (g->dense) {
		s.ldc = s.n;
		s.cdt = copy_type(&s);
		s.accumulate = 0;
	}
	g->part[i] = prim_plan(c, &s);
}

static void
tail_plan(struct cpu *c, struct gemm *g, int packed)
{
	struct gemm_shape s = g->s;

	s.packed = packed;
	if (g->sums) {
		s.k = GEMM_SUMS;
		s.lda = s.m;
		s.ldb = s.n;
		s.accumulate = s.accumulate || g->n > 0;
	} else {
		s.m = GEMM_ROWS;
		s.lda = s.k;
		s.ldc = s.n;
		s.cdt = copy_type(&s);
		s.accumulate = 0;
	}
	g->tail = prim_plan(c, &s);
}

static void
split(struct gemm *g)
{
	int64_t left = g->sums ? g->s.k : g->s.m;
	int64_t unit = g->sums ? GEMM_SUMS : GEMM_ROWS;
	int other = g->s.ta && !g->sums;	/* rows of A are not in a row */

	for (g->n = 0; left > 0 && (left >= unit || other); g->n++) {
		int64_t len = unit;

		while (2 * len <= left)
			len *= 2;
		if (other || g->n == PARTS - 1)
			len = other ? left : left - left % unit;
		g->len[g->n] = len;
		g->whole += len;
		left -= len;
	}
}

/* Plan all parts; returns whether they agree on the form of B. */
static int
plan_parts(struct cpu *c, struct gemm *g, int packed)
{
	int same = 1;

	for (int i = 0; i < g->n; i++) {
		part_plan(c, g, i, packed);
		same &= prim_takes_packed(g->part[i]);
	}
	if (g->whole < (g->sums ? g->s.k : g->s.m)) {
		tail_plan(c, g, packed);
		same &= prim_takes_packed(g->tail);
	}
	return same || !packed;
}

static size_t
copies(const struct gemm *g)
{
	const struct gemm_shape *s = &g->s;
	size_t n = g->dense ? (size_t)(g->len[0] * s->n + s->n) * 4 : 0, t = 0;

	if (g->tail && g->sums)
		t = (size_t)(GEMM_SUMS * (s->m + s->n)) * 4;
	else if (g->tail)
		t = (size_t)(GEMM_ROWS * (s->k + s->n)) * 4 + 4 * (size_t)s->n;
	return (n > t ? n : t) + 256;
}

const struct gemm *
gemm_plan(struct cpu *c, const struct gemm_shape *s)
{
	struct gemm *g = plans_find(&c->gemms->plans, s);

	if (!g) {
		g = xcalloc(1, sizeof *g);
		g->s = *s;
		g->sums = s->ta && !s->tb && s->cdt == K_F32;
		split(g);
		if (!plan_parts(c, g, s->packed))
			plan_parts(c, g, 0);
		cpu_want(&c->want.tile, copies(g));
		plans_add(&c->gemms->plans, g);
		c->grown++;
	}
	cpu_room(c);
	return g;
}

int
gemm_takes_packed(const struct gemm *g)
{
	return prim_takes_packed(g->n ? g->part[0] : g->tail);
}

/* Rows of C from a dense copy t; tmp has room for one more row. */
static void
put_rows(struct cpu *c, const struct gemm_shape *s, const void *t,
	 int64_t rows, void *y, float *tmp)
{
	enum kdtype tt = copy_type(s);

	for (int64_t i = 0; i < rows; i++) {
		void *to = cpu_at(y, s->cdt, i * s->ldc);
		const void *from = cpu_at(t, tt, i * s->n);

		if (!s->accumulate) {
			memcpy(to, from, (size_t)s->n * kdtype_size(tt));
		} else if (s->cdt == K_F32) {
			c->vec->row_add(to, from, 1, s->n);
		} else {
			c->vec->cast(to, s->cdt, tmp, K_F32, s->n);
			c->vec->row_add(tmp, from, 1, s->n);
			c->vec->cast(tmp, K_F32, to, s->cdt, s->n);
		}
	}
}

/* n rows of x, then zeros up to `rows`, without gaps. */
static void
pad_rows(const void *x, enum kdtype dt, int64_t n, int64_t ld, int64_t rows,
	 int64_t width, void *to)
{
	size_t row = (size_t)width * kdtype_size(dt);

	for (int64_t i = 0; i < n; i++)
		memcpy(cpu_at(to, dt, i * width), cpu_at(x, dt, i * ld), row);
	memset(cpu_at(to, dt, n * width), 0, (size_t)(rows - n) * row);
}

/* The last rows of A, or of both operands of a sum over rows. */
static void
run_tail(struct cpu *c, const struct gemm *g, int thread, const void *a,
	 const void *b, void *y)
{
	const struct gemm_shape *s = &g->s;
	char *t = c->tile[thread].p;
	void *u;

	a = cpu_at(a, s->dt, g->whole * s->lda);
	if (g->sums) {
		u = cpu_at(t, s->dt, GEMM_SUMS * s->m);
		pad_rows(a, s->dt, s->k - g->whole, s->lda, GEMM_SUMS, s->m,
			 t);
		pad_rows(cpu_at(b, s->dt, g->whole * s->ldb), s->dt,
			 s->k - g->whole, s->ldb, GEMM_SUMS, s->n, u);
		prim_run(c, g->tail, thread, t, u, y);
		return;
	}
	u = t + (((size_t)(GEMM_ROWS * s->k) * 4 + 63) & ~(size_t)63);
	pad_rows(a, s->dt, s->m - g->whole, s->lda, GEMM_ROWS, s->k, t);
	prim_run(c, g->tail, thread, t, b, u);
	put_rows(c, s, u, s->m - g->whole,
		 cpu_at(y, s->cdt, g->whole * s->ldc),
		 (float *)u + GEMM_ROWS * s->n);
}

void
gemm_run(struct cpu *c, const struct gemm *g, int thread, const void *a,
	 const void *b, void *y)
{
	const struct gemm_shape *s = &g->s;
	float *t = (float *)(void *)c->tile[thread].p;
	int64_t at = 0;

	for (int i = 0; i < g->n; at += g->len[i++]) {
		const void *x = cpu_at(a, s->dt, at * s->lda);
		void *to = cpu_at(y, s->cdt, g->sums ? 0 : at * s->ldc);

		if (g->dense) {
			prim_run(c, g->part[i], thread, x, b, t);
			put_rows(c, s, t, g->len[i], to, t + g->len[i] * s->n);
		} else {
			prim_run(c, g->part[i], thread, x, g->sums ?
				 cpu_at(b, s->dt, at * s->ldb) : b, to);
		}
	}
	if (g->tail)
		run_tail(c, g, thread, a, b, y);
}
