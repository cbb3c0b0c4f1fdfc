/*
 * trainlog.c - lines of the training log, and cutting it back
 */
#include "tests/unit/test.h"

#include <math.h>

#include "record/trainlog.h"
#include "stream/json.h"

static void
step_keys(void **state)
{
	static const char *const keys[] = {"tokens", "loss", "grad_norm", "lr",
		"tokens_per_s", "mfu", "step_s", "data_wait_s", "ln_vocab"};
	const char *path = test_path(*state, "log");
	struct trainlog_step s = {.step = 0, .tokens = 5, .loss = NAN,
		.grad_norm = INFINITY, .lr = 1e-3, .tokens_per_s = 2, .mfu = -1,
		.step_s = .5, .data_wait_s = 0, .ln_vocab = 2, .z_loss = -1};
	struct err e = {0};
	struct trainlog *t = trainlog_open(path, &e);
	struct json *j;
	size_t i, n;
	char *p;

	assert_non_null(t);
	assert_int_equal(trainlog_step(t, &s, &e), 0);
	assert_int_equal(trainlog_close(t, &e), 0);
	p = test_read(path, &n);
	j = json_parse(p, n, "log", &e);
	assert_non_null(j);
	for (i = 0; i < TEST_COUNT(keys); i++)
		assert_non_null(json_get(j, keys[i]));
	assert_int_equal(json_get(j, "loss")->type, JSON_NULL);
	assert_int_equal(json_get(j, "mfu")->type, JSON_NULL);
	assert_non_null(strstr(p, "\"nonfinite\":[\"loss\",\"grad_norm\"]"));
	json_free(j);
	free(p);
}

static const char whole[] =
	"{\"type\":\"step\",\"step\":0}\n"
	"{\"type\":\"step\",\"step\":1}\n"
	"{\"type\":\"eval\",\"step\":2}\n"
	"{\"type\":\"checkpoint\",\"step\":2}\n"
	"{\"type\":\"resume\",\"step\":2}\n"
	"{\"type\":\"step\",\"step\":2}\n"
	"{\"type\":\"skip\",\"step\":2}\n"
	"{\"type\":\"step\",\"step\":3}\n"
	"{\"type\":\"eval\",\"step\":4}\n"
	"{\"type\":\"sample\",\"step\":4}\n"
	"{\"type\":\"step\",\"step\":4}\n"
	"{\"type\":\"st";

static size_t
lines_left(const char *dir, uint64_t step, int evaluated, int sampled)
{
	struct trainlog_mark at = {step, evaluated, sampled};
	const char *path = test_path(dir, "log");
	struct err e = {0};
	size_t n, lines = 0, i;
	char *p;

	test_write(path, whole, sizeof whole - 1);
	if (trainlog_cut(path, &at, &e) < 0)
		fail_msg("%s", e.msg);
	p = test_read(path, &n);
	for (i = 0; i < n; i++)
		lines += p[i] == '\n';
	assert_true(n == 0 || p[n - 1] == '\n');
	assert_memory_equal(p, whole, n);
	free(p);
	return lines;
}

static void
cut(void **state)
{
	assert_int_equal(lines_left(*state, 0, 1, 1), 0);
	assert_int_equal(lines_left(*state, 1, 1, 1), 1);
	assert_int_equal(lines_left(*state, 2, 1, 1), 5);
	assert_int_equal(lines_left(*state, 3, 1, 1), 7);
	assert_int_equal(lines_left(*state, 4, 1, 1), 10);
	assert_int_equal(lines_left(*state, 99, 1, 1), 11);
	/* what the checkpoint does not know will be done again */
	assert_int_equal(lines_left(*state, 2, 0, 1), 2);
	assert_int_equal(lines_left(*state, 4, 0, 0), 8);
	assert_int_equal(lines_left(*state, 4, 1, 0), 9);
	assert_int_equal(lines_left(*state, 99, 0, 0), 11);
}

static void
cut_refuses_other_files(void **state)
{
	const char *path = test_path(*state, "log");
	struct trainlog_mark at = {1, 1, 1};
	struct err e = {0};
	size_t n;
	char *p;

	test_write(path, "hello\nworld\n", 12);
	assert_int_equal(trainlog_cut(path, &at, &e), -1);
	assert_non_null(strstr(e.msg, "log:1:"));
	p = test_read(path, &n);
	assert_int_equal(n, 12);
	free(p);
	assert_int_equal(trainlog_cut(test_path(*state, "no"), &at, &e), 0);
}

static void
last_lines(void **state)
{
	static const char log[] =
		"{\"type\":\"step\",\"step\":6}\n"
		"{\"type\":\"checkpoint\",\"step\":7}\n"
		"{\"type\":\"resume\",\"step\":7,\"n\":1}\n"
		"{\"type\":\"resume\",\"step\":7,\"n\":2}\n"
		"{\"type\":\"sample\",\"step\":7,\"text\":\"\\\"resume\\\"\"}\n"
		"{\"type\":\"step\",\"step\":7}\n"
		"damaged \"step\"\n"
		"{\"type\":\"step\",\"step\":8}";
	const char *path = test_path(*state, "log");
	struct trainlog_tail last;
	struct err e = {0};
	int64_t n = 0;

	test_write(path, log, sizeof log - 1);
	assert_int_equal(trainlog_last(path, &last, &e), 0);
	assert_int_equal(last.step, 7);
	assert_int_equal(last.saved, 7);
	assert_int_equal(json_get_int(last.resume, "n", &n, &e), 0);
	assert_int_equal(n, 2);
	trainlog_tail_clear(&last);
	assert_int_equal(trainlog_last(test_path(*state, "no"), &last, &e), 0);
	assert_int_equal(last.step, -1);
	assert_int_equal(last.saved, -1);
	assert_null(last.resume);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(step_keys),
		TEST_IN_FOLDER(cut),
		TEST_IN_FOLDER(last_lines),
		TEST_IN_FOLDER(cut_refuses_other_files),
	};

	return cmocka_run_group_tests_name("trainlog", tests, NULL, NULL);
}
