/*
 * names.c - an open table of indices, hashed by XXH3
 */
#include "record/names.h"

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"

void
names_init(struct name_table *t, const struct span *name, size_t n)
{
	size_t size = 1024;

	while (size < 2 * n)
		size *= 2;
	t->slot = xcalloc(size, sizeof(*t->slot));
	t->mask = size - 1;
	t->name = name;
}

void
names_clear(struct name_table *t)
{
	free(t->slot);
	t->slot = NULL;
}

void
names_add(struct name_table *t, uint32_t index)
{
	struct span s = t->name[index];
	size_t i = XXH3_64bits(s.p, s.n) & t->mask;

	while (t->slot[i])
		i = (i + 1) & t->mask;
	t->slot[i] = index + 1;
}

int64_t
names_find(const struct name_table *t, struct span s)
{
	size_t i = XXH3_64bits(s.p, s.n) & t->mask;

	for (; t->slot[i]; i = (i + 1) & t->mask)
		if (span_eq(t->name[t->slot[i] - 1], s))
			return t->slot[i] - 1;
	return -1;
}
