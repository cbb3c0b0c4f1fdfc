/*
 * best_fit.h - pieces into bins, best-fit decreasing
 *
 * The longest piece first, each into the fullest bin that still has room for
 * it, ties to the bin used last; into a new bin where there is none.  At most
 * 11/9 of the bins of an optimal packing, plus one (Johnson 1973).
 */
#ifndef ASSAY_BEST_FIT_H
#define ASSAY_BEST_FIT_H

#include <stddef.h>
#include <stdint.h>

/*
 * len[i] <= room for n pieces; bin[i] gets the number of its bin, from 0.
 * Returns the number of bins.  O(n + room) memory, O(n log room) time at most.
 */
size_t best_fit(const uint32_t *len, size_t n, uint32_t room, uint32_t *bin);

#endif
