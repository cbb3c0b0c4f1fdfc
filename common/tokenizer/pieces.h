/*
 * pieces.h - counted pre-tokens as a file, for training in stages
 *
 * One line per pre-token: its text, a tab, its count.  In the text a backslash,
 * tab, LF, CR and NUL are \\, \t, \n, \r and \0.  Lines may come in any order
 * and a pre-token any number of times: its counts are summed.  So any
 * concatenation of such files is one, and what sort(1) merges is one.
 */
#ifndef ASSAY_PIECES_H
#define ASSAY_PIECES_H

#include "stream/output.h"
#include "tokenizer/pretokens.h"

/* Write all of p, lines in ascending order of their bytes. */
int pieces_write(const struct pretokens *p, struct output *out, struct err *e);

/*
 * Read files (n 0: stdin; zstd and gzip are fine), at most mem bytes of memory.
 * Shows progress.  NULL: error, of a line as FILE:LINE.
 */
struct pretokens *pieces_read(const char *const *paths, size_t n, uint64_t mem,
			      struct err *e);

#endif
