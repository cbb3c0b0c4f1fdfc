/*
 * order.h - which window is trained at which step
 *
 * Sample number i (0-based over the whole run) is window
 * permute(seed, epoch = i / windows, i % windows); a step's global batch of
 * B windows is samples step*B .. step*B+B-1.  A function of its arguments
 * only: the same for any number of ranks and any accumulation, and a resume
 * needs the step number alone.  lm-train and decode-batch both call this.
 */
#ifndef ASSAY_ORDER_H
#define ASSAY_ORDER_H

#include <stdint.h>

enum order_kind { ORDER_SHUFFLE, ORDER_SEQUENTIAL, ORDER_RANDOM };

/* windows > 0 */
uint64_t order_window(enum order_kind kind, uint64_t seed, uint64_t windows,
		      uint64_t sample);

#endif
