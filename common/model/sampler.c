/*
 * sampler.c - see sampler.h
 *
 * Candidates are sorted by (logit descending, id ascending), so every filter
 * keeps a prefix and ties are broken the same way on every machine.  With
 * top-k a heap keeps the k best, O(V log k); otherwise all are sorted.  Sums
 * are in double, from the highest probability down.
 */
#include "model/sampler.h"

#include <math.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/mem.h"
#include "base/rng.h"

struct sampler_pair {
	double p;		/* probability, unnormalized */
	float logit;
	uint32_t id;
};

size_t
sampler_argmax(const float *logits, size_t n)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (logits[i] > logits[best] || isnan(logits[best]))
			best = i;
	return best;
}

double
sampler_logprob(const float *logits, size_t n, size_t id)
{
	float max = logits[sampler_argmax(logits, n)];
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += expf(logits[i] - max);
	return (double)logits[id] - max - log(sum);
}

static int
by_rank(const void *a, const void *b)
{
	const struct sampler_pair *x = a, *y = b;

	if (x->logit != y->logit)
		return x->logit < y->logit ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

/* The root of the heap is the worst one kept. */
#define WORSE(a, b) (by_rank(&(a), &(b)) > 0)
HEAP(worst, struct sampler_pair, WORSE)

/* Collect the k best of the logits above -inf; returns how many. */
static size_t
collect(const float *logits, size_t n, size_t k, struct sampler_pair *v)
{
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		struct sampler_pair x = {0, logits[i], (uint32_t)i};

		if (logits[i] == -INFINITY)
			continue;
		if (k == n) {
			v[m++] = x;
		} else if (m < k) {
			worst_push(v, m++, x);
		} else if (WORSE(v[0], x)) {
			worst_pop(v, m);
			worst_push(v, m - 1, x);
		}
	}
	qsort(v, m, sizeof(*v), by_rank);
	return m;
}

/* Fill p, and return the length of the prefix that top-p and min-p keep. */
static size_t
cut(const struct sampler *s, struct sampler_pair *v, size_t m, double *total)
{
	double sum = 0, kept = 0;
	size_t n = 0;

	for (size_t i = 0; i < m; i++) {
		v[i].p = exp(((double)v[i].logit - v[0].logit) /
			     s->temperature);
		sum += v[i].p;
	}
	while (n < m && (n == 0 || kept < s->top_p * sum))
		kept += v[n++].p;
	while (n > 1 && v[n - 1].p < s->min_p * v[0].p)
		n--;
	*total = 0;
	for (size_t i = 0; i < n; i++)
		*total += v[i].p;
	return n;
}

int64_t
sampler_pick(const struct sampler *s, const float *logits, size_t n,
	     uint64_t prompt, uint64_t position,
	     struct sampler_scratch *t, struct err *e)
{
	size_t k = s->top_k > 0 && (size_t)s->top_k < n ? (size_t)s->top_k : n;
	double total, x;
	size_t m;

	for (size_t i = 0; i < n; i++)
		if (isnan(logits[i]) || logits[i] == INFINITY)
			return err_set(e, "logit of token %zu is %s: the model "
				       "is broken", i,
				       isnan(logits[i]) ? "NaN" : "infinite");
	m = n ? sampler_argmax(logits, n) : 0;
	if (n == 0 || logits[m] == -INFINITY)
		return err_set(e, "no token has a finite logit");
	if (s->temperature == 0)
		return (int64_t)m;
	GROW(t->v, t->cap, n);
	m = collect(logits, n, k, t->v);
	m = cut(s, t->v, m, &total);
	x = total * rng_uniform(s->seed, RNG_SAMPLE + (prompt << 8), position);
	for (size_t i = 0; i < m; i++) {
		x -= t->v[i].p;
		if (x < 0)
			return t->v[i].id;
	}
	return t->v[m - 1].id;
}
