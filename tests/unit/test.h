/*
 * test.h - what every unit test includes first
 *
 * Unit tests are run from the top of the repository by `make unit T=NAME` or
 * by tests/run, which asks for TAP.  TMPDIR is theirs to write in.
 */
#ifndef ASSAY_TEST_H
#define ASSAY_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TEST_COUNT(t) (sizeof(t) / sizeof((t)[0]))

/* A new empty folder; its name is the caller's to free, its files to remove. */
static inline char *
test_folder(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[4096], *p;

	snprintf(path, sizeof path, "%s/assay-test-XXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(path))
		fail_msg("mkdtemp %s failed", path);
	p = malloc(strlen(path) + 1);
	return p ? strcpy(p, path) : NULL;
}

/* FOLDER/NAME in one of four static buffers. */
static inline const char *
test_path(const char *folder, const char *name)
{
	static char path[4][8192];
	static int next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof path[0], "%s/%s", folder, name);
	return p;
}

static inline void
test_remove(char *folder)
{
	char cmd[8192];

	snprintf(cmd, sizeof cmd, "rm -rf '%s'", folder);
	if (system(cmd) != 0)
		fail_msg("cannot remove %s", folder);
	free(folder);
}

static inline int
test_setup(void **state)
{
	*state = test_folder();
	return *state ? 0 : -1;
}

static inline int
test_teardown(void **state)
{
	test_remove(*state);
	return 0;
}

/* In cmocka's table: *state is a new folder, removed when f is done. */
#define TEST_IN_FOLDER(f) \
	cmocka_unit_test_setup_teardown(f, test_setup, test_teardown)

static inline void
test_write(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* A whole file with a NUL behind it; free it. */
static inline char *
test_read(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *p = NULL;
	size_t cap = 0;

	assert_non_null(f);
	*n = 0;
	do {
		cap = cap ? 2 * cap : 65536;
		p = realloc(p, cap + 1);
		assert_non_null(p);
		*n += fread(p + *n, 1, cap - *n, f);
	} while (*n == cap);
	p[*n] = 0;
	fclose(f);
	return p;
}

#endif
