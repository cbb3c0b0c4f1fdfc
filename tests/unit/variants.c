/*
 * Small tokenizers of the shapes that published files have: ids equal to those
 * of tokenizers 0.23.3 (tests/peers/make_tokenizers.py), and tokens where their
 * bytes are.
 */
#include "tests/unit/test.h"

#include "stream/input.h"
#include "stream/json.h"
#include "tokenizer/align.h"
#include "tokenizer/bpe.h"

static void
same_ids(const char *name, struct span text, const struct json *want,
	 const struct ids *got)
{
	struct buf b = {0};

	for (size_t i = 0; i < got->n; i++)
		buf_printf(&b, " %u", got->v[i]);
	buf_putc(&b, 0);
	if (want->n != got->n)
		fail_msg("%s: \"%.*s\": %zu ids, not %zu:%s", name, (int)text.n,
			 text.p, got->n, want->n, b.p);
	for (size_t i = 0; i < got->n; i++)
		if (want->kids[i].i != got->v[i])
			fail_msg("%s: \"%.*s\": id %zu is %u, not %lld:%s",
				 name, (int)text.n, text.p, i, got->v[i],
				 (long long)want->kids[i].i, b.p);
	buf_clear(&b);
}

/* Ends ascend to the end of the text. */
static void
all_placed(const char *name, const struct bpe *b, struct span text,
	   const struct ids *ids)
{
	uint32_t *end = calloc(ids->n + 1, sizeof(*end)), at = 0;
	uint32_t *copy = calloc(ids->n + 1, sizeof(*copy));
	size_t n;

	if (ids->n)
		memcpy(copy, ids->v, ids->n * sizeof(*copy));
	n = align_ends(b, text, copy, ids->n, end);
	for (size_t i = 0; i < n; i++) {
		if (end[i] <= at || end[i] > text.n)
			fail_msg("%s: \"%.*s\": token %zu ends at %u after %u",
				 name, (int)text.n, text.p, i, end[i], at);
		at = end[i];
	}
	if (ids->n && at != text.n)
		fail_msg("%s: \"%.*s\": the last token ends at %u", name,
			 (int)text.n, text.p, at);
	free(end);
	free(copy);
}

/* Added tokens, with what they strip. */
static void
added_placed(const char *name, const struct bpe *b, struct span text,
	     const struct ids *ids, const struct json *at)
{
	struct align a;

	align_init(&a, b, text, ids->v, ids->n);
	for (size_t i = 0; i < at->n; i++) {
		const struct json *w = at->kids[i].kids;
		uint32_t start = (uint32_t)w[0].i, end = start + 1;

		align_range(&a, &start, &end);
		if (start != w[1].i || end != w[2].i)
			fail_msg("%s: \"%.*s\": token %lld is at %u to %u, not "
				 "%lld to %lld", name, (int)text.n, text.p,
				 (long long)w[0].i, start, end,
				 (long long)w[1].i, (long long)w[2].i);
	}
	align_clear(&a);
}

static void
one(const char *name, const struct vocab *v, const struct json *cases)
{
	struct err e = {0};
	struct bpe *b = bpe_new(v, &e);
	struct bpe_enc *c;
	struct ids ids = {0};

	if (!b)
		fail_msg("%s: %s", name, e.msg);
	c = bpe_enc_new(b, 0);
	for (size_t i = 0; i < cases->n; i++) {
		struct span t = json_get(&cases->kids[i], "text")->str;
		const struct json *want = json_get(&cases->kids[i], "ids");
		struct err why = {0};
		int rc;

		ids.n = 0;
		rc = bpe_encode(c, t, &ids, &why);
		if (want->type == JSON_NULL && (rc == 0 || ids.n ||
		    !strstr(why.msg, "no token for the byte 0x")))
			fail_msg("%s: \"%.*s\": %s", name, (int)t.n, t.p,
				 why.set ? why.msg : "taken");
		if (want->type != JSON_NULL && rc)
			fail_msg("%s: \"%.*s\": %s", name, (int)t.n, t.p,
				 why.msg);
		if (want->type != JSON_NULL)
			same_ids(name, t, want, &ids);
		ids.n = 0;
		bpe_units(c, t, &ids, &(struct err){0});
		all_placed(name, b, t, &ids);
		added_placed(name, b, t, &ids,
			     json_get(&cases->kids[i], "at"));
	}
	free(ids.v);
	bpe_enc_free(c);
	bpe_free(b);
}

static void
equal_to_tokenizers(void **state)
{
	struct err e = {0};
	char *p, *line, *end;
	size_t n, lines = 0;

	(void)state;
	assert_int_equal(input_slurp("tests/data/tok/variants.jsonl.zst", &p,
				     &n, &e), 0);
	for (line = p; line < p + n; line = end + 1, lines++) {
		struct json *j;
		struct span text;
		struct vocab *v;
		char name[200];

		end = memchr(line, '\n', (size_t)(p + n - line));
		assert_non_null(end);
		j = json_parse(line, (size_t)(end - line), "variants", &e);
		assert_non_null(j);
		text = json_get(j, "name")->str;
		snprintf(name, sizeof(name), "%.*s", (int)text.n, text.p);
		text = json_get(j, "tokenizer")->str;
		v = vocab_parse(text.p, text.n, name, NULL, &e);
		if (!v)
			fail_msg("%s", e.msg);
		one(name, v, json_get(j, "cases"));
		vocab_free(v);
		json_free(j);
	}
	assert_true(lines >= 9);
	free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_to_tokenizers),
	};

	return cmocka_run_group_tests_name("variants", tests, NULL, NULL);
}
