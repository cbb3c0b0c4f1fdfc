/*
 * heap.h - a priority queue in an array of any type
 *
 * HEAP(name, T, before) defines two functions over T v[], whose first element
 * is one that no other is before(a, b) of.  Four children a node: one cache
 * line for small T, half the levels of a binary heap.
 *
 *	void name_push(T *v, size_t n, T x)	n elements so far, room for one
 *	T name_pop(T *v, size_t n)		n > 0 elements so far
 */
#ifndef ASSAY_HEAP_H
#define ASSAY_HEAP_H

#include <stddef.h>

#define HEAP(name, T, before)						\
static inline void							\
name##_push(T *v, size_t n, T x)					\
{									\
	size_t up;							\
									\
	for (; n > 0 && before(x, v[up = (n - 1) / 4]); n = up)		\
		v[n] = v[up];						\
	v[n] = x;							\
}									\
									\
static inline T								\
name##_pop(T *v, size_t n)						\
{									\
	T top = v[0], x = v[--n];					\
	size_t i = 0;							\
									\
	for (;;) {							\
		size_t kid = 4 * i + 1, best = kid;			\
		size_t end = kid + 4 < n ? kid + 4 : n;			\
									\
		if (kid >= n)						\
			break;						\
		while (++kid < end)					\
			if (before(v[kid], v[best]))			\
				best = kid;				\
		if (!before(v[best], x))				\
			break;						\
		v[i] = v[best];						\
		i = best;						\
	}								\
	v[i] = x;							\
	return top;							\
}

#endif
