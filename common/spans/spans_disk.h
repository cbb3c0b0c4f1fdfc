/*
 * spans_disk.h - shared by the files of the search on disk: spans_disk.c, whose
 * first lines say how it goes, spans_filter.c and spans_windows.c
 */
#ifndef ASSAY_SPANS_DISK_H
#define ASSAY_SPANS_DISK_H

#include "base/partition.h"
#include "spans/spans_priv.h"

#define MIX UINT64_C(0xd6e8feb86659fd93)


/* The hash of a window, mod 2^61 - 1, that rolls. */
struct roll {
	uint64_t base, out[256];
};

struct search {
	struct spans *s;
	size_t step, block, over;	/* over: bytes past a segment */
	size_t segment;
	int threads;
	struct roll roll;
	uint64_t out;		/* of a block's hash: of a byte that leaves */
	_Atomic uint64_t *once, *again;	/* the filters: a block is 5 bits */
	size_t words;		/* of each, for 1 to 2 blocks */
	size_t part, parts;	/* of the hashes */
	struct spool *hits, *new_hits;	/* of the parts before */
	uint64_t *hits_at, *new_at;	/* of a segment */
	struct partition *windows, *copies;
	size_t buckets, room;	/* room: records of a bucket at a time */
	uint64_t range;		/* places of a bucket of copies */
	_Atomic uint64_t next;	/* segment or bucket */
	int lied, weak;
	struct err *e;		/* under the lock */
};

struct thread {
	struct search *s;
	int (*work)(struct thread *t, uint64_t i);
	uint64_t n;
	size_t k;		/* number of the thread */
	struct err e;
	char *text;		/* of a segment, and `over` bytes */
	uint64_t *hit, *old;	/* a bit a byte of both */
	pthread_t id;
};

static inline uint64_t
mix(uint64_t h)
{
	h ^= h >> 32;
	h *= MIX;
	h ^= h >> 32;
	h *= MIX;
	return h ^ h >> 32;
}

/*
 * work(0..n-1) on all threads, 0 or -1 each; the text of segments is for those
 * who ask.  0 or -1 with s->e.
 */
int spans_run(struct search *s, uint64_t n, int segments,
	      int (*work)(struct thread *t, uint64_t i));

/*
 * Read segment i into t->text: where it begins, its bytes, and those with what
 * is over.
 */
uint64_t spans_load(struct thread *t, uint64_t i, size_t *n, size_t *all);

/*
 * Step 1, with filters of `mem` bytes: part after part of the hashes, and in
 * the last one, when spans_hits() knows the hits of all, last() for each
 * segment on all threads.  0 or -1.
 */
int spans_filter(struct search *s, size_t mem,
		 int (*last)(struct thread *t, uint64_t segment));

/* spans_load(), and the hits in t->hit: a bit a byte.  0 or -1. */
int spans_hits(struct thread *t, uint64_t segment, uint64_t *at, size_t *n,
	       size_t *all);

/* Hashes of windows with this base, from here on. */
void spans_roll(struct search *s, uint64_t base);

/*
 * Step 2: windows of a segment around its hits into s->windows; then of one of
 * its buckets, those that stand before into s->copies.  0 or -1.
 */
int spans_windows(struct thread *t, uint64_t segment);
int spans_firsts(struct thread *t, uint64_t bucket);

#endif
