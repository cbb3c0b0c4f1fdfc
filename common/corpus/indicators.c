/*
 * indicators.c - see indicators.h
 *
 * Rows are cut into fixed blocks, at most BLOCKS of them.  A block is the
 * work of one thread; what blocks sum up is added in their order, so that
 * the bits do not depend on the number of threads.  A row is converted to
 * double once and then used from the first-level cache.
 *
 * The first principal component is the top eigenvector of A = X'X, X the
 * centred rows.  Plain power iteration needs as many passes over the matrix
 * as the gap of the first two eigenvalues is small; the vectors that it
 * makes span a Krylov space, and the best vector of that space (Rayleigh and
 * Ritz) is there after the square root of as many passes.  The basis is kept
 * orthogonal by Gram and Schmidt, twice; after KRYLOV steps it is begun again
 * from the best vector.  The residual |Av - lv| is the criterion.
 */
#include "corpus/indicators.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { BLOCKS = 64, BLOCK_ROWS = 32, KRYLOV = 24, RESTARTS = 40 };

const char *const indicator_names[] = {
	"cos", "centred", "no_pc1", "l2", "in_norm", NULL
};

/* One pass over the rows: block b of them at a time. */
struct sweep {
	void (*block)(struct sweep *w, size_t b, size_t from, size_t to);
	struct ind_matrix x, in;
	const double *mean, *v;		/* (C) */
	double *part;			/* (blocks, C) */
	struct indicators *r;
	const double *u, *uc, *up;	/* u; centred; without pc1 */
	size_t blocks, per;
	atomic_size_t next;
};

/* Four sums side by side: the compiler may use vectors, the order is fixed. */
static double
dot(const double *restrict a, const double *restrict b, size_t n)
{
	double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
	size_t i;

	for (i = 0; i + 4 <= n; i += 4) {
		s0 += a[i] * b[i];
		s1 += a[i + 1] * b[i + 1];
		s2 += a[i + 2] * b[i + 2];
		s3 += a[i + 3] * b[i + 3];
	}
	for (; i < n; i++)
		s0 += a[i] * b[i];
	return (s0 + s2) + (s1 + s3);
}

static void
axpy(double *restrict y, double k, const double *restrict x, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		y[i] += k * x[i];
}

static void *
worker(void *arg)
{
	struct sweep *w = arg;
	size_t b, to;

	while ((b = atomic_fetch_add(&w->next, 1)) < w->blocks) {
		to = (b + 1) * w->per;
		w->block(w, b, b * w->per, to < w->x.V ? to : w->x.V);
	}
	return NULL;
}

static void
sweep(struct sweep *w, int threads)
{
	pthread_t t[BLOCKS];
	int n = 0, i;

	atomic_store(&w->next, 0);
	while (n + 1 < threads && (size_t)n + 1 < w->blocks &&
	       n < BLOCKS && !pthread_create(&t[n], NULL, worker, w))
		n++;
	worker(w);
	for (i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static void
sweep_init(struct sweep *w, const struct ind_matrix *m)
{
	size_t V = m->V, C = m->C;

	memset(w, 0, sizeof(*w));
	w->x = *m;
	w->per = (V + BLOCKS - 1) / BLOCKS;
	if (w->per < BLOCK_ROWS)
		w->per = BLOCK_ROWS;
	w->blocks = (V + w->per - 1) / w->per;
	w->part = xcalloc(w->blocks * C + 1, sizeof(double));
}

/* What the blocks summed up, in their order. */
static void
sweep_sum(const struct sweep *w, double *y)
{
	size_t b;

	memset(y, 0, w->x.C * sizeof(double));
	for (b = 0; b < w->blocks; b++)
		axpy(y, 1, w->part + b * w->x.C, w->x.C);
}

static void
row_of(const struct ind_matrix *m, size_t row, double *x)
{
	const float *f = m->p;
	size_t C = m->C, i;

	if (m->f64) {
		memcpy(x, (const double *)m->p + row * C, C * sizeof(*x));
		return;
	}
	for (i = 0; i < C; i++)
		x[i] = f[row * C + i];
}

/* ---- mean ---- */

static void
mean_block(struct sweep *w, size_t b, size_t from, size_t to)
{
	size_t C = w->x.C, r;
	double *y = w->part + b * C, *x = xmalloc(C * sizeof(double));

	for (r = from; r < to; r++) {
		row_of(&w->x, r, x);
		axpy(y, 1, x, C);
	}
	free(x);
}

static void
mean_row(const struct ind_matrix *m, double *mean, int threads)
{
	struct sweep w;
	size_t i;

	sweep_init(&w, m);
	w.block = mean_block;
	sweep(&w, threads);
	sweep_sum(&w, mean);
	for (i = 0; i < m->C; i++)
		mean[i] /= (double)m->V;
	free(w.part);
}

/* ---- the first principal component ---- */

static void
apply_block(struct sweep *w, size_t b, size_t from, size_t to)
{
	size_t C = w->x.C, r, i;
	double *y = w->part + b * C, *x = xmalloc(C * sizeof(double));
	double mv = dot(w->mean, w->v, C), k, sum = 0;

	memset(y, 0, C * sizeof(double));
	for (r = from; r < to; r++) {
		row_of(&w->x, r, x);
		k = dot(x, w->v, C) - mv;
		axpy(y, k, x, C);
		sum += k;
	}
	for (i = 0; i < C; i++)
		y[i] -= sum * w->mean[i];
	free(x);
}

/*
 * Eigenvalues on the diagonal of the symmetric a (n, n), eigenvectors in the
 * columns of z: cyclic Jacobi rotations until nothing is left beside it.
 */
static void
jacobi(double *a, double *z, size_t n)
{
	size_t i, j, k, round;
	double off, t, c, s, th, x, y;

	for (i = 0; i < n * n; i++)
		z[i] = i % (n + 1) == 0;
	for (round = 0; round < 60; round++) {
		off = t = 0;
		for (i = 0; i < n; i++)
			for (j = 0; j < n; j++)
				*(i == j ? &t : &off) += a[i * n + j] *
							 a[i * n + j];
		if (off <= 1e-30 * t)
			return;
		for (i = 0; i < n; i++)
			for (j = i + 1; j < n; j++) {
				if (a[i * n + j] == 0)
					continue;
				th = (a[j * n + j] - a[i * n + i]) /
				     (2 * a[i * n + j]);
				t = (th < 0 ? -1 : 1) /
				    (fabs(th) + sqrt(th * th + 1));
				c = 1 / sqrt(t * t + 1);
				s = t * c;
				for (k = 0; k < n; k++) {
					x = a[k * n + i];
					y = a[k * n + j];
					a[k * n + i] = c * x - s * y;
					a[k * n + j] = s * x + c * y;
				}
				for (k = 0; k < n; k++) {
					x = a[i * n + k];
					y = a[j * n + k];
					a[i * n + k] = c * x - s * y;
					a[j * n + k] = s * x + c * y;
					x = z[k * n + i];
					y = z[k * n + j];
					z[k * n + i] = c * x - s * y;
					z[k * n + j] = s * x + c * y;
				}
			}
	}
}

struct krylov {
	double q[KRYLOV + 1];	/* |what is left| of each step */
	double t[KRYLOV * KRYLOV];
	double *basis;		/* (KRYLOV + 1, C) */
	size_t n;
};

/* The best vector of the space into c; its residual over its eigenvalue. */
static double
ritz(const struct krylov *k, double *c, size_t C)
{
	double a[KRYLOV * KRYLOV], z[KRYLOV * KRYLOV], len;
	size_t n = k->n, i, j, top = 0;

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++)
			a[i * n + j] = k->t[i * KRYLOV + j];
	jacobi(a, z, n);
	for (i = 1; i < n; i++)
		if (a[i * n + i] > a[top * n + top])
			top = i;
	memset(c, 0, C * sizeof(double));
	for (i = 0; i < n; i++)
		axpy(c, z[i * n + top], k->basis + i * C, C);
	len = sqrt(dot(c, c, C));
	for (i = 0; i < C; i++)
		c[i] /= len;
	if (!(a[top * n + top] > 0))
		return 0;	/* all rows are equal: any vector will do */
	return k->q[n - 1] * fabs(z[(n - 1) * n + top]) / a[top * n + top];
}

/* One more vector of the space; 0 when it is whole. */
static int
grow(struct krylov *k, struct sweep *w, size_t most, int threads)
{
	size_t C = w->x.C, i, j = k->n, twice;
	double *v = k->basis + j * C, *y = v + C, h, before, left;

	w->v = v;
	sweep(w, threads);
	sweep_sum(w, y);
	before = sqrt(dot(y, y, C));
	for (twice = 0; twice < 2; twice++)
		for (i = 0; i <= j; i++) {
			h = dot(y, k->basis + i * C, C);
			axpy(y, -h, k->basis + i * C, C);
			if (twice == 0)
				k->t[j * KRYLOV + i] = k->t[i * KRYLOV + j] = h;
		}
	left = sqrt(dot(y, y, C));
	k->n++;
	if (!(left > 1e-14 * before)) {
		k->q[j] = 0;
		return 0;
	}
	k->q[j] = left;
	for (i = 0; i < C; i++)
		y[i] /= left;
	return k->n < most;
}

int
indicators_pc1(const struct ind_matrix *m, const double *mean, double *c,
	       int threads)
{
	size_t C = m->C, most = C < KRYLOV ? C : KRYLOV, i, round;
	struct krylov k;
	struct sweep w;
	double x = 0.5, residual = 1;
	int more;

	/* The start: fixed, and of no direction that data would avoid. */
	for (i = 0; i < C; i++) {
		x = fmod(x * 997 + 0.6180339887498949, 1);
		c[i] = x - 0.5 + 1e-3;
	}
	x = sqrt(dot(c, c, C));
	for (i = 0; i < C; i++)
		c[i] /= x;
	sweep_init(&w, m);
	w.block = apply_block;
	w.mean = mean;
	k.basis = xmalloc((KRYLOV + 1) * C * sizeof(double));
	for (round = 0; round < RESTARTS && residual > 1e-9; round++) {
		memcpy(k.basis, c, C * sizeof(double));
		k.n = 0;
		memset(k.t, 0, sizeof(k.t));
		do {
			more = grow(&k, &w, most, threads);
			if (!more || k.n % 3 == 0)
				residual = ritz(&k, c, C);
		} while (more && residual > 1e-9);
	}
	free(k.basis);
	free(w.part);
	return residual <= 1e-9;
}

/* ---- the indicators of each row ---- */

static double
cosine(const double *a, const double *b, size_t n)
{
	double d = sqrt(dot(a, a, n)) * sqrt(dot(b, b, n));

	return 1 - dot(a, b, n) / (d > 1e-6 ? d : 1e-6);
}

static void
minus(const double *a, double k, const double *b, size_t n, double *out)
{
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = a[i] - k * b[i];
}

static void
rows_block(struct sweep *w, size_t b, size_t from, size_t to)
{
	size_t C = w->x.C, r;
	double *x = xmalloc(2 * C * sizeof(double)), *d = x + C;

	(void)b;
	for (r = from; r < to; r++) {
		row_of(&w->in, r, x);
		w->r->v[IND_IN_NORM][r] = sqrt(dot(x, x, C));
		if (!w->u)
			continue;
		if (w->in.p != w->x.p)
			row_of(&w->x, r, x);
		w->r->v[IND_COS][r] = cosine(x, w->u, C);
		minus(x, 1, w->mean, C, d);
		w->r->v[IND_CENTRED][r] = cosine(d, w->uc, C);
		minus(x, dot(x, w->r->pc1, C), w->r->pc1, C, d);
		w->r->v[IND_NO_PC1][r] = cosine(d, w->up, C);
		minus(x, 1, w->u, C, d);
		w->r->v[IND_L2][r] = sqrt(dot(d, d, C));
	}
	free(x);
}

/* Mean of the rows known to be unused; their number. */
static size_t
mean_unused(const struct ind_matrix *m, const uint8_t *unused, double *u)
{
	size_t C = m->C, r, i, n = 0;
	double *x = xmalloc(C * sizeof(double));

	memset(u, 0, C * sizeof(double));
	for (r = 0; r < m->V; r++)
		if (unused[r]) {
			row_of(m, r, x);
			axpy(u, 1, x, C);
			n++;
		}
	free(x);
	for (i = 0; i < C && n; i++)
		u[i] /= (double)n;
	return n;
}

void
indicators_get(struct indicators *r, const struct ind_matrix *out,
	       const struct ind_matrix *in, const uint8_t *unused, int threads)
{
	size_t V = out->V, C = out->C, i;
	double *u = xcalloc(4 * C + 1, sizeof(double)), *mean = u + C;
	double *uc = u + 2 * C, *up = u + 3 * C;
	struct sweep w;

	memset(r, 0, sizeof(*r));
	r->converged = 1;
	r->v[IND_IN_NORM] = xcalloc(V + 1, sizeof(double));
	sweep_init(&w, out);
	w.block = rows_block;
	w.r = r;
	w.in = *in;
	if (mean_unused(out, unused, u)) {
		for (i = 0; i < IND_IN_NORM; i++)
			r->v[i] = xcalloc(V + 1, sizeof(double));
		r->pc1 = xmalloc(C * sizeof(double));
		mean_row(out, mean, threads);
		r->converged = indicators_pc1(out, mean, r->pc1, threads);
		minus(u, 1, mean, C, uc);
		minus(u, dot(u, r->pc1, C), r->pc1, C, up);
		w.u = u;
		w.uc = uc;
		w.up = up;
		w.mean = mean;
	}
	sweep(&w, threads);
	free(w.part);
	free(u);
}

void
indicators_clear(struct indicators *r)
{
	size_t i;

	for (i = 0; i < IND_N; i++)
		free(r->v[i]);
	free(r->pc1);
	memset(r, 0, sizeof(*r));
}

static int
cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
indicators_percentile(double *x, size_t n, double p)
{
	double at = p / 100 * (double)(n - 1);
	size_t i = (size_t)at;

	qsort(x, n, sizeof(*x), cmp_double);
	return i + 1 < n ? x[i] + (at - (double)i) * (x[i + 1] - x[i]) : x[i];
}
