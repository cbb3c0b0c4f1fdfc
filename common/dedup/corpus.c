/*
 * corpus.c - all documents, numbered in input order, references first
 *
 * Of a document that shares no key only these 14 bytes are kept.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "dedup/dedup_priv.h"

enum { PASSES = 3 };

void
dedup_corpus_open(struct corpus *c, const struct dedup_opts *o,
		  const char *const *files, size_t n)
{
	int threads = o->threads;

	c->docs = docpipe_open(files, n, &o->filter.doc, threads, PASSES);
	if (o->against.n)
		c->refs = docpipe_open(o->against.v, o->against.n,
				       &o->filter.doc, threads, PASSES);
}

void
dedup_corpus_clear(struct corpus *c)
{
	docpipe_close(c->refs);
	docpipe_close(c->docs);
	free(c->digest);
	free(c->len);
	free(c->flag);
}

int
dedup_corpus_scan(struct corpus *c, struct docpipe_pass *pass, struct err *e)
{
	const char *label = pass->label;

	pass->label = NULL;
	if (c->refs && docpipe_run(c->refs, pass, e))
		return -1;
	pass->label = label;
	c->nref = c->n;
	return docpipe_run(c->docs, pass, e);
}

int
dedup_corpus_add(struct corpus *c, const struct doc *d, uint8_t flag,
		 struct err *e)
{
	if (c->n == DEDUP_MAX)
		return err_set(e, "more than %u documents: deduplicate in "
			       "parts (bands(5))", DEDUP_MAX);
	if (c->n == c->cap) {	/* not GROW(): half as much again, no more */
		c->cap = c->n < DEDUP_MAX / 2 ? c->n + c->n / 2 + 1024 :
			DEDUP_MAX;
		c->digest = xreallocarray(c->digest, c->cap,
					  sizeof(*c->digest));
		c->len = xreallocarray(c->len, c->cap, sizeof(*c->len));
		c->flag = xreallocarray(c->flag, c->cap, sizeof(*c->flag));
	}
	c->digest[c->n] = d->digest;
	c->len[c->n] = (uint32_t)d->text.n;
	c->flag[c->n++] = flag;
	return 0;
}

int
dedup_corpus_again(struct corpus *c, const struct docpipe_pass *pass,
		   struct err *e)
{
	c->base = c->seen = 0;
	c->end = c->nref;
	if (c->refs && docpipe_run(c->refs, pass, e))
		return -1;
	c->base = c->nref;
	c->end = c->n;
	if (docpipe_run(c->docs, pass, e))
		return -1;
	if (c->seen != c->n)
		return err_set(e, "the input changed while it was read: %u "
			       "documents, then %u", c->n, c->seen);
	return 0;
}

int
dedup_corpus_block(const struct corpus *c, const struct doc_batch *b,
		   uint32_t *first, struct err *e)
{
	if (b->first + b->n > c->end - c->base)
		return err_set(e, "%s: changed while it was read",
			       b->chunk.name);
	*first = c->base + (uint32_t)b->first;
	return 0;
}

uint32_t
dedup_corpus_next(struct corpus *c, const struct doc_batch *b)
{
	c->seen += (uint32_t)b->n;
	return c->base + (uint32_t)b->first;
}
