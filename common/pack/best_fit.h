/*
 * best_fit.h - best-fit decreasing bin packing
 *
 * The longest item first, each into the fullest bin that has room for it (of
 * equal ones the bin used last), or into a new bin.  At most 11/9 of the bins
 * of an optimal packing, plus one (Johnson 1973).
 */
#ifndef ASSAY_BEST_FIT_H
#define ASSAY_BEST_FIT_H

#include <stddef.h>
#include <stdint.h>

/*
 * len[i] <= room for n items; bin[i] gets the number of its bin, from 0.
 * Returns the number of bins.  O(n + room) memory, O(n log room) time at most.
 */
size_t best_fit(const uint32_t *len, size_t n, uint32_t room, uint32_t *bin);

#endif
