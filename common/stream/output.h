/*
 * output.h - outputs that appear whole or not at all
 *
 * A named regular file is written under a temporary name next to its target,
 * then fsynced and renamed by output_commit(); until then an old file is
 * untouched.  Symbolic links are followed.  A device, FIFO or socket is written
 * in place and never replaced.  NULL or "-" is stdout.  A name that ends in
 * ".zst" or ".gz" is compressed (compress.h); other names of compressed files
 * and of Parquet are refused.  The bytes of a file do not depend on how the
 * calls divide them.  Two outputs to one regular file at a time are refused.
 * Temporary files are removed by output_abort(), die() and the signals that
 * err.c catches, and after a kill by the next process that writes to the
 * folder (tempfile.h).
 */
#ifndef ASSAY_OUTPUT_H
#define ASSAY_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct output;

/* NULL: error */
struct output *output_open(const char *path, struct err *e);
/*
 * A file in a folder that is not in use yet (outdir.h), under its own name
 * from the start.  label: its name in messages.  It ends by output_detach(),
 * which returns its descriptor for the caller to fsync and close, or -1, or by
 * output_abort(), which leaves the file there.
 */
struct output *output_open_new(const char *path, const char *label,
			       struct err *e);
int output_detach(struct output *o, struct err *e);
int output_write(struct output *o, const void *p, size_t n, struct err *e);
/* All of b, which is then empty. */
int output_put(struct output *o, struct buf *b, struct err *e);

/* Overwrite n bytes at an offset, such as a header; named, plain files only. */
int output_pwrite(struct output *o, const void *p, size_t n, uint64_t off,
		  struct err *e);

/*
 * Flush, fsync and close a named file that must not appear yet.  It then holds
 * no descriptor and no buffer until output_commit_all(), so a set may have
 * many files.
 */
int output_finish(struct output *o, struct err *e);

/* Flush, fsync, rename; closes o in any case. */
int output_commit(struct output *o, struct err *e);

/*
 * Several files as one set: all are flushed and fsynced before the first is
 * renamed, so that a full disk leaves all old ones intact.
 */
int output_commit_all(struct output **o, size_t n, struct err *e);
void output_abort(struct output *o);		/* NULL is fine */

/* Flush what is buffered for stdout, so that a reader of a pipe sees it. */
int output_flush(struct output *o, struct err *e);

#endif
