/*
 * word_table.c - distinct words and their numbers
 *
 * An open-addressing table.  Words of equal hash are compared by their bytes.
 * Most words of a text are already in normalized form, so the bytes as they
 * are in the text are compared first, and normalized only if that fails.
 */
#include "contam/word_table.h"

#include <stdlib.h>

#include "base/mem.h"

struct span
word_table_get(const struct word_table *t, uint32_t number)
{
	return (struct span){t->bytes.p + t->start[number],
			     t->start[number + 1] - t->start[number]};
}

int
word_table_is(const struct word_table *t, uint32_t number, struct span text,
	      const struct word *w, struct buf *tmp)
{
	struct span own = word_table_get(t, number);
	struct span raw = {text.p + w->start, w->end - w->start};

	if (t->hash[number] != w->hash)
		return 0;
	/* What is equal to a normalized word is normalized itself. */
	if (span_eq(own, raw))
		return 1;
	buf_reset(tmp);
	words_norm(text, w, tmp);
	return span_eq(own, buf_span(tmp));
}

static void
grow(struct word_table *t)
{
	size_t i, at, slots;

	t->cap = t->cap ? 2 * t->cap : 1024;
	t->hash = xreallocarray(t->hash, t->cap, sizeof(*t->hash));
	t->start = xreallocarray(t->start, t->cap + 1, sizeof(*t->start));
	if (!t->n)
		t->start[0] = 0;
	slots = 2 * t->cap;
	free(t->slot);
	t->slot = xcalloc(slots, sizeof(*t->slot));
	t->mask = slots - 1;
	for (i = 0; i < t->n; i++) {
		at = t->hash[i] & t->mask;
		while (t->slot[at])
			at = (at + 1) & t->mask;
		t->slot[at] = (uint32_t)i + 1;
	}
}

uint32_t
word_table_add(struct word_table *t, struct span text, const struct word *w)
{
	size_t at;

	if (t->n == t->cap)
		grow(t);
	for (at = w->hash & t->mask; t->slot[at]; at = (at + 1) & t->mask)
		if (word_table_is(t, t->slot[at] - 1, text, w, &t->tmp))
			return t->slot[at] - 1;
	words_norm(text, w, &t->bytes);
	t->hash[t->n] = w->hash;
	t->start[t->n + 1] = t->bytes.n;
	t->slot[at] = (uint32_t)++t->n;
	return (uint32_t)t->n - 1;
}

void
word_table_clear(struct word_table *t)
{
	free(t->hash);
	free(t->start);
	free(t->slot);
	buf_clear(&t->bytes);
	buf_clear(&t->tmp);
	memset(t, 0, sizeof(*t));
}
