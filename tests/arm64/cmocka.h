/*
 * cmocka.h - as much of cmocka as unit tests on arm64 use
 *
 * For a machine with a cross compiler but without cmocka for arm64: the first
 * failure of a group ends the program with status 1.
 */
#ifndef ASSAY_ARM64_CMOCKA_H
#define ASSAY_ARM64_CMOCKA_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*fn)(void **state);
};

#define cmocka_unit_test(f) {#f, f}
#define cmocka_run_group_tests(tests, setup, teardown) \
	cmocka_run(tests, sizeof(tests) / sizeof((tests)[0]))

static const char *cmocka_name;

static inline int
cmocka_run(const struct CMUnitTest *t, size_t n)
{
	void *state = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		cmocka_name = t[i].name;
		t[i].fn(&state);
	}
	return 0;
}

__attribute__((format(printf, 3, 4))) static inline void
cmocka_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("# %s: %s:%d: ", cmocka_name, file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	exit(1);
}

#define fail_msg(...) cmocka_fail(__FILE__, __LINE__, __VA_ARGS__)
#define assert_true(x) ((x) ? (void)0 : fail_msg("%s", #x))
#define assert_false(x) assert_true(!(x))
#define assert_null(x) assert_true((x) == NULL)
#define assert_non_null(x) assert_true((x) != NULL)
#define assert_ptr_equal(a, b) assert_true((a) == (b))
#define assert_int_equal(a, b) assert_true((intmax_t)(a) == (intmax_t)(b))
#define assert_int_not_equal(a, b) assert_false((intmax_t)(a) == (intmax_t)(b))
#define assert_in_range(x, a, b) assert_true((x) >= (a) && (x) <= (b))
#define assert_string_equal(a, b) assert_true(!strcmp(a, b))
#define assert_memory_equal(a, b, n) assert_true(!memcmp(a, b, n))

#endif
