/*
 * progress: shown to a person at a terminal and to SIGUSR1, to nobody else
 *
 * Children work with stderr on a pipe or on a terminal of their own.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "tests/unit/test.h"

#include "base/err.h"
#include "base/progress.h"

/* All that comes out of fd until its other end is closed. */
static const char *
drain(int fd)
{
	static char text[65536];
	size_t n = 0;
	ssize_t k;

	while ((k = read(fd, text + n, sizeof text - 1 - n)) > 0)
		n += (size_t)k;
	close(fd);
	text[n] = 0;
	wait(NULL);
	return text;
}

static const char *
on_pipe(void (*fn)(void))
{
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	fflush(stdout);
	if (fork() == 0) {
		dup2(fd[1], 2);
		close(fd[0]);
		close(fd[1]);
		fn();
		_exit(0);
	}
	close(fd[1]);
	return drain(fd[0]);
}

static const char *
on_terminal(void (*fn)(void))
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY);
	char name[256];

	/* There may be none, as in a chroot without /dev/pts. */
	if (fd < 0 || grantpt(fd) < 0 || unlockpt(fd) < 0 ||
	    ptsname_r(fd, name, sizeof name) != 0 ||
	    access(name, R_OK | W_OK) < 0)
		skip();
	fflush(stdout);
	if (fork() == 0) {
		int tty;

		setsid();
		tty = open(name, O_RDWR);
		ioctl(tty, TIOCSCTTY, 0);
		dup2(tty, 2);
		close(tty);
		close(fd);
		fn();
		_exit(0);
	}
	return drain(fd);
}

static void
works_for_seconds(void)
{
	progress_start("packing", "B", 4000000);
	progress_add(500000);
	progress_add(500000);
	usleep(2900000);
	progress_stop();
}

static void
says_itself(void)
{
	struct winsize narrow = {.ws_row = 24, .ws_col = 20};

	ioctl(2, TIOCSWINSZ, &narrow);
	progress_start("training", "steps", 100);
	progress_text(span_str("step 12 of 100, loss 3.25"));
	progress_set(50);
	usleep(1500000);
	progress_stop();
}

static void
works_and_dies(void)
{
	progress_start("packing", "documents", 0);
	progress_set(12);
	usleep(2500000);
	die("trouble");
}

static void
is_asked(void)
{
	progress_start("packing", "B", 2000);
	progress_set(1000);
	raise(SIGUSR1);
	usleep(1500000);
	progress_stop();
}

static void
leaves_usr1(void)
{
	signal(SIGUSR1, SIG_IGN);
	progress_usr1(0);
	is_asked();
}

static void
nobody_looks(void **state)
{
	(void)state;
	assert_string_equal(on_pipe(works_for_seconds), "");
}

static void
somebody_looks(void **state)
{
	const char *text = on_terminal(works_for_seconds);
	size_t n = strlen(text);

	(void)state;
	assert_non_null(strstr(text, "\r\033[Kpacking: 1.00 MB (25 %), "));
	assert_non_null(strstr(text, "B/s, 0:00:0"));
	assert_true(n > 4);	/* erased at the end */
	assert_string_equal(text + n - 4, "\r\033[K");
}

static void
text_of_the_caller(void **state)
{
	const char *text = on_terminal(says_itself);

	(void)state;
	assert_non_null(strstr(text, "\r\033[Kstep 12 of 100, los\r"));
	assert_null(strstr(text, "training"));
}

static void
messages_stand_alone(void **state)
{
	const char *text = on_terminal(works_and_dies);

	(void)state;
	assert_non_null(strstr(text, "packing: 12 documents, "));
	assert_non_null(strstr(text, "\r\033[Kassay: trouble\r\n"));
}

static void
usr1_asks(void **state)
{
	const char *text = on_pipe(is_asked);

	(void)state;
	assert_memory_equal(text, "packing: 1.00 kB (50 %), ", 25);
	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_string_equal(on_pipe(leaves_usr1), "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_looks),
		cmocka_unit_test(somebody_looks),
		cmocka_unit_test(text_of_the_caller),
		cmocka_unit_test(messages_stand_alone),
		cmocka_unit_test(usr1_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
