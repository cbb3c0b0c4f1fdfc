/* bpe*.c: ids against tokenizers and tiktoken on 298 texts, against a naive
 * merge on random ones, and the properties of a vocabulary of ours. */
#include "tests/unit/test.h"

#include <pthread.h>

#include "base/mem.h"
#include "stream/input.h"
#include "stream/json.h"
#include "tokenizer/bpe.h"

struct tok {
	struct vocab *v;
	struct bpe *b;
	struct bpe_enc *c;
	struct ids ids;
};

static void
tok_set(struct tok *t, struct vocab *v, struct err *e, size_t cache)
{
	if (!v)
		fail_msg("%s", e->msg);
	t->v = v;
	t->b = bpe_new(v, e);
	if (!t->b)
		fail_msg("%s", e->msg);
	t->c = bpe_enc_new(t->b, cache);
	t->ids = (struct ids){0};
}

static void
tok_open(struct tok *t, const char *name, size_t cache)
{
	char path[200];
	struct err e = {0};

	snprintf(path, sizeof(path), "tests/data/tok/%s.zst", name);
	tok_set(t, vocab_load(path, NULL, &e), &e, cache);
}

static void
tok_close(struct tok *t)
{
	bpe_enc_free(t->c);
	bpe_free(t->b);
	vocab_free(t->v);
	free(t->ids.v);
}

static const struct ids *
encode(struct tok *t, const char *p, size_t n)
{
	t->ids.n = 0;
	bpe_units(t->c, (struct span){p, n}, &t->ids, &(struct err){0});
	return &t->ids;
}

/* The ids as numbers with spaces between. */
static void
expect(struct tok *t, const char *text, const char *want)
{
	const struct ids *o = encode(t, text, strlen(text));
	struct buf b = {0};

	for (size_t i = 0; i < o->n; i++)
		buf_printf(&b, "%s%u", i ? " " : "", o->v[i]);
	buf_putc(&b, 0);
	if (strcmp(b.p, want) != 0)
		fail_msg("\"%s\": got %s, want %s", text, b.p, want);
	buf_clear(&b);
}

static size_t
expected_texts(const char *file, const char *key)
{
	struct tok t;
	struct err e = {0};
	char *p, *line, *end;
	size_t n, checked = 0;

	tok_open(&t, file, 0);
	if (input_slurp("tests/data/tok/expected_ids.jsonl.zst", &p, &n, &e))
		fail_msg("%s", e.msg);
	for (line = p; line < p + n; line = end + 1) {
		struct json *j;
		const struct json *text, *ids;

		end = memchr(line, '\n', (size_t)(p + n - line));
		assert_non_null(end);
		j = json_parse(line, (size_t)(end - line), "expected", &e);
		if (!j)
			fail_msg("%s", e.msg);
		text = json_get(j, "text");
		ids = json_get(j, key);
		if (ids) {
			encode(&t, text->str.p, text->str.n);
			for (size_t i = 0; i < ids->n && i < t.ids.n; i++)
				if (t.ids.v[i] != ids->kids[i].i)
					fail_msg("%s: id %zu", key, i);
			assert_int_equal(t.ids.n, ids->n);
			checked++;
		}
		json_free(j);
	}
	free(p);
	tok_close(&t);
	return checked;
}

static void
test_expected(void **state)
{
	(void)state;
	assert_int_equal(expected_texts("gpt2_tokenizer.json", "gpt2"), 298);
	assert_int_equal(expected_texts("r50k_base.tiktoken", "gpt2"), 298);
	assert_int_equal(expected_texts("cl100k_base.tiktoken", "cl100k_base"),
			 298);
	assert_int_equal(expected_texts("o200k_base.tiktoken", "o200k_base"),
			 298);
	assert_true(expected_texts("qwen3_tokenizer.json", "qwen3") >= 290);
	assert_true(expected_texts("gptneox_tokenizer.json", "gptneox") >= 290);
	assert_true(expected_texts("mistral7b_tokenizer.json", "mistral7b") >=
		    291);
}

/*
 * ignore_merges looks whole pre-tokens up in the model: an added token that
 * single_word leaves in the text is none of its tokens.  As tokenizers 0.23.
 */
static void
test_whole_is_of_the_model(void **state)
{
	static const char json[] =
		"{\"added_tokens\": [{\"id\": 6, \"content\": \"12\", "
		"\"single_word\": true, \"lstrip\": false, \"rstrip\": "
		"false, \"normalized\": false, \"special\": false}], "
		"\"pre_tokenizer\": {\"type\": \"Sequence\", "
		"\"pretokenizers\": [{\"type\": \"Digits\", "
		"\"individual_digits\": false}, {\"type\": \"ByteLevel\", "
		"\"add_prefix_space\": false, \"use_regex\": false}]}, "
		"\"model\": {\"type\": \"BPE\", \"ignore_merges\": true, "
		"\"vocab\": {\"a\": 0, \"b\": 1, \"1\": 2, \"2\": 3, "
		"\"\u0120\": 4, \"21\": 5}, \"merges\": []}}";
	struct err e = {0};
	struct tok t;

	(void)state;
	tok_set(&t, vocab_parse(json, sizeof(json) - 1, "m", NULL, &e), &e, 0);
	expect(&t, "a12b", "0 2 3 1");
	expect(&t, "a 12 b", "0 4 6 4 1");
	expect(&t, "a21b", "0 5 1");
	tok_close(&t);
}

/* What tokenizers 0.23.3 and tiktoken 0.14 give for what goes wrong. */
static void
test_cases(void **state)
{
	struct tok t;

	(void)state;
	tok_open(&t, "cl100k_base.tiktoken", 0);
	expect(&t, "", "");
	expect(&t, "a<|endoftext|>b", "64 27 91 8862 728 428 91 29 65");
	expect(&t, "\r\n\r\n", "881");
	tok_close(&t);
	tok_open(&t, "gpt2_tokenizer.json", 0);
	encode(&t, "a\0b", 3);		/* NUL is an ordinary byte */
	assert_int_equal(t.ids.n, 3);
	assert_true(t.ids.v[0] == 64 && t.ids.v[1] == 188 && t.ids.v[2] == 65);
	expect(&t, "\r\n\r\n", "201 198 201 198");
	tok_close(&t);
	/* NFC is applied, added tokens that are not special are cut out */
	tok_open(&t, "qwen3_tokenizer.json", 0);
	expect(&t, "e\u0301", "963");
	expect(&t, "\u00e9", "963");
	expect(&t, "<think>a</think>", "151667 64 151668");
	expect(&t, "<|im_end|>", "27 91 318 6213 91 29");
	tok_close(&t);
	tok_open(&t, "gptneox_tokenizer.json", 0);
	expect(&t, "a   b", "66 50275 67");
	expect(&t, "<|endoftext|>", "29 93 423 1171 1156 49651");
	tok_close(&t);
}

static uint64_t seed = 7;

static uint32_t
roll(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) +
		UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % n;
}

/* Merge the lowest rank, leftmost, until none is left: n^2 and obvious. */
static size_t
naive(const struct vocab *v, const char *p, size_t n, uint32_t *id)
{
	for (size_t i = 0; i < n; i++)
		id[i] = vocab_byte_id[(uint8_t)p[i]];
	for (;;) {
		size_t best = SIZE_MAX, at = 0;

		for (size_t i = 0; i + 1 < n; i++)
			for (size_t k = 0; k < v->nmerges && k < best; k++)
				if (v->merge[k][0] == id[i] &&
				    v->merge[k][1] == id[i + 1]) {
					best = k;
					at = i;
				}
		if (best == SIZE_MAX)
			return n;
		id[at] = v->merge[best][2];
		memmove(id + at + 1, id + at + 2, (n - at - 2) * sizeof(*id));
		n--;
	}
}

/* Random merges over few letters, so that they overlap and compete. */
static struct vocab *
random_vocab(void)
{
	uint32_t pair[60][2];
	size_t n = 0;

	while (n < 60) {
		struct err e = {0};
		struct vocab *v;

		for (int k = 0; k < 2; k++)
			pair[n][k] = roll(3) ? 64 + roll(4) :
				n ? 256 + roll((uint32_t)n) : 64;
		v = vocab_build(pair, n + 1, NULL, 0, "none", &e);
		n += v != NULL;
		vocab_free(v);
	}
	return vocab_build(pair, n, NULL, 0, "none", &(struct err){0});
}

static void
test_naive(void **state)
{
	char text[300];
	uint32_t id[300];

	(void)state;
	for (int round = 0; round < 12; round++) {
		struct tok t;

		tok_set(&t, random_vocab(), &(struct err){0}, 65536);
		for (int i = 0; i < 120; i++) {
			size_t n = 1 + roll(i % 4 ? 30 : 300), k;

			for (size_t j = 0; j < n; j++)
				text[j] = (char)('a' + roll(4));
			encode(&t, text, n);
			k = naive(t.v, text, n, id);
			assert_int_equal(t.ids.n, k);
			assert_memory_equal(t.ids.v, id, k * sizeof(*id));
		}
		tok_close(&t);
	}
}

/* Every token that is valid text encodes to itself. */
static void
test_tokens(void **state)
{
	struct tok t;

	(void)state;
	tok_open(&t, "gpt2_tokenizer.json", 0);
	free(t.v->split);	/* one pre-token, whatever its bytes */
	t.v->nsplit = 0;
	t.v->split = NULL;
	bpe_enc_free(t.c);
	bpe_free(t.b);
	t.b = bpe_new(t.v, &(struct err){0});
	t.c = bpe_enc_new(t.b, 0);
	for (uint32_t i = 0; i < t.v->n; i++) {
		struct span s = t.v->token[i];

		if (t.v->flags[i] & VOCAB_SPECIAL)
			continue;
		encode(&t, s.p, s.n);
		assert_int_equal(t.ids.n, 1);
		assert_int_equal(t.ids.v[0], i);
	}
	tok_close(&t);
}

static size_t
random_text(char *p, size_t want)
{
	static const char *const part[] = {" ", "\n", "the", " of", "a", "1",
		"'s", "\u00e9", "e\u0301", "\u6f22", "\u0928\u092e", "<think>",
		"   ", "<|endoftext|>", "\t", "!!", "\U0001f600", "\u00a0",
		"ing", " con", "\u2581", "</s>", "\r\n", "anti", "X"};
	size_t n = 0;

	while (n < want) {
		const char *s = part[roll(TEST_COUNT(part))];

		memcpy(p + n, s, strlen(s));
		n += strlen(s);
	}
	return n;
}

/* A new table of shared pre-tokens and a new cache. */
static void
tok_resize(struct tok *t, size_t shared, size_t cache)
{
	bpe_enc_free(t->c);
	bpe_free(t->b);
	t->b = bpe_new_sized(t->v, shared, &(struct err){0});
	t->c = bpe_enc_new(t->b, cache);
}

static void
same_ids(const struct ids *a, const struct ids *b)
{
	assert_int_equal(a->n, b->n);
	if (a->n)
		assert_memory_equal(a->v, b->v, a->n * sizeof(*a->v));
}

static const char *const cached[] = {"gpt2_tokenizer.json",
	"gptneox_tokenizer.json", "mistral7b_tokenizer.json",
	"cl100k_base.tiktoken"};

/* What is kept changes nothing: a shared table and a cache that hold next to
 * nothing, a shared table filled by earlier texts, a cache filled so, and
 * nothing at all (each text by new ones). */
static void
test_cache(void **state)
{
	char *text = xmalloc(70000);

	(void)state;
	for (size_t k = 0; k < TEST_COUNT(cached); k++) {
		struct tok none, small, shared, cache;

		tok_open(&none, cached[k], 1);
		tok_open(&small, cached[k], 1);
		tok_resize(&small, 4096, 1);
		tok_open(&shared, cached[k], 1);
		tok_open(&cache, cached[k], 0);
		tok_resize(&cache, 0, 0);
		for (int i = 0; i < 60; i++) {
			size_t n = random_text(text, i % 10 ? roll(500) :
					       60000);

			tok_resize(&none, 0, 1);
			encode(&none, text, n);
			same_ids(encode(&small, text, n), &none.ids);
			same_ids(encode(&shared, text, n), &none.ids);
			same_ids(encode(&cache, text, n), &none.ids);
		}
		tok_close(&none);
		tok_close(&small);
		tok_close(&shared);
		tok_close(&cache);
	}
	free(text);
}

enum { TEXTS = 200, THREADS = 4 };

struct crowd {
	struct tok *t;
	char *text[TEXTS];
	size_t n[TEXTS];
	struct ids want[TEXTS];
	_Atomic int wrong;
};

/* All texts, by an encoder of its own and a table that others fill too. */
static void *
crowd_run(void *arg)
{
	struct crowd *c = arg;
	struct bpe_enc *enc = bpe_enc_new(c->t->b, 0);
	struct ids o = {0};

	for (size_t i = 0; i < TEXTS; i++) {
		o.n = 0;
		bpe_units(enc, (struct span){c->text[i], c->n[i]}, &o,
			  &(struct err){0});
		if (o.n != c->want[i].n ||
		    memcmp(o.v, c->want[i].v, o.n * sizeof(*o.v)) != 0)
			c->wrong++;
	}
	free(o.v);
	bpe_enc_free(enc);
	return NULL;
}

/* Threads that fill one table at once get the ids of one alone. */
static void
test_threads(void **state)
{
	static const size_t shared[] = {0, 8192, 1 << 20};
	struct crowd c = {0};
	pthread_t thread[THREADS];
	struct tok t;

	(void)state;
	c.t = &t;
	tok_open(&t, "gpt2_tokenizer.json", 1);
	tok_resize(&t, 0, 1);
	for (size_t i = 0; i < TEXTS; i++) {
		c.text[i] = xmalloc(4096);
		c.n[i] = random_text(c.text[i], 1 + roll(4000));
		bpe_units(t.c, (struct span){c.text[i], c.n[i]}, &c.want[i],
			  &(struct err){0});
	}
	for (size_t k = 0; k < TEST_COUNT(shared); k++) {
		tok_resize(&t, shared[k], 1);
		for (int i = 0; i < THREADS; i++)
			pthread_create(&thread[i], NULL, crowd_run, &c);
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
		assert_int_equal(c.wrong, 0);
	}
	for (size_t i = 0; i < TEXTS; i++) {
		free(c.text[i]);
		free(c.want[i].v);
	}
	tok_close(&t);
}

/* decode(encode(x)) == x, U+2581 in a SentencePiece text apart. */
static void
test_round_trip(void **state)
{
	static const char *const name[] = {"gpt2_tokenizer.json",
		"cl100k_base.tiktoken", "o200k_base.tiktoken"};
	char *text = xmalloc(3000);
	struct buf b = {0};

	(void)state;
	for (size_t k = 0; k < TEST_COUNT(name); k++) {
		struct tok t;

		tok_open(&t, name[k], 0);
		for (int i = 0; i < 300; i++) {
			struct err e = {0};
			size_t n = random_text(text, roll(2000));

			encode(&t, text, n);
			buf_reset(&b);
			assert_int_equal(vocab_decode(t.v, t.ids.v, t.ids.n, 0,
						      &b, &e), 0);
			assert_int_equal(b.n, n);
			if (n)
				assert_memory_equal(b.p, text, n);
		}
		tok_close(&t);
	}
	buf_clear(&b);
	free(text);
}

/* A pre-token of a million bytes: no recursion, no quadratic time. */
static void
test_long_pretoken(void **state)
{
	const size_t n = 1000000;
	char *p = xmalloc(n);
	struct tok t;

	(void)state;
	tok_open(&t, "cl100k_base.tiktoken", 0);
	memset(p, 'a', n);
	encode(&t, p, n);
	assert_int_equal(t.ids.n, n / 8);	/* "aaaaaaaa" is a token */
	memset(p, '^', n);
	encode(&t, p, n);
	assert_int_equal(t.ids.n, n / 4);
	memset(p, ' ', n);
	encode(&t, p, n);
	assert_int_equal(t.ids.n, (n + 127) / 128);
	tok_close(&t);
	tok_open(&t, "mistral7b_tokenizer.json", 0);
	memset(p, 'a', n);
	encode(&t, p, n);
	assert_true(t.ids.n < n / 7);
	tok_close(&t);
	free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_expected), cmocka_unit_test(test_cases),
		cmocka_unit_test(test_whole_is_of_the_model),
		cmocka_unit_test(test_naive), cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_cache), cmocka_unit_test(test_threads),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_long_pretoken),
	};

	return cmocka_run_group_tests_name("bpe", tests, NULL, NULL);
}
