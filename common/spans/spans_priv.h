/* spans_priv.h - shared by the files of spans; private to spans*.c */
#ifndef ASSAY_SPANS_PRIV_H
#define ASSAY_SPANS_PRIV_H

#include <pthread.h>

#include "base/spool.h"
#include "spans/spans.h"

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

/* Where a search stands in a document. */
struct doc_at {
	uint32_t doc;
	uint64_t begin, end;	/* in all texts */
	uint64_t covered;	/* windows that end up to here are copies */
	uint64_t from;		/* ... if they start here or behind */
};

/* Document k as it is entered. */
struct doc_at spans_doc(const struct spans *s, size_t k);

/* The document that holds this byte. */
size_t spans_doc_of(const struct spans *s, uint64_t at);

/* n bytes of all texts, from any thread; faults stay in s->err. */
void spans_read(struct spans *s, uint64_t at, char *p, size_t n);

static inline int
spans_inside(const struct doc_at *d, uint64_t x, uint64_t n)
{
	return x >= d->from && x + n <= d->covered;
}

/*
 * If the window of n bytes at x stands at q: follow it to both sides, note
 * the span and return 1.  Else 0.  q + n <= x.
 */
int spans_follow(struct spans *s, struct doc_at *d, uint64_t x, uint64_t q,
		 size_t n);

/*
 * The search in memory and the one on disk, which find the same: 0, 1 when
 * there is not memory enough, -1 on error.
 */
int spans_in_memory(struct spans *s);
int spans_on_disk(struct spans *s, struct err *e);

#endif
