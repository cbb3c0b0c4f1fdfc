/*
 * agree.c - every entry of the cpu table against ref
 *
 * Random shapes, odd ones and ones of several tiles, in fp32 and bf16, for
 * each instruction set of this processor.  Tolerances are those of kernels.h.
 */
#include "tests/kernels/cases.h"
#include "tests/kernels/tables.h"

/* |y - ref| / |ref|; -1: the bytes must be equal and are not. */
static double
distance(const struct kt_out *y, const struct kt_out *ref)
{
	double diff = 0, norm = 0;

	if (ref->bytes == 2) {
		double a, b;

		memcpy(&a, y->data, sizeof a);
		memcpy(&b, ref->data, sizeof b);
		return fabs(a - b) / (b + 1e-30);
	}
	if (ref->bytes)
		return memcmp(y->data, ref->data, (size_t)y->n *
			      kdtype_size(y->dt)) ? -1 : 0;
	for (int64_t i = 0; i < y->n; i++) {
		double a = kt_get(y, i), b = kt_get(ref, i);

		diff += (a - b) * (a - b);
		norm += b * b;
	}
	return sqrt(diff) / (sqrt(norm) + 1e-30);
}

/* Worst distance of one case; the name of a failed output, or NULL. */
static const char *
compare(struct kernels *k, struct kernels *ref, const struct kt_case *c,
	enum kdtype dt, int big, int seed, double *worst)
{
	double tol = dt == K_BF16 ? 1e-2 : 1e-5;
	const char *bad = NULL;
	struct kt x, y;

	kt_run(&x, k, c, dt, big, seed);
	kt_run(&y, ref, c, dt, big, seed);
	for (int i = 0; i < x.nout; i++) {
		double d = distance(&x.out[i], &y.out[i]);

		*worst = d > *worst ? d : *worst;
		if (!(d >= 0 && d <= tol)) {
			bad = x.out[i].name;
			printf("# %s: %s of %lld numbers is off by %g\n",
			       c->name, bad, (long long)x.out[i].n, d);
		}
	}
	kt_clear(&x);
	kt_clear(&y);
	return bad;
}

/* The widest tables get all big cases, the others one. */
static void
table(const char *name, struct kernels *k)
{
	struct err e = {0};
	struct kernels *ref = kernels_open("ref", 1, &e);
	int full = !strcmp(name, "cpu") || !strcmp(name, "cpu:packed");

	for (int i = 0; i < KT_CASES; i++)
		for (int dt = K_F32; dt <= K_BF16; dt++) {
			const struct kt_case *c = &kt_cases[i];
			const char *bad = NULL, *b;
			int big = full ? c->big : 1;
			double worst = 0;

			for (int s = 0; s < c->small + big; s++)
				if ((b = compare(k, ref, c, (enum kdtype)dt,
						 s >= c->small, s, &worst)))
					bad = b;
			tap_ok(!bad, "%s %s %s: within %.2g of ref", name,
			       c->name, dt == K_BF16 ? "bf16" : "fp32", worst);
		}
	ref->close(ref);
}

int
main(void)
{
	tap_start();
	each_table(1, 2, table);
	return tap_end();
}
