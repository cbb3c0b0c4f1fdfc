/*
 * replay.c - a fuzz target without the fuzzer: the saved corpus as a test
 *
 * The program is build/tests/fuzz/NAME; the inputs are the files of
 * tests/fuzz/corpus/NAME.  Each is also given with its last bytes cut off and
 * with single bits flipped, which finds most of what a fuzzer finds first.
 * One TAP line a file; a crash cuts the plan short, which is a failure.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/target.h"

enum { LONGEST = 1 << 20, VARIANTS = 64 };

/* The target gets memory of exactly this size, so that ASan sees its end. */
static void
give(const uint8_t *p, size_t n)
{
	uint8_t *q = malloc(n ? n : 1);

	if (!q)
		abort();
	memcpy(q, p, n);
	LLVMFuzzerTestOneInput(q, n);
	free(q);
}

static void
replay(uint8_t *p, size_t n)
{
	give(p, n);
	for (size_t i = 0; n && i < VARIANTS; i++) {
		size_t at = (i * 2654435761u) % n;

		give(p, n - 1 - at);
		p[at] ^= (uint8_t)(1u << i % 8);
		give(p, n);
		p[at] ^= (uint8_t)(1u << i % 8);
	}
}

static int
is_input(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

int
main(int argc, char **argv)
{
	static uint8_t data[LONGEST];
	const char *name = strrchr(argv[0], '/');
	char dir[4096], path[8192];
	struct dirent **list;
	int n;

	name = name ? name + 1 : argv[0];
	snprintf(dir, sizeof dir, "tests/fuzz/corpus/%s", name);
	n = scandir(argc > 1 ? argv[1] : dir, &list, is_input, alphasort);
	if (n <= 0) {
		printf("1..1\nnot ok 1 - no corpus in %s\n", dir);
		return 1;
	}
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		FILE *f;
		size_t len;

		snprintf(path, sizeof path, "%s/%s", argc > 1 ? argv[1] : dir,
			 list[i]->d_name);
		f = fopen(path, "rb");
		len = f ? fread(data, 1, sizeof data, f) : 0;
		if (f)
			fclose(f);
		replay(data, len);
		printf("%s %d - %s\n", f ? "ok" : "not ok", i + 1,
		       list[i]->d_name);
		fflush(stdout);
		free(list[i]);
	}
	free(list);
	return 0;
}
