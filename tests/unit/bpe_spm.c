/* SentencePiece-style BPE against tokenizers 0.23.3 (special tokens as text):
 * a small vocabulary under each setting that a file can have. */
#include "tests/unit/test.h"

#include "tokenizer/bpe.h"

#define PREPEND "{\"type\":\"Prepend\",\"prepend\":\"\u2581\"}"
#define REPLACE "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"}," \
	"\"content\":\"\u2581\"}"
#define BOTH "{\"type\":\"Sequence\",\"normalizers\":[" PREPEND "," REPLACE "]}"
#define META(scheme, split) "{\"type\":\"Metaspace\",\"replacement\":" \
	"\"\u2581\",\"prepend_scheme\":\"" scheme "\",\"split\":" split "}"

struct way {
	const char *normalizer, *pre_tokenizer;
	int bytes, fuse;
};

/* tokenizer.json with the tokens of the goldens' script */
static void
make_json(const struct way *w, struct buf *b)
{
	static const char *const token[] = {"\u2581", "a", "b", "c",
		"\u2581a", "ab", "\u2581\u2581", "\u2581ab", "ca", "bc",
		"\u2581\u2581\u2581"};
	size_t n = 3;

	buf_puts(b, "{\"version\":\"1.0\",\"normalizer\":");
	buf_puts(b, w->normalizer);
	buf_puts(b, ",\"pre_tokenizer\":");
	buf_puts(b, w->pre_tokenizer);
	buf_printf(b, ",\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\","
		   "\"fuse_unk\":%s,\"byte_fallback\":%s,\"vocab\":"
		   "{\"<unk>\":0,\"<s>\":1,\"</s>\":2",
		   w->fuse ? "true" : "false", w->bytes ? "true" : "false");
	for (unsigned i = 0; w->bytes && i < 256; i++)
		buf_printf(b, ",\"<0x%02X>\":%zu", i, n++);
	for (size_t i = 0; i < TEST_COUNT(token); i++)
		buf_printf(b, ",\"%s\":%zu", token[i], n++);
	buf_puts(b, "},\"merges\":[\"\u2581 a\",\"a b\",\"\u2581 \u2581\","
		 "\"\u2581a b\",\"\u2581 ab\",\"c a\",\"b c\","
		 "\"\u2581\u2581 \u2581\"]},\"added_tokens\":[");
	for (size_t i = 0; i < 4; i++)
		buf_printf(b, "%s{\"id\":%zu,\"content\":\"%s\","
			   "\"single_word\":false,\"lstrip\":false,"
			   "\"rstrip\":false,\"normalized\":false,"
			   "\"special\":%s}", i ? "," : "", i < 3 ? i : n,
			   (const char *[]){"<unk>", "<s>", "</s>", "<x>"}[i],
			   i < 3 ? "true" : "false");
	buf_puts(b, "]}");
}

static const char *const text[] = {"", "a", " a", "   ab", "ab ab",
	"a\u2581b", "\u2581a", "\u00e9x", "ab<x>ab", "<x> a", "</s>a", "a  ",
	"\n a", "bca  cab", "a<x>", "  <x>  "};

static const struct {
	struct way way;
	const char *want[TEST_COUNT(text)];
} golden[] = {
	{{BOTH, "null", 1, 1}, {
		"", "263", "259 263", "269 266", "266 266", "263 259 261",
		"259 263", "259 198 172 123", "266 270 266", "270 259 263",
		"259 63 50 118 65 260", "263 265", "259 13 263",
		"259 261 267 265 262 264", "263 270", "269 270 269"}},
	{{REPLACE, "null", 1, 1}, {
		"", "260", "263", "265 266", "264 266", "260 259 261", "263",
		"198 172 123", "264 270 264", "270 263", "63 50 118 65 260",
		"260 265", "13 263", "261 267 265 262 264", "260 270",
		"265 270 265"}},
	{{"null", META("first", "false"), 1, 1}, {
		"", "263", "263", "265 266", "266 266", "263 259 261", "263",
		"259 198 172 123", "266 270 264", "270 263",
		"259 63 50 118 65 260", "263 265", "259 13 263",
		"259 261 267 265 262 264", "263 270", "265 270 265"}},
	{{"null", META("always", "true"), 1, 1}, {
		"", "263", "263", "259 259 266", "266 266", "263 259 261",
		"263", "259 198 172 123", "266 270 266", "270 263",
		"259 63 50 118 65 260", "263 259 259", "259 13 263",
		"259 261 267 259 259 262 264", "263 270",
		"259 259 270 259 259"}},
	{{"null", META("never", "true"), 1, 1}, {
		"", "260", "263", "259 259 266", "264 266", "260 259 261",
		"263", "198 172 123", "264 270 264", "270 263",
		"63 50 118 65 260", "260 259 259", "13 263",
		"261 267 259 259 262 264", "260 270", "259 259 270 259 259"}},
	{{BOTH, "null", 0, 1}, {
		"", "7", "3 7", "13 10", "10 10", "7 3 5", "3 7", "3 0",
		"10 14 10", "14 3 7", "3 0 4", "7 9", "3 0 7", "3 5 11 9 6 8",
		"7 14", "13 14 13"}},
	{{BOTH, "null", 0, 0}, {
		"", "7", "3 7", "13 10", "10 10", "7 3 5", "3 7", "3 0 0",
		"10 14 10", "14 3 7", "3 0 0 0 0 4", "7 9", "3 0 7",
		"3 5 11 9 6 8", "7 14", "13 14 13"}},
};

static void
test_goldens(void **state)
{
	(void)state;
	for (size_t i = 0; i < TEST_COUNT(golden); i++) {
		struct buf json = {0}, got = {0};
		struct err e = {0};
		struct ids ids = {0};
		struct vocab *v;
		struct bpe *b;
		struct bpe_enc *c;

		make_json(&golden[i].way, &json);
		v = vocab_parse(json.p, json.n, "small", NULL, &e);
		b = v ? bpe_new(v, &e) : NULL;
		if (!b)
			fail_msg("%zu: %s", i, e.msg);
		c = bpe_enc_new(b, 0);
		for (size_t t = 0; t < TEST_COUNT(text); t++) {
			ids.n = 0;
			buf_reset(&got);
			bpe_units(c, span_str(text[t]), &ids, &(struct err){0});
			for (size_t k = 0; k < ids.n; k++)
				buf_printf(&got, "%s%u", k ? " " : "",
					   ids.v[k]);
			buf_putc(&got, 0);
			if (strcmp(got.p, golden[i].want[t]) != 0)
				fail_msg("way %zu, \"%s\": got %s, want %s",
					 i, text[t], got.p,
					 golden[i].want[t]);
		}
		bpe_enc_free(c);
		bpe_free(b);
		vocab_free(v);
		free(ids.v);
		buf_clear(&got);
		buf_clear(&json);
	}
}

/* What is not supported is refused by name. */
static void
test_refused(void **state)
{
	static const struct {
		struct way way;
		const char *what;
	} bad[] = {
		{{"{\"type\":\"NFKC\"}", META("first", "true"), 1, 1}, "NFKC"},
		{{"{\"type\":\"Strip\"}", META("first", "true"), 1, 1},
			"Strip"},
		{{"null", META("some", "true"), 1, 1}, "some"},
		{{BOTH, META("first", "true"), 1, 1}, "Metaspace"},
		{{BOTH, "{\"type\":\"WhitespaceSplit\"}", 1, 1},
			"WhitespaceSplit"},
		{{"null", "null", 1, 1}, "Replace"},
		{{"null", "null", 0, 1}, "neither"},
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(bad); i++) {
		struct buf json = {0};
		struct err e = {0};

		make_json(&bad[i].way, &json);
		assert_null(vocab_parse(json.p, json.n, "bad", NULL, &e));
		if (!strstr(e.msg, bad[i].what))
			fail_msg("%s: no '%s' in it", e.msg, bad[i].what);
		buf_clear(&json);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goldens),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("spm", tests, NULL, NULL);
}
