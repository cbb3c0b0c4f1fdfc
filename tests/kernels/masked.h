/*
 * masked.h - which outputs a NaN or infinity in an input reaches
 *
 * A probe is one entry with its inputs and outputs as arrays of numbers.
 * probe_all() puts NaN, infinity and -infinity in some numbers of each input,
 * one after the other, runs the entry on the table under test and on ref, and
 * asks the probe which outputs depend on that number:
 *
 *  - NaN reaches all of them;
 *  - infinity reaches those where ref does not give a finite number;
 *  - all others agree with a run without.
 *
 * Outputs are NaN before each run: an entry that does not accumulate
 * overwrites them.  Host tables only: device memory is written directly, and
 * ref works on the memory of the other table.
 */
#ifndef ASSAY_KERNEL_MASKED_H
#define ASSAY_KERNEL_MASKED_H

#include "tests/kernels/kt.h"
#include "tests/kernels/tap.h"

struct numbers {
	enum kdtype dt;
	int64_t n;
	void *p;
	int64_t at[2];		/* where NaN must be tried, or 0 */
};

enum reach { NO, YES, MAY };

struct probe {
	struct kernels *k;
	enum kdtype dt;
	struct kt *kt;		/* owns all memory */
	struct numbers in[8], out[6];
	int nin, nout;
	int64_t n;		/* rows; the other sizes are of the probe */
	struct kweight *w;
	int32_t *id;
	const void *ctx;
	void (*run)(struct probe *p, struct kernels *k);
	/* Does number j of output `out` depend on number i of input `in`? */
	enum reach (*reach)(const struct probe *p, int in, int64_t i, int out,
			    int64_t j);
};

/* An input of n random numbers; its number among the inputs. */
static inline void *
probe_in(struct probe *p, int64_t n, enum kdtype dt, double mean)
{
	void *x = kt_room(p->kt, n, dt);

	kt_fill(p->kt, x, n, dt, mean, mean ? 0.2 : 1);
	p->in[p->nin++] = (struct numbers){ .dt = dt, .n = n,
					      .p = x };
	return x;
}

static inline void *
probe_out(struct probe *p, int64_t n, enum kdtype dt)
{
	void *x = kt_room(p->kt, n, dt);

	p->out[p->nout++] = (struct numbers){ .dt = dt, .n = n,
					      .p = x };
	return x;
}

static inline void
probe_weight(struct probe *p, int64_t out, int64_t in)
{
	p->w = kt_weight(p->kt, out, in, K_USE_TRAIN);
	p->in[p->nin++] = (struct numbers){ .dt = p->dt, .n = out * in,
					      .p = p->w->data };
}

/* One run: outputs as doubles to y[], each to be freed. */
static inline void
probe_run(struct probe *p, struct kernels *k, double *y[])
{
	for (int o = 0; o < p->nout; o++)
		for (int64_t j = 0; j < p->out[o].n; j++)
			kt_set(p->out[o].p, p->out[o].dt, j, NAN);
	if (p->w)
		kernels_weight_update(k, p->w);
	p->run(p, k);
	for (int o = 0; o < p->nout; o++) {
		struct numbers *x = &p->out[o];

		y[o] = xreallocarray(NULL, (size_t)x->n, sizeof **y);
		for (int64_t j = 0; j < x->n; j++)
			y[o][j] = kt_at(x->p, x->dt, j);
	}
}

static inline void
probe_drop(const struct probe *p, double *y[])
{
	for (int o = 0; o < p->nout; o++)
		free(y[o]);
}

static inline int
probe_wrong(const struct probe *p, enum reach r, double bad, double x,
	    double ref, double clean)
{
	double tol = p->dt == K_F32 ? 1e-4 : 0.03;

	if (r == NO)
		return !(fabs(x - clean) <= tol * (1 + fabs(clean)));
	if (r == YES && isnan(bad))
		return isfinite(x) != 0;
	return r == YES && !isfinite(ref) && isfinite(x);
}

/* Number i of input `in` is `bad`: how many outputs are wrong. */
static inline int64_t
probe_one(struct probe *p, struct kernels *ref, int in, int64_t i, double bad,
	  double *clean[])
{
	struct numbers *x = &p->in[in];
	double *y[6], *z[6], old = kt_at(x->p, x->dt, i);
	int64_t wrong = 0;

	kt_set(x->p, x->dt, i, bad);
	probe_run(p, ref, z);
	probe_run(p, p->k, y);
	for (int o = 0; o < p->nout; o++) {
		int64_t first = -1, n = 0;

		for (int64_t j = 0; j < p->out[o].n; j++)
			if (probe_wrong(p, p->reach(p, in, i, o, j), bad,
					y[o][j], z[o][j], clean[o][j])) {
				first = first < 0 ? j : first;
				n++;
			}
		if (n)
			printf("# %g in number %lld of input %d: %lld of "
			       "output %d are wrong, the first is %lld: %g\n",
			       bad, (long long)i, in, (long long)n, o,
			       (long long)first, y[o][first]);
		wrong += n;
	}
	kt_set(x->p, x->dt, i, old);
	probe_drop(p, y);
	probe_drop(p, z);
	return wrong;
}

/* Each value in `places` numbers of each input. */
static inline int64_t
probe_all(struct probe *p, struct kernels *ref, int places)
{
	static const double bad[] = { NAN, INFINITY, -INFINITY };
	double *clean[6];
	int64_t wrong = 0;

	probe_run(p, p->k, clean);
	for (int o = 0; o < p->nout; o++)
		for (int64_t j = 0; j < p->out[o].n; j++)
			wrong += !isfinite(clean[o][j]);
	for (int in = 0; in < p->nin; in++)
		for (int i = 0; i < places; i++) {
			int64_t n = p->in[in].n, at;

			at = i == 0 ? 0 : i == 1 ? n - 1 :
				kt_int(p->kt, 0, n - 1);
			if (i >= 2 && i < 4 && p->in[in].at[i - 2])
				at = p->in[in].at[i - 2];

			for (int b = 0; b < 3; b++)
				wrong += probe_one(p, ref, in, at, bad[b],
						   clean);
		}
	probe_drop(p, clean);
	if (p->w)
		kernels_weight_update(p->k, p->w);
	return wrong;
}

#endif
