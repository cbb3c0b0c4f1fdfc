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
	uint64_t h = XXH3_64bits(s.p, s.n);
	size_t i = h & t->mask;

	while (t->slot[i])
		i = (i + 1) & t->mask;
	t->slot[i] = h >> 32 << 32 | (index + 1);
}

int64_t
names_find(const struct name_table *t, struct span s)
{
	uint64_t h = XXH3_64bits(s.p, s.n);
	size_t i = h & t->mask;

	for (; t->slot[i]; i = (i + 1) & t->mask) {
		uint32_t index = (uint32_t)t->slot[i] - 1;

		if ((t->slot[i] ^ h) >> 32 == 0 &&
		    span_eq(t->name[index], s))
			return index;
	}
	return -1;
}
