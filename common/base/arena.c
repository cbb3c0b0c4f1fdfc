/*
 * arena.c - many small allocations, freed together
 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct arena_block {
	struct arena_block *next;
	size_t n, cap;
	char p[];
};

static struct arena_block *
block_new(struct arena *a, size_t cap)
{
	struct arena_block *b = xmalloc(sizeof(*b) + cap + a->pad);

	memset(b->p + cap, 0, a->pad);
	b->n = 0;
	b->cap = cap;
	a->held += sizeof(*b) + cap + a->pad;
	return b;
}

void *
arena_take(struct arena *a, size_t n, size_t block)
{
	struct arena_block *b = a->blocks;

	if (!b || b->cap - b->n < n) {
		size_t cap = n > block / 4 ? n : block;

		b = block_new(a, cap);
		/* a block of its own goes after the open one */
		if (a->blocks && cap == n) {
			b->next = a->blocks->next;
			a->blocks->next = b;
		} else {
			b->next = a->blocks;
			a->blocks = b;
		}
	}
	b->n += n;
	return b->p + b->n - n;
}

void
arena_clear(struct arena *a)
{
	struct arena_block *next;

	for (struct arena_block *b = a->blocks; b; b = next) {
		next = b->next;
		free(b);
	}
	a->blocks = NULL;
	a->held = 0;
}

void
arena_reset(struct arena *a, size_t n)
{
	struct arena_block *b = a->blocks;

	if (b && !b->next && b->cap >= n) {
		b->n = 0;
		return;
	}
	arena_clear(a);
	a->blocks = block_new(a, n + n / 4);
	a->blocks->next = NULL;
}
