/*
 * indicators.c - see indicators.h
 *
 * The first pass takes lengths and the mean row, and sees a row that is not
 * finite; then come those of rare/pca.h, and a last one for what
 * needs the mean and the component.
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

/* ---- lengths and the mean ---- */

/* Length of each row to arg, sums of rows to the parts. */
static void
lengths(const struct row_sweep *w, size_t b, size_t from, size_t to, double *x)
{
	size_t C = w->m.C, r;
	double *y = w->part + b * C, *len = w->arg;

	for (r = from; r < to; r++) {
		w->o->get(&w->m, r, x);
		w->o->add(y, 1, x, C);
		len[r] = sqrt(w->o->dot(x, x, C));
	}
}

static int
measure(struct indicators *r, const struct rows *m, double *len, double *mean,
	int threads)
{
	struct row_sweep w;
	size_t i;

	row_sweep_init(&w, m);
	w.block = lengths;
	w.arg = len;
	row_sweep_run(&w, threads);
	row_sweep_sum(&w, mean);
	row_sweep_clear(&w);
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

/* ---- what is near to u ---- */

/* A direction to be near to: v (C) and its length. */
struct towards {
	double *v, len;
};

struct near {
	double *const *to;		/* indicators */
	const double *mean, *pc1;	/* (C) */
	struct towards u, centred, no_pc1;
};

static double
cosine(const struct row_ops *o, const double *x, double len,
       const struct towards *t, size_t C)
{
	double d = len * t->len;

	return 1 - o->dot(x, t->v, C) / (d > 1e-6 ? d : 1e-6);
}

static double
length(const struct row_ops *o, const double *x, size_t C)
{
	return sqrt(o->dot(x, x, C));
}

static void
nearness(const struct row_sweep *w, size_t b, size_t from, size_t to,
	 double *x)
{
	const struct row_ops *o = w->o;
	const struct near *n = w->arg;
	size_t C = w->m.C, r;
	double *d = x + C;

	(void)b;
	for (r = from; r < to; r++) {
		o->get(&w->m, r, x);
		n->to[IND_COS][r] = cosine(o, x, length(o, x, C), &n->u, C);
		o->sub(d, x, 1, n->mean, C);
		n->to[IND_CENTRED][r] = cosine(o, d, length(o, d, C),
					       &n->centred, C);
		o->sub(d, x, o->dot(x, n->pc1, C), n->pc1, C);
		n->to[IND_NO_PC1][r] = cosine(o, d, length(o, d, C),
					      &n->no_pc1, C);
		o->sub(d, x, 1, n->u.v, C);
		n->to[IND_L2][r] = length(o, d, C);
	}
}

/* Mean of the rows known to be unused; their number. */
static size_t
mean_unused(const struct rows *m, const uint8_t *unused, double *u)
{
	const struct row_ops *o = row_ops(ROW_OPS_BEST);
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

/* With mean[C] and u[C]; memory: 2 C doubles. */
static void
compare(struct indicators *r, const struct rows *out, double *mean, double *u,
	double *memory, int threads)
{
	size_t C = out->C;
	struct row_sweep w;
	struct near n = {.to = r->v, .mean = mean, .u.v = u,
			 .centred.v = memory, .no_pc1.v = memory + C};

	r->pc1 = xreallocarray(NULL, C, sizeof(*r->pc1));
	r->converged = principal(out, mean, r->pc1, threads);
	n.pc1 = r->pc1;
	row_sweep_init(&w, out);
	w.o->sub(n.centred.v, u, 1, mean, C);
	w.o->sub(n.no_pc1.v, u, w.o->dot(u, r->pc1, C), r->pc1, C);
	n.u.len = length(w.o, u, C);
	n.centred.len = length(w.o, n.centred.v, C);
	n.no_pc1.len = length(w.o, n.no_pc1.v, C);
	w.block = nearness;
	w.arg = &n;
	row_sweep_run(&w, threads);
	row_sweep_clear(&w);
}

/* ---- all of them ---- */

static double *
column(size_t V)
{
	return xcalloc(V + 1, sizeof(double));
}

static int
get_bias(struct indicators *r, const struct rows *bias)
{
	const struct row_ops *o = row_ops(ROW_OPS_BEST);
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
indicators_get(struct indicators *r, const struct rows *out,
	       const struct rows *in, const struct rows *bias,
	       const uint8_t *unused, int threads)
{
	size_t V = out->V, C = out->C, i;
	double *mean = xcalloc(4 * C + 1, sizeof(double)), *u = mean + C;
	double *len = NULL;
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
