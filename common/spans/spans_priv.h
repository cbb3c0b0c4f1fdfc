/*
 * spans_priv.h - shared by the files of the search for spans
 *
 * Calls go one way: spans.c (interface) > spans_search.c (steps) >
 * spans_cover.c (step 4) > spans_matches.c (step 3) > spans_windows.c (hashes
 * of windows) > spans_firsts.c (step 2) > spans_anchors.c (step 1) >
 * spans_segments.c (threads, text at hand) > spans_texts.c (texts).
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
	struct block *block;	/* read lately from disk, under lock */
	uint64_t n;		/* bytes of them */
	uint64_t *start;	/* of each document, and the end */
	uint32_t *doc;		/* with every DOC_STEP-th byte; the last */
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

/* Number the documents, to find them by a byte.  After the last. */
void spans_number(struct spans *s);

/* The document that holds this byte. */
size_t spans_doc_of(const struct spans *s, uint64_t at);

/*
 * n bytes of all texts, from any thread; faults stay in s->err.  What is near
 * bytes read a little earlier costs no call of the system.
 */
void spans_read(struct spans *s, uint64_t at, char *p, size_t n);

/* Forget what was read. */
void spans_forget(struct spans *s);

/* Equal bytes at the start, and at the end, of two runs of n bytes. */
size_t spans_agree(const char *p, const char *q, size_t n);
size_t spans_agree_end(const char *p, const char *q, size_t n);

/*
 * If the window of n bytes at x also occurs at q: follow it to both sides,
 * record the span and return 1.  Else 0.  q + n <= x.  The texts are known to
 * agree up to `known`, a place in the document of x; `most`: and no further.
 */
int spans_follow(struct spans *s, struct doc_at *d, uint64_t x, uint64_t q,
		 size_t n, uint64_t known, int most);

/* --- windows from one place --- */

static inline int
spans_is_bound(const char *p, size_t i, size_t end)
{
	return i >= end || (p[i] & 0xc0) != 0x80;
}

/*
 * The windows from p[x] of a document that ends at p[end], by length.  Start
 * with {.p, .x, .end}, where p[x] begins a character.
 */
struct lengths {
	const char *p;
	size_t x, end;
	size_t c;		/* bytes of the character at x */
	size_t n;		/* of the last window returned */
};

/* The next length, or 0. */
static inline size_t
spans_next_length(const struct spans *s, struct lengths *l)
{
	size_t n = l->n ? l->n + 1 : s->least;

	if (!l->c)
		for (l->c = 1; !spans_is_bound(l->p, l->x + l->c, l->end);)
			l->c++;
	for (; l->x + n <= l->end && n < s->least + s->char_max; n++) {
		if (l->n && n >= s->least + l->c)
			return 0;
		if (spans_is_bound(l->p, l->x + n, l->end))
			return l->n = n;
	}
	return 0;
}

/* --- one search --- */

enum { ROLL_POWERS = 8 };

/* The hash of a window, mod 2^61 - 1, that rolls. */
struct roll {
	uint64_t base, out[256];
	uint64_t power[ROLL_POWERS + 1];	/* of the base */
};

enum {
	GRAM = 8,
	SOME = 16		/* hashes compared at a time */
};

struct search {
	struct spans *s;
	size_t starts;		/* places of which one is an anchor */
	size_t grams;		/* compared to find it: starts, or twice that */
	size_t block;		/* bytes of an anchor */
	size_t gram;		/* its bytes that decide, up to GRAM */
	size_t cell;		/* starts of a cell (spans_windows.c) */
	uint64_t unit;		/* of places in `blocks`: 1, or for cells
				   cell * cell, the remainder: which starts */
	size_t over;		/* bytes past a segment, and before it */
	size_t segment;
	int threads;
	struct roll roll;
	struct partition *blocks, *repeats, *windows, *copies;
	size_t buckets, room;	/* room: records of a bucket at a time */
	size_t buffers;		/* bytes of those of a partition */
	uint64_t range;		/* places of a bucket of repeats, copies */
	int collided, weak;
	struct err *e;		/* of the caller */
};

/* --- spans_segments.c --- */

/* The distinct hashes of a bucket; room that the next one takes over. */
struct firsts {
	struct record *in;	/* records of the bucket */
	size_t room;
	struct record *v;	/* value: the least * 4 + how many, up to 3 */
	size_t n, cap;
	size_t most;		/* of n, before the table grows */
	uint32_t *slot;		/* of v, + 1; 0: free */
	size_t mask;
};

struct thread {
	struct search *s;
	size_t k;		/* number of the thread */
	struct err e;
	void *ctx;		/* of what runs */
	char *room;		/* text from disk */
	int32_t *hash;		/* of grams; SOME more */
	struct firsts firsts;
	const char *text;	/* bytes of all texts at hand: */
	uint64_t at, end;
};

/*
 * work(0..n-1) on all threads, 0 or -1 each.  segments: with buffers for
 * spans_load().  0 or -1 with s->e.
 */
int spans_run(struct search *s, uint64_t n, int segments,
	      int (*work)(struct thread *t, uint64_t i));

/* The texts [from, to), a segment or less, and `over` bytes on both sides. */
void spans_load(struct thread *t, uint64_t from, uint64_t to);

/* Sort by key, which is base to base + most; tmp has room for n. */
void spans_sort(struct record *v, struct record *tmp, size_t n, uint64_t base,
		uint64_t most);

/* --- spans_anchors.c --- */

static inline uint64_t
spans_mix(uint64_t h)
{
	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	return h ^ h >> 32;
}

/* The bucket of a hash. */
static inline size_t
spans_bucket(const struct search *s, uint64_t h)
{
	return (size_t)((h >> 32) * s->buckets >> 32);
}

/* An anchor, all in bytes of t->text. */
struct anchor {
	size_t at;
	size_t first, last;	/* starts of the windows it is the anchor of */
	size_t begin, end;	/* its document, as far as it is at hand */
};

/* use() each anchor in [from, to), which is loaded, in order. */
int spans_anchors(struct thread *t, uint64_t from, uint64_t to,
		  int (*use)(struct thread *t, const struct anchor *a));

/* Step 1: the anchors of a segment into s->blocks.  0 or -1. */
int spans_put_anchors(struct thread *t, uint64_t segment);

/* --- spans_firsts.c --- */

/*
 * Step 2, of a bucket of s->blocks: those that occur earlier into s->repeats,
 * as {its value, first place * 2 + (does it occur a third time?)}.  0 or -1.
 */
int spans_put_repeats(struct thread *t, uint64_t bucket);

/*
 * The same of a bucket of s->windows, into s->copies.  0 or -1.
 */
int spans_put_copies(struct thread *t, uint64_t bucket);

/*
 * Records of s->copies: for a window {its key, first place}; for a run of
 * starts x three, {the key of the first, x - first place}, {key, last x},
 * {key, end of the text that agrees * 2 + (nothing more agrees)}.
 */
enum copy_kind { COPY_RUN, COPY_LAST, COPY_END, COPY_WINDOW, COPY_KINDS };

static inline uint64_t
spans_copy_key(const struct search *s, uint64_t x, size_t more,
	       enum copy_kind kind)
{
	return (x * s->s->char_max + more) * COPY_KINDS + kind;
}

static inline int
spans_put_copy(struct thread *t, uint64_t x, size_t more, enum copy_kind kind,
	       uint64_t value)
{
	return partition_put(t->s->copies, t->k, (size_t)(x / t->s->range),
			     spans_copy_key(t->s, x, more, kind), value,
			     &t->e);
}

/* --- spans_windows.c --- */

/* Windows are hashed with this base from now on. */
void spans_roll(struct search *s, uint64_t base);

/*
 * The cells of the windows from t->text[from..to] with the anchor t->text[at]
 * into s->blocks, as {hash, last start * unit + (last start - first wanted) *
 * cell + (last start - last wanted)}.  0 or -1.
 */
int spans_put_cells(struct thread *t, size_t at, size_t from, size_t to);

/*
 * Windows from t->text[from..to] of a document that ends at `end`, if they
 * end after `past`, into s->windows.  0 or -1.
 */
int spans_put_windows(struct thread *t, size_t from, size_t to, size_t end,
		      size_t past);

/* --- spans_matches.c --- */

/* Step 3, of a bucket of s->repeats.  0 or -1. */
int spans_matches(struct thread *t, uint64_t bucket);

/* --- spans_cover.c --- */

/* Step 4: s->copies to spans.  0 or -1. */
int spans_cover(struct search *s);

/* --- spans_search.c --- */

/* Fill s->v.  0 or -1. */
int spans_search(struct spans *s, struct err *e);

#endif
