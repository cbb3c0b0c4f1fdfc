/*
 * counts.h - how often each of many keys occurs, reused for text after text
 *
 * An open-addressing table of 64-bit keys, at most half full.  A slot has one
 * count and, if asked for, more values.
 */
#ifndef ASSAY_COUNTS_H
#define ASSAY_COUNTS_H

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* All zero is empty.  The slot of a key is new when its val is 0. */
struct counts {
	uint64_t *key;
	uint32_t *val;		/* of each slot; then others of each slot */
	size_t cap;
	size_t mask;		/* slots - 1 */
};

/* Empty, for n keys; values: of a slot, the same in all calls. */
static inline void
counts_reset(struct counts *c, size_t n, size_t values)
{
	size_t slots = 64;

	while (slots < 2 * n)
		slots *= 2;
	if (slots > c->cap) {
		c->key = xreallocarray(c->key, slots, sizeof(*c->key));
		c->val = xreallocarray(c->val, values * slots,
				       sizeof(*c->val));
		c->cap = slots;
	}
	memset(c->val, 0, slots * sizeof(*c->val));
	c->mask = slots - 1;
}

static inline size_t
counts_slot(const struct counts *c, uint64_t key)
{
	size_t i = key * UINT64_C(0x9e3779b97f4a7c17) >> 20 & c->mask;

	while (c->val[i] && c->key[i] != key)
		i = (i + 1) & c->mask;
	return i;
}

static inline void
counts_clear(struct counts *c)
{
	free(c->key);
	free(c->val);
	*c = (struct counts){0};
}

#endif
