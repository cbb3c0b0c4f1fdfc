/*
 * order.c - a keyed permutation of all windows for each epoch
 *
 * The epoch is part of the stream number of the random function, so every
 * epoch has its own permutation and is a true pass.  Sequential order wraps
 * around at the end; random order draws with replacement, once per sample.
 */
#include "order/order.h"

#include <stddef.h>

#include "base/rng.h"

const char *const order_names[] = {"shuffle", "sequential", "random", NULL};

uint64_t
order_window(enum order_kind kind, uint64_t seed, uint64_t windows,
	     uint64_t sample)
{
	uint64_t epoch = sample / windows, i = sample % windows;

	switch (kind) {
	case ORDER_SEQUENTIAL:
		return i;
	case ORDER_RANDOM:
		return rng_below(seed, RNG_ORDER, sample, windows);
	default:
		return rng_permute(seed, RNG_ORDER | epoch << 8, i, windows);
	}
}
