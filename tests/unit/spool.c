/* spool: appended data is read back from anywhere, in memory and on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "stream/spool.h"

/* most: bytes read at a time */
static void
appended_is_read(size_t total, size_t mem, size_t most, int disk)
{
	char *all = xmalloc(total), *got = xmalloc(total);
	struct spool *s = spool_new(mem);
	struct err e = {0};
	size_t n, i, at = 0, off, len;

	for (i = 0; i < total; i++)
		all[i] = i * 2654435761u >> 13;
	for (i = 0; at < total; i++, at += n) {
		n = rng_below(1, RNG_TEST, i, 50000);
		n = n < total - at ? n : total - at;
		assert_int_equal(spool_append(s, all + at, n, &e), 0);
		assert_int_equal(spool_size(s), at + n);
		/* a read between two appends, also across the write buffer */
		off = rng_below(2, RNG_TEST, i, at + n + 1);
		len = at + n - off < most ? at + n - off : most;
		assert_int_equal(spool_read(s, off, got, len, &e), 0);
		assert_memory_equal(got, all + off, len);
	}
	assert_int_equal(spool_on_disk(s), disk);
	assert_int_equal(spool_read(s, total, got, 0, &e), 0);
	assert_int_equal(spool_read(s, total - 1, got, 2, &e), -1);
	assert_true(strstr(e.msg, "past its end") != NULL);
	assert_memory_equal(spool_all(s, &(struct err){0}), all, total);
	spool_free(s);
	free(all);
	free(got);
}

static void
in_memory(void **state)
{
	(void)state;
	appended_is_read(5 << 20, 5 << 20, SIZE_MAX, 0);
}

static void
on_disk(void **state)
{
	(void)state;
	appended_is_read(5 << 20, (5 << 20) - 1, SIZE_MAX, 1);
	appended_is_read(5 << 20, 0, SIZE_MAX, 1);
}

/* The first bytes stay in memory, the others go to disk. */
static void
in_both(void **state)
{
	const size_t mem = 17 << 20;
	char *all = xcalloc(mem, 1);
	struct spool *s = spool_new(mem);
	struct err e = {0};

	(void)state;
	appended_is_read(20 << 20, mem, 4 << 20, 1);
	assert_int_equal(spool_append(s, all, mem, &e), 0);
	assert_int_equal(spool_append(s, "x", 1, &e), 0);
	assert_true(spool_on_disk(s));
	assert_non_null(spool_view(s, 0, mem));
	assert_null(spool_view(s, 1, mem));
	spool_free(s);
	free(all);
}

static void
no_folder(void **state)
{
	struct spool *s;
	struct err e = {0};

	(void)state;
	setenv("TMPDIR", "/dev/null/none", 1);
	s = spool_new(3);
	assert_int_equal(spool_append(s, "abc", 3, &e), 0);
	assert_int_equal(spool_append(s, "d", 1, &e), -1);
	assert_true(strstr(e.msg, "/dev/null/none: ") != NULL);
	spool_free(s);
	unsetenv("TMPDIR");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_memory),
		cmocka_unit_test(on_disk),
		cmocka_unit_test(in_both),
		cmocka_unit_test(no_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
