/*
 * output.h - outputs that appear whole or not at all
 *
 * A named regular file is written beside its target under a temporary name,
 * fsynced and renamed by output_commit(); until then an old file is
 * untouched.  Symbolic links are followed.  A device, FIFO or socket is
 * written in place and never renamed over.  NULL or "-" is stdout.  A name
 * that ends in ".zst" is compressed (frame checksum on).  Two outputs to one
 * regular file at a time are refused.  Temporary files are removed by
 * output_abort(), die() and by the signals of err.c.
 */
#ifndef ASSAY_OUTPUT_H
#define ASSAY_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct output;

struct output *output_open(const char *path, struct err *e);	/* NULL: error */
int output_write(struct output *o, const void *p, size_t n, struct err *e);
/* All of b, which is empty then. */
int output_put(struct output *o, struct buf *b, struct err *e);

/* Overwrite n bytes at offset (headers patched at the end); named, plain only. */
int output_pwrite(struct output *o, const void *p, size_t n, uint64_t off,
		  struct err *e);

/*
 * Flush, fsync and close a named file that is not to appear yet: it holds no
 * descriptor and no buffer until output_commit_all(), so a set may have many.
 */
int output_finish(struct output *o, struct err *e);

/* Flush, fsync, rename; closes o whatever happens. */
int output_commit(struct output *o, struct err *e);

/*
 * Several files as one set: all are flushed and fsynced before the first is
 * renamed, so that a full disk harms none of the old ones.
 */
int output_commit_all(struct output **o, size_t n, struct err *e);
void output_abort(struct output *o);		/* NULL is fine */

/* Flush what is buffered for stdout, so that a reader of a pipe sees it. */
int output_flush(struct output *o, struct err *e);

#endif
