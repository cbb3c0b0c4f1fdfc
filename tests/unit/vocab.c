/* vocab*.c: tokenizer.json and .tiktoken in and out, and what is refused. */
#include "tests/unit/test.h"

#include "record/vocab.h"
#include "stream/input.h"
#include "stream/json.h"
#include "tests/unit/edit.h"

static const uint32_t pairs[][2] = {{83, 83}, {256, 83}, {220, 64}, {71, 68},
	{258, 257}, {165, 102}};	/* "tt" "ttt" " a" "he" " attt" e9+a9 */
enum { NPAIRS = TEST_COUNT(pairs) };
static const char *const special[] = {"<|bos|>", "<|eos|>", "\"\\\n"};

static struct vocab *
small(const char *split)
{
	struct err e = {0};
	struct vocab *v = vocab_build(pairs, NPAIRS, special, 3, split, &e);

	if (!v)
		fail_msg("%s", e.msg);
	return v;
}

static struct vocab *
parse(const struct buf *b, const char *split)
{
	struct err e = {0};
	struct vocab *v = vocab_parse(b->p, b->n, "mem", split, &e);

	if (!v)
		fail_msg("%s", e.msg);
	return v;
}

static void
same_vocab(const struct vocab *a, const struct vocab *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->nmerges, b->nmerges);
	for (uint32_t i = 0; i < a->n; i++) {
		assert_true(span_eq(a->token[i], b->token[i]));
		assert_int_equal(a->flags[i], b->flags[i]);
	}
	assert_memory_equal(a->merge, b->merge, a->nmerges * 12);
}

static void
test_byte_order(void **state)
{
	int seen[256] = {0};

	(void)state;
	for (int i = 0; i < 256; i++) {
		assert_int_equal(vocab_id_byte[vocab_byte_id[i]], i);
		assert_int_equal(seen[vocab_byte_id[i]]++, 0);
	}
	assert_int_equal(vocab_byte_id['!'], 0);
	assert_int_equal(vocab_byte_id['~'], 93);
	assert_int_equal(vocab_byte_id[0xac], 105);
	assert_int_equal(vocab_byte_id[0xff], 187);
	assert_int_equal(vocab_byte_id[0], 188);
	assert_int_equal(vocab_byte_id[' '], 220);
	assert_int_equal(vocab_byte_id[0x7f], 221);
	assert_int_equal(vocab_byte_id[0xad], 255);
}

static void
test_json_round(void **state)
{
	static const char *const split[] = {"gpt2", "cl100k", "o200k", "none",
		"[a-z]+|\\s"};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(split); i++) {
		struct vocab *v = small(split[i]), *w;
		struct buf b = {0}, again = {0};

		vocab_json(v, &b);
		w = parse(&b, NULL);
		same_vocab(v, w);
		assert_true(w->ours && v->ours);
		assert_int_equal(w->fingerprint, v->fingerprint);
		assert_int_equal(w->bos, 262);
		assert_int_equal(w->eos, 263);
		assert_int_equal(w->nsplit, i != 3);
		vocab_json(w, &again);	/* a file that was read: as it was */
		assert_int_equal(again.n, b.n);
		assert_memory_equal(again.p, b.p, b.n);
		vocab_free(v);
		vocab_free(w);
		buf_clear(&b);
		buf_clear(&again);
	}
}

static void
test_fingerprint(void **state)
{
	struct vocab *a = small("gpt2"), *b = small("cl100k"),
		*c = small("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+|"
			   " ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+");

	(void)state;
	assert_int_not_equal(a->fingerprint, b->fingerprint);
	assert_int_equal(a->fingerprint, c->fingerprint);
	vocab_free(a);
	vocab_free(b);
	vocab_free(c);
}

static void
test_build_refused(void **state)
{
	static const struct {
		uint32_t pair[2][2];
		const char *special[2];
	} bad[] = {
		{{{0, 1}, {0, 1}}, {"a", "b"}},		/* same bytes twice */
		{{{0, 1}, {300, 1}}, {"<a>", "<b>"}},	/* id not there yet */
		{{{0, 1}, {257, 1}}, {"<a>", "<b>"}},
		{{{0, 1}, {1, 1}}, {"<a>", "<a>"}},
		{{{0, 1}, {1, 1}}, {"", "<a>"}},
		{{{0, 1}, {1, 1}}, {"<a>", "!\""}},	/* an ordinary token */
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(bad); i++) {
		struct err e = {0};

		assert_null(vocab_build(bad[i].pair, 2, bad[i].special, 2,
					"gpt2", &e));
		assert_true(e.set);
	}
}

static void
test_tiktoken_round(void **state)
{
	struct vocab *v = small("cl100k"), *w;
	struct buf b = {0};
	struct err e = {0};

	(void)state;
	vocab_tiktoken(v, &b);
	assert_memory_equal(b.p, "IQ== 0\nIg== 1\n", 14);
	w = parse(&b, "cl100k");
	assert_int_equal(w->n, 256 + NPAIRS);
	for (uint32_t i = 0; i < w->n; i++)
		assert_true(span_eq(v->token[i], w->token[i]));
	assert_true(w->ignore_merges && w->rank_by_id);
	vocab_free(w);
	assert_null(vocab_parse(b.p, b.n, "mem", NULL, &e));
	assert_non_null(strstr(e.msg, "name the split"));
	vocab_free(v);
	buf_clear(&b);
}

/* What a rank file may have wrong; %s is the good file before it. */
static void
test_tiktoken_refused(void **state)
{
	static const struct {
		const char *line, *what;
	} bad[] = {
		{"YWI=", ":257: no space found"}, {"YW*= 256", "not base64"},
		{"YWI 256", "not base64"}, {"Y=I= 256", "not base64"},
		{" 256", "not base64"}, {"YWI= x", "not a rank"},
		{"YWI= -1", "not a rank"}, {"YWI= 256 7", "not a rank"},
		{"YWI= 3", "rank 3 occurs twice"},
		{"YWI= 257", "no token has rank 256"},
		{"IQ== 256", "ranks 0 and 256 are the same bytes"},
		{"YWI= 99999999", "ranks are dense"},
	};
	struct vocab *v = vocab_build(NULL, 0, NULL, 0, "none",
				      &(struct err){0});
	struct buf good = {0}, b = {0};

	(void)state;
	vocab_tiktoken(v, &good);
	for (size_t i = 0; i < TEST_COUNT(bad); i++) {
		struct err e = {0};

		buf_reset(&b);
		buf_put(&b, good.p, good.n);
		buf_printf(&b, "%s\n", bad[i].line);
		assert_null(vocab_parse(b.p, b.n, "f", "gpt2", &e));
		if (!strstr(e.msg, bad[i].what))
			fail_msg("%s: got '%s'", bad[i].line, e.msg);
	}
	/* a byte missing: the first line gone, the rest moved up */
	buf_reset(&b);
	for (unsigned i = 0; i < 255; i++)
		buf_printf(&b, "%.4s %u\n", good.p + 7 * (i < 10 ? i : 0), i);
	assert_null(vocab_parse(b.p, b.n, "f", "gpt2", &(struct err){0}));
	buf_clear(&good);
	buf_clear(&b);
	vocab_free(v);
}

/* A published file is known by content, split and special tokens with it. */
static void
test_published(void **state)
{
	static const struct {
		const char *name;
		uint32_t n, eos;
		const char *split;
	} p[] = {{"r50k", 50257, 50256, "gpt2"},
		{"cl100k", 100277, 100257, "cl100k"},
		{"o200k", 200019, 199999, "o200k"}};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(p); i++) {
		struct err e = {0};
		char path[100];
		struct vocab *v;

		snprintf(path, sizeof(path),
			 "tests/data/tok/%s_base.tiktoken.zst", p[i].name);
		v = vocab_load(path, NULL, &e);
		if (!v)
			fail_msg("%s", e.msg);
		assert_int_equal(v->n, p[i].n);
		assert_int_equal(v->eos, p[i].eos);
		assert_string_equal(v->split[0].p, p[i].split);
		vocab_free(v);
	}
}

/* Replace the first `from` of a tokenizer.json of ours and load it. */
static struct vocab *
changed(const char *from, const char *to, struct err *e)
{
	struct vocab *v = small("\\p{L}+| ?"), *w;
	struct buf b = {0}, c = {0};
	char *at;

	vocab_json(v, &b);
	at = memmem(b.p, b.n, from, strlen(from));
	if (!at)
		fail_msg("no '%s' in the file", from);
	buf_put(&c, b.p, (size_t)(at - b.p));
	buf_puts(&c, to);
	at += strlen(from);
	buf_put(&c, at, (size_t)(b.p + b.n - at));
	w = vocab_parse(c.p, c.n, "f", NULL, e);
	vocab_free(v);
	buf_clear(&b);
	buf_clear(&c);
	return w;
}

#define SPLIT "{\"Regex\": \"\\\\p{L}+| ?\"}"

static void
test_json_refused(void **state)
{
	static const struct {
		const char *from, *to, *what;
	} bad[] = {
		{"\"version\": \"1.0\"", "\"version\": \"2.0\"", "version"},
		{"\"padding\": null", "\"cushion\": 1", "cushion"},
		{"\"normalizer\": null", "\"normalizer\": {\"type\": "
			"\"Lowercase\"}", "Lowercase"},
		{"\"normalizer\": null", "\"normalizer\": {\"type\": "
			"\"Prepend\", \"prepend\": \"\u2581\"}", "both"},
		{"\"type\": \"BPE\"", "\"type\": \"WordPiece\"", "WordPiece"},
		{"\"dropout\": null", "\"dropout\": 0.1", "dropout"},
		{"\"continuing_subword_prefix\": null",
			"\"continuing_subword_prefix\": \"##\"", "prefix"},
		{"\"end_of_word_suffix\": null",
			"\"end_of_word_suffix\": \"</w>\"", "suffix"},
		{"\"ignore_merges\": false", "\"ignore_merges\": 3",
			"not true or false"},
		{"Isolated", "Removed", "Removed"},
		{SPLIT, "{\"String\": \"\\\\p{L}+\"}", "Regex"},
		{"\"type\": \"Split\"", "\"type\": \"Whitespace\"",
			"Whitespace"},
		{"{\"type\": \"Split\"", "{\"type\": \"ByteLevel\", "
			"\"add_prefix_space\": false}, {\"type\": \"Split\"",
			"ByteLevel twice"},
		{"\"add_prefix_space\": false", "\"add_prefix_space\": true",
			"add_prefix_space"},
		{"\"type\": \"ByteLevel\", \"add_prefix_space\": true",
			"\"type\": \"WordPiece\"", "decoder"},
		{"TemplateProcessing", "Magic", "post_processor"},
		{"\"type\": \"ByteLevel\", \"add_prefix_space\": false",
			"\"type\": \"Digits\", \"x\": false", "neither"},
		/* ids */
		{"\"id\": 264", "\"id\": 999", "tokenizers gives it 264"},
		{"\"!\": 0,", "\"!\": 1,", "the same id"},
		{"\"!\": 0,", "", "id 262, tokenizers gives it 261"},
		{"\"!\": 0,", "\"!\": -1,", "not a number"},
		{"\"!\": 0,", "\"!\": 0.5,", "not a number"},
		{"\"!\": 0,", "\"!\": 1e15,", "not a number"},
		/* merges */
		{"\"tt t\"", "\"tt t t\"", "neither \"a b\""},
		{"\"tt t\"", "\"ttt\"", "neither \"a b\""},
		{"\"tt t\"", "[\"tt\"]", "neither \"a b\""},
		{"\"tt t\"", "7", "neither \"a b\""},
		{"\"tt t\"", "\"tt x\"", "the result"},
		{"\"tt t\"", "\"xx t\"", "left part"},
	};

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(bad); i++) {
		struct err e = {0};
		struct vocab *v = changed(bad[i].from, bad[i].to, &e);

		if (v)
			fail_msg("taken: %s", bad[i].to);
		if (!strstr(e.msg, bad[i].what))
			fail_msg("%s: got '%s'", bad[i].to, e.msg);
	}
}

/* What other files have. */
static void
test_json_taken(void **state)
{
	static const char *const good[][2] = {
		{"\"truncation\": null,", ""},
		{"\"truncation\": null", "\"truncation\": {\"max_length\": 5}"},
		{"\"padding\": null", "\"padding\": {\"pad_id\": 0}"},
		{"\"type\": \"BPE\"", "\"type\": \"BPE\", \"magic\": "
			"10000000000000000000000000000000, \"x\": NaN"},
		{"\"id\": 262", "\"__type\": \"AddedToken\", \"id\": 262"},
		{"\"continuing_subword_prefix\": null",
			"\"continuing_subword_prefix\": \"\""},
		{"\"dropout\": null", "\"dropout\": 0.0"},
		{"\"tt t\"", "[\"tt\", \"t\"]"},
		{"\"type\": \"BPE\", ", ""},
		{"\"normalizer\": null", "\"normalizer\": {\"type\": "
			"\"Sequence\", \"normalizers\": "
			"[{\"type\": \"NFC\"}]}"},
		{"Isolated", "Contiguous"},
		{"\"Isolated\", \"invert\": false", "\"Removed\", \"invert\": "
			"true"},
		{"{\"type\": \"Split\"", "{\"type\": \"Punctuation\", "
			"\"behavior\": \"Contiguous\"}, {\"type\": \"Split\""},
		{"\"use_regex\": false}", "\"use_regex\": true}, {\"type\": "
			"\"Digits\", \"individual_digits\": false}"},
		{SPLIT, "{\"String\": \"ab\"}"},
		{"{\"type\": \"Split\"", "{\"type\": \"Digits\", "
			"\"individual_digits\": true}, {\"type\": \"Split\""},
		{"\"use_regex\": false", "\"use_regex\": true"},
	};
	struct err e = {0};
	struct vocab *v;

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(good); i++) {
		v = changed(good[i][0], good[i][1], &e);
		if (!v)
			fail_msg("%s: %s", good[i][1], e.msg);
		assert_int_equal(v->nmerges, NPAIRS);
		vocab_free(v);
	}
	/* escapes and plain UTF-8 are the same file */
	v = changed("\"\u0120a\": 258", "\"\\u0120a\": 258", &e);
	assert_non_null(v);
	assert_true(span_eq(v->token[258], span_str(" a")));
	vocab_free(v);
}

static void
test_decode(void **state)
{
	struct vocab *v = small("gpt2");
	const uint32_t ids[] = {262, 258, 165, 102, 256, 263};
	const uint32_t bad[] = {1, 265};
	struct err e = {0};
	struct buf b = {0};

	(void)state;
	assert_int_equal(vocab_decode(v, ids, 6, 0, &b, &e), 0);
	assert_int_equal(b.n, 7 + 2 + 2 + 2 + 7);
	assert_memory_equal(b.p, "<|bos|> a\xe9\xa9tt<|eos|>", b.n);
	buf_reset(&b);
	assert_int_equal(vocab_decode(v, ids, 6, 1, &b, &e), 0);
	assert_int_equal(b.n, 6);
	assert_int_equal(vocab_decode(v, bad, 2, 0, &b, &e), -1);
	assert_non_null(strstr(e.msg, "position 1: id 265"));
	buf_clear(&b);
	vocab_free(v);
}

static void
put_file(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* tokenizer_config.json beside the file names what the file does not. */
static void
test_config(void **state)
{
	char *dir = test_folder();
	struct vocab *v;
	struct err e = {0};
	struct buf b = {0};
	char *p;
	size_t n;

	(void)state;
	assert_int_equal(input_slurp("tests/data/tok/mistral7b_tokenizer.json"
				     ".zst", &p, &n, &e), 0);
	put_file(test_path(dir, "tokenizer.json"), p, n);
	v = vocab_load(test_path(dir, "tokenizer.json"), NULL, &e);
	assert_non_null(v);
	assert_true(v->bos == -1 && v->eos == -1);
	vocab_free(v);
	buf_puts(&b, "{\"bos_token\": {\"content\": \"<s>\"}, "
		 "\"eos_token\": \"</s>\", \"pad_token\": null}");
	put_file(test_path(dir, "tokenizer_config.json"), b.p, b.n);
	v = vocab_load(test_path(dir, "tokenizer.json"), NULL, &e);
	assert_non_null(v);
	assert_true(v->bos == 1 && v->eos == 2 && v->unk == 0 && v->pad == -1);
	assert_int_equal(v->kind, VOCAB_SENTENCEPIECE);
	assert_int_equal(v->ours, 0);
	buf_reset(&b);
	vocab_config_json(v, 2048, &b);
	assert_non_null(memmem(b.p, b.n, "\"eos_token\": \"</s>\"", 19));
	vocab_free(v);
	put_file(test_path(dir, "tokenizer_config.json"), "{", 1);
	assert_null(vocab_load(test_path(dir, "tokenizer.json"), NULL, &e));
	free(p);
	buf_clear(&b);
	test_remove(dir);
}

/* Load text as DIR/tokenizer.json with this tokenizer_config.json. */
static struct vocab *
load_with(const char *dir, const struct buf *text, const char *config)
{
	struct err e = {0};
	struct vocab *v;

	put_file(test_path(dir, "tokenizer.json"), text->p, text->n);
	if (config)
		put_file(test_path(dir, "tokenizer_config.json"), config,
			 strlen(config));
	else
		remove(test_path(dir, "tokenizer_config.json"));
	v = vocab_load(test_path(dir, "tokenizer.json"), NULL, &e);
	if (!v)
		fail_msg("%s", e.msg);
	return v;
}

/* add_bos_token decides if it is there, else the post_processor. */
static void
test_adds_bos(void **state)
{
	static const struct {
		const char *config;
		int with, without;	/* a template that has BOS */
	} t[] = {
		{NULL, 1, 0},
		{"{\"bos_token\": \"<|bos|>\"}", 1, 0},
		{"{\"add_bos_token\": null}", 1, 0},
		/* as transformers and others write what we do not use */
		{"{\"model_max_length\": 1000000000000000019884624838656, "
			"\"stride\": 1e400, \"p\": [NaN, {\"a\": -Infinity}],"
			" \"added_tokens_decoder\": {\"0\": 7}}", 1, 0},
		{"{\"add_bos_token\": false, \"bos_token\": \"<|bos|>\"}",
			0, 0},
		{"{\"add_bos_token\": true, \"bos_token\": \"<|bos|>\"}",
			1, 1},
	};
	char *dir = test_folder();
	struct vocab *v = small("gpt2");
	struct buf with = {0}, without = {0};

	(void)state;
	assert_true(vocab_adds_bos(v));
	vocab_json(v, &with);
	vocab_json(v, &without);
	replace(&without, "\"post_processor\": {\"type\": "
		"\"TemplateProcessing\"", "\"post_processor\": {\"type\": "
		"\"ByteLevel\"");
	vocab_free(v);
	for (size_t i = 0; i < TEST_COUNT(t); i++) {
		v = load_with(dir, &with, t[i].config);
		assert_int_equal(vocab_adds_bos(v), t[i].with);
		assert_int_equal(v->bos, 262);
		vocab_free(v);
		v = load_with(dir, &without, t[i].config);
		assert_int_equal(vocab_adds_bos(v), t[i].without);
		assert_int_equal(v->bos, 262);
		vocab_free(v);
	}
	buf_clear(&with);
	buf_clear(&without);
	test_remove(dir);
}

/* GLM: [gMASK] <sop>, each one token; a name may stand for several ids. */
static void
test_front(void **state)
{
	static const char one[] = "\"single\": [{\"SpecialToken\": {\"id\": "
		"\"<|bos|>\", \"type_id\": 0}}, ";
	char *dir = test_folder();
	struct vocab *v = small("gpt2");
	struct buf b = {0};

	(void)state;
	vocab_json(v, &b);
	vocab_free(v);
	replace(&b, one, "\"single\": [{\"SpecialToken\": {\"id\": "
		"\"<|bos|>\"}}, {\"SpecialToken\": {\"id\": \"<|eos|>\"}}, ");
	v = load_with(dir, &b, NULL);
	assert_int_equal(v->front.n, 2);
	assert_true(v->front.id[0] == 262 && v->front.id[1] == 263);
	assert_true(v->bos == 262 && v->back.n == 0);
	vocab_free(v);
	replace(&b, "\"ids\": [262]", "\"ids\": [262, 7]");
	v = load_with(dir, &b, NULL);
	assert_int_equal(v->front.n, 3);
	assert_int_equal(v->front.id[1], 7);
	vocab_free(v);
	buf_clear(&b);
	test_remove(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_byte_order),
		cmocka_unit_test(test_json_round),
		cmocka_unit_test(test_fingerprint),
		cmocka_unit_test(test_build_refused),
		cmocka_unit_test(test_tiktoken_round),
		cmocka_unit_test(test_tiktoken_refused),
		cmocka_unit_test(test_published),
		cmocka_unit_test(test_json_refused),
		cmocka_unit_test(test_json_taken),
		cmocka_unit_test(test_decode), cmocka_unit_test(test_config),
		cmocka_unit_test(test_adds_bos), cmocka_unit_test(test_front),
	};

	return cmocka_run_group_tests_name("vocab", tests, NULL, NULL);
}
