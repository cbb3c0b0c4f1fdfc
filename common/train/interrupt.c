/*
 * interrupt.c - see interrupt.h
 */
#include <signal.h>
#include <string.h>

#include "base/err.h"
#include "base/progress.h"
#include "train/interrupt.h"
#include "record/ckpt.h"

static volatile sig_atomic_t pending, save;

static void
on_end(int sig)
{
	if (pending) {
		ckpt_cleanup();
		err_end_by_signal(sig);
	}
	pending = sig;
}

static void
on_save(int sig)
{
	(void)sig;
	save = 1;
}

void
interrupt_early(void)
{
	signal(SIGUSR1, SIG_IGN);
}

void
interrupt_install(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction a, old;
	size_t i;

	memset(&a, 0, sizeof a);
	sigemptyset(&a.sa_mask);
	a.sa_flags = SA_RESTART;
	a.sa_handler = on_end;
	for (i = 0; i < sizeof ends / sizeof *ends; i++) {
		sigaction(ends[i], NULL, &old);
		if (old.sa_handler != SIG_IGN)	/* nohup */
			sigaction(ends[i], &a, NULL);
	}
	progress_usr1(0);
	a.sa_handler = on_save;
	sigaction(SIGUSR1, &a, NULL);
}

int
interrupt_pending(void)
{
	return pending;
}

int
interrupt_save_wanted(void)
{
	int was = save;

	save = 0;
	return was;
}
