/*
 * pretoken_key.h - a short pre-token as two words, for hash tables
 *
 * Up to 15 bytes, padded with zeros, and their number in the last byte: so
 * that equal keys are equal pre-tokens and hi is never 0.
 */
#ifndef ASSAY_PRETOKEN_KEY_H
#define ASSAY_PRETOKEN_KEY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PRETOKEN_SHORT = 15 };

struct pretoken_key {
	uint64_t lo, hi;
};

/* Of p[0..n), 1 <= n <= PRETOKEN_SHORT; `left` bytes can be read at p. */
static inline struct pretoken_key
pretoken_key(const char *p, size_t n, size_t left)
{
	struct pretoken_key k = {0, 0};

	if (left >= 16) {
		memcpy(&k, p, 16);
		if (n < 8) {
			k.lo &= (UINT64_C(1) << (8 * n)) - 1;
			k.hi = 0;
		} else {
			k.hi &= (UINT64_C(1) << (8 * (n - 8))) - 1;
		}
	} else {
		memcpy(&k, p, n);
	}
	k.hi |= (uint64_t)n << 56;
	return k;
}

#endif
