/*
 * word_table.h - distinct words and their numbers
 *
 * The words of all benchmarks, each stored once in normalized form (words.h)
 * and numbered from 0 in the order in which they were added.
 */
#ifndef ASSAY_WORD_TABLE_H
#define ASSAY_WORD_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "text/words.h"

/* All zero is valid and empty. */
struct word_table {
	uint64_t *hash;		/* [n] */
	uint64_t *start;	/* [n + 1], in bytes */
	size_t n, cap;
	struct buf bytes;	/* the normalized words, concatenated */
	uint32_t *slot;		/* number + 1, by hash */
	size_t mask;
	struct buf tmp;
};

/* The number of a word of text; a new word is added. */
uint32_t word_table_add(struct word_table *t, struct span text,
			const struct word *w);
/* The normalized word of that number. */
struct span word_table_get(const struct word_table *t, uint32_t number);
/* Is w, a word of text, that word?  Each thread has its own tmp. */
int word_table_is(const struct word_table *t, uint32_t number,
		  struct span text, const struct word *w, struct buf *tmp);
void word_table_clear(struct word_table *t);

#endif
