/* unicode.c: the tables against the counts of tokenizers' regex engine, NFC
 * against Unicode's test file. */
#include "tests/unit/test.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "stream/input.h"
#include "text/property.h"
#include "text/unicode.h"

/* The categories of a property that is a union of them. */
static uint32_t
cats(const char *name)
{
	int i = uc_property_find(name, strlen(name));

	assert_true(i >= 0 && uc_property[i].n == 0);
	return uc_property[i].cats;
}

static uint32_t
count(const char *name)
{
	uint32_t set = cats(name), n = 0;

	for (uint32_t c = 0; c < 0x110000; c++)
		n += set >> uc_cat(c) & 1;
	return n;
}

/* As counted in tokenizers 0.23 with \p{...} over all code points. */
static void
test_counts(void **state)
{
	static const struct {
		const char *name;
		uint32_t n;
	} want[] = {{"L", 141028}, {"N", 1911}, {"M", 2501}, {"Lu", 1858},
		{"Ll", 2258}, {"Lt", 31}, {"Lm", 404}, {"Lo", 136477},
		{"P", 855}, {"S", 8514}};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(want); i++)
		assert_int_equal(count(want[i].name), want[i].n);
}

/* Names as tokenizers takes them. */
static void
test_names(void **state)
{
	int lu = uc_property_find("Lu", 2);

	(void)state;
	assert_true(lu >= 0);
	assert_int_equal(uc_property_find(" l_U-", 5), lu);
	assert_int_equal(uc_property_find("Uppercase_Letter", 16), lu);
	assert_int_equal(uc_property_find("Xx", 2), -1);
	assert_int_equal(uc_property_find("Script=Han", 10), -1);
	assert_int_equal(uc_property_find("", 0), -1);
	assert_int_equal(uc_property_find("-", 1), -1);
}

/* Every set of the file that the tables are made from. */
static void
test_properties(void **state)
{
	struct err e = {0};
	struct span rest, line;
	size_t n, sets = 0;
	char *p;

	(void)state;
	if (input_slurp("tests/data/unicode/Properties-16.0.txt.zst", &p, &n,
			&e) < 0)
		fail_msg("%s", e.msg);
	rest = (struct span){p, n};
	for (; span_line(&rest, &line); sets++) {
		const char *at = strchr(line.p, ';') + 1;
		int k = uc_property_find(line.p, strcspn(line.p, " ;"));
		uint32_t *r, i = 0;

		assert_true(k >= 0);
		r = uc_property_ranges(k);
		while (*at == ' ' && i < r[0]) {
			char *end;
			uint32_t a = (uint32_t)strtoul(at + 1, &end, 16);
			uint32_t b = *end == '-' ?
				(uint32_t)strtoul(end + 1, &end, 16) : a;

			assert_int_equal(r[2 * i + 1], a);
			assert_int_equal(r[2 * i + 2], b);
			assert_true(uc_in_ranges(r, b));
			i++;
			at = end;
		}
		assert_int_equal(i, r[0]);
		assert_true(at == line.p + line.n || i == 0);
		free(r);
	}
	assert_true(sets > 250);
	free(p);
}

/* The file that the table is made from, range by range. */
static void
test_file(void **state)
{
	struct err e = {0};
	char *p, *line;
	uint32_t *want = calloc(0x110000, sizeof(*want));
	size_t n;

	(void)state;
	if (input_slurp("tests/data/unicode/GeneralCategory-16.0.txt.zst", &p,
			&n, &e) < 0)
		fail_msg("%s", e.msg);
	for (uint32_t c = 0; c < 0x110000; c++)
		want[c] = cats("Cn");
	p = realloc(p, n + 1);
	p[n] = 0;
	for (line = strtok(p, "\n"); line; line = strtok(NULL, "\n")) {
		unsigned a, b;
		char cat[3];

		if (sscanf(line, "%x..%x ; %2s", &a, &b, cat) == 3 &&
		    strcmp(cat, "Cs") != 0)
			for (uint32_t c = a; c <= b; c++)
				want[c] = cats(cat);
	}
	for (uint32_t c = 0; c < 0x110000; c++)
		if (c - 0xd800 < 0x800 ? uc_cat(c) != UC_CS :
		    !(want[c] >> uc_cat(c) & 1))
			fail_msg("U+%04X has another category", c);
	free(want);
	free(p);
}

static void
test_space(void **state)
{
	static const uint32_t space[] = {9, 10, 11, 12, 13, 0x20, 0x85, 0xa0,
		0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006,
		0x2007, 0x2008, 0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f,
		0x3000};
	size_t k = 0;

	(void)state;
	for (uint32_t c = 0; c < 0x110000; c++)
		if (uc_class(c) & UC_SPACE) {
			assert_true(k < TEST_COUNT(space));
			assert_int_equal(c, space[k++]);
		}
	assert_int_equal(k, 25);
}

static void
test_utf8(void **state)
{
	static const char *const bad[] = {"\x80", "\xc0\x80", "\xc3", "a\xff",
		"\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xe2\x82",
		"\xe2\x82x"};
	char p[8];

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(bad); i++)
		assert_false(utf8_valid(bad[i], strlen(bad[i])));
	for (uint32_t c = 0; c < 0x110000; c++) {
		size_t n = utf8_put(p, c);
		unsigned len;

		if (c >= 0xd800 && c <= 0xdfff) {
			assert_false(utf8_valid(p, n));
			continue;
		}
		assert_true(utf8_valid(p, n));
		assert_int_equal(uc_next(p, n, &len), c);
		assert_int_equal(len, n);
	}
}

/* Characters with a combining class or decomposition added after Unicode 9.0:
 * tokenizers leaves them alone. */
static int
has_late(struct span s)
{
	static const uint32_t late[][2] = {
		{0x7fd, 0x7fd}, {0x898, 0x89f}, {0x8ca, 0x8d3},
		{0x9fe, 0x9fe}, {0xc3c, 0xc3c}, {0xd3b, 0xd3c},
		{0xeba, 0xeba}, {0x1715, 0x1715}, {0x1abf, 0x1ace},
		{0x1df6, 0x1dfa}, {0xa82c, 0xa82c}, {0x10d24, 0x10d27},
		{0x10eab, 0x10eac}, {0x10efd, 0x10eff}, {0x10f46, 0x10f50},
		{0x10f82, 0x10f85}, {0x11070, 0x11070}, {0x1133b, 0x1133b},
		{0x1145e, 0x1145e}, {0x11839, 0x1183a}, {0x11938, 0x11938},
		{0x1193d, 0x1193e}, {0x11943, 0x11943}, {0x119e0, 0x119e0},
		{0x11a34, 0x11a34}, {0x11a47, 0x11a47}, {0x11a99, 0x11a99},
		{0x11d42, 0x11d42}, {0x11d44, 0x11d45}, {0x11d97, 0x11d97},
		{0x11f41, 0x11f42}, {0x16ff0, 0x16ff1}, {0x1e08f, 0x1e08f},
		{0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef},
		{0x1e4ec, 0x1e4ef},
	};
	unsigned len;

	for (size_t i = 0; i < s.n; i += len) {
		uint32_t c = uc_next(s.p + i, s.n - i, &len);

		for (size_t k = 0; k < TEST_COUNT(late); k++)
			if (c >= late[k][0] && c <= late[k][1])
				return 1;
	}
	return 0;
}

static void
nfc_is(struct span in, struct span want, const char *line)
{
	struct buf out = {0};
	struct span got = uc_nfc(in, &out) ? in : buf_span(&out);

	if (!span_eq(got, want))
		fail_msg("NFC differs: %.60s", line);
	buf_clear(&out);
}

/* "0044 0307" to UTF-8; returns what follows the semicolon. */
static const char *
field(const char *s, struct buf *b)
{
	buf_reset(b);
	while (*s != ';') {
		char *end;
		char *p = buf_reserve(b, 4);

		b->n += utf8_put(p, (uint32_t)strtoul(s, &end, 16));
		s = end + (*end == ' ');
	}
	return s + 1;
}

static void
test_nfc(void **state)
{
	struct err e = {0};
	struct buf col[5] = {{0}};
	size_t n, lines = 0;
	char *p, *line;

	(void)state;
	if (input_slurp("tests/data/unicode/NormalizationTest.txt.zst", &p, &n,
			&e) < 0)
		fail_msg("%s", e.msg);
	p = realloc(p, n + 1);
	p[n] = 0;
	for (line = strtok(p, "\n"); line; line = strtok(NULL, "\n")) {
		const char *s = line;

		if (*line == '#' || *line == '@')
			continue;
		for (int i = 0; i < 5; i++)
			s = field(s, &col[i]);
		if (has_late(buf_span(&col[0])))
			continue;
		for (int i = 0; i < 5; i++)
			nfc_is(buf_span(&col[i]), buf_span(&col[i < 3 ? 1 : 3]),
			       line);
		lines++;
	}
	assert_true(lines > 18400);
	for (int i = 0; i < 5; i++)
		buf_clear(&col[i]);
	free(p);
}

/* The text around a changed stretch stays, also around a very long one. */
static void
test_nfc_long(void **state)
{
	struct buf in = {0}, out = {0};

	(void)state;
	nfc_is(span_str("abc e\u0301 x\u0327\u0301 y"),
	       span_str("abc \u00e9 x\u0327\u0301 y"), "words");
	nfc_is(span_str("\u1100\u1161\u11a8z"), span_str("\uac01z"), "Hangul");
	assert_int_equal(uc_nfc(span_str("caf\u00e9 \u6f22 na\u00efve"), &out),
			 1);
	buf_puts(&in, "a");
	for (int i = 0; i < 200000; i++)
		buf_puts(&in, i % 2 ? "\u0323" : "\u0307");
	assert_int_equal(uc_nfc(buf_span(&in), &out), 0);
	/* dots below come first: a with dot below, then the others below */
	assert_memory_equal(out.p, "\u1ea1\u0323", 5);
	assert_memory_equal(out.p + out.n - 4, "\u0307\u0307", 4);
	assert_int_equal(out.n, 3 + 99999 * 2 + 100000 * 2);
	buf_clear(&in);
	buf_clear(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_counts), cmocka_unit_test(test_file),
		cmocka_unit_test(test_space), cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_nfc), cmocka_unit_test(test_nfc_long),
	};

	return cmocka_run_group_tests_name("unicode", tests, NULL, NULL);
}
