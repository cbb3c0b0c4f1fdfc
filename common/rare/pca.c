/*
 * pca.c - see pca.h
 *
 * The first principal component is the top eigenvector of A = X'X, X the
 * centred rows.  Plain power iteration needs as many passes over the matrix
 * as the gap of the first two eigenvalues is small; the vectors that it
 * makes span a Krylov space, and the best vector of that space (Rayleigh and
 * Ritz) is there after the square root of as many passes.  The basis is kept
 * orthogonal by Gram and Schmidt, twice; after KRYLOV steps it is begun again
 * from the best vector.
 *
 * The embeddings of a trained model have one component that stands out: 10 to
 * 15 passes do.  Where LOOK passes have come to nothing, as for rows that are
 * noise, A itself is made in one more pass, if it has few enough columns, and
 * takes the place of the matrix.
 */
#include "rare/pca.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rare/covariance.h"

enum { KRYLOV = 24, RESTARTS = 40, LOOK = 12 };

/* Sines of the angle: what ends it, and what LOOK passes should have. */
static const double enough = 1e-8, hopeful = 1e-3;

/* What apply() needs beside the matrix. */
struct operand {
	const double *mean, *v;		/* (C) */
	double mv;			/* mean . v */
	double *gram;			/* A, or NULL */
	size_t ld;
};

/* Sum over the rows of a block of ((x - mean) . v) (x - mean). */
static void
apply(const struct row_sweep *w, size_t b, size_t from, size_t to, double *x)
{
	const struct operand *a = w->arg;
	size_t C = w->m.C, r;
	double *y = w->part + b * C, k, sum = 0;

	memset(y, 0, C * sizeof(double));
	for (r = from; r < to; r++) {
		w->o->get(&w->m, r, x);
		k = w->o->dot(x, a->v, C) - a->mv;
		w->o->add(y, k, x, C);
		sum += k;
	}
	w->o->add(y, -sum, a->mean, C);
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

/*
 * The best vector of the space into c; a bound on the sine of its angle to
 * the eigenvector.  The second best eigenvalue of the space stands for the
 * second of the matrix: it is below that one, so a space of one has no bound.
 */
static double
ritz(const struct krylov *k, const struct row_ops *o, double *c, size_t C)
{
	double a[KRYLOV * KRYLOV], z[KRYLOV * KRYLOV], len, gap;
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
		o->add(c, z[i * n + top], k->basis + i * C, C);
	len = sqrt(o->dot(c, c, C));
	for (i = 0; i < C; i++)
		c[i] /= len;
	gap = a[top * n + top];
	if (!(gap > 0) || k->q[n - 1] == 0)
		return 0;	/* equal rows, or the space is closed */
	for (i = 0; i < n; i++)
		if (i != top && a[top * n + top] - a[i * n + i] < gap)
			gap = a[top * n + top] - a[i * n + i];
	if (n < 2 || !(gap > 0))
		return 1;
	return k->q[n - 1] * fabs(z[(n - 1) * n + top]) / gap;
}

/* One more vector of the space; 0 when it is whole. */
static int
grow(struct krylov *k, struct row_sweep *w, size_t most, int threads)
{
	const struct row_ops *o = w->o;
	struct operand *a = w->arg;
	size_t C = w->m.C, i, j = k->n, twice;
	double *y = k->basis + (j + 1) * C, h, before, left;

	a->v = k->basis + j * C;
	a->mv = o->dot(a->mean, a->v, C);
	if (a->gram) {
		for (i = 0; i < C; i++)
			y[i] = o->dot(a->gram + i * a->ld, a->v, C);
	} else {
		row_sweep_run(w, threads);
		row_sweep_sum(w, y);
	}
	before = sqrt(o->dot(y, y, C));
	for (twice = 0; twice < 2; twice++)
		for (i = 0; i <= j; i++) {
			h = o->dot(y, k->basis + i * C, C);
			o->add(y, -h, k->basis + i * C, C);
			if (twice == 0)
				k->t[j * KRYLOV + i] = k->t[i * KRYLOV + j] = h;
		}
	left = sqrt(o->dot(y, y, C));
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

/* Fixed, and of no direction that data would avoid. */
static void
start(double *c, const struct row_ops *o, size_t C)
{
	double x = 0.5;
	size_t i;

	for (i = 0; i < C; i++) {
		x = fmod(x * 997 + 0.6180339887498949, 1);
		c[i] = x - 0.5 + 1e-3;
	}
	x = sqrt(o->dot(c, c, C));
	for (i = 0; i < C; i++)
		c[i] /= x;
}

/* Steps from c until the vector is good enough or the space is full. */
static double
cycle(struct krylov *k, struct row_sweep *w, double *c, int threads)
{
	const struct operand *a = w->arg;
	size_t C = w->m.C, most = C < KRYLOV ? C : KRYLOV;
	double off;
	int more;

	memcpy(k->basis, c, C * sizeof(double));
	k->n = 0;
	memset(k->t, 0, sizeof(k->t));
	do {
		more = grow(k, w, most, threads);
		off = ritz(k, w->o, c, C);
		if (k->n == LOOK && !a->gram && off > hopeful &&
		    C <= gram_columns())
			break;
	} while (more && off > enough);
	return off;
}

int
principal(const struct rows *m, const double *mean, double *c, int threads)
{
	struct operand a = {.mean = mean};
	struct krylov k;
	struct row_sweep w;
	double off = 1;
	size_t round;

	row_sweep_init(&w, m);
	w.block = apply;
	w.arg = &a;
	start(c, w.o, m->C);
	k.basis = xreallocarray(NULL, (KRYLOV + 1) * m->C, sizeof(double));
	for (round = 0; round < RESTARTS && off > enough; round++) {
		if (round == 1 && m->C <= gram_columns())
			a.gram = gram_make(m, mean, &a.ld, threads);
		off = cycle(&k, &w, c, threads);
	}
	free(a.gram);
	free(k.basis);
	row_sweep_clear(&w);
	return off <= enough;
}
