/*
 * rope.c - see rope.h
 */
#include "model/rope.h"

#include <math.h>
#include <stddef.h>

#include "model/config.h"

const char *const rope_names[] = {"default", "linear", "dynamic", "yarn",
	"llama3", NULL};

static double
mscale_of(double factor, double mscale)
{
	return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

double
rope_attention(double factor, double mscale, double mscale_all_dim)
{
	if (mscale != 0 && mscale_all_dim != 0)
		return mscale_of(factor, mscale) /
			mscale_of(factor, mscale_all_dim);
	return mscale_of(factor, 1);
}

/* The pair that makes this many turns within the original positions. */
static double
pair_of(const struct model_config *c, double turns)
{
	return (double)c->head_dim * log((double)c->rope.original /
					 (turns * 2 * M_PI)) /
		(2 * log(c->rope_theta));
}

static void
scale_yarn(const struct model_config *c, double *f)
{
	const struct rope_scaling *r = &c->rope;
	double low = pair_of(c, r->beta_fast), high = pair_of(c, r->beta_slow);
	int64_t i;

	if (r->truncate) {
		low = floor(low);
		high = ceil(high);
	}
	low = fmax(low, 0);
	high = fmin(high, (double)c->head_dim - 1);
	if (low == high)
		high += 0.001;
	for (i = 0; i < c->head_dim / 2; i++) {
		double ramp = ((double)i - low) / (high - low);

		ramp = fmin(fmax(ramp, 0), 1);
		f[i] = f[i] / r->factor * ramp + f[i] * (1 - ramp);
	}
}

static void
scale_llama3(const struct model_config *c, double *f)
{
	const struct rope_scaling *r = &c->rope;
	double n = (double)r->original;
	int64_t i;

	for (i = 0; i < c->head_dim / 2; i++) {
		double turns = n * f[i] / (2 * M_PI), smooth;

		if (turns > r->high)
			continue;
		smooth = turns < r->low ? 0 :
			(turns - r->low) / (r->high - r->low);
		f[i] = (1 - smooth) * f[i] / r->factor + smooth * f[i];
	}
}

static double
dynamic_theta(const struct model_config *c, int64_t length)
{
	double d = (double)c->head_dim, max = (double)c->max_pos;
	double n = fmax((double)length, max), factor = c->rope.factor;

	return c->rope_theta * pow(factor * n / max - (factor - 1),
				   d / (d - 2));
}

double
rope_frequencies(const struct model_config *c, int64_t length, double *f)
{
	const struct rope_scaling *r = &c->rope;
	double theta = r->type == ROPE_DYNAMIC ? dynamic_theta(c, length) :
		c->rope_theta;
	int64_t i;

	for (i = 0; i < c->head_dim / 2; i++) {
		f[i] = pow(theta, -2.0 * (double)i / (double)c->head_dim);
		if (r->type == ROPE_LINEAR)
			f[i] /= r->factor;
	}
	if (r->type == ROPE_YARN)
		scale_yarn(c, f);
	else if (r->type == ROPE_LLAMA3)
		scale_llama3(c, f);
	return r->type == ROPE_YARN ? r->attention : 1;
}
