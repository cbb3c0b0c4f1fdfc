/*
 * spans_priv.h - shared by the files of the search for spans
 *
 * Calls go one way: spans.c (interface) > spans_search.c (steps, spans) >
 * spans_windows.c (step 2) > spans_filter.c (step 1) > spans_segments.c
 * (threads) > spans_texts.c (texts, following).
 */
#ifndef ASSAY_SPANS_PRIV_H
#define ASSAY_SPANS_PRIV_H

#include <pthread.h>

#include "spans/spans.h"
#include "stream/partition.h"
#include "stream/spool.h"

struct spans {
	size_t least;
	size_t char_max;	/* bytes of the longest character */
	size_t mem;
	int threads;
	struct spool *text;	/* all of them */
	const char *p;		/* ... where they are in memory, or NULL */
	uint64_t n;		/* bytes of them */
	uint64_t *start;	/* of each document, and the end */
	size_t ndocs, cap;
	pthread_mutex_t lock;	/* of the spool */
	struct err err;		/* of reads, under lock */
	struct text_span *v;
	size_t nv, vcap;
	int weak;		/* spans_weaken() */
	int spilled;		/* windows went to disk */
};

/* --- spans_texts.c --- */

/* The position of a search in a document. */
struct doc_at {
	uint32_t doc;
	uint64_t begin, end;	/* in all texts */
	uint64_t covered;	/* windows that end up to here are copies */
	uint64_t from;		/* ... if they start here or later */
};

/* The document that holds this byte. */
size_t spans_doc_of(const struct spans *s, uint64_t at);

/* n bytes of all texts, from any thread; faults stay in s->err. */
void spans_read(struct spans *s, uint64_t at, char *p, size_t n);

/*
 * If the window of n bytes at x also occurs at q: follow it to both sides,
 * record the span and return 1.  Else 0.  q + n <= x.
 */
int spans_follow(struct spans *s, struct doc_at *d, uint64_t x, uint64_t q,
		 size_t n);

/* --- one search --- */

/* The hash of a window, mod 2^61 - 1, that rolls. */
struct roll {
	uint64_t base, out[256];
};

/* One bit per byte of each segment, spooled. */
struct bits {
	struct spool *spool;
	uint64_t *at;		/* of a segment */
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
	struct bits known;	/* of this part: places of `once` */
	struct bits hits, new_hits;	/* of the parts before, and with this */
	struct partition *windows, *copies;
	size_t buckets, room;	/* room: records of a bucket at a time */
	uint64_t range;		/* places of a bucket of copies */
	int collided, weak;
	struct err *e;		/* of the caller */
};

/* --- spans_segments.c --- */

struct thread {
	struct search *s;
	size_t k;		/* number of the thread */
	struct err e;
	char *text;		/* of a segment, and `over` bytes */
	uint64_t *hit, *old;	/* one bit per byte of both */
};

/*
 * work(0..n-1) on all threads, 0 or -1 each.  segments: with buffers for
 * spans_load().  0 or -1 with s->e.
 */
int spans_run(struct search *s, uint64_t n, int segments,
	      int (*work)(struct thread *t, uint64_t i));

/*
 * Read segment i into t->text.  Returns its start; *n are its bytes, *all
 * those and what is over.
 */
uint64_t spans_load(struct thread *t, uint64_t i, size_t *n, size_t *all);

/* --- spans_filter.c --- */

#define SPANS_MIX UINT64_C(0xd6e8feb86659fd93)

static inline uint64_t
spans_mix(uint64_t h)
{
	h ^= h >> 32;
	h *= SPANS_MIX;
	h ^= h >> 32;
	h *= SPANS_MIX;
	return h ^ h >> 32;
}

/*
 * Step 1, with filters of `mem` bytes: one part of the hashes after the
 * other.  With the last one spans_hits() knows the hits of all, and last() is
 * called for each segment, on all threads.  0 or -1.
 */
int spans_filter(struct search *s, size_t mem,
		 int (*last)(struct thread *t, uint64_t segment));

/* spans_load(), and the hits in t->hit: one bit per byte.  0 or -1. */
int spans_hits(struct thread *t, uint64_t segment, uint64_t *at, size_t *n,
	       size_t *all);

/* --- spans_windows.c --- */

/* Windows are hashed with this base from now on. */
void spans_roll(struct search *s, uint64_t base);

/*
 * Step 2: windows of a segment around its hits into s->windows; then of one of
 * its buckets, those that occur earlier into s->copies.  0 or -1.
 */
int spans_windows(struct thread *t, uint64_t segment);
int spans_firsts(struct thread *t, uint64_t bucket);

/* --- spans_search.c --- */

/* Fill s->v.  0 or -1. */
int spans_search(struct spans *s, struct err *e);

#endif
