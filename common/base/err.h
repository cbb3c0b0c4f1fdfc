/*
 * err.h - errors and warnings
 *
 * Code below cmd/ reports an error by returning -1 (or NULL) with a message in
 * the caller's struct err; it never exits, except when memory is out (mem.h).
 * On stderr it prints warnings (warn()), summaries for a person and progress,
 * nothing else.  Programs turn the message into "tool: message" on stderr and
 * status 2 with die_err().  Status 1 is decided by filter_commit(),
 * contam_run(), decode-batch and tok-scan-rare.  A message reads "where: what",
 * lower case, no full stop, with the value found, the one expected and the way
 * out.  Control characters in it, as in the name of a file, are escaped when
 * it is printed.
 *
 * A struct err keeps the first message; later ones are consequences.  It
 * belongs to one thread.  Any thread may call die() and warn().
 */
#ifndef ASSAY_ERR_H
#define ASSAY_ERR_H

#include <stdarg.h>
#include <stddef.h>

enum { EXIT_OK = 0, EXIT_ANSWER = 1, EXIT_TROUBLE = 2 };

struct err {
	int set;		/* 0: no error yet */
	char msg[1500];
};

/* Name printed before every message; args_parse() sets it. */
extern const char *err_tool;

/* Record a message; always returns -1, so that "return err_set(...)" reads. */
int err_set(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The same, followed by ": strerror(errnum)". */
int err_sys(struct err *e, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Print "tool: message", remove the temporary files of every open output
 * (see output.h) and exit with status 2.
 */
void die(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
void die_err(const struct err *e) __attribute__((noreturn));
/* The same, with a second line that shows the usage. */
void die_usage(const char *msg, const char *usage) __attribute__((noreturn));

/* Print "tool: warning: message", unless err_quiet is set (-q). */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
extern int err_quiet;

/* Write a text for people, such as a summary, to stderr. */
void err_text(const char *p, size_t n);

/*
 * Make a write past the file size limit (ulimit -f) fail, as on a full device,
 * instead of ending the process.  args_parse() calls it.  This installs a
 * handler rather than SIG_IGN, which child processes would inherit.
 */
void err_init(void);

/*
 * Register a function that die() and fatal signals run before the process
 * ends.  It must be async-signal-safe.  At most 8.
 */
void err_at_exit(void (*fn)(void));

/*
 * Run those functions and end the process by signal sig, as its default
 * action would.  Async-signal-safe.  A program with its own handlers for INT,
 * TERM or HUP calls it to end at once; they may be installed before or after
 * the first output is opened.
 */
void err_end_by_signal(int sig) __attribute__((noreturn));

#endif
