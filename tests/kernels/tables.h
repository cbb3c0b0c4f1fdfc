/*
 * tables.h - a test of every kernel table that this processor can run
 *
 * One process each, because oneDNN's limit of instruction sets is set once.
 */
#ifndef ASSAY_TABLES_H
#define ASSAY_TABLES_H

#include "kernels/kernels.h"
#include "tests/kernels/tap.h"

/* from: 0, or 1 without ref. */
static void
each_table(size_t from, int threads,
	   void (*test)(const char *name, struct kernels *k))
{
	static const char *const names[] = {
		"ref", "cpu", "cpu:packed", "cpu:avx512_bf16", "cpu:avx512",
		"cpu:avx2", "cpu:scalar",
	};

	for (size_t i = from; i < sizeof names / sizeof *names; i++) {
		struct err e = {0};
		struct kernels *k;
		int status;

		if (tap_fork(&status)) {
			tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
			       "%s: ended well", names[i]);
			continue;
		}
		k = kernels_open(names[i], threads, &e);
		if (k) {
			test(names[i], k);
			k->close(k);
		} else {
			tap_ok(1, "%s # SKIP %s", names[i], e.msg);
		}
		exit(0);
	}
}

#endif
