/*
 * display.c - columns of a terminal; widths are those of EastAsianWidth.txt
 */
#include "tests/unit/test.h"

#include "text/display.h"

static void
widths(void **state)
{
	static const struct {
		const char *s;
		size_t columns;
	} t[] = {
		{"", 0}, {"abc", 3}, {"\u00e9", 1}, {"e\u0301", 1},
		{"\u3002", 2}, {"\u65e5\u672c", 4}, {"\ud55c", 2},
		{"\uff21", 2}, {"\uff71", 1}, {"\U0001f600", 2},
		{"\U00020000", 2}, {"\u2026", 1}, {"\u200b", 0},
		{"\ufeffa", 1}, {"\u00ad", 1}, {"\u115f", 2}, {"\u1160", 1},
		{"\u303f", 1}, {"\u231a\u2319", 3},
	};
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(t); i++)
		if (display_columns(t[i].s, strlen(t[i].s)) != t[i].columns)
			fail_msg("%s: %zu columns, not %zu", t[i].s,
				 display_columns(t[i].s, strlen(t[i].s)),
				 t[i].columns);
}

static void
fits(void **state)
{
	static const struct {
		const char *in, *want;
	} t[] = {
		{"", "     "}, {"ab", "ab   "}, {"abcde", "abcde"},
		{"abcdef", "abcd\u2026"}, {"\u65e5\u672c", "\u65e5\u672c "},
		{"\u65e5\u672c\u8a9e", "\u65e5\u672c\u2026"},
		{"a\u65e5\u672c\u8a9e", "a\u65e5\u2026 "},
		{"e\u0301\u0301bcd", "e\u0301\u0301bcd "},
	};
	struct buf b = {0};
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(t); i++) {
		buf_reset(&b);
		buf_puts(&b, "x ");
		buf_puts(&b, t[i].in);
		display_fit(&b, 2, 5);
		assert_int_equal(b.n - 2, strlen(t[i].want));
		assert_memory_equal(b.p + 2, t[i].want, b.n - 2);
		assert_int_equal(display_columns(b.p + 2, b.n - 2), 5);
	}
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widths),
		cmocka_unit_test(fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
