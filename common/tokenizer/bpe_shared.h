/*
 * bpe_shared.h - the pieces that all threads have in common
 *
 * One table a struct bpe, in front of the caches of the threads: what one
 * thread has merged, the others need not.  A place holds a piece of up to 15
 * bytes and its ids.  It is written once and stays; two stand in a cache
 * line.  Frequent pieces come early, so what comes when both places are
 * taken is left to the threads' own caches, which let rare ones go.
 *
 * hi is 0 while a place is free, POOL_BUSY while a thread fills it, and is
 * stored last: who finds the hi that he wants finds finished ids, and needs
 * no lock.  Only a new piece writes, so that the lines of the frequent ones
 * stay in the cache of every processor.
 */
#ifndef ASSAY_BPE_SHARED_H
#define ASSAY_BPE_SHARED_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a piece, behind them zeros; their number in the top byte of hi. */
struct key {
	uint64_t lo, hi;
};

/*
 * Ids of a piece: up to IDS_INLINE as they are, their number less one in the
 * top bits of the first; else IDS_MORE there, their number below it, and in
 * the second where they lie in an area.
 */
enum { IDS_INLINE = 4, IDS_SHIFT = 29, IDS_MORE = 7 };

struct place {
	_Atomic uint64_t hi, lo;
	uint32_t id[IDS_INLINE];
};

#define POOL_BUSY UINT64_MAX

struct pool {
	struct place *place;
	size_t mask;		/* of a hash, to the first place of a line */
	uint32_t *area;
	size_t area_cap;	/* words */
	_Atomic size_t area_n;	/* taken; more than area_cap: it is full */
};

/* bytes: of places and ids together. */
struct pool *pool_new(size_t bytes);
void pool_free(struct pool *p);		/* NULL is fine */

/*
 * What was merged, ids of a piece, into the line x of its key, if there is
 * room.  Any thread, any time.
 */
void pool_add(struct pool *p, struct place *x, struct key key,
	      const uint32_t *id, size_t n);

/* Is no new piece of this line going to be kept, at least not every one? */
static inline int
pool_full(const struct pool *p, const struct place *x)
{
	return (atomic_load_explicit(&x[0].hi, memory_order_relaxed) &&
		atomic_load_explicit(&x[1].hi, memory_order_relaxed)) ||
	    atomic_load_explicit(&p->area_n, memory_order_relaxed) >
	    p->area_cap;
}

/* Perhaps; a cheap choice between two places, without a branch. */
static inline int
place_like(const struct place *x, struct key key)
{
	return atomic_load_explicit(&x->lo, memory_order_relaxed) == key.lo;
}

static inline int
place_is(const struct place *x, struct key key)
{
	uint64_t hi = atomic_load_explicit(&x->hi, memory_order_acquire);
	uint64_t lo = atomic_load_explicit(&x->lo, memory_order_relaxed);

	return ((hi ^ key.hi) | (lo ^ key.lo)) == 0;
}

#endif
