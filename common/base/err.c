/*
 * err.c - messages, and the ways a process ends
 *
 * A process ends through die(), through a fatal signal, or by returning from
 * main.  The first two must leave no temporary files, so both run the
 * functions registered with err_at_exit() (output.c unlinks its files there).
 * INT, TERM, HUP, QUIT, PIPE and XCPU are caught from the first registration
 * on, unless their action was not the default one: nohup, and programs with
 * handlers of their own, keep theirs.  After the cleanup the signal is raised
 * again with its default action, so that the parent sees which signal ended
 * the process (130 for INT in a shell).
 *
 * die() writes from a buffer on the stack and leaves with _exit(): it needs no
 * memory and runs no destructors.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/progress.h"

enum { MAX_HOOKS = 8 };

const char *err_tool = "assay";
int err_quiet;

static void (*hooks[MAX_HOOKS])(void);
static atomic_int nhooks;
static atomic_flag dying = ATOMIC_FLAG_INIT;

static void
err_vset(struct err *e, int errnum, const char *fmt, va_list ap)
{
	int n;

	if (e->set)
		return;
	e->set = 1;
	n = vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	if (n < 0 || (size_t)n >= sizeof e->msg || !errnum)
		return;
	snprintf(e->msg + n, sizeof e->msg - (size_t)n, ": %s",
		 strerrordesc_np(errnum) ? strerrordesc_np(errnum)
					 : "unknown error");
}

int
err_set(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, 0, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_sys(struct err *e, int errnum, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, errnum, fmt, ap);
	va_end(ap);
	return -1;
}

void
err_text(const char *p, size_t n)
{
	progress_erase();
	write_all(STDERR_FILENO, p, n);
}

/*
 * msg into a line of size bytes: control characters, as a file name may have
 * them, are shown as escapes, so that a message is one line and cannot command
 * a terminal.
 */
static size_t
put_escaped(char *line, size_t size, const char *msg)
{
	static const char named[] = "\n\t\r", names[] = "ntr";
	size_t n = 0;
	const char *k;

	for (; *msg && n + 7 < size; msg++) {
		unsigned char c = (unsigned char)*msg;

		if (c == 0xc2 && ((unsigned char)msg[1] & 0xe0) == 0x80)
			n += (size_t)sprintf(line + n, "\\u%04x",
					     (unsigned char)*++msg);
		else if (c >= 0x20 && c != 0x7f)
			line[n++] = *msg;
		else if ((k = strchr(named, c)))
			n += (size_t)sprintf(line + n, "\\%c",
					     names[k - named]);
		else
			n += (size_t)sprintf(line + n, "\\x%02x", c);
	}
	return n;
}

/*
 * One write, so that the lines of two processes do not mix.  more: a second
 * line, or NULL.
 */
static void
err_print(const char *kind, const char *msg, const char *more)
{
	char line[4096];
	size_t n = (size_t)snprintf(line, 200, "%.100s: %s", err_tool, kind);

	n += put_escaped(line + n, 3000, msg);
	line[n++] = '\n';
	if (more)
		n += (size_t)snprintf(line + n, sizeof line - n, "%.800s\n",
				      more);
	err_text(line, n);
}

static void
err_run_hooks(void)
{
	for (int i = atomic_load(&nhooks); i-- > 0;)
		hooks[i]();
}

static void __attribute__((noreturn))
end(const char *msg, const char *more)
{
	/* Another thread that fails waits for the first to end the process. */
	while (atomic_flag_test_and_set(&dying))
		pause();
	err_print("", msg, more);
	err_run_hooks();
	_exit(EXIT_TROUBLE);
}

void
die(const char *fmt, ...)
{
	char msg[1900];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	end(msg, NULL);
}

void
die_usage(const char *msg, const char *usage)
{
	end(msg, usage);
}

void
die_err(const struct err *e)
{
	end(e->msg, NULL);
}

void
warn(const char *fmt, ...)
{
	char msg[1900];
	va_list ap;

	if (err_quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	err_print("warning: ", msg, NULL);
}

void
err_end_by_signal(int sig)
{
	sigset_t set;

	err_run_hooks();
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
	_exit(128 + sig);	/* not reached */
}

/* All signals are blocked while the handler runs. */
static void
err_catch(int sig, void (*handler)(int))
{
	struct sigaction old, new = { .sa_handler = handler,
				      .sa_flags = SA_RESTART };

	if (sigaction(sig, NULL, &old) < 0 || old.sa_handler != SIG_DFL)
		return;
	sigfillset(&new.sa_mask);
	sigaction(sig, &new, NULL);
}

void
err_at_exit(void (*fn)(void))
{
	static const int fatal[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE,
				     SIGXCPU };
	int n = atomic_load(&nhooks);

	for (int i = 0; i < n; i++)
		if (hooks[i] == fn)
			return;
	if (n == MAX_HOOKS)
		return;
	hooks[n] = fn;
	atomic_store(&nhooks, n + 1);
	if (n > 0)
		return;
	for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
		err_catch(fatal[i], err_end_by_signal);
}

static void
err_go_on(int sig)
{
	(void)sig;
}

void
err_init(void)
{
	err_catch(SIGXFSZ, err_go_on);
}
