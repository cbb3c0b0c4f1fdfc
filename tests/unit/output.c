/*
 * output: the new file whole, or the old file untouched
 *
 * What die() and signals do to temporary files is seen from a child.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/test.h"

#include "stream/input.h"
#include "stream/output.h"

static char *dir;

static int
make_dir(void **state)
{
	(void)state;
	dir = test_folder();
	return 0;
}

static int
remove_dir(void **state)
{
	(void)state;
	test_remove(dir);
	return 0;
}

/* Entries of the folder, temporary files and all. */
static int
entries(void)
{
	DIR *d = opendir(dir);
	int n = -2;	/* . and .. */

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void
must_hold(const char *path, const char *want)
{
	size_t n;
	char *p = test_read(path, &n);

	assert_int_equal(n, strlen(want));
	assert_string_equal(p, want);
	free(p);
}

static struct output *
start(const char *path, const char *text)
{
	struct err e = {0};
	struct output *o = output_open(path, &e);

	if (!o)
		fail_msg("%s", e.msg);
	assert_int_equal(output_write(o, text, strlen(text), &e), 0);
	return o;
}

static void
appears_at_commit(void **state)
{
	const char *path = test_path(dir, "a");
	struct err e = {0};
	struct output *o;
	struct stat st;

	(void)state;
	o = start(path, "one");
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(output_commit(o, &e), 0);
	must_hold(path, "one");
	assert_int_equal(chmod(path, 0640), 0);
	o = start(path, "two");
	assert_int_equal(output_flush(o, &e), 0);
	must_hold(path, "one");
	assert_int_equal(output_commit(o, &e), 0);
	must_hold(path, "two");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(entries(), 1);
}

static void
abort_leaves_the_old(void **state)
{
	const char *path = test_path(dir, "a");

	(void)state;
	test_write(path, "old", 3);
	output_abort(start(path, "new"));
	output_abort(NULL);
	must_hold(path, "old");
	assert_int_equal(entries(), 1);
}

static void
links_are_followed(void **state)
{
	const char *file = test_path(dir, "file"), *link = test_path(dir, "ln");
	const char *lost = test_path(dir, "lost"), *loop = test_path(dir, "lp");
	struct err e = {0};
	struct stat st;

	(void)state;
	test_write(file, "old", 3);
	assert_int_equal(symlink("file", link), 0);
	assert_int_equal(output_commit(start(link, "new"), &e), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	must_hold(file, "new");
	assert_int_equal(symlink("not-yet", lost), 0);
	assert_int_equal(output_commit(start(lost, "made"), &e), 0);
	must_hold(test_path(dir, "not-yet"), "made");
	assert_int_equal(symlink("lp", loop), 0);
	assert_null(output_open(loop, &e));
	assert_non_null(strstr(e.msg, "lp: "));
}

static void
devices_are_written_in_place(void **state)
{
	struct err e = {0};
	const char *fifo = test_path(dir, "fifo");
	struct stat st;
	char got[4] = "";
	int fd;

	(void)state;
	assert_int_equal(output_commit(start("/dev/null", "x"), &e), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(mkfifo(fifo, 0600), 0);
	fd = open(fifo, O_RDWR);
	assert_int_equal(output_commit(start(fifo, "abc"), &e), 0);
	assert_int_equal(read(fd, got, 3), 3);
	assert_string_equal(got, "abc");
	assert_int_equal(stat(fifo, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	close(fd);
}

static void
faults_are_told(void **state)
{
	struct err e = {0}, f = {0}, g = {0};
	struct output *o;

	(void)state;
	o = start("/dev/full", "x");
	assert_int_equal(output_commit(o, &e), -1);
	assert_string_equal(e.msg, "/dev/full: No space left on device");
	assert_null(output_open(dir, &f));
	assert_non_null(strstr(f.msg, "is a folder: name a file"));
	assert_null(output_open(test_path(dir, "no/such"), &g));
	assert_non_null(strstr(g.msg, "No such file"));
}

static void
zstd_reads_back(void **state)
{
	const char *path = test_path(dir, "a.zst");
	struct err e = {0};
	struct output *o = start(path, "");
	char line[100], *p;
	size_t n = 0, k, got;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		k = (size_t)snprintf(line, sizeof line, "line %d\n", 7 * i);
		assert_int_equal(output_write(o, line, k, &e), 0);
		n += k;
	}
	assert_int_equal(output_commit(o, &e), 0);
	free(test_read(path, &got));
	assert_true(got > 100 && got < n / 2);
	assert_int_equal(input_slurp(path, &p, &got, &e), 0);
	assert_int_equal(got, n);
	assert_memory_equal(p + n - 6, "99993\n", 6);
	free(p);
	/* the frame has a checksum: a flipped bit near the end is an error */
	p = test_read(path, &n);
	p[n - 2] ^= 1;
	test_write(path, p, n);
	free(p);
	assert_int_equal(input_slurp(path, &p, &got, &e), -1);
}

/* Write text in calls of `part` bytes; the file, for free(). */
static char *
written_in(const char *name, const char *text, size_t size, size_t part,
	   size_t *n)
{
	const char *path = test_path(dir, name);
	struct err e = {0};
	struct output *o = start(path, "");

	for (size_t i = 0; i < size; i += part)
		assert_int_equal(output_write(o, text + i, size - i < part ?
					      size - i : part, &e), 0);
	assert_int_equal(output_commit(o, &e), 0);
	return test_read(path, n);
}

static void
same_bytes_however_written(void **state)
{
	static const char *const names[] = { "a", "a.zst", "a.gz" };
	static const size_t parts[] = { 1, 999, 256 << 10, 300000, 1 << 20 };
	size_t size = 700000, n, m;
	char *text = malloc(size), *one, *other;

	(void)state;
	for (size_t i = 0; i < size; i++)
		text[i] = (char)('a' + (i * i / 7 + i / 1000) % 20);
	for (int k = 0; k < 3; k++) {
		one = written_in(names[k], text, size, size, &n);
		assert_true(k ? n < size : n == size);
		for (int i = 0; i < 5; i++) {
			other = written_in(names[k], text, size, parts[i], &m);
			assert_int_equal(m, n);
			assert_memory_equal(one, other, n);
			free(other);
		}
		free(one);
		assert_int_equal(input_slurp(test_path(dir, names[k]), &one,
					     &n, &(struct err){0}), 0);
		assert_int_equal(n, size);
		assert_memory_equal(one, text, n);
		free(one);
	}
	/* gzip: no name, no time, "made on Unix" */
	one = test_read(test_path(dir, "a.gz"), &n);
	assert_memory_equal(one, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10);
	free(one);
	free(text);
}

static void
flushed_bytes_can_be_read(void **state)
{
	static const char *const names[] = { "a.zst", "a.gz" };
	struct err e = {0};

	(void)state;
	for (int k = 0; k < 2; k++) {
		struct output *o = start(test_path(dir, names[k]), "one ");
		char *p;
		size_t n;

		assert_int_equal(output_flush(o, &e), 0);
		assert_int_equal(output_flush(o, &e), 0);
		assert_int_equal(output_write(o, "two", 3, &e), 0);
		assert_int_equal(output_commit(o, &e), 0);
		assert_int_equal(input_slurp(test_path(dir, names[k]), &p, &n,
					     &e), 0);
		assert_int_equal(n, 7);
		assert_memory_equal(p, "one two", 7);
		free(p);
	}
}

static void
names_that_cannot_be_written(void **state)
{
	static const char *const names[] = {
		"a.bz2", "a.xz", "a.lz4", "a.zip", "a.parquet"
	};

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct err e = {0};

		assert_null(output_open(test_path(dir, names[i]), &e));
		assert_non_null(strstr(e.msg, strchr(names[i], '.')));
		assert_non_null(strstr(e.msg, "cannot write"));
	}
	assert_int_equal(entries(), 0);
}

static void
parts_written_again(void **state)
{
	const char *path = test_path(dir, "a");
	struct err e = {0}, f = {0};
	struct output *o = start(path, "????body");
	char *big = calloc(1, 1 << 20);

	(void)state;
	assert_int_equal(output_write(o, big, 1 << 20, &e), 0);
	assert_int_equal(output_pwrite(o, "head", 4, 0, &e), 0);
	assert_int_equal(output_commit(o, &e), 0);
	free(big);
	big = test_read(path, &(size_t){0});
	assert_string_equal(big, "headbody");
	free(big);
	o = start("/dev/null", "x");
	assert_int_equal(output_pwrite(o, "y", 1, 0, &f), -1);
	output_abort(o);
}

static void
a_set_is_renamed_together(void **state)
{
	const char *a = test_path(dir, "a"), *b = test_path(dir, "b");
	struct err e = {0}, f = {0};
	struct output *o[2];

	(void)state;
	test_write(a, "old", 3);
	o[0] = start(a, "new a");
	o[1] = start("/dev/full", "new b");
	assert_int_equal(output_commit_all(o, 2, &e), -1);
	must_hold(a, "old");
	o[0] = start(a, "new a");
	o[1] = start(b, "new b");
	assert_int_equal(output_commit_all(o, 2, &f), 0);
	must_hold(a, "new a");
	must_hold(b, "new b");
	assert_int_equal(entries(), 2);
}

/* A child opens an output and ends in one of several ways. */
static int
child_ends(int how)
{
	const char *path = test_path(dir, "a");
	int status;

	fflush(stdout);
	if (fork() == 0) {
		int null = open("/dev/null", O_WRONLY);
		struct err e = {0};

		dup2(null, STDERR_FILENO);
		output_flush(start(path, "new"), &e);
		if (how)
			raise(how);
		die("trouble");
	}
	wait(&status);
	must_hold(path, "old");
	assert_int_equal(entries(), 1);
	return status;
}

static void
ends_leave_nothing(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	int status;

	(void)state;
	test_write(test_path(dir, "a"), "old", 3);
	status = child_ends(0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
	for (int i = 0; i < 3; i++) {
		status = child_ends(signals[i]);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
	}
}

/* Another process opens `name`, and finishes it or not; it waits for *to. */
static pid_t
other_writes(const char *name, int done, int *to)
{
	int ready[2], go[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready) | pipe(go), 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct err e = {0};
		struct output *o = start(test_path(dir, name), "other");

		if (done ? output_finish(o, &e) : output_flush(o, &e))
			_exit(1);
		close(go[1]);
		write(ready[1], "x", 1);
		read(go[0], &c, 1);
		_exit(output_commit(o, &e) ? 1 : 0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	*to = go[1];
	return pid;
}

/* Another process writes a file from beginning to end. */
static void
other_writes_all(const char *name)
{
	int to, status;
	pid_t pid = other_writes(name, 0, &to);

	close(to);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

static void
killed_ones_are_cleaned(void **state)
{
	const char *strange = test_path(dir, ".a.assay-0123456789abcde.tmp");
	int to[3], status;
	pid_t pid;

	(void)state;
	test_write(strange, "x", 1);		/* a digit is missing */
	for (int i = 0; i < 3; i++) {
		pid = other_writes(i ? "a" : "b", i == 2, &to[i]);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		assert_true(WIFSIGNALED(status));
		close(to[i]);
		/* the next start removes what the one before left */
		assert_int_equal(entries(), 2);
	}
	other_writes_all("c");
	assert_int_equal(entries(), 2);
	must_hold(test_path(dir, "c"), "other");
	must_hold(strange, "x");
}

static void
living_ones_are_not(void **state)
{
	(void)state;
	for (int done = 0; done < 2; done++) {
		int to, status;
		pid_t pid = other_writes("a", done, &to);

		other_writes_all("c");
		other_writes_all("a");
		close(to);
		waitpid(pid, &status, 0);
		assert_int_equal(status, 0);
		must_hold(test_path(dir, "a"), "other");
		assert_int_equal(entries(), 2);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
		/* first: a process cleans a folder once */
		T(killed_ones_are_cleaned), T(living_ones_are_not),
		T(appears_at_commit), T(abort_leaves_the_old),
		T(links_are_followed), T(devices_are_written_in_place),
		T(faults_are_told), T(zstd_reads_back),
		T(parts_written_again), T(a_set_is_renamed_together),
		T(ends_leave_nothing), T(same_bytes_however_written),
		T(flushed_bytes_can_be_read), T(names_that_cannot_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
