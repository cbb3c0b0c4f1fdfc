/*
 * accuracy.c - see accuracy.h
 *
 * Guessing is a sum of independent trials: the credit of a line with k choices
 * has mean 1/k and, if m of them are tied as the best, variance 1/(mk) - 1/k^2.
 */
#include "sample/accuracy.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

void
accuracy_add(struct accuracy *s, double logprob, size_t tokens, int greedy)
{
	s->lines++;
	s->logprob += logprob;
	s->tokens += tokens;
	s->greedy += greedy != 0;
}

/* The greatest of value[0..k), and what it earns with this answer. */
static struct accuracy_best
best_of(const double *value, size_t k, size_t answer)
{
	struct accuracy_best b = {0, 1, 0};

	for (size_t i = 1; i < k; i++) {
		if (value[i] > value[b.pick])
			b = (struct accuracy_best){i, 1, 0};
		else if (value[i] == value[b.pick])
			b.tied++;
	}
	if (value[answer] == value[b.pick])
		b.credit = 1 / (double)b.tied;
	return b;
}

/* With a random answer the credit is 1/m with probability m/k, else 0. */
static void
add_best(struct accuracy_total *t, const struct accuracy_best *b, size_t k)
{
	double m = (double)b->tied, n = (double)k;

	t->right += b->credit;
	t->squares += b->credit * b->credit;
	t->chance_var += b->tied == k ? 0 : 1 / (m * n) - 1 / (n * n);
	t->ties += b->tied > 1;
}

void
accuracy_add_choices(struct accuracy *s, const double *logprob,
		     const size_t *bytes, size_t k, size_t answer,
		     struct accuracy_best *raw, struct accuracy_best *norm)
{
	double *each = xreallocarray(NULL, k, sizeof(*each));

	for (size_t i = 0; i < k; i++)
		each[i] = logprob[i] / (double)bytes[i];
	*raw = best_of(logprob, k, answer);
	*norm = best_of(each, k, answer);
	free(each);
	s->lines++;
	s->choice_lines++;
	s->chance += 1.0 / (double)k;
	add_best(&s->raw, raw, k);
	add_best(&s->norm, norm, k);
}

struct accuracy_rate
accuracy_rate(double right, double squares, uint64_t n)
{
	double m = (double)n, var;
	struct accuracy_rate r = {right / m, 0};

	var = squares / m - r.p * r.p;
	if (n > 1 && var > 0)
		r.stderror = sqrt(var / (m - 1));
	return r;
}

double
accuracy_z(const struct accuracy *s, const struct accuracy_total *t)
{
	if (t->chance_var <= 0)
		return 0;
	return (t->right - s->chance) / sqrt(t->chance_var);
}

static void
put_rate(struct buf *b, const char *name, const struct accuracy *s,
	 const struct accuracy_total *t)
{
	struct accuracy_rate r = accuracy_rate(t->right, t->squares,
					       s->choice_lines);
	double z = accuracy_z(s, t);

	buf_printf(b, "%-22s %7.4f +- %.4f   guessing %.4f   z %+.2f   "
		   "ties %llu   %s\n", name, r.p, r.stderror,
		   s->chance / (double)s->choice_lines, z,
		   (unsigned long long)t->ties,
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
		put_rate(b, "accuracy", s, &s->raw);
		put_rate(b, "accuracy, normalized", s, &s->norm);
	}
	if (single) {
		struct accuracy_rate r = accuracy_rate((double)s->greedy,
				(double)s->greedy, single);

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
