/*
 * progress.c - one line on a terminal, with rate and time left
 *
 * A separate thread sleeps on a semaphore.  It wakes up to update the line, and
 * when the handler of SIGUSR1 posts (sem_post is async-signal-safe).  So a
 * working loop pays for one relaxed addition, and a loop that hangs still
 * reports.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/progress.h"

static struct {
	pthread_mutex_t lock;	/* over shown, text and writes to stderr */
	pthread_t thread;
	sem_t wake;
	int running, shown, no_usr1;
	atomic_int asked, stop;
	const char *what, *unit;
	_Atomic uint64_t done;
	uint64_t total;
	double start;
	char text[200];		/* of the caller */
} pg = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* 12345678 B as "12.3 MB"; other units without a prefix below a million. */
static void
put_amount(char *s, size_t n, double x, const char *unit)
{
	static const char prefix[] = "kMGTPE";
	int bytes = !strcmp(unit, "B"), i = -1;

	if (bytes || x >= 1e6)
		for (; x >= 999.5 && i < 5; i++)
			x /= 1000;
	if (i < 0)
		snprintf(s, n, "%.0f %s", x, unit);
	else
		snprintf(s, n, "%.*f %c%s%s", x < 9.95 ? 2 : x < 99.5 ? 1 : 0,
			 x, prefix[i], bytes ? "" : " ", unit);
}

static int
put_line(char *s, size_t n)
{
	double done = (double)atomic_load(&pg.done), total = (double)pg.total;
	double t = clock_s() - pg.start, rate = t > 0 ? done / t : 0;
	char a[40], b[40], left[40] = "";
	long sec;

	if (*pg.text)
		return snprintf(s, n, "%s", pg.text);
	put_amount(a, sizeof a, done, pg.unit);
	put_amount(b, sizeof b, rate, pg.unit);
	if (total < done || total <= 0)
		return snprintf(s, n, "%s: %s, %s/s, %.0f s", pg.what, a, b, t);
	if (rate > 0) {
		sec = (long)((total - done) / rate + 0.5);
		snprintf(left, sizeof left, ", %ld:%02ld:%02ld left",
			 sec / 3600, sec / 60 % 60, sec % 60);
	}
	return snprintf(s, n, "%s: %s (%.0f %%), %s/s%s", pg.what, a,
			100 * done / total, b, left);
}

static void
erase_locked(void)
{
	if (pg.shown)
		write_all(STDERR_FILENO, "\r\033[K", 4);
	pg.shown = 0;
}

static int
watched(void)
{
	return isatty(STDERR_FILENO) &&
	       tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* A longer line would wrap, and could not be erased. */
static int
columns(void)
{
	struct winsize w;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ?
		w.ws_col - 1 : 79;
}

/* Print a lasting line (for SIGUSR1), or one that is overwritten. */
static void
show(int lasting)
{
	char s[256] = "\r\033[K";
	int off = lasting ? 0 : 4, most = lasting ? 250 : columns(), n;

	pthread_mutex_lock(&pg.lock);
	if (lasting)
		erase_locked();
	n = put_line(s + off, sizeof s - 5);
	n = off + (n < most ? n : most);
	if (lasting)
		s[n++] = '\n';
	write_all(STDERR_FILENO, s, (size_t)n);
	pg.shown = !lasting;
	pthread_mutex_unlock(&pg.lock);
}

static void *
progress_thread(void *arg)
{
	struct timespec t;
	double next = pg.start + 1;

	(void)arg;
	while (!atomic_load(&pg.stop)) {
		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_nsec += 250 * 1000 * 1000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		sem_timedwait(&pg.wake, &t);
		if (atomic_exchange(&pg.asked, 0))
			show(1);
		if (clock_s() < next || atomic_load(&pg.stop) || !watched())
			continue;
		show(0);
		next = clock_s() + 0.5;
	}
	return NULL;
}

static void
on_usr1(int sig)
{
	int saved = errno;

	(void)sig;
	atomic_store(&pg.asked, 1);
	sem_post(&pg.wake);
	errno = saved;
}

static void
catch_usr1(void)
{
	struct sigaction old, sa = { .sa_handler = on_usr1,
				     .sa_flags = SA_RESTART };

	if (pg.no_usr1 || sigaction(SIGUSR1, NULL, &old) < 0 ||
	    old.sa_handler == SIG_IGN)
		return;
	sigaction(SIGUSR1, &sa, NULL);
}

void
progress_start(const char *what, const char *unit, uint64_t total)
{
	sigset_t all, old;

	progress_stop();
	pg.what = what;
	pg.unit = unit;
	pg.total = total;
	pg.start = clock_s();
	pg.text[0] = 0;
	atomic_store(&pg.done, 0);
	atomic_store(&pg.stop, 0);
	if (sem_init(&pg.wake, 0, 0) < 0)
		return;
	/* The other threads take signals. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pg.running = !pthread_create(&pg.thread, NULL, progress_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (pg.running)
		catch_usr1();
}

void
progress_set(uint64_t done)
{
	atomic_store_explicit(&pg.done, done, memory_order_relaxed);
}

void
progress_add(uint64_t n)
{
	atomic_fetch_add_explicit(&pg.done, n, memory_order_relaxed);
}

void
progress_text(struct span s)
{
	size_t n = s.n < sizeof pg.text ? s.n : sizeof pg.text - 1;

	pthread_mutex_lock(&pg.lock);
	memcpy(pg.text, s.p, n);
	pg.text[n] = 0;
	pthread_mutex_unlock(&pg.lock);
}

void
progress_stop(void)
{
	if (!pg.running)
		return;
	atomic_store(&pg.stop, 1);
	sem_post(&pg.wake);
	pthread_join(pg.thread, NULL);
	pg.running = 0;
	progress_erase();
}

void
progress_usr1(int on)
{
	pg.no_usr1 = !on;
}

void
progress_erase(void)
{
	if (!pg.running && !pg.shown)
		return;
	pthread_mutex_lock(&pg.lock);
	erase_locked();
	pthread_mutex_unlock(&pg.lock);
}
