/*
 * tap.h - test lines that may come from child processes
 *
 * The count lives in shared memory, so that a forked child's lines are
 * numbered with its parent's.
 */
#ifndef ASSAY_TAP_H
#define ASSAY_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct tap {
	int n, failed;
};
static struct tap *tap;

static inline void
tap_start(void)
{
	tap = mmap(NULL, sizeof *tap, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tap == MAP_FAILED)
		abort();
}

static inline void __attribute__((format(printf, 2, 3)))
tap_ok(int ok, const char *fmt, ...)
{
	va_list ap;

	tap->failed += !ok;
	printf("%s %d - ", ok ? "ok" : "not ok", ++tap->n);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

/* 0 in the child; in the parent 1, when the child has ended, and how. */
static inline int
tap_fork(int *status)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		abort();
	if (pid > 0 && waitpid(pid, status, 0) != pid)
		abort();
	return pid > 0;
}

static inline int
tap_end(void)
{
	printf("1..%d\n", tap->n);
	return tap->failed > 0;
}

#endif
