/*
 * repeats.c - text that loops
 *
 * run: a loop of count times p units has (count - 1) * p places in a row where
 * u[i] == u[i - p], so one of them is a multiple of that number.  Only these
 * places are checked, and a hit is followed to both sides.  Cost: n / 31 for
 * p = 1, less for others.
 *
 * phrase: if an n-gram occurs c times, so do its bigrams.  One pass counts
 * bigrams in a hash table; places whose bigram is rarer than `count` are cold.
 * n-grams that cover the fraction make at least half of it hot, so nearly
 * every document is finished after that pass.  For the others, n-grams that
 * begin at hot places and stay on them are counted, for each n.
 */
#include "dedup/repeats.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
	PHRASE_MIN = 2, PHRASE_MAX = 13,
	VALUES = 3		/* of an n-gram: times, first, next place */
};

#define B UINT64_C(0x9e3779b97f4a7c17)

void
repeat_opts_init(struct repeat_opts *o)
{
	*o = (struct repeat_opts){32, 13, 32, 0.2};
}

void
repeats_clear(struct repeats *r)
{
	counts_clear(&r->counts);
}

static struct repeat
find_run(const struct repeat_opts *o, const uint64_t *u, size_t n)
{
	size_t p, i, s, e, step;

	for (p = 1; p <= (size_t)o->run_max; p++) {
		if (n / p < (size_t)o->run_count)
			break;
		step = ((size_t)o->run_count - 1) * p;
		for (i = step; i < n; i += step) {
			if (u[i] != u[i - p])
				continue;
			for (s = i; s > p && u[s - 1] == u[s - 1 - p]; s--)
				;
			for (e = i + 1; e < n && u[e] == u[e - p]; e++)
				;
			s -= p;
			if ((e - s) / p >= (size_t)o->run_count)
				return (struct repeat){REPEAT_RUN, s, e, p,
						       (e - s) / p};
		}
	}
	return (struct repeat){REPEAT_NONE, 0, 0, 0, 0};
}

/* --- the phrase rule --- */

static uint64_t
gram(const uint64_t *u, size_t n)
{
	uint64_t h = 0;
	size_t i;

	for (i = 0; i < n; i++)
		h = (h + u[i]) * B;
	return h ^ h >> 32;
}

/* hot[i]: how many places in a row from i have a common bigram. */
static size_t
find_hot(struct repeats *r, const uint64_t *u, size_t n, size_t count,
	 uint32_t *hot)
{
	struct counts *c = &r->counts;
	size_t i, k, sum = 0;

	counts_reset(c, n, VALUES);
	for (i = 0; i + 1 < n; i++) {
		uint64_t key = gram(u + i, 2);

		k = counts_slot(c, key);
		c->key[k] = key;
		c->val[k]++;
		hot[i] = (uint32_t)k;
	}
	hot[n - 1] = 0;
	for (i = n - 1; i--;) {
		int is = c->val[hot[i]] >= count;

		sum += is;
		hot[i] = is ? hot[i + 1] + 1 : 0;
	}
	return sum;
}

/* The most frequent n-gram of len units, copies counted from the left. */
static struct repeat
top_gram(struct repeats *r, const uint64_t *u, size_t n, size_t len,
	 const uint32_t *hot)
{
	struct repeat best = {REPEAT_NONE, 0, 0, len, 0};
	uint32_t *first, *next;		/* its first place; not before */
	struct counts *c = &r->counts;
	size_t i, k;

	counts_reset(c, n, VALUES);
	first = c->val + c->mask + 1;
	next = first + c->mask + 1;
	for (i = 0; i + len <= n; i++) {
		uint64_t key;

		if (hot[i] + 1 < len)
			continue;
		key = gram(u + i, len);
		k = counts_slot(c, key);
		if (!c->val[k]) {
			c->key[k] = key;
			first[k] = (uint32_t)i;
			next[k] = 0;
		}
		if (i < next[k])
			continue;
		next[k] = (uint32_t)(i + len);
		if (++c->val[k] > best.times) {
			best.times = c->val[k];
			best.start = first[k];
		}
	}
	best.end = best.start + len;
	return best;
}

static struct repeat
find_phrase(struct repeats *r, const struct repeat_opts *o, const uint64_t *u,
	    size_t n)
{
	struct repeat best = {REPEAT_NONE, 0, 0, 0, 0};
	size_t count = (size_t)o->phrase_count, len, hot_places;
	double need = o->phrase_frac * (double)n;
	uint32_t *hot;

	if (!count || n / PHRASE_MIN < count)
		return best;
	hot = xreallocarray(NULL, n, sizeof(*hot));
	hot_places = find_hot(r, u, n, count, hot);
	for (len = PHRASE_MIN; len <= PHRASE_MAX; len++) {
		if ((double)hot_places < need * (double)(len - 1) / (double)len)
			break;
		best = top_gram(r, u, n, len, hot);
		if (best.times >= count &&
		    (double)(best.times * len) >= need) {
			best.rule = REPEAT_PHRASE;
			break;
		}
	}
	free(hot);
	return best;
}

struct repeat
repeats_find(struct repeats *r, const struct repeat_opts *o,
	     const uint64_t *unit, size_t n)
{
	struct repeat x = find_run(o, unit, n);

	return x.rule ? x : find_phrase(r, o, unit, n);
}
