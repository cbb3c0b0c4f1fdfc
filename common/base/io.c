/*
 * io.c - reads and writes that finish
 */
#include "base/io.h"

#include <errno.h>
#include <unistd.h>

/* Write at an offset, or where the file is if that is -1. */
static int
write_at(int fd, const char *p, size_t n, off_t off)
{
	ssize_t k;

	while (n) {
		k = off < 0 ? write(fd, p, n) : pwrite(fd, p, n, off);
		if (k < 0 && errno != EINTR)
			return -1;
		if (k < 0)
			continue;
		p += k;
		n -= (size_t)k;
		off += off < 0 ? 0 : k;
	}
	return 0;
}

int
write_all(int fd, const void *p, size_t n)
{
	return write_at(fd, p, n, -1);
}

int
pwrite_all(int fd, const void *p, size_t n, uint64_t off)
{
	return write_at(fd, p, n, (off_t)off);
}

ptrdiff_t
pread_all(int fd, void *p, size_t n, uint64_t off)
{
	size_t got = 0;
	ssize_t k;

	while (got < n) {
		k = pread(fd, (char *)p + got, n - got, (off_t)(off + got));
		if (k == 0)
			break;
		if (k < 0 && errno != EINTR)
			return -1;
		if (k > 0)
			got += (size_t)k;
	}
	return (ptrdiff_t)got;
}
