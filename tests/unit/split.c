/* split.c: known patterns, case by case and against Oniguruma. */
#include "tests/unit/test.h"

#include "base/mem.h"
#include "tokenizer/split.h"

/* Pre-tokens joined by bars, NUL as 0. */
static char *
pretokens(const struct split *s, const char *text, size_t n)
{
	struct split_scratch *t = split_scratch_new(s);
	struct buf b = {0};
	struct err e = {0};
	uint32_t ends[64];
	size_t pos = 0, start = 0, k;

	while ((k = split_next(s, t, text, n, &pos, ends, 64, &e)) > 0)
		for (size_t i = 0; i < k; i++) {
			assert_true(ends[i] > start && ends[i] <= n);
			if (start)
				buf_putc(&b, '|');
			buf_put(&b, text + start, ends[i] - start);
			start = ends[i];
		}
	assert_int_equal(start, n);
	assert_false(e.set);
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] == 0)
			b.p[i] = '0';
	buf_putc(&b, 0);
	split_scratch_free(t);
	return b.p;
}

static struct split *
new_split(const char *name)
{
	struct err e = {0};
	struct split *s = split_new(&name, NULL, 1, &e);

	if (!s)
		fail_msg("%s", e.msg);
	return s;
}

static void
expect(const char *name, const char *text, const char *want)
{
	struct split *s = new_split(name);
	char *got = pretokens(s, text, strlen(text));

	if (strcmp(got, want) != 0)
		fail_msg("%s: \"%s\" gives \"%s\", want \"%s\"", name, text,
			 got, want);
	free(got);
	split_free(s);
}

/* Cases that tools get wrong (answers of tokenizers). */
static void
test_cases(void **state)
{
	(void)state;
	expect("gpt2", "   x", "  | x");
	expect("cl100k", "a  1", "a| | |1");
	expect("gpt2", "a  1", "a| | 1");
	expect("cl100k", "a \n\n  b", "a| \n\n| | b");
	expect("gpt2", "  \n\n  x", "  \n\n | x");
	expect("cl100k", "\r\n\r\n", "\r\n\r\n");
	expect("cl100k", "!!!\r\n\r\nx", "!!!\r\n\r\n|x");
	expect("o200k", "//\n//", "//\n//");
	expect("cl100k", "a\n ", "a|\n| ");
	expect("cl100k", "DON'T", "DON|'T");
	expect("gpt2", "DON'T", "DON|'|T");
	expect("cl100k", "x'\u017fy", "x|'\u017f|y");
	expect("cl100k", "can\u2019t", "can|\u2019t");
	expect("o200k", "don't", "don't");
	expect("o200k", "X'S'T", "X'S|'T");
	expect("cl100k", " 'S", " '|S");
	expect("cl100k", "foo_bar", "foo|_bar");
	expect("cl100k", "\tx", "\tx");
	expect("cl100k", "e\u0301e\u0301", "e|\u0301e|\u0301");
	expect("cl100k", "1234567", "123|456|7");
	expect("qwen2", "1234", "1|2|3|4");
	expect("cl100k", "\u00bd\u00b2\u2167\u3007\u0661",
	       "\u00bd\u00b2\u2167|\u3007\u0661");
	expect("o200k", "HTTPServer fooBarBaz", "HTTPServer| foo|Bar|Baz");
	expect("o200k", "\u0928\u092e\u0938\u094d\u0924\u0947",
	       "\u0928\u092e\u0938\u094d\u0924\u0947");
	expect("o200k", "\u0301ABC", "\u0301|ABC");
	expect("o200k", "\u6f22\u5b57AB", "\u6f22\u5b57|AB");
	expect("gpt2", "it's 'quoted' we'll I'd've''s",
	       "it|'s| '|quoted|'| we|'ll| I|'d|'ve|''|s");
}

static void
test_nul(void **state)
{
	struct split *s = new_split("cl100k");
	char *p = pretokens(s, "1\0a", 3);

	(void)state;
	assert_string_equal(p, "1|0a");
	free(p);
	split_free(s);
}

static void
test_sequence(void **state)
{
	const char *names[] = {"\\p{N}{1,3}",
		"[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
		"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
		"[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+"
		"[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"};
	struct err e = {0};
	struct split *s = split_new(names, NULL, 3, &e);
	char *p;

	(void)state;
	assert_non_null(s);
	p = pretokens(s, "a  1", 4);
	assert_string_equal(p, "a|  |1");
	free(p);
	p = pretokens(s, "1\0" "2", 3);
	assert_string_equal(p, "1|0|2");
	free(p);
	p = pretokens(s, "\1\2!", 3);
	assert_string_equal(p, "\1\2|!");
	free(p);
	split_free(s);
}

static void
test_behavior(void **state)
{
	static const struct {
		int behavior;
		const char *want;
	} c[] = {
		{SPLIT_ISOLATED, "a|-|-|b|-"},
		{SPLIT_MERGED_WITH_PREVIOUS, "a-|-|b-"},
		{SPLIT_MERGED_WITH_NEXT, "a|-|-b|-"},
		{SPLIT_CONTIGUOUS, "a|--|b|-"},
		{SPLIT_MERGED_WITH_NEXT | SPLIT_INVERT, "a-|-|b-"},
	};
	const char *name = "-";
	struct err e = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct split *s = split_new(&name, &c[i].behavior, 1, &e);
		char *p = pretokens(s, "a--b-", 5);

		assert_string_equal(p, c[i].want);
		free(p);
		split_free(s);
	}
	assert_null(split_new(&name, (int[]){SPLIT_REMOVED}, 1, &e));
}

static void
test_refused(void **state)
{
	static const char *const bad[] = {"\\X", "a\\y", "[^]\\X]\\Y",
		"(*FAIL)", "(?{x})", "\\p{Klingon}", "(", "[a", "\\", "[]",
		"*a", "\\1", "(?P<n>a)", "(?s:.)"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err e = {0};

		assert_null(split_new(&bad[i], NULL, 1, &e));
		assert_true(e.set);
	}
}

/* Random text of characters that matter, chosen so that runs are common. */
static size_t
random_text(char *p, size_t want, uint64_t *seed)
{
	static const char *const part[] = {" ", " ", " ", "\n", "\n", "\r",
		"\t", "a", "b", "s", "t", "S", "re", "ll", "LL", "ve", "d",
		"'", "'", "'s", "A", "Z", "1", "2", "9", "!", "/", "(", "_",
		"\u00e9", "\u00c9", "\u0301", "\u6f22", "\u5b57", "\u02b0",
		"\u01c5", "\u017f", "\u2019", "\u00a0", "\u3000", "\u2028",
		"\u2003", "\xc2\x85", "\u00bd", "\u0661", "\u3007", "\u200b",
		"\U0001f600", "\U0001d400", "\U000105c0", "\U00010d40",
		"\u0e33", "\u0905", "\u093f", "\1", "\x7f", "\u1680"};
	size_t n = 0;

	while (n < want) {
		const char *s;
		unsigned rep = 1;

		*seed = *seed * UINT64_C(6364136223846793005) +
			UINT64_C(1442695040888963407);
		s = part[(*seed >> 33) % (sizeof(part) / sizeof(part[0]))];
		if (*seed >> 60 == 0)
			rep = 1 + (*seed >> 20) % 90;
		while (rep-- && n < want) {
			memcpy(p + n, s, strlen(s));
			n += strlen(s);
		}
	}
	return n;
}

/* Scanners against the same pattern in Oniguruma (the group hides its name). */
static void
against_regex(const char *name, int rounds)
{
	char *pat = xmalloc(2000), *text = xmalloc(3000), *a, *b;
	struct split *s = new_split(name), *o;
	uint64_t seed = 1;

	snprintf(pat, 2000, "(?:%s)", pattern_regex(name));
	assert_int_equal(pattern_find(pat), PATTERN_OTHER);
	o = new_split(pat);
	for (int i = 0; i < rounds; i++) {
		size_t n = random_text(text, (size_t)(i % 40 ? i % 290 : 2900),
				       &seed);

		a = pretokens(s, text, n);
		b = pretokens(o, text, n);
		if (strcmp(a, b) != 0)
			fail_msg("%s: ours \"%s\"\nregex \"%s\"", name, a, b);
		free(a);
		free(b);
	}
	split_free(s);
	split_free(o);
	free(pat);
	free(text);
}

/* With each instruction set that this machine has. */
static void
each_simd(const char *name)
{
	static const char *const simd[] = {"sse2", "avx2", "avx512"};

	for (size_t i = 0; i < 3; i++) {
		setenv("ASSAY_SIMD", simd[i], 1);
		against_regex(name, 2000);
	}
	unsetenv("ASSAY_SIMD");
}

static void
test_gpt2(void **state)
{
	(void)state;
	each_simd("gpt2");
}

static void
test_cl100k(void **state)
{
	(void)state;
	each_simd("cl100k");
}

/* tiktoken's spelling; white space that ends a text is one pre-token. */
static void
test_cl100k_end(void **state)
{
	struct err e = {0};
	char *p = pattern_split("'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+"
		"\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|"
		"\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s", &e);

	(void)state;
	assert_non_null(p);
	assert_int_equal(pattern_find(p), PATTERN_CL100K_END);
	expect(p, "a\n ", "a|\n ");
	expect(p, "!\n \n", "!\n| \n");
	expect(p, " \n ", " \n ");
	expect(p, "a\n b\n", "a|\n| b|\n");
	each_simd(p);
	free(p);
}

static void
test_qwen2(void **state)
{
	(void)state;
	each_simd("qwen2");
}

static void
test_o200k(void **state)
{
	(void)state;
	against_regex("o200k", 4000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases), cmocka_unit_test(test_nul),
		cmocka_unit_test(test_sequence),
		cmocka_unit_test(test_behavior),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_gpt2),
		cmocka_unit_test(test_cl100k), cmocka_unit_test(test_qwen2),
		cmocka_unit_test(test_o200k),
		cmocka_unit_test(test_cl100k_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
