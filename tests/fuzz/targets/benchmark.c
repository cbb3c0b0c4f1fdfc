/*
 * benchmark: any bytes as a benchmark, under each ending of a name
 *
 * What is accepted has at least one example; texts are valid UTF-8; raw
 * examples are parts of the file, or of what it was converted to, in order.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/utf8.h"
#include "contam/benchmark.h"
#include "tests/fuzz/target.h"

enum { FD = 100 };

static const char *const names[] = {"/a.jsonl", "/a.json", "/a.txt", "/a.csv",
				    "/a"};
enum { NAMES = sizeof(names) / sizeof(names[0]) };
static char folder[] = "/tmp/assay-fuzz-XXXXXX";

static void
must(int ok)
{
	if (!ok)
		abort();
}

static const char *
path_of(int i)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s%s", folder, names[i]);
	return path;
}

static void
leave(void)
{
	int i;

	for (i = 0; i < NAMES; i++)
		unlink(path_of(i));
	rmdir(folder);
}

/* Names that lead to the file of descriptor FD. */
static void
enter(void)
{
	static int done;
	char to[32];
	int i;

	if (done++)
		return;
	must(mkdtemp(folder) != NULL);
	snprintf(to, sizeof(to), "/proc/self/fd/%d", FD);
	for (i = 0; i < NAMES; i++)
		must(symlink(to, path_of(i)) == 0);
	atexit(leave);
}

static int
text(void *ctx, struct span s, struct err *e)
{
	(void)e;
	must(utf8_valid(s.p, s.n));
	++*(size_t *)ctx;
	return 0;
}

static void
read_as(int name, const char *fields)
{
	size_t texts = 0, i;
	const struct benchmark_opts o = {fields, 1, text, &texts};
	struct benchmarks b = {0};
	struct buf tmp = {0};
	struct err e = {0};
	const char *last = NULL;

	if (benchmark_read(&b, path_of(name), &o, NULL, &e)) {
		must(e.set);
	} else {
		must(b.n == 1 && b.nex > 0 && b.nex == texts &&
		     b.v[0].n == texts);
		for (i = 0; i < b.nex; i++) {
			must(b.ex[i].raw.p >= b.v[0].data &&
			     (!last || b.ex[i].raw.p >= last));
			last = b.ex[i].raw.p + b.ex[i].raw.n;
			must(benchmark_id(&b, &b.ex[i], &tmp).n > 0);
		}
	}
	benchmark_clear(&b);
	buf_clear(&tmp);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", 0), i;

	enter();
	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	must(dup2(fd, FD) == FD);
	close(fd);
	for (i = 0; i < NAMES; i++) {
		read_as(i, NULL);
		read_as(i, "text,a[].b,data[].paragraphs[].qas[].id");
	}
	close(FD);
	return 0;
}
