/*
 * best_fit.c - best-fit decreasing bin packing
 *
 * Fragments are sorted by length with a stable counting sort.  Bins with the
 * same room left are a stack.  The rooms that have a bin are a bit set with two
 * levels of summary above it, so that the least room >= length is found in a
 * few words whatever the window's length.
 */
#include "pack/best_fit.h"

#include <stdlib.h>

#include "base/mem.h"

enum { LEVELS = 3 };
#define NO_BIN UINT32_MAX

struct rooms {
	uint64_t *bits[LEVELS];	/* level k + 1: nonzero words of level k */
	size_t words[LEVELS];
	uint32_t *top;		/* [room + 1] a bin with that room left */
	uint32_t *below;	/* [bins] the next one in its stack */
};

static void
rooms_init(struct rooms *r, uint32_t room, size_t bins)
{
	size_t n = (size_t)room + 1, i;

	for (i = 0; i < LEVELS; i++) {
		n = (n + 63) / 64;
		r->words[i] = n;
		r->bits[i] = xcalloc(n, sizeof(uint64_t));
	}
	r->top = xreallocarray(NULL, (size_t)room + 1, sizeof(*r->top));
	for (i = 0; i <= room; i++)
		r->top[i] = NO_BIN;
	r->below = xreallocarray(NULL, bins ? bins : 1, sizeof(*r->below));
}

static void
rooms_clear(struct rooms *r)
{
	int i;

	for (i = 0; i < LEVELS; i++)
		free(r->bits[i]);
	free(r->top);
	free(r->below);
}

static void
rooms_push(struct rooms *r, uint32_t left, uint32_t bin)
{
	size_t at = left;
	int i;

	r->below[bin] = r->top[left];
	r->top[left] = bin;
	for (i = 0; i < LEVELS; i++, at /= 64)
		r->bits[i][at / 64] |= UINT64_C(1) << at % 64;
}

static uint32_t
rooms_pop(struct rooms *r, uint32_t left)
{
	uint32_t bin = r->top[left];
	size_t at = left;
	int i;

	r->top[left] = r->below[bin];
	if (r->top[left] != NO_BIN)
		return bin;
	for (i = 0; i < LEVELS; i++, at /= 64) {
		r->bits[i][at / 64] &= ~(UINT64_C(1) << at % 64);
		if (r->bits[i][at / 64])
			break;
	}
	return bin;
}

/* Least position >= at whose bit is set in level k; SIZE_MAX: none. */
static size_t
rooms_find(const struct rooms *r, int k, size_t at)
{
	size_t w = at / 64;
	uint64_t m;

	if (w >= r->words[k])
		return SIZE_MAX;
	m = r->bits[k][w] & (~UINT64_C(0) << at % 64);
	if (!m && k + 1 < LEVELS) {
		w = rooms_find(r, k + 1, w + 1);
		if (w == SIZE_MAX)
			return SIZE_MAX;
		m = r->bits[k][w];
	}
	while (!m && ++w < r->words[k])
		m = r->bits[k][w];
	return m ? w * 64 + __builtin_ctzll(m) : SIZE_MAX;
}

/* Indices by decreasing length, equal ones in order. */
static uint32_t *
by_length(const uint32_t *len, size_t n, uint32_t room)
{
	size_t *start = xcalloc((size_t)room + 2, sizeof(*start));
	uint32_t *order = xreallocarray(NULL, n ? n : 1, sizeof(*order));
	size_t i;

	for (i = 0; i < n; i++)
		start[room - len[i] + 1]++;
	for (i = 1; i <= room; i++)
		start[i] += start[i - 1];
	for (i = 0; i < n; i++)
		order[start[room - len[i]]++] = i;
	free(start);
	return order;
}

size_t
best_fit(const uint32_t *len, size_t n, uint32_t room, uint32_t *bin)
{
	uint32_t *order = by_length(len, n, room), item;
	struct rooms r;
	size_t bins = 0, i, left;

	rooms_init(&r, room, n);
	for (i = 0; i < n; i++) {
		item = order[i];
		left = rooms_find(&r, 0, len[item]);
		if (left == SIZE_MAX) {
			left = room;
			bin[item] = bins++;
		} else {
			bin[item] = rooms_pop(&r, left);
		}
		if (left - len[item])
			rooms_push(&r, left - len[item], bin[item]);
	}
	rooms_clear(&r);
	free(order);
	return bins;
}
