/*
 * complete_report.c - what a person should know of texts that were completed
 */
#include "sample/complete.h"

#include "base/clock.h"
#include "base/err.h"

void
complete_warn(const struct complete *c)
{
	unsigned long long n = c->prompts;

	if (c->space_end)
		warn("%llu of %llu texts end in a space: tokens begin with "
		     "theirs, move it behind", (unsigned long long)
		     c->space_end, n);
	if (c->joint_differs)
		warn("%llu continuations are tokenized otherwise when joined "
		     "with their context",
		     (unsigned long long)c->joint_differs);
	if (c->past_end)
		warn("%llu of %llu texts went past the %lld positions the "
		     "model was made for", (unsigned long long)c->past_end,
		     n, (long long)c->positions);
}

void
complete_say(const struct complete *c, FILE *f)
{
	double s = clock_s() - c->start;

	fprintf(f, "%llu texts, %llu tokens read, %llu written or scored, "
		"%.1f tokens/s\n", (unsigned long long)c->prompts,
		(unsigned long long)c->prompt_tokens,
		(unsigned long long)c->tokens,
		(double)(c->prompt_tokens + c->tokens) / s);
}
