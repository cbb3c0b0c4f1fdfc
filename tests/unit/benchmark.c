/*
 * benchmark: the forms, ids, the paper's n; figures of the table by hand and
 * compared with a naive computation.
 */
#include "tests/unit/test.h"

#include <math.h>

#include "base/rng.h"
#include "contam/benchmark.h"
#include "contam/benchmark_table.h"

/* The texts of the examples, "|" after each. */
static int
collect(void *ctx, struct span text, struct err *e)
{
	struct buf *b = ctx;

	(void)e;
	buf_put(b, text.p, text.n);
	buf_putc(b, '|');
	return 0;
}

struct fixture {
	char *folder;
	struct benchmarks b;
	struct buf texts;
};

/* Read a file of that name and content. */
static int
load(struct fixture *f, const char *name, const char *content,
     const char *fields, struct err *e)
{
	const struct benchmark_opts o = {fields, 1, collect, &f->texts};
	const char *path;

	memset(f, 0, sizeof(*f));
	f->folder = test_folder();
	path = test_path(f->folder, name);
	test_write(path, content, strlen(content));
	return benchmark_read(&f->b, path, &o, NULL, e);
}

static void
unload(struct fixture *f)
{
	benchmark_clear(&f->b);
	buf_clear(&f->texts);
	test_remove(f->folder);
}

static void
forms(void **state)
{
	static const struct {
		const char *name, *content, *fields, *texts, *ids, *bench;
	} row[] = {
		{"a.jsonl", "{\"text\":\"x\",\"id\":\"i\"}\n\n{\"text\":\"y\"}",
		 NULL, "x|y|", "i a:3 ", "a"},
		{"a.b.jsonl", "\xef\xbb\xbf{\"id\":12 ,\"text\":\"x\"}\r\n",
		 NULL, "x|", "12 ", "a.b"},
		{"a", "{\"text\":\"x\"}\n{\"text\":\"y\"}\n", NULL, "x|y|",
		 "a:1 a:2 ", "a"},
		/* of two equal keys the last; ids that are not used */
		{"a.jsonl", "{\"text\":\"x\",\"text\":\"y\",\"id\":null}\n"
		 "{\"text\":\"z\",\"id\":\"\"}\n", NULL, "y|z|", "a:1 a:2 ",
		 "a"},
		{"a.jsonl", "{\"b\":\"x\",\"n\":1,\"a\":\"y\"}", NULL, "x\ny|",
		 "a:1 ", "a"},
		{"a.jsonl", "{\"b\":\"x\",\"text\":[\"z\"],\"a\":\"y\"}", NULL,
		 "x\nz\ny|", "a:1 ", "a"},
		{"a.jsonl", "{\"b\":\"x\",\"c\":{\"d\":[\"1\",[\"2\",3]]}}\n{}",
		 "c.d,b", "1\n2\nx||", "a:1 a:2 ", "a"},
		{"a.jsonl", "{\"a\":\"\\ud800\\u0000\"}", "a",
		 "\xef\xbf\xbd", "a:1 ", "a"},
		{"a.json", " [\n {\"text\":\"x\"} ,\"y\\n\", {\"text\":\n\"]}\""
		 ",\"id\":\"7\"}]\n", NULL, "x|y\n|]}|", "a:1 a:2 7 ", "a"},
		{"a.json", "{\"text\":\"x\"}\n{\"text\":\"y\"}\n", NULL,
		 "x|y|", "a:1 a:2 ", "a"},
		{"a.json", "{\"c\":[1],\n\"examples\":[{\"q\":\"x\"},"
		 "{\"q\":\"y\"}], \"z\":[]}", NULL, "x|y|", "a:1 a:2 ", "a"},
		{"a.json", "{\"canary\":\"c\",\"examples\":[{\"q\":\"x\"}]}"
		 "\n", NULL, "x|", "a:1 ", "a"},
		{"a", "{\"canary\":\"c\",\"examples\":[{\"q\":\"x\"}]}",
		 NULL, "x|", "a:1 ", "a"},
		{"a.json", "\n{\"text\":\n\"x\"}\n", NULL, "x|", "a:1 ", "a"},
		{"a.txt", "[x]\n \t\n{y}", NULL, "[x]|{y}|", "a:1 a:3 ", "a"},
		{"a.text", "x\ny\n", NULL, "x|y|", "a.text:1 a.text:2 ",
		 "a.text"},
		{".jsonl", "{\"text\":\"x\"}", NULL, "x|", ".jsonl:1 ",
		 ".jsonl"},
	};
	struct fixture f;
	struct err e = {0};
	struct buf ids = {0}, tmp = {0};
	size_t i, k;

	(void)state;
	for (i = 0; i < TEST_COUNT(row); i++) {
		if (load(&f, row[i].name, row[i].content, row[i].fields, &e))
			fail_msg("row %zu: %s", i, e.msg);
		assert_int_equal(f.b.n, 1);
		assert_string_equal(f.b.v[0].name, row[i].bench);
		assert_memory_equal(f.texts.p, row[i].texts,
				    strlen(row[i].texts));
		buf_reset(&ids);
		for (k = 0; k < f.b.nex; k++) {
			struct span s = benchmark_id(&f.b, &f.b.ex[k], &tmp);

			buf_put(&ids, s.p, s.n);
			buf_putc(&ids, ' ');
		}
		assert_true(span_eq(buf_span(&ids), span_str(row[i].ids)));
		unload(&f);
	}
	buf_clear(&ids);
	buf_clear(&tmp);
}

/* The text of an example keeps its NUL. */
static void
nul(void **state)
{
	struct fixture f;
	struct err e = {0};

	(void)state;
	assert_int_equal(load(&f, "a.jsonl", "{\"text\":\"a\\u0000b\"}", NULL,
			      &e), 0);
	assert_int_equal(f.texts.n, 4);
	assert_memory_equal(f.texts.p, "a\0b|", 4);
	unload(&f);
}

static void
refused(void **state)
{
	static const struct {
		const char *name, *content, *fields, *where;
	} row[] = {
		{"a.jsonl", "{\"text\":\"x\"}\n{\"text\":\"x\"\n", NULL,
		 ":2: "},
		{"a.jsonl", "[]\n", NULL, ":1: "},
		{"a.jsonl", "{\"text\":\"\xff\"}\n", NULL, ":1: byte 10"},
		{"a.jsonl", "{\"a\":\"x\"}\n", "b", "in the fields b"},
		{"a.jsonl", "{\"a\":\"x\"}\n", "a,,b", "empty"},
		{"a.jsonl", "\n\n", NULL, "no examples"},
		{"a.json", "[]", NULL, "no examples"},
		{"a.json", "[{\"a\":\"x\"},\n{\"b\":}]", NULL, ":2: byte"},
		{"a.json", "[\n\n5]", NULL, ":3: "},
		{"a.json", "[\"a\\x\"]", NULL, ":1: byte"},
		{"a.json", "[{\"a\":\"x\"}]\n[]", NULL, ":2: unexpected text"},
		{"a.json", "{\"a\":[{\"b\":\"c\"}],\"d\":[{\"b\":\"c\"}]}",
		 NULL, "several arrays"},
		{"a.json", "{\"a\":[1]}", NULL, "no example has a string"},
		{"a.json", "5", NULL, "neither"},
		{"a.txt", "a\n\xc3\n", NULL, ":2: invalid UTF-8"},
	};
	struct fixture f;
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < TEST_COUNT(row); i++) {
		memset(&e, 0, sizeof(e));
		assert_int_equal(load(&f, row[i].name, row[i].content,
				      row[i].fields, &e), -1);
		if (!strstr(e.msg, row[i].where))
			fail_msg("row %zu: %s", i, e.msg);
		unload(&f);
	}
}

static void
auto_n(void **state)
{
	size_t many[1000], one[] = {10}, i;

	(void)state;
	/* 1 to 1,000, shuffled: the 50th is 50 */
	for (i = 0; i < 1000; i++)
		many[i] = (i * 7 + 3) % 1000 + 1;
	assert_int_equal(benchmark_auto_n(many, 1000), 13);
	for (i = 0; i < 1000; i++)
		many[i] = 30 - (i < 50) * 20 - (i == 3);
	assert_int_equal(benchmark_auto_n(many, 1000), 10);
	for (i = 0; i < 1000; i++)
		many[i] = 30 - (i < 49) * 20;
	assert_int_equal(benchmark_auto_n(many, 1000), 13);
	assert_int_equal(benchmark_auto_n(one, 1), 10);
	for (i = 0; i < 40; i++)
		many[i] = 2;
	assert_int_equal(benchmark_auto_n(many, 40), 8);
}

/* --- figures --- */

static double
mean(const double *x, size_t n)
{
	double s = 0;
	size_t i;

	for (i = 0; i < n; i++)
		s += x[i];
	return s / n;
}

static double
variance(const double *x, size_t n)
{
	double m = mean(x, n), s = 0;
	size_t i;

	for (i = 0; i < n; i++)
		s += (x[i] - m) * (x[i] - m);
	return s / (n - 1);
}

static void
figures(void **state)
{
	enum { N = 500 };
	struct benchmark_example ex[N] = {{0}};
	struct benchmark v = {.n = N};
	struct benchmarks b = {.v = &v, .n = 1, .ex = ex, .nex = N};
	double all[N], clean[N], rest[N], share;
	size_t na = 0, nc = 0, nr = 0, i;
	struct benchmark_stats t;

	(void)state;
	for (i = 0; i < N; i++) {
		ex[i].too_short = i % 10 == 0;
		ex[i].dirty = i % 3 == 0;
		ex[i].scored = i % 7 != 0;
		ex[i].score = 1e6 + (double)rng_below(1, RNG_TEST, i, 1000);
		if (!ex[i].scored)
			continue;
		all[na++] = ex[i].score;
		if (i % 10 && i % 3)
			clean[nc++] = ex[i].score;
		else
			rest[nr++] = ex[i].score;
	}
	t = benchmark_stats(&b, 0);
	assert_int_equal(t.examples, N);
	assert_int_equal(t.count[BENCHMARK_SHORT], 50);
	assert_int_equal(t.count[BENCHMARK_CLEAN] + t.count[BENCHMARK_DIRTY],
			 450);
	assert_int_equal(t.all.n, na);
	assert_int_equal(t.of[BENCHMARK_CLEAN].n, nc);
	share = (double)nc / na;
	assert_true(fabs(t.all.mean - mean(all, na)) < 1e-6);
	assert_true(fabs(t.of[BENCHMARK_CLEAN].mean - mean(clean, nc)) < 1e-6);
	assert_true(fabs(t.of[BENCHMARK_CLEAN].var - variance(clean, nc)) <
		    1e-4);
	assert_true(fabs(t.difference - (mean(clean, nc) - mean(all, na))) <
		    1e-6);
	assert_true(fabs(t.se - (1 - share) * sqrt(variance(clean, nc) / nc +
						   variance(rest, nr) / nr)) <
		    1e-6);
	/* none scored, none clean, all clean */
	for (i = 0; i < N; i++)
		ex[i].scored = 0;
	t = benchmark_stats(&b, 0);
	assert_true(isnan(t.all.mean) && isnan(t.difference) && isnan(t.se));
	for (i = 0; i < N; i++)
		ex[i].too_short = 1;
	t = benchmark_stats(&b, 0);
	assert_true(isnan(t.clean_percent));
	for (i = 0; i < N; i++)
		ex[i].scored = 1, ex[i].too_short = ex[i].dirty = 0;
	t = benchmark_stats(&b, 0);
	assert_true(t.difference == 0 && t.se == 0 && t.clean_percent == 100);
}

/* The standard error equals that of the difference over many draws. */
static void
standard_error(void **state)
{
	enum { N = 200, ROUNDS = 3000 };
	struct benchmark_example ex[N] = {{0}};
	struct benchmark v = {.n = N};
	struct benchmarks b = {.v = &v, .n = 1, .ex = ex, .nex = N};
	double d[ROUNDS], se = 0;
	size_t r, i;

	(void)state;
	for (r = 0; r < ROUNDS; r++) {
		struct benchmark_stats t;

		for (i = 0; i < N; i++) {
			ex[i].dirty = i < 60;
			ex[i].scored = 1;
			ex[i].score = rng_below(r, RNG_TEST, i, 100) <
				(i < 60 ? 90 : 60);
		}
		t = benchmark_stats(&b, 0);
		d[r] = t.difference;
		se += t.se / ROUNDS;
	}
	assert_true(fabs(sqrt(variance(d, ROUNDS)) / se - 1) < 0.05);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(nul),
		cmocka_unit_test(refused),
		cmocka_unit_test(auto_n),
		cmocka_unit_test(figures),
		cmocka_unit_test(standard_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
