/*
 * agree.c - every entry of the cpu table against ref
 *
 * Random shapes, odd ones and ones of several tiles (cases.h), and shapes of
 * real runs (real.h), in each type, for each instruction set of this
 * processor.  ref runs once, before the process of each table starts.
 * Tolerances are those of kernels.h.
 */
#include "tests/kernels/compare.h"
#include "tests/kernels/real.h"
#include "tests/kernels/tables.h"

enum { SEEDS = 24 };

/* What ref computed, by type and seed: small shapes, then big ones. */
typedef struct kt ref_runs[K_TYPES][SEEDS];

static ref_runs refs[KT_CASES], real_refs[KT_REAL];

static void
run_ref(struct kernels *ref, const struct kt_case *c, ref_runs runs)
{
	for (int dt = 0; dt < K_TYPES; dt++)
		for (int s = 0; s < c->small + c->big; s++) {
			struct kt *t = &runs[dt][s];

			kt_run(t, ref, c, (enum kdtype)dt, s >= c->small, s,
			       NULL);
			kt_forget(t);
		}
}

static void
run_refs(void)
{
	struct err e = {0};
	struct kernels *ref = kernels_open("ref", 1, &e);

	for (int i = 0; i < KT_CASES; i++)
		run_ref(ref, &kt_cases[i], refs[i]);
	for (int i = 0; i < KT_REAL; i++)
		run_ref(ref, &kt_real[i], real_refs[i]);
	ref->close(ref);
}

/* The first n seeds of a case, in the first `types` types. */
static void
compare(const char *name, struct kernels *k, const struct kt_case *c, int n,
	int types, ref_runs runs)
{
	for (int dt = 0; dt < types; dt++) {
		double worst = 0;

		for (int s = 0; s < n; s++) {
			const struct kt *ref = &runs[dt][s];
			struct kt t;

			kt_run(&t, k, c, (enum kdtype)dt, s >= c->small, s,
			       ref);
			worst = fmax(worst, kt_compare(&t, ref, c->name));
			kt_clear(&t);
		}
		tap_ok(worst <= 1, "%s %s %s: %.2g of the tolerance", name,
		       c->name, kdtype_name((enum kdtype)dt), worst);
	}
}

/*
 * The widest tables get all big cases, the others one; fp16 at real shapes is
 * for one table, because it takes the same paths in all of them.
 */
static void
table(const char *name, struct kernels *k)
{
	int full = !strcmp(name, "cpu") || !strcmp(name, "cpu:packed");

	for (int i = 0; i < KT_CASES; i++)
		compare(name, k, &kt_cases[i], kt_cases[i].small +
			(full ? kt_cases[i].big : 1), K_TYPES, refs[i]);
	for (int i = 0; i < KT_REAL; i++)
		compare(name, k, &kt_real[i], kt_real[i].big,
			strcmp(name, "cpu") ? K_F16 : K_TYPES, real_refs[i]);
}

/* The oracle of the real shapes against ref, which takes no part in it. */
static void
oracle(void)
{
	static const struct attn_shape shapes[] = {
		{ 2, 150, 4, 2, 12, 70, MIXED }, { 1, 70, 8, 1, 10, 0, ONE },
		{ 20, 30, 1, 1, 6, 0, SHIFTED },
	};
	struct err e = {0};
	struct kernels *ref = kernels_open("ref", 1, &e);
	double worst = 0;

	for (int i = 0; i < 3; i++) {
		struct kt x = { .k = ref, .seed = 9 }, y = x;

		attn_shape_run(&x, &shapes[i], 1);
		attn_shape_run(&y, &shapes[i], 0);
		worst = fmax(worst, kt_compare(&x, &y, "oracle"));
		kt_clear(&x);
		kt_clear(&y);
	}
	tap_ok(worst <= 0.1, "float64 attention: %.2g of the tolerance", worst);
	ref->close(ref);
}

int
main(void)
{
	tap_start();
	oracle();
	run_refs();
	each_table(1, 2, table);
	return tap_end();
}
