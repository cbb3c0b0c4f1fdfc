/*
 * order.h - the order in which a run takes the windows of its shards
 *
 * Sample number i (0-based, over all epochs) is window permute(seed, epoch =
 * i / windows, i % windows).  It depends on its arguments only, so it is the
 * same for any number of ranks and any accumulation.
 */
#ifndef ASSAY_ORDER_H
#define ASSAY_ORDER_H

#include <stdint.h>

enum order_kind { ORDER_SHUFFLE, ORDER_SEQUENTIAL, ORDER_RANDOM };
/* "shuffle", "sequential", "random", NULL */
extern const char *const order_names[];

/* windows > 0 */
uint64_t order_window(enum order_kind kind, uint64_t seed, uint64_t windows,
		      uint64_t sample);

#endif
