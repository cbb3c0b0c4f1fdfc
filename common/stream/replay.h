/*
 * replay.h - a stream kept to be read again
 *
 * For pipes that need two passes: bytes are appended as they are read, then
 * read from the start any number of times.  They are compressed (zstd, level 1)
 * in a spool: small streams stay in memory, others go to an unnamed file in
 * $TMPDIR.  One thread at a time.
 */
#ifndef ASSAY_REPLAY_H
#define ASSAY_REPLAY_H

#include <stddef.h>

#include "base/err.h"

struct replay;

struct replay *replay_new(void);
void replay_free(struct replay *k);		/* NULL is fine */

int replay_put(struct replay *k, const void *p, size_t n, struct err *e);

/* Go to the start.  After the first call nothing more may be put. */
int replay_rewind(struct replay *k, struct err *e);

/* Up to n > 0 bytes; 0 at the end; -1 on error. */
ptrdiff_t replay_read(struct replay *k, void *p, size_t n, struct err *e);

#endif
