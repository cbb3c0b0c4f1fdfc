/*
 * io.h - reads and writes that finish
 */
#ifndef ASSAY_IO_H
#define ASSAY_IO_H

#include <stddef.h>
#include <stdint.h>

/*
 * Write all of p[0..n), resuming after short writes and signals.  0, or -1
 * with errno.  Async-signal-safe.
 */
int write_all(int fd, const void *p, size_t n);

/* The same with pwrite(). */
int pwrite_all(int fd, const void *p, size_t n, uint64_t off);

/*
 * Read until n bytes are there or the file ends.  Returns the number of bytes,
 * or -1 with errno.
 */
ptrdiff_t pread_all(int fd, void *p, size_t n, uint64_t off);

#endif
