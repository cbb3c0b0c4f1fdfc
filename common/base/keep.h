/*
 * keep.h - a stream put aside, compressed, to be read again
 *
 * For pipes that need two passes: bytes are appended while they go by, then
 * read from the start as often as wanted.  zstd, level 1, in a spool: small
 * ones stay in memory, others go to an unlinked file in $TMPDIR.  One thread
 * at a time.
 */
#ifndef ASSAY_KEEP_H
#define ASSAY_KEEP_H

#include <stddef.h>

#include "base/err.h"

struct keep;

struct keep *keep_new(void);
void keep_free(struct keep *k);		/* NULL is fine */

int keep_put(struct keep *k, const void *p, size_t n, struct err *e);

/* To the start: from now on keep_read().  Nothing may be put any more. */
int keep_rewind(struct keep *k, struct err *e);

/* Up to n > 0 bytes; 0 at the end; -1 on error. */
ptrdiff_t keep_read(struct keep *k, void *p, size_t n, struct err *e);

#endif
