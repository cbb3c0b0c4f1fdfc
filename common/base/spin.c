/*
 * spin.c - limit how long idle OpenMP threads spin
 *
 * The program is executed by the path that /proc/self/exe links to, so that it
 * keeps its name in ps and pkill.
 */
#include "base/spin.h"

#include <stdlib.h>
#include <unistd.h>

void
spin_bound(char **argv)
{
	char path[4096];
	ssize_t n;

	if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
		return;
	n = readlink("/proc/self/exe", path, sizeof path - 1);
	if (n <= 0 || setenv("GOMP_SPINCOUNT", "5000", 1) < 0)
		return;
	path[n] = 0;
	execv(path, argv);
}
