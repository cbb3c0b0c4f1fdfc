/*
 * measure - run a command, print what it cost
 *
 * usage: measure OUT CMD [ARG...]
 *
 * Writes "cpu_s wall_s peak_mb" of CMD and its children into OUT: user plus
 * system seconds, seconds by the clock, the largest resident size.  Exit
 * status: that of CMD, 128 + the signal that ended it, 2 when it cannot run.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double
seconds(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static int
write_cost(const char *path, double wall, const struct rusage *u)
{
	FILE *f = fopen(path, "w");

	if (!f) {
		fprintf(stderr, "measure: %s: %s\n", path, strerror(errno));
		return 2;
	}
	fprintf(f, "%.3f %.3f %.1f\n",
		seconds(u->ru_utime) + seconds(u->ru_stime), wall,
		(double)u->ru_maxrss / 1024);
	return fclose(f) ? 2 : 0;
}

int
main(int argc, char **argv)
{
	struct rusage u;
	double start;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: measure OUT CMD [ARG...]\n");
		return 2;
	}
	start = now();
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		fprintf(stderr, "measure: %s: %s\n", argv[2], strerror(errno));
		_exit(2);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) < 0) {
		fprintf(stderr, "measure: %s\n", strerror(errno));
		return 2;
	}
	if (write_cost(argv[1], now() - start, &u))
		return 2;
	return WIFEXITED(status) ? WEXITSTATUS(status) :
		128 + WTERMSIG(status);
}
