/*
 * ngram_words.c - the distinct words of the benchmarks, numbered
 *
 * An open table by the words' hashes.  Two words of one hash are told apart
 * by their bytes.  Most words of a text stand there as they are normalized
 * (lower case, composed), so bytes are compared with the text first and
 * normalized only where that fails.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "contam/ngram.h"

struct span
ngram_words_at(const struct ngram_words *v, uint32_t unit)
{
	return (struct span){v->bytes.p + v->start[unit],
			     v->start[unit + 1] - v->start[unit]};
}

int
ngram_words_same(const struct ngram_words *v, uint32_t unit, struct span text,
		 const struct word *w, struct buf *tmp)
{
	struct span own = ngram_words_at(v, unit);
	struct span raw = {text.p + w->start, w->end - w->start};

	if (v->hash[unit] != w->hash)
		return 0;
	/* What is equal to a normalized word is normalized itself. */
	if (span_eq(own, raw))
		return 1;
	buf_reset(tmp);
	words_norm(text, w, tmp);
	return span_eq(own, buf_span(tmp));
}

static void
grow(struct ngram_words *v)
{
	size_t i, at, slots;

	v->cap = v->cap ? 2 * v->cap : 1024;
	v->hash = xreallocarray(v->hash, v->cap, sizeof(*v->hash));
	v->start = xreallocarray(v->start, v->cap + 1, sizeof(*v->start));
	if (!v->n)
		v->start[0] = 0;
	slots = 2 * v->cap;
	free(v->slot);
	v->slot = xcalloc(slots, sizeof(*v->slot));
	v->mask = slots - 1;
	for (i = 0; i < v->n; i++) {
		at = v->hash[i] & v->mask;
		while (v->slot[at])
			at = (at + 1) & v->mask;
		v->slot[at] = (uint32_t)i + 1;
	}
}

uint32_t
ngram_words_add(struct ngram_words *v, struct span text, const struct word *w)
{
	size_t at;

	if (v->n == v->cap)
		grow(v);
	for (at = w->hash & v->mask; v->slot[at]; at = (at + 1) & v->mask)
		if (ngram_words_same(v, v->slot[at] - 1, text, w, &v->tmp))
			return v->slot[at] - 1;
	words_norm(text, w, &v->bytes);
	v->hash[v->n] = w->hash;
	v->start[v->n + 1] = v->bytes.n;
	v->slot[at] = (uint32_t)++v->n;
	return (uint32_t)v->n - 1;
}

void
ngram_words_clear(struct ngram_words *v)
{
	free(v->hash);
	free(v->start);
	free(v->slot);
	buf_clear(&v->bytes);
	buf_clear(&v->tmp);
	memset(v, 0, sizeof(*v));
}
