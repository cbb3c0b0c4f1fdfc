/*
 * schedule.c - see schedule.h
 *
 * Each division is in a branch where the divisor is positive.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "model/schedule.h"

const char *const schedule_names[] = {"cosine", "wsd", "constant", NULL};

static double
after_warmup(const struct schedule *s, int64_t step)
{
	int64_t start = s->warmup;
	double r;

	if (s->kind == SCHEDULE_WSD && s->steps - s->decay > start)
		start = s->steps - s->decay;
	if (s->kind == SCHEDULE_CONSTANT || step < start)
		return s->peak;
	if (step >= s->steps)
		return s->min;
	r = (double)(step - start) / (double)(s->steps - start);
	if (s->kind == SCHEDULE_WSD)
		return s->peak + (s->min - s->peak) * r;
	return s->min + (s->peak - s->min) * 0.5 * (1 + cos(M_PI * r));
}

double
schedule_lr(const struct schedule *s, int64_t step)
{
	double floor = s->peak * 1e-6, lr;

	if (step < s->warmup)
		lr = s->peak * (double)(step + 1) / (double)s->warmup;
	else
		lr = after_warmup(s, step);
	if (lr > s->peak)
		lr = s->peak;
	return lr < floor ? floor : lr;
}

int
schedule_check(const struct schedule *s, struct err *e)
{
	int64_t decay = s->kind == SCHEDULE_WSD ? s->decay : 0;

	if (!(s->peak > 0) || !isfinite(s->peak))
		return err_set(e, "the learning rate is %g, expected > 0",
			       s->peak);
	if (!(s->min >= 0) || s->min > s->peak)
		return err_set(e, "the final learning rate is %g, expected 0 "
			       "to the peak, %g", s->min, s->peak);
	if (s->steps < 0 || s->warmup < 0 || decay < 0)
		return err_set(e, "%" PRId64 " steps, warmup %" PRId64
			       ", decay %" PRId64 ": a count is negative",
			       s->steps, s->warmup, decay);
	return 0;
}
