/*
 * replay.h - a stream put aside, compressed, to be read again
 *
 * For pipes that need two passes: bytes are appended while they go by, then
 * read from the start as often as wanted.  zstd, level 1, in a spool: small
 * ones stay in memory, others go to an unlinked file in $TMPDIR.  One thread
 * at a time.
 */
#ifndef ASSAY_REPLAY_H
#define ASSAY_REPLAY_H

#include <stddef.h>

#include "base/err.h"

struct replay;

struct replay *replay_new(void);
void replay_free(struct replay *k);		/* NULL is fine */

int replay_put(struct replay *k, const void *p, size_t n, struct err *e);

/* To the start: from now on replay_read().  Nothing may be put any more. */
int replay_rewind(struct replay *k, struct err *e);

/* Up to n > 0 bytes; 0 at the end; -1 on error. */
ptrdiff_t replay_read(struct replay *k, void *p, size_t n, struct err *e);

#endif
