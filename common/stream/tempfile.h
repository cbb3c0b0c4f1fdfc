/*
 * tempfile.h - the file that an output is until it gets its name; private to
 * output.c
 *
 * A temporary file is in the folder of its target and locked (flock) as long
 * as it is open.  The first one in a folder removes those that dead processes
 * left there, which are the ones that nobody locks.  die() and the signals that
 * err.c catches remove all of this process.  Any thread may call these.
 */
#ifndef ASSAY_TEMPFILE_H
#define ASSAY_TEMPFILE_H

#include "base/err.h"

struct tempfile;

/*
 * Create one for target, open for reading and writing in *fd.  label: the
 * target in messages.  NULL: error.
 */
struct tempfile *tempfile_new(const char *target, const char *label, int *fd,
			      struct err *e);

/* Call this before closing the descriptor of a file that is still wanted. */
void tempfile_park(struct tempfile *t);

/* Give it the name of its target, or remove it; t is gone. */
int tempfile_rename(struct tempfile *t, const char *label, struct err *e);
void tempfile_remove(struct tempfile *t);

#endif
