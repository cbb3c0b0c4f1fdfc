/*
 * score.c - see score.h
 *
 * Guessing is a sum of independent Bernoulli trials with p = 1/k, whose
 * number of hits has mean sum(1/k) and variance sum(1/k (1 - 1/k)).
 */
#include "sample/score.h"

#include <math.h>

void
score_add(struct score *s, double logprob, size_t tokens, int greedy)
{
	s->lines++;
	s->logprob += logprob;
	s->tokens += tokens;
	s->greedy += greedy != 0;
}

struct score_pick
score_pick(const double *logprob, const size_t *bytes, size_t k)
{
	struct score_pick p = {0, 0};

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
score_add_choices(struct score *s, struct score_pick p, size_t k,
		  size_t answer)
{
	s->lines++;
	s->choice_lines++;
	s->right += p.raw == answer;
	s->right_norm += p.norm == answer;
	s->chance += 1.0 / (double)k;
	s->chance_var += (1.0 / (double)k) * (1 - 1.0 / (double)k);
}

struct score_rate
score_rate(uint64_t right, uint64_t n)
{
	struct score_rate r = {0, 0};

	r.p = (double)right / (double)n;
	if (n > 1)
		r.stderror = sqrt(r.p * (1 - r.p) / (double)(n - 1));
	return r;
}

double
score_z(const struct score *s, uint64_t right)
{
	if (s->chance_var <= 0)
		return 0;
	return ((double)right - s->chance) / sqrt(s->chance_var);
}
