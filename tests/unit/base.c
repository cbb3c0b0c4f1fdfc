/*
 * base: errors, memory, buffers, UTF-8 - what is too small for a test of its
 * own
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/unit/test.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/search.h"
#include "base/utf8.h"

static void
first_error_stays(void **state)
{
	struct err e = {0}, f = {0};

	(void)state;
	assert_int_equal(err_set(&e, "a: offset %d", 7), -1);
	assert_int_equal(err_set(&e, "a consequence"), -1);
	assert_string_equal(e.msg, "a: offset 7");
	assert_int_equal(err_sys(&f, ENOSPC, "file"), -1);
	assert_string_equal(f.msg, "file: No space left on device");
	memset(&f, 0, sizeof f);
	err_set(&f, "%02000d", 1);	/* longer than the room for it */
	assert_int_equal(strlen(f.msg), sizeof f.msg - 1);
}

static void hook(void) { (void)!write(2, "hook\n", 5); }

/* A child says something and dies; what came out on stderr. */
static int
child(void (*fn)(void), char *text, size_t size)
{
	int fd[2], status;
	size_t n = 0;
	ssize_t k;

	assert_int_equal(pipe(fd), 0);
	fflush(stdout);
	if (fork() == 0) {
		dup2(fd[1], 2);
		close(fd[0]);
		err_tool = "toy";
		err_at_exit(hook);
		fn();
		_exit(0);
	}
	close(fd[1]);
	while ((k = read(fd[0], text + n, size - 1 - n)) > 0)
		n += (size_t)k;
	close(fd[0]);
	text[n] = 0;
	wait(&status);
	return status;
}

static void
says_controls(void)
{
	warn("a\nb\t\x1b[2J\x7f \xc2\x9b" "2J \xc3\xa9\xc2\xa0%s.", "\r");
}

static void says_and_dies(void) { warn("w %d", 1); die("f:%d: what", 3); }
static void wants_too_much(void) { xmalloc(SIZE_MAX / 2); }
static void overflows(void) { xcalloc(SIZE_MAX / 2, 3); }
static void big_pages(void) { mem_pages(SIZE_MAX - 5); }

static void
die_and_memory(void **state)
{
	char text[4096];
	int status;

	(void)state;
	status = child(says_and_dies, text, sizeof text);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
	assert_string_equal(text, "toy: warning: w 1\ntoy: f:3: what\nhook\n");
	/* C0, C1 as UTF-8; letters and U+00A0 stay */
	child(says_controls, text, sizeof text);
	assert_string_equal(text, "toy: warning: a\\nb\\t\\x1b[2J\\x7f "
			    "\\u009b2J \xc3\xa9\xc2\xa0\\r.\n");
	status = child(wants_too_much, text, sizeof text);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
	/* a sanitizer's allocator says something before it */
	assert_non_null(strstr(text, "toy: out of memory (asked for "
			       "9223372036854775807 bytes)\nhook\n"));
	status = child(overflows, text, sizeof text);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
	status = child(big_pages, text, sizeof text);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
}

static void
pages(void **state)
{
	static const size_t sizes[] = { 0, 1, 4096, (2 << 20) - 1, 2 << 20,
					(2 << 20) + 1, 10 << 20 };

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
		char *p = mem_pages(sizes[i]);

		assert_int_equal((uintptr_t)p % (2 << 20), 0);
		for (size_t k = 0; k < sizes[i]; k += 4096) {
			assert_int_equal(p[k], 0);
			p[k] = 1;
		}
		mem_pages_free(p, sizes[i]);
	}
	mem_pages_free(NULL, 5);
	for (size_t n = 0; n < 200; n++) {
		void *p = xaligned(n);

		assert_int_equal((uintptr_t)p % 64, 0);
		free(p);
	}
}

static void
buffers(void **state)
{
	struct buf b = {0};

	(void)state;
	buf_reset(&b);
	buf_put(&b, NULL, 0);
	buf_puts(&b, "abc");
	buf_putc(&b, 0);
	buf_printf(&b, "%d-%s", 12, "x");
	assert_int_equal(b.n, 8);
	assert_memory_equal(b.p, "abc\0" "12-x", 8);
	for (int i = 0; i < 100000; i++)
		buf_putc(&b, (char)i);
	assert_int_equal(b.n, 100008);
	assert_int_equal((unsigned char)b.p[8 + 511], 255);
	assert_true(span_eq((struct span){ b.p, 3 }, span_str("abc")));
	assert_false(span_eq(span_str("abd"), span_str("abc")));
	assert_true(span_eq((struct span){0}, span_str("")));
	buf_clear(&b);
	assert_null(b.p);
}

/* Every sequence of up to four bytes from the corners of the table. */
static void
utf8_table(void **state)
{
	static const struct {
		const char *s;
		int want;
	} t[] = {
		{ "a", 1 }, { "\x7f", 1 }, { "\x80", -1 }, { "\xc1\x80", -1 },
		{ "\xc2\x80", 2 }, { "\xdf\xbf", 2 }, { "\xc2", -1 },
		{ "\xc2" "a", -1 }, { "\xe0\x9f\x80", -1 },
		{ "\xe0\xa0\x80", 3 }, { "\xe1\x80", -2 },
		{ "\xe1\x80\x80", 3 }, { "\xed\x9f\xbf", 3 },
		{ "\xed\xa0\x80", -1 }, { "\xee\x80\x80", 3 },
		{ "\xef\xbf\xbf", 3 }, { "\xf0\x8f\x80\x80", -1 },
		{ "\xf0\x90\x80\x80", 4 }, { "\xf0\x90\x80", -3 },
		{ "\xf4\x8f\xbf\xbf", 4 }, { "\xf4\x90\x80\x80", -1 },
		{ "\xf5\x80\x80\x80", -1 }, { "\xff", -1 },
	};
	char out[4];

	(void)state;
	for (size_t i = 0; i < TEST_COUNT(t); i++)
		assert_int_equal(utf8_step(t[i].s, strlen(t[i].s)), t[i].want);
	for (unsigned c = 0; c <= 0x10ffff; c++) {
		int n = utf8_put(out, c);

		if (c < 0xd800 || c > 0xdfff)
			assert_int_equal(utf8_step(out, (size_t)n), n);
	}
}

static void
paths(void **state)
{
	char *a = path_join("d", "f"), *b = path_join("d/", "f");

	(void)state;
	assert_string_equal(a, "d/f");
	assert_string_equal(b, "d/f");
	assert_string_equal(path_base(a), "f");
	assert_string_equal(path_base("f"), "f");
	assert_true(path_is_std("-") && path_is_std(NULL) && !path_is_std(a));
	assert_true(path_is_dir("/") && path_exists("/dev/null"));
	assert_false(path_is_dir("/dev/null"));
	free(a);
	free(b);
}

static void
whole_writes(void **state)
{
	static const char text[] = "0123456789";
	char name[] = "/tmp/assay-base-XXXXXX", got[16];
	int fd = mkstemp(name);

	(void)state;
	unlink(name);
	assert_int_equal(write_all(fd, text, 10), 0);
	assert_int_equal(pwrite_all(fd, "ab", 2, 4), 0);
	assert_int_equal(pread_all(fd, got, sizeof got, 1), 9);
	assert_memory_equal(got, "123ab6789", 9);
	close(fd);
	assert_int_equal(write_all(fd, text, 10), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(pread_all(fd, got, 1, 0), -1);
}

struct calls {
	_Atomic int times[7];
};

static void
count_call(void *ctx, int thread)
{
	struct calls *c = ctx;

	c->times[thread]++;
}

static void
each_call_once(void **state)
{
	(void)state;
	for (int n = 1; n <= 7; n++) {
		struct calls c = {0};

		parallel_run(n, count_call, &c);
		for (int i = 0; i < 7; i++)
			assert_int_equal(c.times[i], i < n);
	}
}

static void
binary_search(void **state)
{
	static const uint64_t v[] = { 2, 4, 4, 7 };
	size_t at, want;

	(void)state;
	for (size_t n = 0; n <= 4; n++)
		for (uint64_t key = 0; key < 9; key++) {
			for (want = 0; want < n && v[want] < key; want++)
				;
			FIND_FIRST(at, 0, n, v[at] >= key);
			assert_int_equal(at, want);
		}
	FIND_FIRST(at, 1, 0, v[at] > 1);
	assert_int_equal(at, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_error_stays),
		cmocka_unit_test(die_and_memory),
		cmocka_unit_test(pages),
		cmocka_unit_test(buffers),
		cmocka_unit_test(utf8_table),
		cmocka_unit_test(paths),
		cmocka_unit_test(whole_writes),
		cmocka_unit_test(each_call_once),
		cmocka_unit_test(binary_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
