/*
 * compress.h - bytes into a zstd frame or a gzip member; private to output.c
 *
 * The result depends on the bytes and on the flushes alone, as long as every
 * call but the last before a flush has the same size.
 */
#ifndef ASSAY_COMPRESS_H
#define ASSAY_COMPRESS_H

#include <stddef.h>

#include "base/err.h"

struct compress;

enum compress_end { COMPRESS_MORE, COMPRESS_FLUSH, COMPRESS_END };

/*
 * What the name asks for: *c is NULL where it ends in neither ".zst" nor
 * ".gz".  A name of a format that cannot be written (".xz", ".parquet") is an
 * error.
 */
int compress_open(const char *name, struct compress **c, struct err *e);
void compress_close(struct compress *c);	/* NULL is fine */

/* Compress p[0..n) and write what is ready to fd.  label: for messages. */
int compress_write(struct compress *c, const void *p, size_t n,
		   enum compress_end end, int fd, const char *label,
		   struct err *e);

#endif
