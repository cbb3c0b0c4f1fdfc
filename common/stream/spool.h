/*
 * spool.h - temporary bytes, in memory or in an unnamed file
 *
 * For data of unknown size that is read again, or in another order: bytes are
 * appended, then read from any offset.  Up to `mem` bytes stay in memory; what
 * comes after them goes to an unnamed file in $TMPDIR (default /tmp), which
 * disappears with the process; so do they if they are few, to leave memory to a
 * write buffer.  One thread at a time.
 */
#ifndef ASSAY_SPOOL_H
#define ASSAY_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct spool;

/*
 * Has $TMPDIR this many free bytes?  `what` needs them, for the message.  0 or
 * -1.
 */
int spool_room(uint64_t bytes, const char *what, struct err *e);

struct spool *spool_new(size_t mem);
void spool_free(struct spool *s);	/* NULL is fine */

/* Append n bytes, at the offset that spool_size() was.  0 or -1. */
int spool_append(struct spool *s, const void *p, size_t n, struct err *e);

/* Read exactly n bytes from off; past the end is an error.  0 or -1. */
int spool_read(struct spool *s, uint64_t off, void *p, size_t n,
	       struct err *e);

/* The n bytes at off, valid until the next append; NULL if not in memory. */
const void *spool_view(const struct spool *s, uint64_t off, size_t n);

/*
 * All spool_size() bytes as one array, which lives until spool_free(); nothing
 * may be appended after it, and it may be called once.  NULL: error.
 */
const void *spool_all(struct spool *s, struct err *e);

uint64_t spool_size(const struct spool *s);
int spool_on_disk(const struct spool *s);

#endif
