/*
 * again.h - documents that are read twice
 *
 * A file is opened again; a pipe is put aside while it is read the first
 * time, compressed (zstd, level 1), in a file without a name in $TMPDIR (/tmp
 * when unset), which vanishes with the process.  Standard input is always put
 * aside: where it is a file, it stands at its end by then.
 */
#ifndef ASSAY_AGAIN_H
#define ASSAY_AGAIN_H

#include <stddef.h>

#include "base/err.h"
#include "record/doc.h"

struct again;

/* paths are kept by reference, n == 0 means standard input.  NULL: error. */
struct again *again_new(const char *const *paths, size_t n, struct err *e);
void again_free(struct again *a);	/* NULL is fine */

/* Put a block of the first reading aside, in input order.  0 or -1. */
int again_put(struct again *a, const struct doc_batch *b, struct err *e);

/* After the first reading: what doc_reader_open() is to open.  0 or -1. */
int again_paths(struct again *a, const char *const **paths, size_t *n,
		struct err *e);

/* Give the documents of a block of the second reading their files' names. */
void again_name(const struct again *a, struct doc_batch *b);

#endif
