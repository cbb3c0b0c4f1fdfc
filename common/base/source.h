/*
 * source.h - one file as decompressed bytes; private to input.c
 *
 * The first bytes tell plain, zstd and gzip apart.  See input.h for what is
 * accepted and what is an error.
 */
#ifndef ASSAY_SOURCE_H
#define ASSAY_SOURCE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct source;

/* NULL or "-" is stdin.  NULL: error.  Raw bytes read are added to *done. */
struct source *source_open(const char *path, _Atomic uint64_t *done,
			   struct err *e);
void source_close(struct source *s);

/* Up to n > 0 bytes; 0 at a proper end; -1 on error.  Short reads happen. */
ptrdiff_t source_read(struct source *s, void *p, size_t n, struct err *e);

/* Refuse what is plain but no text: bzip2, xz, lz4, zip, UTF-16; 0 or -1. */
int source_must_be_text(struct source *s, struct err *e);

/* Path as it stands in messages. */
const char *source_label(const char *path);

#endif
