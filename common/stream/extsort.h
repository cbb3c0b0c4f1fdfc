/*
 * extsort.h - external sort of (key, document) records
 *
 * Records of 12 bytes are put in any order and come back as groups of equal
 * keys, sorted, any number of times.  What does not fit into `mem` bytes goes
 * to an unnamed file in $TMPDIR as sorted runs, which are merged while they are
 * read.
 * One thread at a time.
 */
#ifndef ASSAY_EXTSORT_H
#define ASSAY_EXTSORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct extsort;

struct extsort *extsort_new(size_t mem);
void extsort_free(struct extsort *s);	/* NULL is fine */

int extsort_put(struct extsort *s, uint64_t key, uint32_t doc, struct err *e);

/* Go to the first record.  The first call sorts; no put may follow it. */
int extsort_rewind(struct extsort *s, struct err *e);

/*
 * The next group of two or more documents with equal keys, in ascending order,
 * each once: *n of them, valid until the next call.  1, 0 at the end, or -1.
 */
int extsort_group(struct extsort *s, const uint32_t **doc, size_t *n,
		  struct err *e);

size_t extsort_runs(const struct extsort *s);	/* 0: all in memory */

#endif
