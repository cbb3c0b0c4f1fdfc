/*
 * clock.h - seconds of the monotonic clock
 */
#ifndef ASSAY_CLOCK_H
#define ASSAY_CLOCK_H

#include <time.h>

/* Differences only: the zero of the clock is arbitrary. */
static inline double
clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
