/*
 * Words against a naive definition (normalize the whole text, take code points
 * one by one), and against words made elsewhere.
 */
#include "tests/unit/test.h"

#include "base/rng.h"
#include "base/utf8.h"
#include "stream/input.h"
#include "stream/json.h"
#include "text/unicode.h"
#include "text/words.h"

/* Thai, Lao, Myanmar, Khmer, kana, Han. */
static int
unspaced(uint32_t c)
{
	return (c >= 0xe00 && c <= 0xeff) || (c >= 0x1000 && c <= 0x109f) ||
	       (c >= 0x1780 && c <= 0x17ff) || (c >= 0x3005 && c <= 0x3007) ||
	       (c >= 0x3021 && c <= 0x3029) || (c >= 0x3031 && c <= 0x303c) ||
	       (c >= 0x3040 && c <= 0x312f) || (c >= 0x31a0 && c <= 0x31bf) ||
	       (c >= 0x31f0 && c <= 0x31ff) || (c >= 0x3400 && c <= 0x4dbf) ||
	       (c >= 0x4e00 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
	       (c >= 0xff66 && c <= 0xff9d) || (c >= 0x1b000 && c <= 0x1b16f) ||
	       (c >= 0x20000 && c <= 0x3fffd);
}

static int
invisible(uint32_t c)
{
	return c == 0xad || c == 0x200b || c == 0x200c || c == 0x200d ||
	       c == 0x2060 || c == 0xfeff;
}

/* text in form C without invisible characters. */
static void
normalize(struct span text, struct buf *nfc)
{
	struct buf b = {0};
	unsigned len;
	size_t i;

	for (i = 0; i < text.n; i += len)
		if (!invisible(uc_next(text.p + i, text.n - i, &len)))
			buf_put(&b, text.p + i, len);
	if (uc_nfc(buf_span(&b), nfc) && b.n)
		buf_put(nfc, b.p, b.n);
	buf_clear(&b);
}

/* 2: cased, 1: ignored, 0: neither; of what the texts below have. */
static int
casing(uint32_t c)
{
	unsigned class = uc_class(c);

	if (c == '\'' || c == '.' || c == ':' || c == 0x2019 || c == 0xb7 ||
	    uc_cat(c) == UC_LM || uc_cat(c) == UC_SK || uc_cat(c) == UC_MN)
		return 1;
	return (class & UC_UPPER) || uc_cat(c) == UC_LL ? 2 : 0;
}

/* Forward over the text: what did the sigma at `at` follow, what follows it? */
static int
final_sigma(struct span t, size_t at)
{
	int before = 0, kind;
	unsigned len;
	size_t i;

	for (i = 0; i < t.n; i += len) {
		kind = casing(uc_next(t.p + i, t.n - i, &len));
		if (i < at && kind != 1)
			before = kind;
		if (i > at && kind != 1)
			return before == 2 && kind != 2;
	}
	return before == 2;
}

/* Normalized words, a NUL before each. */
static void
naive(struct span text, struct buf *out)
{
	struct buf nfc = {0};
	int in = 0, own = 0;
	unsigned len;
	size_t i;

	normalize(text, &nfc);
	buf_putc(&nfc, ' ');
	for (i = 0; i < nfc.n; i += len) {
		uint32_t c = uc_next(nfc.p + i, nfc.n - i, &len), low;
		unsigned class = uc_class(c);
		int is_word = class & (UC_LETTER | UC_MARK | UC_NUMBER);
		int first = !(class & UC_MARK) && (own || unspaced(c));

		if (!is_word || first) {
			in = own = 0;
			if (!is_word)
				continue;
			own = unspaced(c);
		}
		if (!in)
			buf_putc(out, 0);
		in = 1;
		low = uc_to_lower(c);
		if (c == 0x3a3 && final_sigma(buf_span(&nfc), i))
			low = 0x3c2;
		out->n += utf8_put(buf_reserve(out, 4), low);
		if (c == 0x130)
			buf_puts(out, "\xcc\x87");
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
		/* Final_Sigma, as Python's str.lower(): it looks past ' and .
		 * and U+2019, to a cased letter. */
		{"\xce\x91\xce\xa3'\xce\x92", "\xce\xb1\xcf\x83 \xce\xb2"},
		{"\xce\x91\xce\xa3' 1\xce\xa3", "\xce\xb1\xcf\x82 1\xcf\x83"},
		{"\xce\x91\xce\xa3.a", "\xce\xb1\xcf\x83 a"},
		{"\xce\x91'\xce\xa3", "\xce\xb1 \xcf\x82"},
		{"a\xe2\x80\x99\xce\xa3", "a \xcf\x82"},
		{"a1\xce\xa3 a:\xce\xa3:9", "a1\xcf\x83 a \xcf\x82 9"},
		{"\xca\xb0\xce\xa3", "\xca\xb0\xcf\x83"},
		{"\xc4\xb0stanbul", "i\xcc\x87stanbul"},
		/* = and a slash over it are one sign, without a mark */
		{"a =\xcc\xb8 b", "a b"},
		{"- \xcc\x81 x", "\xcc\x81 x"},
		{"\xd0\x9c\xd0\x90\xd0\x9c\xd0\x90\xe2\x80\x94\xd1\x8f",
		 "\xd0\xbc\xd0\xb0\xd0\xbc\xd0\xb0 \xd1\x8f"},
		{"\xe2\x85\xa7 \xf0\x90\x90\x80",
		 "\xe2\x85\xb7 \xf0\x90\x90\xa8"},
		/* soft hyphen, zero-width joiner before an accent */
		{"co\xc2\xadop e\xe2\x80\x8d\xcc\x81t \xef\xbb\xbf",
		 "coop \xc3\xa9t"},
		{"a\xe2\x80\x8b\xe2\x81\xa0" "b \xe2\x80\x8c- c",
		 "ab c"},
		{"GPT\xe4\xb8\xad\xe6\x96\x87" "2x",
		 "gpt \xe4\xb8\xad \xe6\x96\x87 2x"},
		/* ka with a mark of its own, composed */
		{"\xe3\x81\x8b\xe3\x82\x99\xe3\x83\xbc",
		 "\xe3\x81\x8c \xe3\x83\xbc"},
		/* Thai: consonants with vowel and tone above */
		{"\xe0\xb8\x97\xe0\xb8\xb5\xe0\xb9\x88\xe0\xb8\x99",
		 "\xe0\xb8\x97\xe0\xb8\xb5\xe0\xb9\x88 \xe0\xb8\x99"},
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
	static const char text[] = "  Ab c\xc3\xa9" "d, e\xcc\x81 F \xcc\x81x"
		/* soft hyphens in and after a word, two compatibility forms */
		" \xc2\xadg\xc2\xadh\xc2\xad-\xef\xa4\x80\xef\xa4\x81.";
	static const unsigned at[][2] = {{2, 4}, {5, 9}, {11, 14}, {15, 16},
					 {17, 20}, {23, 27}, {30, 33},
					 {33, 36}};
	struct words w = {0};
	size_t i;

	(void)state;
	words_split(&w, span_str(text));
	assert_int_equal(w.n, TEST_COUNT(at));
	for (i = 0; i < w.n; i++) {
		assert_int_equal(w.v[i].start, at[i][0]);
		assert_int_equal(w.v[i].end, at[i][1]);
	}
	words_clear(&w);
}

/* tests/peers/make_words.py: the words by Python's unicodedata. */
static void
test_elsewhere(void **state)
{
	struct words w = {0};
	struct span all, line, text;
	struct buf b = {0};
	struct err e = {0};
	struct json *j;
	const struct json *want;
	size_t n, i, lines = 0;
	char *p;

	(void)state;
	assert_int_equal(input_slurp("tests/data/unicode/words.jsonl.zst", &p,
				     &n, &e), 0);
	for (all = (struct span){p, n}; span_line(&all, &line); lines++) {
		j = json_parse(line.p, line.n, "words", &e);
		text = json_get(j, "text")->str;
		want = json_get(j, "words");
		check(&w, text);
		assert_int_equal(w.n, want->n);
		for (i = 0; i < w.n; i++) {
			buf_reset(&b);
			words_norm(text, &w.v[i], &b);
			assert_true(span_eq(buf_span(&b), want->kids[i].str));
		}
		json_free(j);
	}
	assert_true(lines > 200);
	free(p);
	buf_clear(&b);
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
		"\xc2\xad", "\xe2\x80\x8d", "\xef\xbb\xbf", "\xe3\x81\x8b",
		"\xe3\x82\x99", "\xef\xa4\x80", "\xf0\xaf\xa0\x80",
		"\xe0\xb8\x81", "\xe0\xb8\xb1", "\xef\xbd\xb6",
		"\xef\xbe\x9e", "\xf0\xa0\x80\x80", "\xce\xa3", "'",
		"\xe2\x80\x99", "\xca\xb0", ":",
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

/* Each word of a text that NFC changes all over has a place of its own. */
static void
test_long_segments(void **state)
{
	static const char *const unit[] = {
		"\xe2\x84\xa6\xe2\x80\x80",	/* ohm sign, en quad */
		"\xef\xa4\x80\xcc\x81", "\xe2\x84\xa6\xe1\xbf\xaf",
	};
	struct words w = {0};
	struct buf b = {0};
	size_t i, k;

	(void)state;
	for (i = 0; i < TEST_COUNT(unit); i++) {
		buf_reset(&b);
		for (k = 0; k < 1000; k++)
			buf_puts(&b, unit[i]);
		check(&w, buf_span(&b));
		assert_int_equal(w.n, 1000);
		for (k = 0; k < w.n; k++)
			assert_true(w.v[k].end - w.v[k].start <= 6);
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
		"tests/data/text/soseki_neko.jsonl.zst",
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
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_long_segments),
		cmocka_unit_test(test_corpora),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
