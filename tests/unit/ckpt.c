/*
 * ckpt.c - a checkpoint appears whole or not at all, and the newest valid
 * one is found
 */
#include "tests/unit/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "record/ckpt.h"

static void
save(const char *run, uint64_t step, const char *text)
{
	struct err e = {0};
	struct ckpt_writer *w = ckpt_begin(run, step, 100, &e);

	if (!w)
		fail_msg("%s", e.msg);
	assert_int_equal(ckpt_put(w, "a.json", span_str(text), &e), 0);
	assert_int_equal(ckpt_open(w, "b.bin", &e), 0);
	assert_int_equal(ckpt_write(w, text, 2, &e), 0);
	assert_int_equal(ckpt_write(w, text + 2, strlen(text) - 2, &e), 0);
	assert_int_equal(ckpt_close(w, &e), 0);
	if (ckpt_commit(w, &e) < 0)
		fail_msg("%s", e.msg);
}

static int
count_entries(const char *run)
{
	char cmd[4200];
	int n = 0;
	FILE *f;

	snprintf(cmd, sizeof cmd, "ls -A '%s' | wc -l", run);
	f = popen(cmd, "r");
	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	return n;
}

static void
newest_is(const char *run, const char *want)
{
	struct err e = {0};
	char *p = ckpt_newest(run, NULL, NULL, &e);

	if (!want) {
		assert_null(p);
		assert_true(e.set);
		return;
	}
	if (!p)
		fail_msg("%s", e.msg);
	assert_string_equal(strrchr(p, '/') + 1, want);
	free(p);
}

static void
saved_and_found(void **state)
{
	const char *run = *state;
	char target[64] = "";
	struct err e = {0};

	newest_is(run, NULL);
	save(run, 5, "five");
	save(run, 10, "ten...");
	assert_int_equal(count_entries(run), 3);
	assert_true(readlink(test_path(run, "latest"), target,
			     sizeof target - 1) > 0);
	assert_string_equal(target, "step-00000010");
	newest_is(run, "step-00000010");
	assert_int_equal(ckpt_verify(test_path(run, "latest"), &e), 0);
	assert_int_equal(ckpt_step("x/step-00000010"), 10);
	assert_int_equal(ckpt_step("x/step-1a"), -1);
	assert_int_equal(ckpt_step("x/latest"), -1);
}

static void
flip(const char *path, long at)
{
	FILE *f = fopen(path, "r+b");
	int c;

	assert_non_null(f);
	fseek(f, at, SEEK_SET);
	c = fgetc(f);
	fseek(f, at, SEEK_SET);
	fputc(c ^ 4, f);
	fclose(f);
}

static void
broken_ones_are_passed_over(void **state)
{
	const char *run = *state;
	struct err e = {0};

	save(run, 1, "one");
	save(run, 2, "two");
	save(run, 3, "three");
	flip(test_path(run, "step-00000003/b.bin"), 1);
	assert_int_equal(ckpt_verify(test_path(run, "step-00000003"), &e), -1);
	assert_non_null(strstr(e.msg, "b.bin: XXH3"));
	newest_is(run, "step-00000002");
	assert_int_equal(truncate(test_path(run, "step-00000002/a.json"), 1),
			 0);
	newest_is(run, "step-00000001");
	assert_int_equal(unlink(test_path(run, "step-00000001/manifest.json")),
			 0);
	newest_is(run, NULL);
}

static void
aborted_leaves_nothing(void **state)
{
	const char *run = *state;
	struct err e = {0};
	struct ckpt_writer *w = ckpt_begin(run, 7, 100, &e);

	assert_int_equal(ckpt_put(w, "a", span_str("x"), &e), 0);
	assert_int_equal(ckpt_open(w, "b", &e), 0);
	assert_int_equal(count_entries(run), 1);
	ckpt_abort(w);
	assert_int_equal(count_entries(run), 0);
}

static void
no_room_is_said_before(void **state)
{
	struct err e = {0};

	assert_null(ckpt_begin(*state, 7, UINT64_MAX / 2, &e));
	assert_non_null(strstr(e.msg, "are free"));
	assert_int_equal(count_entries(*state), 0);
}

static void
same_step_again(void **state)
{
	const char *run = *state;
	size_t n;
	char *p;

	save(run, 4, "old text");
	save(run, 4, "new text");
	assert_int_equal(count_entries(run), 2);
	p = test_read(test_path(run, "step-00000004/a.json"), &n);
	assert_string_equal(p, "new text");
	free(p);
}

static void
prune_and_sweep(void **state)
{
	const char *run = *state;
	struct err e = {0};
	uint64_t i;

	for (i = 1; i < 6; i++)
		save(run, i * 1000, "text");
	assert_int_equal(ckpt_count(run, &e), 5);
	assert_int_equal(ckpt_prune(run, 0, 5000, &e), 0);
	assert_int_equal(count_entries(run), 6);
	assert_int_equal(ckpt_prune(run, 2, 5000, &e), 0);
	assert_int_equal(count_entries(run), 3);
	newest_is(run, "step-00005000");
	/* a later one that a resume passed over does not count */
	save(run, 4500, "text");
	assert_int_equal(ckpt_prune(run, 1, 4500, &e), 0);
	newest_is(run, "step-00005000");
	assert_int_equal(count_entries(run), 3);
	assert_int_equal(access(test_path(run, "step-00004500"), F_OK), 0);
	assert_int_equal(mkdir(test_path(run, ".step-00000009.1.tmp"), 0777),
			 0);
	test_write(test_path(run, ".step-00000009.1.tmp/a"), "x", 1);
	assert_int_equal(symlink("step-00000009",
				 test_path(run, ".latest.1.tmp")), 0);
	newest_is(run, "step-00005000");
	assert_int_equal(ckpt_sweep(run, &e), 0);
	assert_int_equal(count_entries(run), 3);
}

/* A manifest may not reach outside its folder. */
static void
manifest_stays_inside(void **state)
{
	const char *run = *state;
	const char *text = "{\"files\":{\"../step-00000002/a.json\":{\"bytes\":"
		"3,\"xxh3\":\"0000000000000000\"}}}";
	struct err e = {0};

	save(run, 1, "one");
	save(run, 2, "two");
	test_write(test_path(run, "step-00000001/manifest.json"), text,
		   strlen(text));
	assert_int_equal(ckpt_verify(test_path(run, "step-00000001"), &e), -1);
	assert_non_null(strstr(e.msg, "is malformed"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(saved_and_found),
		TEST_IN_FOLDER(broken_ones_are_passed_over),
		TEST_IN_FOLDER(aborted_leaves_nothing),
		TEST_IN_FOLDER(no_room_is_said_before),
		TEST_IN_FOLDER(same_step_again),
		TEST_IN_FOLDER(prune_and_sweep),
		TEST_IN_FOLDER(manifest_stays_inside),
	};

	return cmocka_run_group_tests_name("ckpt", tests, NULL, NULL);
}
