/*
 * files.h - the files of an input: operands, folders, lists of names
 */
#ifndef ASSAY_FILES_H
#define ASSAY_FILES_H

#include <stddef.h>

#include "base/err.h"

/* All zero is empty; "-" is stdin, n == 0 too. */
struct files {
	const char **v;
	size_t n, cap;
};

/*
 * Add the operands, then the names that the file `list` (or "-", or NULL)
 * contains, one per line, or each ended by NUL if there is a NUL.  A folder
 * stands for the files in it whose first bytes, decompressed, may be those of
 * JSON Lines, or whose names have ".jsonl", sorted by name.  Its other files
 * and folders are skipped with a warning, hidden ones without.  A folder or a
 * list without a file is an error.
 */
int files_add(struct files *f, const char *const *operands, size_t n,
	      const char *list, struct err *e);
void files_clear(struct files *f);

#endif
