/*
 * schedule.h - the learning rate as a pure function of the step
 *
 * Step s (0-based, 0 <= s < steps) of a run of `steps` updates:
 *	warmup, s < warmup:		peak * (s + 1) / warmup
 *	cosine:				min + (peak - min) * (1 + cos(pi r)) / 2
 *	wsd (warmup-stable-decay):	peak, then over the last `decay` steps
 *					peak + (min - peak) * r
 * with r = (s - start) / (end - start), start the first step after warmup
 * (cosine) or the first of the decay (wsd), end = steps.  So the first rate is
 * peak / warmup, that of step `warmup` is peak, and min would be reached at
 * step `steps`, after which the rate stays min.  If warmup and decay do not
 * fit, the decay starts after warmup, or not at all.  The rate is never below
 * peak * 1e-6, even with a min of 0.
 */
#ifndef ASSAY_SCHEDULE_H
#define ASSAY_SCHEDULE_H

#include <stdint.h>

#include "base/err.h"

enum schedule_kind { SCHEDULE_COSINE, SCHEDULE_WSD, SCHEDULE_CONSTANT };
extern const char *const schedule_names[];	/* NULL ends it */

struct schedule {
	enum schedule_kind kind;
	int64_t steps, warmup, decay;
	double peak, min;
};

double schedule_lr(const struct schedule *s, int64_t step);

/* 0 < peak, 0 <= min <= peak, counts not negative. */
int schedule_check(const struct schedule *s, struct err *e);

#endif
