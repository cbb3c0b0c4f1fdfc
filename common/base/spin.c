/*
 * spin.c - see spin.h
 */
#include "base/spin.h"

#include <stdlib.h>
#include <unistd.h>

void
spin_bound(char **argv)
{
	if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY"))
		return;
	if (setenv("GOMP_SPINCOUNT", "5000", 1) == 0)
		execv("/proc/self/exe", argv);
}
