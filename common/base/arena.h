/*
 * arena.h - many small allocations, freed together
 */
#ifndef ASSAY_ARENA_H
#define ASSAY_ARENA_H

#include <stddef.h>

/* All zero is empty and valid. */
struct arena {
	struct arena_block *blocks;
	size_t held;		/* bytes taken from the system */
	size_t pad;		/* readable zero bytes after each block */
};

/*
 * n bytes, not zeroed, at an address that never moves.  They come from blocks
 * of `block` bytes; more than a quarter of that gets a block of its own.
 * Aligned as far as the sizes taken before are multiples of the alignment.
 */
void *arena_take(struct arena *a, size_t n, size_t block);
/*
 * Empty again, with an open block of at least n bytes: the one that it has or,
 * if that is smaller or one of several, a new one with a quarter more.
 */
void arena_reset(struct arena *a, size_t n);
void arena_clear(struct arena *a);	/* frees all; empty again */

#endif
