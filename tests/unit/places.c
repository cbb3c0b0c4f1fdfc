/*
 * places.c: where tokens are in a text, against stored offsets of tokenizers
 * for tokenizers with odd added tokens (tests/peers/make_places.py).
 *
 * usage: places [FILE]
 */
#include "tests/unit/test.h"

#include "stream/input.h"
#include "stream/json.h"
#include "tokenizer/align.h"

static const char *file = "tests/data/tok/places.jsonl.zst";
static size_t tokenizers, refused, texts, places;

static void
differs(const struct json *c, const struct json *t, size_t i, uint32_t a,
	uint32_t b)
{
	struct span s = json_get(t, "tokenizer")->str;
	struct span text = json_get(c, "text")->str;
	const struct json *w = json_get(c, "at")->kids[i].kids;
	size_t n = s.n < 3000 ? s.n : 3000;

	fail_msg("\"%.*s\": token %zu (id %lld) is at %u to %u, not %lld to "
		 "%lld: %.*s", (int)text.n, text.p, i,
		 (long long)json_get(c, "ids")->kids[i].i, a, b,
		 (long long)w[0].i, (long long)w[1].i, (int)n, s.p);
}

/* Each token by itself, and all of them. */
static void
one_text(const struct bpe *b, struct bpe_enc *enc, const struct json *t,
	 const struct json *c)
{
	struct span text = json_get(c, "text")->str;
	const struct json *want = json_get(c, "ids"), *at = json_get(c, "at");
	struct err e = {0};
	struct ids ids = {0};
	struct align x;

	assert_int_equal(bpe_units(enc, text, &ids, &e), 0);
	if (ids.n != want->n)
		fail_msg("\"%.*s\": %zu ids, not %zu", (int)text.n, text.p,
			 ids.n, want->n);
	align_init(&x, b, text, ids.v, ids.n);
	for (size_t i = 0; i < ids.n; i++, places++) {
		uint32_t start = (uint32_t)i, end = start + 1;
		const struct json *w = at->kids[i].kids;

		if (ids.v[i] != want->kids[i].i)
			fail_msg("\"%.*s\": id %zu is %u, not %lld",
				 (int)text.n, text.p, i, ids.v[i],
				 (long long)want->kids[i].i);
		align_range(&x, &start, &end);
		if (start < w[2].i || start > w[0].i || end < w[1].i ||
		    end > w[3].i)
			differs(c, t, i, start, end);
	}
	align_clear(&x);
	free(ids.v);
	texts++;
}

static void
one_tokenizer(const struct json *t)
{
	const struct json *cases = json_get(t, "cases");
	struct span s = json_get(t, "tokenizer")->str;
	struct err e = {0};
	struct vocab *v = vocab_parse(s.p, s.n, "stored", NULL, &e);
	struct bpe *b = v ? bpe_new(v, &e) : NULL;
	struct bpe_enc *enc;

	tokenizers++;
	if (!b) {
		print_message("%s\n", e.msg);
		refused++;
		vocab_free(v);
		return;
	}
	enc = bpe_enc_new(b, 0);
	for (size_t i = 0; i < cases->n; i++)
		one_text(b, enc, t, &cases->kids[i]);
	bpe_enc_free(enc);
	bpe_free(b);
	vocab_free(v);
}

static void
as_tokenizers(void **state)
{
	struct err e = {0};
	char *p, *line, *end;
	size_t n;

	(void)state;
	if (input_slurp(file, &p, &n, &e) < 0)
		fail_msg("%s", e.msg);
	for (line = p; line < p + n; line = end + 1) {
		struct json *j;

		end = memchr(line, '\n', (size_t)(p + n - line));
		assert_non_null(end);
		j = json_parse(line, (size_t)(end - line), file, &e);
		assert_non_null(j);
		one_tokenizer(j);
		json_free(j);
	}
	free(p);
	print_message("%zu tokenizers (%zu refused), %zu texts, %zu tokens\n",
		      tokenizers, refused, texts, places);
	assert_true(texts >= 200 && places >= 1000);
	assert_true(refused * 10 < tokenizers);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_tokenizers),
	};

	if (argc > 1)
		file = argv[1];
	return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
