/*
 * accuracy.c - see accuracy.h
 *
 * Guessing is a sum of independent Bernoulli trials with p = 1/k: the number
 * of hits has mean sum(1/k) and variance sum(1/k (1 - 1/k)).
 */
#include "sample/accuracy.h"

#include <math.h>

void
accuracy_add(struct accuracy *s, double logprob, size_t tokens, int greedy)
{
	s->lines++;
	s->logprob += logprob;
	s->tokens += tokens;
	s->greedy += greedy != 0;
}

struct accuracy_pick
accuracy_pick(const double *logprob, const size_t *bytes, size_t k)
{
	struct accuracy_pick p = {0, 0};

	for (size_t i = 1; i < k; i++) {
		if (logprob[i] > logprob[p.raw])
			p.raw = i;
		if (logprob[i] / (double)bytes[i] >
		    logprob[p.norm] / (double)bytes[p.norm])
			p.norm = i;
	}
	return p;
}

void
accuracy_add_choices(struct accuracy *s, struct accuracy_pick p, size_t k,
		  size_t answer)
{
	s->lines++;
	s->choice_lines++;
	s->right += p.raw == answer;
	s->right_norm += p.norm == answer;
	s->chance += 1.0 / (double)k;
	s->chance_var += (1.0 / (double)k) * (1 - 1.0 / (double)k);
}

struct accuracy_rate
accuracy_rate(uint64_t right, uint64_t n)
{
	struct accuracy_rate r = {0, 0};

	r.p = (double)right / (double)n;
	if (n > 1)
		r.stderror = sqrt(r.p * (1 - r.p) / (double)(n - 1));
	return r;
}

double
accuracy_z(const struct accuracy *s, uint64_t right)
{
	if (s->chance_var <= 0)
		return 0;
	return ((double)right - s->chance) / sqrt(s->chance_var);
}

static void
put_rate(struct buf *b, const char *name, const struct accuracy *s,
	 uint64_t right)
{
	struct accuracy_rate r = accuracy_rate(right, s->choice_lines);
	double z = accuracy_z(s, right);

	buf_printf(b, "%-22s %7.4f +- %.4f   guessing %.4f   z %+.2f   %s\n",
		   name, r.p, r.stderror,
		   s->chance / (double)s->choice_lines, z,
		   fabs(z) > 1.96 ? "differs from guessing"
				  : "no better or worse than guessing");
}

void
accuracy_print(const struct accuracy *s, struct buf *b)
{
	uint64_t single = s->lines - s->choice_lines;

	if (s->choice_lines) {
		buf_printf(b, "%-22s %7llu\n", "lines with choices",
			   (unsigned long long)s->choice_lines);
		put_rate(b, "accuracy", s, s->right);
		put_rate(b, "accuracy, normalized", s, s->right_norm);
	}
	if (single) {
		struct accuracy_rate r = accuracy_rate(s->greedy, single);

		buf_printf(b, "%-22s %7llu\n", "continuations",
			   (unsigned long long)single);
		buf_printf(b, "%-22s %7.4f +- %.4f\n", "greedy accuracy",
			   r.p, r.stderror);
		buf_printf(b, "%-22s %7.4f\n", "perplexity of a token",
			   exp(-s->logprob / (double)s->tokens));
	}
	if (!s->lines)
		buf_puts(b, "no lines\n");
}
