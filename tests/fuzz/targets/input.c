/*
 * input: any bytes, plain, zstd or gzip, as lines and as bytes
 *
 * Chunks are whole lines in order with right numbers and offsets, whatever
 * size is asked for; the byte reader gives the same bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "stream/input.h"
#include "tests/fuzz/target.h"

enum { MAX_OUT = 8 << 20 };

static void
must(int ok)
{
	if (!ok)
		abort();
}

/* All chunks of the file joined; -1 on error. */
static int
lines(const char *path, size_t want, struct buf *all)
{
	const char *const paths[] = { path };
	struct input *in = input_open(paths, 1);
	struct chunk c = {0};
	struct err e = {0};
	uint64_t line = 1, off = 0;
	int rc;

	while ((rc = input_chunk(in, &c, want, &e)) > 0 && all->n < MAX_OUT) {
		must(c.n > 0 && c.line == line);
		must(c.offset == off || (off == 0 && c.offset == 3));
		for (size_t i = 0; i < INPUT_PADDING; i++)
			must(c.p[c.n + i] == 0);
		for (size_t i = 0; i < c.n; i++)
			line += c.p[i] == '\n';
		off = c.offset + c.n;
		buf_put(all, c.p, c.n);
	}
	must((rc < 0) == (e.set != 0));
	chunk_clear(&c);
	input_close(in);
	return rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", 0);
	struct buf a = {0}, b = {0};
	struct err e = {0};
	char path[64], *p;
	size_t n, bom;

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (lines(path, 1, &a) == 0) {
		must(lines(path, 1 << 16, &b) == 0);
		must(a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n)));
		must(input_slurp(path, &p, &n, &e) == 0);
		bom = n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3) ? 3 : 0;
		must(n - bom == a.n);
		must(!a.n || !memcmp(p + bom, a.p, a.n));
		free(p);
	}
	buf_clear(&a);
	buf_clear(&b);
	close(fd);
	return 0;
}
