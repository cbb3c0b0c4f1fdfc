/*
 * search.h - binary search, and an order for qsort()
 */
#ifndef ASSAY_SEARCH_H
#define ASSAY_SEARCH_H

#include <stdint.h>

/* Of two uint64_t, ascending. */
static inline int
cmp_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Set the variable i to the first index in [from, to) for which cond, an
 * expression in i, is true, or to `to` if there is none.  cond must be false
 * up to some index and true from there on.  from > to counts as empty and
 * sets i to from.
 *
 *	FIND_FIRST(i, 0, n, v[i].key >= key);	first element not below key
 *	FIND_FIRST(i, 1, n, start[i] > at);	i - 1: the last range that
 *						starts at or before `at`
 */
#define FIND_FIRST(i, from, to, cond) do { \
	__typeof__(i) lo_ = (from), hi_ = (to); \
	while (lo_ < hi_) { \
		(i) = lo_ + (hi_ - lo_) / 2; \
		if (cond) \
			hi_ = (i); \
		else \
			lo_ = (i) + 1; \
	} \
	(i) = lo_; \
} while (0)

#endif
