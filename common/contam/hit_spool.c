/*
 * hit_spool.c - hits put aside from one pass to the next
 *
 * A record is the number of the document, the number of hits, the hits.
 * Numbers ascend, so that one pass reads them in step with the documents.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/spool.h"
#include "contam/run.h"

enum { IN_MEMORY = 32 << 20 };

struct head {
	uint64_t doc, n;
};

struct ngram_spool {
	struct spool *spool;
	uint64_t at;		/* of the record that is read next */
	struct head head;	/* of it, when read */
	int have;
};

struct ngram_spool *
ngram_spool_new(void)
{
	struct ngram_spool *s = xcalloc(1, sizeof(*s));

	s->spool = spool_new(IN_MEMORY);
	return s;
}

void
ngram_spool_free(struct ngram_spool *s)
{
	if (!s)
		return;
	spool_free(s->spool);
	free(s);
}

int
ngram_spool_put(struct ngram_spool *s, uint64_t doc,
		const struct ngram_hits *h, struct err *e)
{
	struct head head = {doc, h->n};

	return spool_append(s->spool, &head, sizeof(head), e) ||
	       spool_append(s->spool, h->v, h->n * sizeof(*h->v), e) ? -1 : 0;
}

int
ngram_spool_get(struct ngram_spool *s, uint64_t doc, struct ngram_hits *h,
		struct err *e)
{
	h->n = 0;
	if (!s->have) {
		if (s->at == spool_size(s->spool))
			return 0;
		if (spool_read(s->spool, s->at, &s->head, sizeof(s->head), e))
			return -1;
		s->have = 1;
	}
	if (s->head.doc != doc)
		return 0;
	if (s->head.n > h->cap) {
		h->cap = s->head.n + s->head.n / 2;
		h->v = xreallocarray(h->v, h->cap, sizeof(*h->v));
	}
	h->n = s->head.n;
	if (spool_read(s->spool, s->at + sizeof(s->head), h->v,
		       h->n * sizeof(*h->v), e))
		return -1;
	s->at += sizeof(s->head) + h->n * sizeof(*h->v);
	s->have = 0;
	return 1;
}
