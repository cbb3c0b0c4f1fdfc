/*
 * indicators.c - see indicators.h
 *
 * The first pass computes lengths and the mean row, and finds rows that are
 * not finite.  Then come the passes of pca.h, and a last one that compares
 * each row with u.
 */
#include "rare/indicators.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "rare/pca.h"

const char *const indicator_names[] = {
	"cos", "centred", "no_pc1", "l2", "in_norm", "bias", NULL
};

static double
length(const struct matrix_ops *o, const double *x, size_t C)
{
	return sqrt(o->dot(x, x, C));
}

/* ---- lengths and the mean ---- */

static void
measure_block(const struct matrix_block *b, void *ctx)
{
	size_t C = b->m->C, r;
	double *len = ctx;

	for (r = b->from; r < b->to; r++) {
		b->o->get(b->m, r, b->row);
		b->o->add(b->sum, 1, b->row, C);
		len[r] = length(b->o, b->row, C);
	}
}

static int
measure(struct indicators *r, const struct matrix *m, double *len,
	double *mean, int threads)
{
	size_t i;

	matrix_sweep(m, measure_block, len, mean, threads);
	for (i = 0; i < m->C; i++)
		mean[i] /= (double)m->V;
	for (i = 0; i < m->V; i++)
		if (!isfinite(len[i])) {
			r->bad = m;
			r->bad_row = i;
			return -1;
		}
	return 0;
}

/* ---- distances to u ---- */

struct target {
	double *v, len;		/* (C) and its length */
};

struct compare {
	double *const *to;		/* indicators */
	const double *mean, *pc1;	/* (C) */
	struct target u, centred, no_pc1;
};

static double
cosine(const struct matrix_ops *o, const double *x, const struct target *t,
       size_t C)
{
	double d = length(o, x, C) * t->len;

	return 1 - o->dot(x, t->v, C) / (d > 1e-6 ? d : 1e-6);
}

static void
compare_block(const struct matrix_block *b, void *ctx)
{
	const struct matrix_ops *o = b->o;
	const struct compare *n = ctx;
	size_t C = b->m->C, r;
	double *x = b->row, *d = x + C;

	for (r = b->from; r < b->to; r++) {
		o->get(b->m, r, x);
		n->to[IND_COS][r] = cosine(o, x, &n->u, C);
		o->sub(d, x, 1, n->mean, C);
		n->to[IND_CENTRED][r] = cosine(o, d, &n->centred, C);
		o->sub(d, x, o->dot(x, n->pc1, C), n->pc1, C);
		n->to[IND_NO_PC1][r] = cosine(o, d, &n->no_pc1, C);
		o->sub(d, x, 1, n->u.v, C);
		n->to[IND_L2][r] = length(o, d, C);
	}
}

/* Mean of the rows known to be unused into u.  Returns their number. */
static size_t
mean_unused(const struct matrix *m, const uint8_t *unused, double *u)
{
	const struct matrix_ops *o = matrix_ops(MATRIX_BEST);
	double *x = xreallocarray(NULL, m->C, sizeof(*x));
	size_t r, i, n = 0;

	memset(u, 0, m->C * sizeof(*u));
	for (r = 0; r < m->V; r++)
		if (unused[r]) {
			o->get(m, r, x);
			o->add(u, 1, x, m->C);
			n++;
		}
	free(x);
	for (i = 0; i < m->C && n; i++)
		u[i] /= (double)n;
	return n;
}

/* scratch: 2 C doubles. */
static void
compare(struct indicators *r, const struct matrix *out, const double *mean,
	double *u, double *scratch, int threads)
{
	const struct matrix_ops *o = matrix_ops(MATRIX_BEST);
	size_t C = out->C;
	struct compare n = {.to = r->v, .mean = mean, .u.v = u,
			    .centred.v = scratch, .no_pc1.v = scratch + C};

	r->pc1 = xreallocarray(NULL, C, sizeof(*r->pc1));
	r->converged = pca_first(out, mean, r->pc1, threads);
	n.pc1 = r->pc1;
	o->sub(n.centred.v, u, 1, mean, C);
	o->sub(n.no_pc1.v, u, o->dot(u, r->pc1, C), r->pc1, C);
	n.u.len = length(o, u, C);
	n.centred.len = length(o, n.centred.v, C);
	n.no_pc1.len = length(o, n.no_pc1.v, C);
	matrix_sweep(out, compare_block, &n, NULL, threads);
}

/* ---- all of them ---- */

static double *
column(size_t V)
{
	return xcalloc(V + 1, sizeof(double));
}

static int
get_bias(struct indicators *r, const struct matrix *bias)
{
	const struct matrix_ops *o = matrix_ops(MATRIX_BEST);
	double *v = column(bias->V), sum = 0;
	size_t i;

	for (i = 0; i < bias->V; i++) {
		o->get(bias, i, &v[i]);
		if (!isfinite(v[i]) && !r->bad) {
			r->bad = bias;
			r->bad_row = i;
		}
		sum += v[i] * v[i];
	}
	if (sqrt(sum) > 1e-3)
		r->v[IND_BIAS] = v;
	else
		free(v);
	return r->bad ? -1 : 0;
}

int
indicators_get(struct indicators *r, const struct matrix *out,
	       const struct matrix *in, const struct matrix *bias,
	       const uint8_t *unused, int threads)
{
	size_t V = out->V, C = out->C, i;
	double *mean = xcalloc(4 * C + 1, sizeof(double)), *u = mean + C;
	double *len;
	int rc;

	memset(r, 0, sizeof(*r));
	r->converged = 1;
	r->v[IND_IN_NORM] = column(V);
	rc = measure(r, in, r->v[IND_IN_NORM], mean, threads);
	if (rc == 0 && in->p != out->p) {
		len = column(V);
		rc = measure(r, out, len, mean, threads);
		free(len);
	}
	if (rc == 0 && bias)
		rc = get_bias(r, bias);
	if (rc == 0 && mean_unused(out, unused, u)) {
		for (i = 0; i < IND_IN_NORM; i++)
			r->v[i] = column(V);
		compare(r, out, mean, u, u + C, threads);
	}
	free(mean);
	return rc;
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
