/*
 * Words against a naive definition: normalize the whole text, take code
 * points one by one.
 */
#include "tests/unit/test.h"

#include "base/rng.h"
#include "base/utf8.h"
#include "stream/input.h"
#include "text/unicode.h"
#include "text/words.h"

/* Normalized words, a NUL before each. */
static void
naive(struct span text, struct buf *out)
{
	struct buf nfc = {0};
	int in = 0, sigma = 0, letter = 0;
	unsigned len;
	size_t i;

	if (uc_nfc(text, &nfc))
		buf_put(&nfc, text.p, text.n);
	buf_putc(&nfc, ' ');
	for (i = 0; i < nfc.n; i += len) {
		uint32_t c = uc_next(nfc.p + i, nfc.n - i, &len), low;
		unsigned class = uc_class(c);

		if (!(class & (UC_LETTER | UC_MARK | UC_NUMBER))) {
			if (in && sigma && letter)
				out->p[out->n - 1] = (char)0x82;
			in = sigma = letter = 0;
			continue;
		}
		if (!in)
			buf_putc(out, 0);
		in = 1;
		if (sigma)
			letter = 1;
		low = uc_to_lower(c);
		out->n += utf8_put(buf_reserve(out, 4), low);
		if (c == 0x130)
			buf_puts(out, "\xcc\x87");
		sigma = c == 0x3a3;
		if (!sigma && class & UC_LETTER)
			letter = 1;
	}
	buf_clear(&nfc);
}

static void
check(struct words *w, struct span text)
{
	struct buf want = {0}, got = {0};
	size_t i, at;

	naive(text, &want);
	words_split(w, text);
	for (i = 0; i < w->n; i++) {
		buf_putc(&got, 0);
		at = got.n;
		words_norm(text, &w->v[i], &got);
		assert_true(w->v[i].hash == words_hash((struct span){
			got.p + at, got.n - at}));
		assert_true(w->v[i].start < w->v[i].end);
		assert_true(w->v[i].end <= text.n);
		assert_true(!i || w->v[i].start >= w->v[i - 1].start);
	}
	if (!span_eq(buf_span(&want), buf_span(&got)))
		fail_msg("words differ in \"%.*s\": %.*s, not %.*s",
			 (int)(text.n < 300 ? text.n : 300), text.p,
			 (int)got.n, got.p, (int)want.n, want.p);
	buf_clear(&want);
	buf_clear(&got);
}

/* TEXT and its words with a space between. */
static void
test_examples(void **state)
{
	static const char *const t[][2] = {
		{"", ""}, {"...", ""}, {"a", "a"}, {"_a_", "a"},
		{"Don't co-operate_now, 3.14!", "don t co operate now 3 14"},
		{"I\nam\r\n\tHERE", "i am here"},
		{"Caf\xc3\xa9 CAFE\xcc\x81", "caf\xc3\xa9 caf\xc3\xa9"},
		{"\xce\x9f\xce\x94\xce\x9f\xce\xa3 \xce\xa3",
		 "\xce\xbf\xce\xb4\xce\xbf\xcf\x82 \xcf\x83"},
		{"\xc4\xb0stanbul", "i\xcc\x87stanbul"},
		/* = and a slash over it are one sign, without a mark */
		{"a =\xcc\xb8 b", "a b"},
		{"- \xcc\x81 x", "\xcc\x81 x"},
		{"\xd0\x9c\xd0\x90\xd0\x9c\xd0\x90\xe2\x80\x94\xd1\x8f",
		 "\xd0\xbc\xd0\xb0\xd0\xbc\xd0\xb0 \xd1\x8f"},
		{"\xe2\x85\xa7 \xf0\x90\x90\x80",
		 "\xe2\x85\xb7 \xf0\x90\x90\xa8"},
	};
	struct words w = {0};
	struct buf b = {0};
	size_t i, k;

	(void)state;
	for (i = 0; i < TEST_COUNT(t); i++) {
		struct span text = span_str(t[i][0]);

		check(&w, text);
		buf_reset(&b);
		for (k = 0; k < w.n; k++) {
			if (k)
				buf_putc(&b, ' ');
			words_norm(text, &w.v[k], &b);
		}
		buf_putc(&b, 0);
		assert_string_equal(b.p, t[i][1]);
	}
	buf_clear(&b);
	words_clear(&w);
}

static void
test_places(void **state)
{
	/* the last one begins with a mark: without the space */
	static const char text[] = "  Ab c\xc3\xa9" "d, e\xcc\x81 F \xcc\x81x";
	static const unsigned at[][2] = {{2, 4}, {5, 9}, {11, 14}, {15, 16},
					 {17, 20}};
	struct words w = {0};
	size_t i;

	(void)state;
	words_split(&w, span_str(text));
	assert_int_equal(w.n, 5);
	for (i = 0; i < 5; i++) {
		assert_int_equal(w.v[i].start, at[i][0]);
		assert_int_equal(w.v[i].end, at[i][1]);
	}
	words_clear(&w);
}

/* Files contain these hashes. */
static void
test_frozen(void **state)
{
	(void)state;
	assert_true(words_hash(span_str("a")) == UINT64_C(0x4ae8d61f9c99c83b));
	assert_true(words_hash(span_str("documents")) ==
		    UINT64_C(0xf9210aa953e11929));
	assert_true(words_hash(span_str("internationalization")) ==
		    UINT64_C(0xb9e1d1b34ac4c129));
}

/* Every length and alignment around the blocks of 64 bytes. */
static void
test_random(void **state)
{
	static const char *const piece[] = {
		"a", "Z", "9", " ", ".", "\n", "word", "_", "\xc3\xa9",
		"\xcc\x81", "\xcc\xb8", "=", "\xe4\xb8\xad", "\xce\xa3",
		"\xe1\xbf\xaf", "\xe2\x84\xa6", "\xed\x95\x9c",
		"\xe1\x84\x92", "\xe1\x85\xa1", "\xf0\x9f\x98\x80",
		"\xe2\x80\x94", "a longer stretch of plain text here ",
	};
	struct words w = {0};
	struct buf b = {0};
	uint64_t at = 0;
	int i, k, n;

	(void)state;
	for (i = 0; i < 20000; i++) {
		int few = i % 2 ? TEST_COUNT(piece) : 8;

		buf_reset(&b);
		n = (int)rng_below(1, 0, at++, 60);
		for (k = 0; k < n; k++)
			buf_puts(&b, piece[rng_below(1, 0, at++, few)]);
		check(&w, buf_span(&b));
	}
	buf_clear(&b);
	words_clear(&w);
}

static void
test_corpora(void **state)
{
	static const char *const files[] = {
		"tests/data/text/digitalgov.jsonl.zst",
		"tests/data/text/udhr.jsonl.zst",
	};
	struct words w = {0};
	size_t i, n, at;
	char *p;
	struct err e = {0};

	(void)state;
	for (i = 0; i < TEST_COUNT(files); i++) {
		if (input_slurp(files[i], &p, &n, &e))
			fail_msg("%s", e.msg);
		for (at = 0; at < n; at += 10000) {
			size_t k = n - at < 10000 ? n - at : 10000;
			size_t from = at;

			while (k && ((unsigned char)p[from] & 0xc0) == 0x80)
				from++, k--;
			while (k && from + k < n &&
			       ((unsigned char)p[from + k] & 0xc0) == 0x80)
				k--;
			check(&w, (struct span){p + from, k});
		}
		free(p);
	}
	words_clear(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_corpora),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
