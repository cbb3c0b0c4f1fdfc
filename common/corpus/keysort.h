/*
 * keysort.h - (key, document) records, sorted, in bounded memory
 *
 * Records of 12 bytes are put in any order and come back sorted by key, then
 * by document, as often as wanted.  What does not fit into `mem` bytes goes to
 * unlinked files in $TMPDIR as sorted runs, which are merged while they are
 * read.  One thread at a time.
 */
#ifndef ASSAY_KEYSORT_H
#define ASSAY_KEYSORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct keysort;

struct keysort *keysort_new(size_t mem);
void keysort_free(struct keysort *s);	/* NULL is fine */

int keysort_put(struct keysort *s, uint64_t key, uint32_t doc, struct err *e);

/* To the first record; the first call sorts.  Nothing may be put any more. */
int keysort_rewind(struct keysort *s, struct err *e);

/* The next record: 1, 0 at the end, -1 error. */
int keysort_next(struct keysort *s, uint64_t *key, uint32_t *doc,
		 struct err *e);

/*
 * The next two or more documents with one key, in ascending order, each
 * once: *n of them, which stay until the next call.  1, 0 or -1.
 */
int keysort_group(struct keysort *s, const uint32_t **doc, size_t *n,
		  struct err *e);

size_t keysort_runs(const struct keysort *s);	/* 0: all in memory */

#endif
