/* edit_distance.h - edit distance of two sequences of words, up to a bound */
#ifndef ASSAY_EDIT_DISTANCE_H
#define ASSAY_EDIT_DISTANCE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The minimum number of insertions, deletions and substitutions that turn a
 * into b, or max + 1 if it is above max.  Landau and Vishkin's diagonals:
 * O(distance^2 + length) time, O(max) memory.
 */
size_t edit_distance(const uint64_t *a, size_t na, const uint64_t *b,
		     size_t nb, size_t max);

/* Lee et al. 2021: 1 - distance / max(na, nb) >= least? */
int edit_similar(const uint64_t *a, size_t na, const uint64_t *b, size_t nb,
		 double least);

#endif
