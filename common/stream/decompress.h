/*
 * decompress.h - one file as decompressed bytes; private to input.c
 *
 * The first bytes decide between plain, zstd and gzip.  See input.h for what
 * is accepted and what is an error.
 */
#ifndef ASSAY_DECOMPRESS_H
#define ASSAY_DECOMPRESS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct decompress;

/* NULL or "-" is stdin.  Bytes read are added to *done.  NULL: error. */
struct decompress *decompress_open(const char *path, _Atomic uint64_t *done,
				   struct err *e);
void decompress_close(struct decompress *s);

/* Up to n > 0 bytes; 0 at a proper end; -1 on error.  Short reads happen. */
ptrdiff_t decompress_read(struct decompress *s, void *p, size_t n,
			  struct err *e);

/* The path as messages show it. */
const char *decompress_label(const char *path);

#endif
