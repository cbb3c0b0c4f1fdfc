/* split.c against stored answers of tokenizers and tiktoken
 * (tests/peers/make_splits.py). */
#include "tests/unit/test.h"

#include "base/mem.h"
#include "stream/input.h"
#include "record/vocab.h"
#include "stream/json.h"
#include "tokenizer/split.h"

enum { MAX_TEXTS = 100 };

struct peers {
	struct json *text[MAX_TEXTS];
	size_t ntexts;
	struct json *pattern;
	struct vocab *vocab;		/* with a pre_tokenizer */
	int behavior;
	size_t patterns, refused, splits;
};

static struct json *
value(const char *p, size_t n)
{
	struct err e = {0};
	struct json *j = json_parse(p, n, "stored", &e);

	if (!j)
		fail_msg("%s", e.msg);
	return j;
}

/* The lengths of pre-tokens, as they are stored. */
static void
lengths(const struct split *s, struct span text, struct buf *b)
{
	struct split_scratch *t = split_scratch_new(s);
	uint32_t ends[64], last = 0;
	struct err e = {0};
	size_t pos = 0, k;

	while ((k = split_next(s, t, text.p, text.n, &pos, ends, 64, &e)) > 0)
		for (size_t i = 0; i < k; i++) {
			buf_printf(b, "%s%u", last ? "," : "", ends[i] - last);
			last = ends[i];
		}
	if (e.set)
		buf_puts(b, e.msg);
	else if (text.n == 0)
		buf_putc(b, '-');
	split_scratch_free(t);
}

/* A tokenizer of bytes with this pre_tokenizer. */
static struct vocab *
vocab_with(struct span pre)
{
	struct err e = {0};
	struct vocab *v = vocab_build(NULL, 0, NULL, 0, "gpt2", &e);
	static const char key[] = "\"pre_tokenizer\": ";
	struct buf b = {0}, c = {0};
	char *at;

	vocab_json(v, &b);
	vocab_free(v);
	buf_putc(&b, 0);
	at = strstr(b.p, key) + strlen(key);
	buf_put(&c, b.p, (size_t)(at - b.p));
	buf_put(&c, pre.p, pre.n);
	buf_puts(&c, strstr(at, "}") + 1);
	v = vocab_parse(c.p, c.n, "stored", NULL, &e);
	if (!v)
		fail_msg("%.*s: %s", (int)pre.n, pre.p, e.msg);
	buf_clear(&b);
	buf_clear(&c);
	return v;
}

static struct split *
compile(const struct peers *x, int tiktoken, struct err *e)
{
	char *re = NULL;
	int how = x->behavior | (tiktoken ? SPLIT_SIMPLE_FOLD : 0);
	struct split *s = NULL;

	if (x->vocab) {
		const char *names[8];

		for (size_t i = 0; i < x->vocab->nsplit; i++)
			names[i] = x->vocab->split[i].p;
		return split_new(names, x->vocab->split_behavior,
				 x->vocab->nsplit, e);
	}
	re = tiktoken ? pattern_split(x->pattern->str.p, e) :
		xstrdup(x->pattern->str.p);
	if (re)
		s = split_new(&(const char *){re}, &how, 1, e);
	free(re);
	return s;
}

static void
compare(struct peers *x, struct span line, int tiktoken)
{
	struct err e = {0};
	struct split *s = compile(x, tiktoken, &e);
	struct buf b = {0};

	x->patterns++;
	if (line.p[0] == '!') {
		if (s && !tiktoken)
			fail_msg("%s: is refused by tokenizers",
				 x->pattern->str.p);
	} else if (!s) {
		x->refused++;
		print_message("refused: %s\n", e.msg);
	} else {
		const char *p = line.p + 2;

		for (size_t i = 0; i < x->ntexts; i++) {
			size_t n = strcspn(p, " \n");

			buf_reset(&b);
			lengths(s, x->text[i]->str, &b);
			if (!strchr("?x", *p) &&
			    (b.n != n || memcmp(b.p, p, n) != 0))
				fail_msg("%s on \"%s\": ours %.*s, theirs "
					 "%.*s", x->pattern ?
					 x->pattern->str.p : "pipeline",
					 x->text[i]->str.p, (int)b.n, b.p,
					 (int)n, p);
			p += n + 1;
			x->splits++;
		}
	}
	buf_clear(&b);
	split_free(s);
}

static int
behavior_of(struct span name)
{
	static const char *const names[] = {"isolated", "removed",
		"merged_with_previous", "merged_with_next", "contiguous"};

	for (int i = 0; i < 5; i++) {
		size_t n = strlen(names[i]);

		if (name.n >= n && memcmp(name.p, names[i], n) == 0)
			return i | (name.n > n ? SPLIT_INVERT : 0);
	}
	fail();
	return 0;
}

static struct peers
run(const char *path, int tiktoken)
{
	struct peers x = {.ntexts = 0};
	struct err e = {0};
	struct span rest, line;
	size_t n;
	char *p;

	if (input_slurp(path, &p, &n, &e) < 0)
		fail_msg("%s", e.msg);
	rest = (struct span){p, n};
	while (span_line(&rest, &line)) {
		if (line.p[0] == 'T') {
			assert_true(x.ntexts < MAX_TEXTS);
			x.text[x.ntexts++] = value(line.p + 2, line.n - 2);
		} else if (line.p[0] == 'P') {
			const char *sp = memchr(line.p + 2, ' ', line.n - 2);

			x.behavior = behavior_of((struct span){line.p + 2,
				(size_t)(sp - line.p) - 2});
			x.pattern = value(sp + 1,
					  line.n - (size_t)(sp + 1 - line.p));
		} else if (line.p[0] == 'J') {
			x.vocab = vocab_with((struct span){line.p + 2,
						line.n - 2});
		} else {
			compare(&x, line, tiktoken);
			json_free(x.pattern);
			vocab_free(x.vocab);
			x.pattern = NULL;
			x.vocab = NULL;
		}
	}
	for (size_t i = 0; i < x.ntexts; i++)
		json_free(x.text[i]);
	free(p);
	return x;
}

/* Patterns alone; tiktoken: in its syntax.  At least this many splits. */
static void
check_patterns(const char *path, int tiktoken, size_t splits)
{
	struct peers x = run(path, tiktoken);

	print_message("%zu patterns, %zu refused, %zu splits\n", x.patterns,
		      x.refused, x.splits);
	assert_int_equal(x.refused, 0);
	assert_true(x.splits > splits);
}

static void
test_tokenizers(void **state)
{
	(void)state;
	check_patterns("tests/data/split/tokenizers.txt.zst", 0, 20000);
}

static void
test_tiktoken(void **state)
{
	(void)state;
	check_patterns("tests/data/split/tiktoken.txt.zst", 1, 2500);
}

/* Split, Digits, Punctuation and ByteLevel in the sequences of published files
 * and others. */
static void
test_pipelines(void **state)
{
	struct peers x = run("tests/data/split/pipelines.txt.zst", 0);

	(void)state;
	print_message("%zu pipelines, %zu splits\n", x.patterns, x.splits);
	assert_int_equal(x.refused, 0);
	assert_true(x.splits > 700);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokenizers),
		cmocka_unit_test(test_tiktoken),
		cmocka_unit_test(test_pipelines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
