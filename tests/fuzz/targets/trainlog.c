/*
 * trainlog: any bytes as a log that a resume cuts back
 *
 * The last lines can be found in any file.  The cut keeps a prefix that ends
 * with a line, or refuses and keeps all; a second cut at the same step changes
 * nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/trainlog.h"
#include "tests/fuzz/target.h"

static char path[] = "/tmp/assay-fuzz-XXXXXX";
static int made;

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
leave(void)
{
	unlink(path);
}

/* The file as it stands; *n its length. */
static char *
content(size_t *n)
{
	FILE *f = fopen(path, "r");
	char *p = malloc(1 << 20);

	must(f && p);
	*n = fread(p, 1, 1 << 20, f);
	fclose(f);
	return p;
}

static void
cut_at(const uint8_t *data, size_t size, uint64_t step)
{
	struct trainlog_mark at = {step, size & 1, size & 2};
	FILE *f = fopen(path, "w");
	struct trainlog_tail last;
	struct err e = {0};
	char *once, *twice;
	size_t n, m;
	int rc;

	must(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
	must(trainlog_last(path, &last, &e) == 0);
	must(last.step >= -1 && last.saved >= -1);
	trainlog_tail_clear(&last);
	rc = trainlog_cut(path, &at, &e);
	once = content(&n);
	must(n <= size && (n == 0 || !memcmp(once, data, n)));
	must(rc == 0 || (e.set && n == size));
	must(rc < 0 || n == 0 || once[n - 1] == '\n');
	if (rc == 0) {
		must(trainlog_cut(path, &at, &e) == 0);
		twice = content(&m);
		must(m == n);
		free(twice);
	}
	free(once);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 << 19)
		return 0;
	if (!made) {
		int fd = mkstemp(path);

		must(fd >= 0);
		close(fd);
		made = 1;
		atexit(leave);
	}
	for (uint64_t step = 0; step < 4; step++)
		cut_at(data, size, step);
	return 0;
}
