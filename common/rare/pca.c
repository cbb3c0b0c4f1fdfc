/*
 * pca.c - see pca.h
 *
 * The first principal component is the top eigenvector of A = X'X, X the
 * centred rows.  The smaller the gap between the first two eigenvalues, the
 * more passes plain power iteration takes.  Its vectors span a Krylov space,
 * and the best vector of that space (Rayleigh-Ritz) converges in the square
 * root of as many passes.  The basis is kept orthogonal by Gram-Schmidt, run
 * twice; after KRYLOV steps the space is restarted from the best vector.
 *
 * Embeddings of a trained model have one dominant component, which takes 10 to
 * 15 passes.  An untrained one has none and would take a hundred: where LOOK
 * passes brought little, A itself is formed, if it has few enough columns.
 *
 * LAPACK was tried.  OpenBLAS is as fast as this but returns other bits on
 * other processors and for other numbers of threads; the reference BLAS takes
 * ten times as long.
 */
#include "rare/pca.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rare/covariance.h"

enum { KRYLOV = 24, RESTARTS = 40, LOOK = 12, MOST_COLUMNS = 1024 };

/* Sines of the angle: the goal, and what LOOK passes should have reached. */
static const double enough = 1e-8, hopeful = 1e-3;

struct krylov {
	const struct matrix *m;
	const struct matrix_ops *o;
	const double *mean;		/* (C) */
	int threads;
	double *cov;			/* A (C, ld), or NULL */
	size_t ld;
	size_t n;			/* steps of this space */
	double *basis;			/* (KRYLOV + 1, C) */
	double t[KRYLOV][KRYLOV];	/* A in the basis */
	double left;			/* length of the next vector */
	const double *v;		/* (C), last of the basis */
	double mv;			/* mean . v */
};

/* Sum over the rows of a block of ((x - mean) . v) (x - mean). */
static void
multiply_block(const struct matrix_block *b, void *ctx)
{
	const struct krylov *k = ctx;
	size_t C = b->m->C, r;
	double along, sum = 0;

	for (r = b->from; r < b->to; r++) {
		b->o->get(b->m, r, b->row);
		along = b->o->dot(b->row, k->v, C) - k->mv;
		b->o->add(b->sum, along, b->row, C);
		sum += along;
	}
	b->o->add(b->sum, -sum, k->mean, C);
}

/* y = A v, v the last vector of the basis. */
static void
multiply(struct krylov *k, double *y)
{
	size_t C = k->m->C, i;

	k->v = k->basis + k->n * C;
	k->mv = k->o->dot(k->mean, k->v, C);
	if (!k->cov)
		matrix_sweep(k->m, multiply_block, k, y, k->threads);
	for (i = 0; k->cov && i < C; i++)
		y[i] = k->o->dot(k->cov + i * k->ld, k->v, C);
}

static double
normalize(const struct matrix_ops *o, double *x, size_t C)
{
	double len = sqrt(o->dot(x, x, C));
	size_t i;

	for (i = 0; i < C && len > 0; i++)
		x[i] /= len;
	return len;
}

/* One more vector; k->left is 0 when the space is closed under A. */
static void
extend(struct krylov *k)
{
	size_t C = k->m->C, j = k->n, i, twice;
	double *y = k->basis + (j + 1) * C, h, before;

	multiply(k, y);
	before = sqrt(k->o->dot(y, y, C));
	for (twice = 0; twice < 2; twice++)
		for (i = 0; i <= j; i++) {
			h = k->o->dot(y, k->basis + i * C, C);
			k->o->add(y, -h, k->basis + i * C, C);
			if (twice == 0)
				k->t[j][i] = k->t[i][j] = h;
		}
	k->n++;
	k->left = normalize(k->o, y, C);
	if (!(k->left > 1e-14 * before))
		k->left = 0;
}

/* ---- eigenvectors in the space ---- */

static void
rotate(double *x, double *y, size_t step, size_t n, double c, double s)
{
	double h;

	for (; n-- > 0; x += step, y += step) {
		h = c * *x - s * *y;
		*y = s * *x + c * *y;
		*x = h;
	}
}

/*
 * Eigenvalues of the symmetric a (n, n) onto its diagonal, eigenvectors into
 * the rows of z: cyclic Jacobi rotations.
 */
static void
jacobi(double *a, double *z, size_t n)
{
	double off = 1, all = 0, t, c, th;
	size_t i, j, round;

	for (i = 0; i < n * n; i++)
		z[i] = i % (n + 1) == 0;
	for (round = 0; round < 60 && off > 1e-30 * all; round++) {
		for (i = 0; i < n; i++)
			for (j = i + 1; j < n; j++) {
				if (a[i * n + j] == 0)
					continue;
				th = (a[j * n + j] - a[i * n + i]) /
				     (2 * a[i * n + j]);
				t = (th < 0 ? -1 : 1) /
				    (fabs(th) + sqrt(th * th + 1));
				c = 1 / sqrt(t * t + 1);
				rotate(a + i, a + j, n, n, c, t * c);
				rotate(a + i * n, a + j * n, 1, n, c, t * c);
				rotate(z + i * n, z + j * n, 1, n, c, t * c);
			}
		for (off = all = 0, i = 0; i < n * n; i++)
			*(i % (n + 1) ? &off : &all) += a[i] * a[i];
	}
}

/*
 * The best vector of the space into c.  Returns a bound on the sine of its
 * angle to the eigenvector.  The second eigenvalue of the space stands for
 * that of A, which is greater; a space of one vector gives no bound.
 */
static double
ritz(const struct krylov *k, double *c)
{
	double a[KRYLOV * KRYLOV], z[KRYLOV * KRYLOV], gap;
	size_t n = k->n, C = k->m->C, i, top = 0;

	for (i = 0; i < n * n; i++)
		a[i] = k->t[i / n][i % n];
	jacobi(a, z, n);
	for (i = 1; i < n; i++)
		if (a[i * n + i] > a[top * n + top])
			top = i;
	memset(c, 0, C * sizeof(double));
	for (i = 0; i < n; i++)
		k->o->add(c, z[top * n + i], k->basis + i * C, C);
	normalize(k->o, c, C);
	gap = a[top * n + top];
	if (!(gap > 0) || k->left == 0)
		return 0;	/* equal rows, or the space is closed */
	for (i = 0; i < n; i++)
		if (i != top && a[top * n + top] - a[i * n + i] < gap)
			gap = a[top * n + top] - a[i * n + i];
	if (n < 2 || !(gap > 0))
		return 1;
	return k->left * fabs(z[top * n + n - 1]) / gap;
}

/* Fixed, and with a part in every direction that data could have. */
static void
start(double *c, const struct matrix_ops *o, size_t C)
{
	double x = 0.5;
	size_t i;

	for (i = 0; i < C; i++) {
		x = fmod(x * 997 + 0.6180339887498949, 1);
		c[i] = x - 0.5 + 1e-3;
	}
	normalize(o, c, C);
}

int
pca_first(const struct matrix *m, const double *mean, double *c, int threads)
{
	struct krylov k = {.m = m, .o = matrix_ops(MATRIX_BEST), .mean = mean,
			   .threads = threads};
	size_t C = m->C, most = C < KRYLOV ? C : KRYLOV, round;
	int fits = C <= MOST_COLUMNS && m->type != MATRIX_F64;
	double off = 1;

	start(c, k.o, C);
	k.basis = xreallocarray(NULL, (KRYLOV + 1) * C, sizeof(double));
	for (round = 0; round < RESTARTS && off > enough; round++) {
		memcpy(k.basis, c, C * sizeof(double));
		k.n = 0;
		do {
			if (fits && !k.cov &&
			    (round > 0 || (k.n == LOOK && off > hopeful)))
				k.cov = covariance(m, mean, &k.ld, threads);
			extend(&k);
			off = ritz(&k, c);
		} while (k.n < most && k.left > 0 && off > enough);
	}
	free(k.cov);
	free(k.basis);
	return off <= enough;
}
