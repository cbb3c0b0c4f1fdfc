/*
 * edit_distance.c - edit distance by furthest-reaching diagonals
 *
 * With e edits, old[k] is the furthest place in a that is reached on diagonal
 * k (place in b minus place in a).  One more edit is a substitution or a
 * deletion, which advance in a, or an insertion from the diagonal below; then
 * all equal words that follow are free.
 */
#include "dedup/edit_distance.h"

#include <stdlib.h>

#include "base/mem.h"

static ptrdiff_t
slide(const uint64_t *a, ptrdiff_t na, const uint64_t *b, ptrdiff_t nb,
      ptrdiff_t i, ptrdiff_t k)
{
	while (i < na && i + k < nb && a[i] == b[i + k])
		i++;
	return i;
}

static ptrdiff_t
max3(ptrdiff_t a, ptrdiff_t b, ptrdiff_t c)
{
	a = a > b ? a : b;
	return a > c ? a : c;
}

size_t
edit_distance(const uint64_t *a, size_t na, const uint64_t *b, size_t nb,
	      size_t max)
{
	ptrdiff_t n = (ptrdiff_t)na, m = (ptrdiff_t)nb, e, k, goal = m - n;
	ptrdiff_t limit = (ptrdiff_t)max, far = n > m ? n : m;
	ptrdiff_t *mem, *old, *now, *swap;

	if (limit > far)
		limit = far;
	if (goal > limit || -goal > limit)
		return max + 1;
	mem = xreallocarray(NULL, 2 * (2 * (size_t)limit + 5), sizeof(*mem));
	old = mem + limit + 2;
	now = old + 2 * limit + 5;
	for (k = -limit - 2; k <= limit + 2; k++)
		old[k] = now[k] = -2;
	for (e = 0; e <= limit; e++) {
		for (k = -e; k <= e; k++) {
			ptrdiff_t i = e == 0 ? 0 :
				max3(old[k] + 1, old[k - 1], old[k + 1] + 1);

			if (i > n)
				i = n;
			if (i + k > m)
				i = m - k;
			if (i < 0 || i + k < 0) {
				now[k] = -2;
				continue;
			}
			now[k] = slide(a, n, b, m, i, k);
		}
		if (goal >= -e && goal <= e && now[goal] >= n)
			break;
		swap = old;
		old = now;
		now = swap;
	}
	free(mem);
	return e <= limit ? (size_t)e : max + 1;
}

int
edit_similar(const uint64_t *a, size_t na, const uint64_t *b, size_t nb,
	     double least)
{
	size_t long_one = na > nb ? na : nb, max, d;

	if (!long_one)
		return 1;
	max = (size_t)((1 - least) * (double)long_one) + 1;
	d = edit_distance(a, na, b, nb, max);
	return d <= max && (double)(long_one - d) / (double)long_one >= least;
}
