/*
 * mirror.h - a folder with one output for each input file
 *
 * An output has the name of its input, which also decides compression.  The
 * set appears whole (outdir.h).  Two inputs of one name, stdin, and an output
 * that is an input are errors.  Memory: about 300 bytes for each file.
 */
#ifndef ASSAY_MIRROR_H
#define ASSAY_MIRROR_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct mirror;

/* Does this name of an output ask for a folder: does it end in a slash? */
int mirror_wanted(const char *output);

/* files is kept by reference.  refs are further inputs, not to be replaced. */
struct mirror *mirror_open(const char *dir, const char *const *files, size_t n,
			   const char *const *refs, size_t nrefs,
			   struct err *e);

/*
 * Append to the output of the input `file`, a pointer that is in files.  The
 * files come in their order.
 */
int mirror_write(struct mirror *m, const char *file, struct span line,
		 struct err *e);

/* Frees m in any case. */
int mirror_commit(struct mirror *m, struct err *e);
void mirror_abort(struct mirror *m);		/* NULL is fine */

#endif
