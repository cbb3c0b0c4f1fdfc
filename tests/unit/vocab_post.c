/*
 * vocab_post.c: a tokenizer.json with other tokens around a text
 *
 * peers/bos_in_hf.py checks that transformers puts these tokens.
 */
#include "tests/unit/test.h"

#include "record/vocab.h"
#include "stream/input.h"
#include "tests/unit/edit.h"

/* Put text after the opening brace. */
static void
insert(struct buf *b, const char *text)
{
	struct buf to = {0};

	buf_printf(&to, "{%s", text);
	replace(b, "{", to.p);
	buf_clear(&to);
}

/* The file with these around a text is `want`, and is read as such. */
static void
around_is(const struct buf *file, uint32_t bos, uint32_t eos,
	  const struct buf *want)
{
	struct vocab_around front = {{bos}, bos > 0}, back = {{eos}, eos > 0};
	struct err e = {0};
	struct buf b = {0};
	struct vocab *v, *w;

	v = vocab_parse(file->p, file->n, "mem", NULL, &e);
	assert_non_null(v);
	vocab_json_around(v, &front, &back, &b);
	assert_int_equal(b.n, want->n);
	assert_memory_equal(b.p, want->p, b.n);
	w = vocab_parse(b.p, b.n, "mem", NULL, &e);
	assert_non_null(w);
	assert_int_equal(w->fingerprint, v->fingerprint);
	assert_true(w->front.n == front.n && w->back.n == back.n);
	assert_true(!bos || w->front.id[0] == bos);
	assert_true(!eos || w->back.id[0] == eos);
	buf_clear(&b);
	vocab_free(v);
	vocab_free(w);
}

#define ITEM(t, k) "{\"SpecialToken\": {\"id\": \"" t "\", \"type_id\": " k "}}"
#define TEXT(s, k) "{\"Sequence\": {\"id\": \"" s "\", \"type_id\": " k "}}"
#define NAME(t, i) "\"" t "\": {\"id\": \"" t "\", \"ids\": [" i \
	"], \"tokens\": [\"" t "\"]}"
#define BOS "{\"type\": \"TemplateProcessing\",\n" \
	"    \"single\": [" ITEM("<s>", "0") ", " TEXT("A", "0") "],\n" \
	"    \"pair\": [" ITEM("<s>", "0") ", " TEXT("A", "0") ", " \
	ITEM("<s>", "1") ", " TEXT("B", "1") "],\n" \
	"    \"special_tokens\": {" NAME("<s>", "1") "}}"
#define BOTH "{\"type\": \"TemplateProcessing\",\n" \
	"    \"single\": [" ITEM("<s>", "0") ", " TEXT("A", "0") ", " \
	ITEM("</s>", "0") "],\n    \"pair\": [" ITEM("<s>", "0") ", " \
	TEXT("A", "0") ", " ITEM("</s>", "0") ", " ITEM("<s>", "1") \
	", " TEXT("B", "1") ", " ITEM("</s>", "1") "],\n" \
	"    \"special_tokens\": {" NAME("<s>", "1") ", " \
	NAME("</s>", "2") "}}"
#define LEVEL "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, " \
	"\"trim_offsets\": true, \"use_regex\": true}"
#define ROBERTA "{\"type\":\"RobertaProcessing\",\"add_prefix_space\":false," \
	"\"cls\":[\"<s>\",1],\"sep\":[\"</s>\",2]}"
#define POST "\"post_processor\":"
#define LIST "{\"type\": \"Sequence\", \"processors\": ["

static void
around(void **state)
{
	static const struct {
		const char *post, *want;	/* after the opening brace */
		uint32_t bos, eos;
	} t[] = {
		{POST "null,", POST "null,", 0, 0},
		{POST "null,", POST BOS ",", 1, 0},
		{POST "null,", POST BOTH ",", 1, 2},
		{POST " \n" BOTH " ,", POST " \n" BOS " ,", 1, 0},
		{POST BOS ",", POST "null,", 0, 0},
		/* the key is absent */
		{"", "\n  \"post_processor\": " BOS ",", 1, 0},
		/* what only changes offsets stays */
		{POST LEVEL ",", POST LIST LEVEL ", " BOS "]},", 1, 0},
		{POST LIST LEVEL ", " BOS "]},", POST LEVEL ",", 0, 0},
		{POST LIST BOS ", " LEVEL "]},",
			POST LIST LEVEL ", " BOTH "]},", 1, 2},
		{POST ROBERTA ",", POST LIST LEVEL ", " BOS "]},", 1, 0},
		{POST ROBERTA ",", POST LEVEL ",", 0, 0},
		{POST ROBERTA ",", POST ROBERTA ",", 1, 2},
	};
	struct err e = {0};
	struct buf all = {0};
	size_t n;
	char *p;

	(void)state;
	assert_int_equal(input_slurp("tests/data/tok/mistral7b_tokenizer.json"
				     ".zst", &p, &n, &e), 0);
	buf_put(&all, p, n);
	free(p);
	replace(&all, POST "null,", "");
	for (size_t i = 0; i < TEST_COUNT(t); i++) {
		struct buf file = {0}, want = {0};

		buf_put(&file, all.p, all.n);
		buf_put(&want, all.p, all.n);
		insert(&file, t[i].post);
		insert(&want, t[i].want);
		around_is(&file, t[i].bos, t[i].eos, &want);
		buf_clear(&file);
		buf_clear(&want);
	}
	buf_clear(&all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(around),
	};

	return cmocka_run_group_tests_name("vocab_post", tests, NULL, NULL);
}
