/*
 * json: what must pass passes, what must fail fails, values are right
 *
 * The verdicts are those of JSONTestSuite (Nicolas Seriot, MIT): y_ files
 * must be accepted, n_ refused, i_ are free, where the tree and the checker
 * agree with each other.  The tree takes numbers that others write, too.
 */
#include <math.h>

#include "tests/unit/test.h"

#include "stream/input.h"
#include "stream/json.h"
#include "stream/json_scan.h"

static struct json_reader *reader;

/* --- JSONTestSuite: the archive is read here, no tar is needed --- */

/* Is the fault at i only a number that Python's json would write or read? */
static int
is_number_of_others(const char *p, size_t n, size_t i, const char *what)
{
	static const char *const word[] = {"NaN", "Infinity", "-Infinity"};

	for (size_t k = 0; k < 3; k++)
		if (n - i > strlen(word[k]) &&
		    !memcmp(p + i, word[k], strlen(word[k])))
			return 1;
	return !strcmp(what, "number out of range");
}

static void
suite_file(const char *name, const char *p, size_t n, int *seen)
{
	const char *base = strrchr(name, '/'), *what;
	struct err e = {0};
	struct json *j;
	size_t at;
	int other;

	base = base ? base + 1 : name;
	if (!strstr(name, "test_parsing/") || base[1] != '_')
		return;
	j = json_parse(p, n, base, &e);
	at = json_scan_error(p, n, &what);
	other = at != SIZE_MAX && is_number_of_others(p, n, at, what);
	if (base[0] == 'y' && !j)
		fail_msg("%s", e.msg);
	if (base[0] == 'n' && j && !other)
		fail_msg("%s was accepted", base);
	if (!j && strncmp(e.msg, base, strlen(base)))
		fail_msg("%s: %s", base, e.msg);
	if (!j != (at != SIZE_MAX) && !(j && other))
		fail_msg("%s: %s, checker: %s", base, e.msg, what);
	seen[base[0] == 'y' ? 0 : base[0] == 'n' ? 1 : 2]++;
	json_free(j);
}

static void
test_suite(void **state)
{
	struct err e = {0};
	int seen[3] = {0};
	size_t n, size;
	char *tar;

	(void)state;
	assert_int_equal(input_slurp("tests/data/nasty/JSONTestSuite.tar.zst",
				     &tar, &n, &e), 0);
	for (size_t at = 0; at + 512 <= n && tar[at];
	     at += 512 + (size + 511) / 512 * 512) {
		size = strtoull(tar + at + 124, NULL, 8);
		if (tar[at + 156] == '0')
			suite_file(tar + at, tar + at + 512, size, seen);
	}
	free(tar);
	assert_int_equal(seen[0], 95);
	assert_int_equal(seen[1], 188);
	assert_int_equal(seen[2], 35);
}

/* --- the object reader --- */

static const char *const keys[] = { "text", "id", "meta.url" };

static struct json_pick pick[3];
static uint64_t surrogates;
static struct err err;

static int
read_line(const char *line, size_t n)
{
	static char *copy;

	copy = realloc(copy, n + INPUT_PADDING);
	memset(copy, 0, n + INPUT_PADDING);
	memcpy(copy, line, n);
	err = (struct err){0};
	return json_read(reader, copy, n, keys, 3, pick, &surrogates, &err);
}

static void
must_read(const char *line)
{
	if (read_line(line, strlen(line)) < 0)
		fail_msg("%s: %s", line, err.msg);
}

static void
must_be(struct span s, const char *want, size_t n)
{
	if (s.n != n || memcmp(s.p, want, n))
		fail_msg("got '%.*s', want '%s'", (int)s.n, s.p, want);
}

static void
picks(void **state)
{
	static const struct {
		const char *line, *text, *id, *url;	/* NULL: absent */
	} t[] = {
		{ "{\"text\":\"a\",\"id\":\"b\"}", "a", "b", NULL },
		{ " {\"id\":12 , \"text\" : \"a\"}\r", "a", "12", NULL },
		{ "{\"id\":-0,\"text\":\"\"}", "", "-0", NULL },
		{ "{\"id\":1.50}", NULL, "1.50", NULL },
		{ "{\"id\":18446744073709551615}", NULL,
		  "18446744073709551615", NULL },
		{ "{\"id\":123456789012345678901234567890,\"text\":\"x\"}",
		  "x", "123456789012345678901234567890", NULL },
		{ "{\"x\":1e999,\"id\":-1E+400}", NULL, "-1E+400", NULL },
		{ "{\"id\":[1, {\"a\":\"]\"}],\"text\":\"t\"}", "t",
		  "[1, {\"a\":\"]\"}]", NULL },
		{ "{\"id\":true,\"text\":null}", "null", "true", NULL },
		{ "{\"text\":\"a\",\"text\":\"b\",\"te\\u0078t\":\"c\"}", "c",
		  NULL, NULL },
		{ "{\"text\":\"\\\"\\\\\\n\\t\\/\\u00e9\\ud83d\\ude00\"}",
		  "\"\\\n\t/\xc3\xa9\xf0\x9f\x98\x80", NULL, NULL },
		{ "{\"meta\":{\"url\":\"u\"}}", NULL, NULL, "u" },
		{ "{\"meta\":{\"url\":\"u\"},\"meta\":{\"url\":7}}", NULL,
		  NULL, "7" },
		{ "{\"meta\":{\"url\":\"u\"},\"meta\":1}", NULL, NULL, NULL },
		{ "{\"meta.url\":\"v\",\"meta\":{\"url\":\"u\"}}", NULL, NULL,
		  "v" },
		{ "{\"meta\":[{\"url\":\"u\"}]}", NULL, NULL, NULL },
		{ "{}", NULL, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(t); i++) {
		const char *const want[] = { t[i].text, t[i].id, t[i].url };

		must_read(t[i].line);
		for (int k = 0; k < 3; k++) {
			struct span s = pick[k].type == JSON_STRING
				? pick[k].str : pick[k].raw;

			assert_int_equal(pick[k].present, want[k] != NULL);
			if (want[k])
				must_be(s, want[k], strlen(want[k]));
		}
	}
}

static void
nul_is_a_character(void **state)
{
	(void)state;
	must_read("{\"text\":\"a\\u0000b\",\"te\\u0000xt\":\"no\"}");
	must_be(pick[0].str, "a\0b", 3);
}

static void
lone_surrogates(void **state)
{
	static const struct {
		const char *line;
		uint64_t lone;
		const char *text;
	} t[] = {
		{ "{\"text\":\"\\ud800\"}", 1, "\xef\xbf\xbd" },
		{ "{\"text\":\"\\uDC00x\\uDBFF\"}", 2,
		  "\xef\xbf\xbdx\xef\xbf\xbd" },
		{ "{\"text\":\"\\ud83d\\ude00\"}", 0, "\xf0\x9f\x98\x80" },
		{ "{\"text\":\"\\ude00\\ud83d\"}", 2,
		  "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "{\"text\":\"\\ud83d\\ud83d\\ude00\"}", 1,
		  "\xef\xbf\xbd\xf0\x9f\x98\x80" },
		{ "{\"text\":\"\\\\ud800\"}", 0, "\\ud800" },
		{ "{\"text\":\"\\ud55c\"}", 0, "\xed\x95\x9c" },
		{ "{\"text\":\"ok\",\"other\":\"\\ud800\"}", 0, "ok" },
		{ "{\"text\":\"\\ud800\\n\\u0041\"}", 1,
		  "\xef\xbf\xbd\nA" },
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(t); i++) {
		must_read(t[i].line);
		if (surrogates != t[i].lone)
			fail_msg("%s: %llu", t[i].line,
				 (unsigned long long)surrogates);
		must_be(pick[0].str, t[i].text, strlen(t[i].text));
	}
}

static void
faults_have_a_place(void **state)
{
	static const struct {
		const char *line, *want;
	} t[] = {
		{ "", "byte 1: unexpected end of JSON" },
		{ "\xef\xbb\xbf{}", "byte 1: not a JSON value" },
		{ "[1]", "byte 1: not an object" },
		{ "\"s\"", "byte 1: not an object" },
		{ "{\"text\":\"a\"", "byte 12: unexpected end of JSON" },
		{ "{\"text\":\"a}", "byte 12: unterminated string" },
		{ "{\"a\":1,}", "byte 8: expected a key in quotes" },
		{ "{\"a\" 1}", "byte 6: expected ':'" },
		{ "{\"a\":1 \"b\":2}", "byte 8: expected ',' or '}'" },
		{ "{\"a\":[1 2]}", "byte 9: expected ',' or ']'" },
		{ "{\"a\":nul}", "byte 6: not a JSON value" },
		{ "{\"a\":nan}", "byte 6: not a JSON value" },
		{ "{\"a\":1NaN}", "byte 7: expected ',' or '}'" },
		{ "{\"a\":NaN1}", "byte 9: expected ',' or '}'" },
		{ "{\"a\":-NaN}", "byte 7: number without a digit" },
		{ "{\"a\":+Infinity}", "byte 6: not a JSON value" },
		{ "{\"a\":Infinit}", "byte 6: not a JSON value" },
		{ "{\"a\":NaN,\"b\":1e400,\"c\":.5}",
		  "byte 24: not a JSON value" },
		{ "{NaN:1}", "byte 2: expected a key in quotes" },
		{ "NaN", "byte 1: not an object" },
		{ "{\"a\":01}", "byte 7: expected ',' or '}'" },
		{ "{\"a\":1.}", "byte 8: number without a digit" },
		{ "{\"a\":\"\\x\"}", "byte 8: unknown escape" },
		{ "{\"a\":\"\\u12g4\"}", "byte 11: \\u needs four hex" },
		{ "{\"a\":\"\t\"}", "byte 7: control character" },
		{ "{\"a\":\"\xff\"}", "byte 7: invalid UTF-8" },
		{ "{\"a\":\"\xed\xa0\x80\"}", "byte 7: invalid UTF-8" },
		{ "{\"a\":\"\xc0\x80\"}", "byte 7: invalid UTF-8" },
		{ "{\"\xf5\":1}", "byte 3: invalid UTF-8" },
		{ "{\"a\":1} x", "byte 9: unexpected text after the value" },
		{ "{\"a\":1}{}", "byte 8: unexpected text after the value" },
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(t); i++) {
		if (read_line(t[i].line, strlen(t[i].line)) == 0 ||
		    strncmp(err.msg, t[i].want, strlen(t[i].want)))
			fail_msg("%s: got '%s', want '%s'", t[i].line, err.msg,
				 t[i].want);
	}
	assert_int_equal(read_line("{\"a\":\"\0\"}", 9), -1);
	assert_int_equal(read_line("{\"a\":1}\0", 8), -1);
}

static void
depth(void **state)
{
	char line[4096];
	size_t n;

	(void)state;
	for (int deep = 1020; deep < 1030; deep++) {
		n = (size_t)sprintf(line, "{\"text\":\"t\",\"x\":");
		memset(line + n, '[', (size_t)deep - 1);
		n += (size_t)deep - 1;
		line[n++] = '0';
		memset(line + n, ']', (size_t)deep - 1);
		n += (size_t)deep - 1;
		line[n++] = '}';
		assert_int_equal(read_line(line, n) == 0, deep <= 1024);
		if (deep > 1024)
			assert_non_null(strstr(err.msg, "than 1,024 levels"));
	}
}

static void
members(void **state)
{
	struct span key[4];
	struct json_pick val[4];

	(void)state;
	must_read("{\"a\":1,\"b\":\"x\",\"a\":[2],\"c\\n\":null}");
	assert_int_equal(json_members(reader, key, val, 4), 3);
	must_be(key[0], "a", 1);
	must_be(val[0].raw, "[2]", 3);
	must_be(val[1].str, "x", 1);
	must_be(key[2], "c\n", 2);
	must_be(val[2].raw, "null", 4);
	assert_int_equal(json_members(reader, key, val, 2), 2);
}

/* --- trees and writing --- */

static void
tree(void **state)
{
	static const char text[] =
		"{\"a\":{\"b\":[1,-2.5,true,\"x\"]},\"n\":5,\"r\":0.5,"
		"\"s\":\"str\",\"t\":false,\"a.c\":7,\"big\":1e300}";
	struct err e = {0}, f = {0};
	struct json *j = json_parse(text, sizeof text - 1, "cfg", &e);
	const struct json *b;
	struct span s = {0};
	int64_t i = 0;
	int t = 1;

	(void)state;
	assert_non_null(j);
	assert_int_equal(j->n, 7);
	b = json_get(j, "a.b");
	assert_int_equal(b->type, JSON_ARRAY);
	assert_int_equal(b->n, 4);
	assert_int_equal(b->kids[0].i, 1);
	assert_true(b->kids[1].num == -2.5 && !b->kids[1].is_int);
	assert_int_equal(b->kids[2].type, JSON_TRUE);
	must_be(b->kids[3].str, "x", 1);
	assert_int_equal(json_get(j, "a.c")->i, 7);
	assert_null(json_get(j, "a.b.c"));
	assert_null(json_get(NULL, "a"));
	assert_int_equal(json_get_int(j, "n", &i, &e), 0);
	assert_int_equal(json_get_bool(j, "t", &t, &e), 0);
	assert_int_equal(json_get_str(j, "s", &s, &e), 0);
	assert_int_equal(json_get_int(j, "absent", &i, &e), 0);
	assert_true(i == 5 && json_get(j, "r")->num == 0.5 && t == 0);
	must_be(s, "str", 3);
	assert_int_equal(json_get_int(j, "r", &i, &e), -1);
	assert_string_equal(e.msg, "r: not an integer");
	json_free(j);
	json_free(NULL);
	assert_null(json_parse("{", 1, "cfg", &f));
	assert_string_equal(f.msg, "cfg: byte 2: unexpected end of JSON");
}

/* What other programs write where we read few keys. */
static void
tree_takes_any_number(void **state)
{
	static const char text[] =
		"{\"max\":1000000000000000019884624838656,"
		"\"min\":-100000000000000000000,"
		"\"u\":18446744073709551615,\"e\":1e400,"
		"\"l\":[NaN,-Infinity,Infinity],\"z\":1e-400,"
		"\"s\":\"NaN\\ud800\",\"i\":7}";
	static const char *const bad[] = {"{\"a\":NaN,}", "{\"a\":nan}",
		"{\"a\":-Inf}", "{\"a\":1e}", "{\"a\":Infinity1}"};
	struct err e = {0};
	struct json *j = json_parse(text, sizeof text - 1, "cfg", &e);
	const struct json *l;
	int64_t i = 0;

	(void)state;
	if (!j)
		fail_msg("%s", e.msg);
	assert_true(json_get(j, "max")->num == 1e30);
	assert_int_equal(json_get(j, "max")->type, JSON_NUMBER);
	assert_int_equal(json_get(j, "max")->is_int, 0);
	assert_true(json_get(j, "min")->num == -1e20);
	assert_true(json_get(j, "u")->num == 0x1p64);
	assert_true(json_get(j, "z")->num == 0);
	must_be(json_get(j, "e")->str, "1e400", 5);
	l = json_get(j, "l");
	must_be(l->kids[0].str, "NaN", 3);
	must_be(l->kids[1].str, "-Infinity", 9);
	must_be(l->kids[2].str, "Infinity", 8);
	must_be(json_get(j, "s")->str, "NaN\xef\xbf\xbd", 6);
	assert_int_equal(json_get_int(j, "i", &i, &e), 0);
	assert_int_equal(i, 7);
	assert_int_equal(json_get_int(j, "e", &i, &e), -1);
	assert_string_equal(e.msg, "e: not an integer");
	json_free(j);
	for (size_t k = 0; k < TEST_COUNT(bad); k++) {
		struct err f = {0};

		assert_null(json_parse(bad[k], strlen(bad[k]), "cfg", &f));
		assert_true(f.set);
	}
}

static void
reals_read_back(void **state)
{
	static const double t[] = { 0, -0.0, 1, 0.1, 1.0 / 3, 1e22, 1e-7,
		5e-324, 1.7976931348623157e308, 123456789.125, 3e-5 };
	struct buf b = {0};
	double back;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(t); i++) {
		struct err e = {0};
		struct json *j;

		buf_reset(&b);
		json_put_real(&b, t[i]);
		j = json_parse(b.p, b.n, "", &e);
		assert_non_null(j);
		back = j->num;
		assert_true(back == t[i] && b.n <= 24);
		json_free(j);
	}
	buf_reset(&b);
	json_put_real(&b, 0.1);
	buf_putc(&b, ' ');
	json_put_real(&b, NAN);
	buf_putc(&b, ' ');
	json_put_real(&b, -INFINITY);
	must_be(buf_span(&b), "0.1 null null", 13);
	buf_clear(&b);
}

static void
writing(void **state)
{
	static const char want[] = "{\"a\\\"\":-9223372036854775808,"
		"\"b\":18446744073709551615,\"c\":\"\\u0000\\n\x7f"
		"\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\"}";
	struct buf b = {0};

	(void)state;
	buf_putc(&b, '{');
	json_put_key(&b, "a\"");
	json_put_int(&b, INT64_MIN);
	json_put_key(&b, "b");
	json_put_uint(&b, UINT64_MAX);
	json_put_key(&b, "c");
	json_put_str(&b, (struct span){ "\0\n\x7f\xff\xc3\xa9\xe2\x82", 8 });
	buf_putc(&b, '}');
	must_be(buf_span(&b), want, sizeof want - 1);
	buf_clear(&b);
}

/* Each byte at each place of a text is escaped as it must be, and no other. */
static void
each_byte_is_escaped(void **state)
{
	enum { LEN = 24 };
	static const char from[] = "\b\t\n\f\r\"\\", to[] = "btnfr\"\\";
	char text[LEN], want[2 * LEN + 8], as[8];
	struct buf b = {0};
	int c, at;

	(void)state;
	for (c = 0; c < 256; c++) {
		const char *f = c ? strchr(from, c) : NULL;

		snprintf(as, sizeof as, f ? "\\%c" : c < 0x20 ? "\\u%04x" :
			 c < 0x80 ? "%c" : "\xef\xbf\xbd",
			 f ? to[f - from] : c);
		for (at = 0; at < LEN; at++) {
			memset(text, 'a' + at, LEN);
			text[at] = (char)c;
			snprintf(want, sizeof want, "\"%.*s%s%.*s\"", at,
				 text, as, LEN - 1 - at, text + at + 1);
			buf_reset(&b);
			json_put_str(&b, (struct span){text, LEN});
			must_be(buf_span(&b), want, strlen(want));
		}
	}
	buf_clear(&b);
}

/* Characters of several bytes at each place, beside an escape or not. */
static void
characters_are_kept(void **state)
{
	static const char a[] = "aaaaaaaaaaaaaaaaaaaaaaaa";
	struct buf b = {0};
	char text[96], want[96];
	int at, n;

	(void)state;
	for (at = 0; at < 24; at++) {
		n = snprintf(text, sizeof text, "%.*s\xf0\x9f\x98\x80\n"
			     "\xe2\x82\xac\xc3\xa9%s\xe2\x82", at, a, a + at);
		snprintf(want, sizeof want, "\"%.*s\xf0\x9f\x98\x80\\n"
			 "\xe2\x82\xac\xc3\xa9%s\xef\xbf\xbd\"", at, a, a + at);
		buf_reset(&b);
		json_put_str(&b, (struct span){text, (size_t)n});
		must_be(buf_span(&b), want, strlen(want));
	}
	buf_clear(&b);
}

static int
open_reader(void **state)
{
	(void)state;
	reader = json_reader_new();
	return 0;
}

static int
close_reader(void **state)
{
	(void)state;
	json_reader_free(reader);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suite),
		cmocka_unit_test(picks),
		cmocka_unit_test(nul_is_a_character),
		cmocka_unit_test(lone_surrogates),
		cmocka_unit_test(faults_have_a_place),
		cmocka_unit_test(depth),
		cmocka_unit_test(members),
		cmocka_unit_test(tree),
		cmocka_unit_test(tree_takes_any_number),
		cmocka_unit_test(reals_read_back),
		cmocka_unit_test(writing),
		cmocka_unit_test(each_byte_is_escaped),
		cmocka_unit_test(characters_are_kept),
	};

	return cmocka_run_group_tests(tests, open_reader, close_reader);
}
