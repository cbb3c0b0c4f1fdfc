/*
 * agree.c - every entry of the cpu table against ref
 *
 * Random shapes, odd ones and ones of several tiles (cases.h), in fp32 and
 * bf16, for each instruction set of this processor.  ref runs once, before the
 * process of each table starts.  Tolerances are those of kernels.h.
 */
#include "tests/kernels/cases.h"
#include "tests/kernels/compare.h"
#include "tests/kernels/tables.h"

enum { SEEDS = 24 };

/* What ref computed, by case, type and seed: small shapes, then big ones. */
static struct kt refs[KT_CASES][2][SEEDS];

static void
run_ref(void)
{
	struct err e = {0};
	struct kernels *ref = kernels_open("ref", 1, &e);

	for (int i = 0; i < KT_CASES; i++) {
		const struct kt_case *c = &kt_cases[i];

		for (int dt = K_F32; dt <= K_BF16; dt++)
			for (int s = 0; s < c->small + c->big; s++) {
				struct kt *t = &refs[i][dt][s];

				kt_run(t, ref, c, (enum kdtype)dt,
				       s >= c->small, s, NULL);
				kt_forget(t);
			}
	}
	ref->close(ref);
}

/* The widest tables get all big cases, the others one. */
static void
table(const char *name, struct kernels *k)
{
	int full = !strcmp(name, "cpu") || !strcmp(name, "cpu:packed");

	for (int i = 0; i < KT_CASES; i++)
		for (int dt = K_F32; dt <= K_BF16; dt++) {
			const struct kt_case *c = &kt_cases[i];
			int n = c->small + (full ? c->big : 1);
			double worst = 0;

			for (int s = 0; s < n; s++) {
				const struct kt *ref = &refs[i][dt][s];
				struct kt t;

				kt_run(&t, k, c, (enum kdtype)dt,
				       s >= c->small, s, ref);
				worst = fmax(worst,
					     kt_compare(&t, ref, c->name));
				kt_clear(&t);
			}
			tap_ok(worst <= 1, "%s %s %s: %.2g of the tolerance",
			       name, c->name, dt == K_BF16 ? "bf16" : "fp32",
			       worst);
		}
}

int
main(void)
{
	tap_start();
	run_ref();
	each_table(1, 2, table);
	return tap_end();
}
