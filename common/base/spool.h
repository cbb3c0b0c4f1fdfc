/*
 * spool.h - bytes put aside, in memory or in a file that has no name
 *
 * For what must be read again in another order, or twice, when its size is
 * not known before: bytes are appended, then read from any offset.  Up to
 * `mem` bytes stay in memory; past that everything goes to an unlinked file
 * in $TMPDIR (/tmp when unset), which vanishes with the process.  One thread
 * at a time.
 */
#ifndef ASSAY_SPOOL_H
#define ASSAY_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct spool;

struct spool *spool_new(size_t mem);
void spool_free(struct spool *s);	/* NULL is fine */

/* Append n bytes; they stand at the spool_size() from before.  0 or -1. */
int spool_append(struct spool *s, const void *p, size_t n, struct err *e);

/* Exactly n bytes from off; past the end is an error.  0 or -1. */
int spool_read(struct spool *s, uint64_t off, void *p, size_t n,
	       struct err *e);

/* The n bytes at off where they lie in memory, until the next append; or NULL. */
const void *spool_view(const struct spool *s, uint64_t off, size_t n);

/*
 * All spool_size() bytes as one array, which lives until spool_free(); nothing
 * may be appended after it, and it may be called once.  NULL: error.
 */
const void *spool_all(struct spool *s, struct err *e);

uint64_t spool_size(const struct spool *s);
int spool_on_disk(const struct spool *s);

#endif
