/*
 * bpe_shared_priv.h - pre-tokens and their ids, shared by all threads
 *
 * One table per struct bpe, in front of the threads' own caches: what one
 * thread has merged, the others need not.  A place holds a pre-token of up
 * to 15 bytes and its ids; it is written once and never changes.  Two places
 * share a cache line.  Frequent pre-tokens come early; what comes when both
 * places are taken goes to the threads' own caches, which evict.
 *
 * hi is 0 while a place is free, SHARED_BUSY while a thread fills it, and is
 * stored last: a reader that finds its own hi finds finished ids, and needs
 * no lock.  Only a new pre-token is written, so the lines of the frequent
 * ones stay in every processor's cache.
 */
#ifndef ASSAY_BPE_SHARED_PRIV_H
#define ASSAY_BPE_SHARED_PRIV_H

#include <stdatomic.h>

#include "tokenizer/ids.h"
#include "tokenizer/pretoken_key.h"

/*
 * The ids of a pre-token in a table: up to IDS_INLINE themselves, with their
 * number less one in the top bits of the first; of more, IDS_MORE in the top
 * bits, their number below it, and in the second where an area has them.
 */
enum { IDS_INLINE = 4, IDS_SHIFT = 29, IDS_MORE = 7 };

struct place {
	_Atomic uint64_t hi, lo;
	uint32_t id[IDS_INLINE];
};

#define SHARED_BUSY UINT64_MAX

struct bpe_shared {
	struct place *place;
	size_t mask;		/* of a hash, to the first place of a line */
	uint32_t *area;
	size_t area_cap;	/* words */
	_Atomic size_t area_n;	/* taken; more than area_cap: it is full */
};

/* bytes: for places and area together. */
struct bpe_shared *bpe_shared_new(size_t bytes);
void bpe_shared_free(struct bpe_shared *p);	/* NULL is fine */

/*
 * Put the ids of a pre-token into x, the line of its key, if there is room.
 * Any thread, any time.
 */
void bpe_shared_add(struct bpe_shared *p, struct place *x,
		    struct pretoken_key key, const uint32_t *id, size_t n);

/* Will some new pre-token of this line not be kept? */
static inline int
bpe_shared_full(const struct bpe_shared *p, const struct place *x)
{
	return (atomic_load_explicit(&x[0].hi, memory_order_relaxed) &&
		atomic_load_explicit(&x[1].hi, memory_order_relaxed)) ||
	    atomic_load_explicit(&p->area_n, memory_order_relaxed) >
	    p->area_cap;
}

/* Write n ids, those that are not inline at area + at. */
static inline void
packed_set(uint32_t slot[IDS_INLINE], uint32_t *area, size_t at,
	   const uint32_t *id, size_t n)
{
	if (n <= IDS_INLINE) {
		memcpy(slot, id, n * sizeof(*id));
		slot[0] |= (uint32_t)(n - 1) << IDS_SHIFT;
	} else {
		memcpy(area + at, id, n * sizeof(*id));
		slot[0] = (uint32_t)IDS_MORE << IDS_SHIFT | (uint32_t)n;
		slot[1] = (uint32_t)at;
	}
}

/* Append them; out has room for IDS_INLINE more. */
static inline __attribute__((always_inline)) void
packed_put(const uint32_t slot[IDS_INLINE], const uint32_t *area,
	   struct ids *out)
{
	const uint32_t mask = (UINT32_C(1) << IDS_SHIFT) - 1;
	size_t n = slot[0] & mask;
	uint32_t *o = out->v + out->n;

	if (slot[0] >> IDS_SHIFT != IDS_MORE) {
		memcpy(o, slot, IDS_INLINE * sizeof(*o));
		o[0] &= mask;
		out->n += (slot[0] >> IDS_SHIFT) + 1;
		return;
	}
	memcpy(ids_reserve(out, n), area + slot[1], n * sizeof(*o));
	out->n += n;
}

/* A guess, to choose between two places without a branch. */
static inline int
place_like(const struct place *x, struct pretoken_key key)
{
	return atomic_load_explicit(&x->lo, memory_order_relaxed) == key.lo;
}

static inline int
place_is(const struct place *x, struct pretoken_key key)
{
	uint64_t hi = atomic_load_explicit(&x->hi, memory_order_acquire);
	uint64_t lo = atomic_load_explicit(&x->lo, memory_order_relaxed);

	return ((hi ^ key.hi) | (lo ^ key.lo)) == 0;
}

#endif
