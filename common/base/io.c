/*
 * io.c - reads and writes that finish
 */
#include "base/io.h"

#include <errno.h>
#include <unistd.h>

int
write_all(int fd, const void *p, size_t n)
{
	const char *q = p;
	ssize_t k;

	for (; n; q += k, n -= (size_t)k) {
		k = write(fd, q, n);
		if (k < 0 && errno != EINTR)
			return -1;
		if (k < 0)
			k = 0;
	}
	return 0;
}

int
pwrite_all(int fd, const void *p, size_t n, uint64_t off)
{
	const char *q = p;
	ssize_t k;

	for (; n; q += k, off += (uint64_t)k, n -= (size_t)k) {
		k = pwrite(fd, q, n, (off_t)off);
		if (k < 0 && errno != EINTR)
			return -1;
		if (k < 0)
			k = 0;
	}
	return 0;
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
