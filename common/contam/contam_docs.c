/*
 * contam_docs.c - all documents against the benchmarks
 *
 * Workers match texts as they are parsed; of a block they pass on the hits,
 * and copies of the few texts that have any.  The writer judges those in
 * input order.  With an upper bound on the document frequency of an n-gram a
 * first pass only counts.  The second pass does not match again: the hits of
 * the first are spooled.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "contam/contam_priv.h"
#include "contam/cut.h"
#include "contam/match.h"
#include "record/docpipe.h"
#include "stream/spool.h"

enum { SPOOL_MEM = 32 << 20 };

/* A document of a block that has hits. */
struct hit_doc {
	size_t doc;		/* its number in the block */
	size_t hit, hits;	/* block.hits.v[hit..] */
	size_t text;		/* offset in block.text */
};

struct block {
	struct hit_doc *v;
	size_t n, cap, docs;
	struct ngram_hits hits;
	struct buf text;
};

/* Before the hits of a document in the spool. */
struct spool_head {
	uint64_t doc, n;	/* n 0: none read */
};

struct docs {
	struct contam *c;
	struct filter *f;
	struct match **match;	/* [threads] */
	struct spool *spool;
	uint64_t at;		/* where it is read next */
	struct spool_head head;
	struct ngram_hits hits;
	struct tally_matches matches;
	struct buf id, cut;
};

/* --- matching --- */

static void
block_reset(void *result)
{
	struct block *k = result;

	k->n = k->docs = k->hits.n = k->text.n = 0;
}

static void
block_clear(void *result)
{
	struct block *k = result;

	free(k->v);
	free(k->hits.v);
	buf_clear(&k->text);
}

static int
match_doc(const struct docpipe_work *w, struct doc *d, struct err *e)
{
	struct docs *x = w->ctx;
	struct block *k = w->result;
	size_t first = k->hits.n, doc = k->docs++;
	struct err why;

	why.set = 0;
	if (d->bad)
		return 0;
	if (match_text(x->match[w->worker], d->text, &k->hits, &why) < 0)
		return docpipe_bad(w, d, why.msg, e);
	if (k->hits.n == first)
		return 0;
	GROW(k->v, k->cap, k->n + 1);
	k->v[k->n++] = (struct hit_doc){doc, first, k->hits.n - first,
					k->text.n};
	buf_put(&k->text, d->text.p, d->text.n);
	return 0;
}

/* --- what a hit leads to --- */

static int
report(struct docs *x, const struct doc *d, struct err *e)
{
	struct span id = doc_id(d, &x->id), text, line;
	const struct tally_match *m;
	size_t i;

	for (i = 0; i < x->matches.n; i++) {
		m = &x->matches.v[i];
		text = (struct span){d->text.p + m->start, m->end - m->start};
		line = contam_report_line(x->c, id, m, 0, text);
		if (filter_report(x->f, line, e))
			return -1;
	}
	return 0;
}

/* Judge a document by its hits and pass it on. */
static int
judge(struct docs *x, const struct doc *d, struct ngram_hits *h,
      struct err *e)
{
	const struct contam_opts *o = x->c->o;
	int reports = filter_reports(x->f);

	if (h->n)
		tally_judge(&x->c->tally, h, reports ? &x->matches : NULL);
	if (!h->n)
		return filter_keep(x->f, d, e);
	x->c->docs_hit++;
	if (reports && report(x, d, e))
		return -1;
	if (o->action == CONTAM_LIST) {
		filter_found(x->f);
		return filter_keep(x->f, d, e);
	}
	if (o->action == CONTAM_CUT) {
		cut_text(d->text, h->v, h->n, (size_t)o->window, &x->cut);
		if (x->cut.n)
			return filter_cut(x->f, d, buf_span(&x->cut), e);
	}
	return filter_drop(x->f, d, e);
}

/* The hits of a document of a block, which are changed in place. */
static struct ngram_hits
hits_of(const struct block *k, const struct hit_doc *d)
{
	return (struct ngram_hits){k->hits.v + d->hit, d->hits, d->hits};
}

static int
write_only(void *ctx, struct doc_batch *b, void *result, struct err *e)
{
	struct docs *x = ctx;
	struct block *k = result;
	struct ngram_hits h = {0};
	size_t i, at = 0;

	for (i = 0; i < b->n; i++) {
		h.n = 0;
		if (at < k->n && k->v[at].doc == i) {
			h = hits_of(k, &k->v[at]);
			b->v[i].text.p = k->text.p + k->v[at++].text;
		}
		if (judge(x, &b->v[i], &h, e))
			return -1;
	}
	return 0;
}

static int
write_first(void *ctx, struct doc_batch *b, void *result, struct err *e)
{
	struct docs *x = ctx;
	struct block *k = result;
	struct spool_head head;
	struct ngram_hits h;
	size_t i;

	for (i = 0; i < k->n; i++) {
		h = hits_of(k, &k->v[i]);
		head = (struct spool_head){b->first + k->v[i].doc, h.n};
		tally_count(&x->c->tally, &h);
		if (spool_append(x->spool, &head, sizeof(head), e) ||
		    spool_append(x->spool, h.v, h.n * sizeof(*h.v), e))
			return -1;
	}
	return 0;
}

/* Set x->hits to those of document number doc, which ascends. */
static int
read_hits(struct docs *x, uint64_t doc, struct err *e)
{
	struct ngram_hits *h = &x->hits;

	h->n = 0;
	if (!x->head.n && x->at < spool_size(x->spool)) {
		if (spool_read(x->spool, x->at, &x->head, sizeof(x->head), e))
			return -1;
		x->at += sizeof(x->head);
	}
	if (!x->head.n || x->head.doc != doc)
		return 0;
	GROW(h->v, h->cap, x->head.n);
	h->n = x->head.n;
	x->head.n = 0;
	if (spool_read(x->spool, x->at, h->v, h->n * sizeof(*h->v), e))
		return -1;
	x->at += h->n * sizeof(*h->v);
	return 0;
}

static int
write_second(void *ctx, struct doc_batch *b, void *result, struct err *e)
{
	struct docs *x = ctx;
	size_t i;

	(void)result;
	for (i = 0; i < b->n; i++)
		if (read_hits(x, b->first + i, e) ||
		    judge(x, &b->v[i], &x->hits, e))
			return -1;
	return 0;
}

/* --- the passes --- */

static int
run_passes(struct docs *x, struct docpipe *p, struct err *e)
{
	struct docpipe_pass match = {
		.ctx = x, .label = "matching", .mode = DOCPIPE_EACH,
		.doc = match_doc, .write = write_only,
		.result_size = sizeof(struct block), .reset = block_reset,
		.clear = block_clear,
	};
	const struct docpipe_pass second = {
		.ctx = x, .label = "writing", .mode = DOCPIPE_TEXTS,
		.write = write_second,
	};

	if (!x->c->tally.max_df)
		return docpipe_run(p, &match, e);
	match.write = write_first;
	x->spool = spool_new(SPOOL_MEM);
	return docpipe_run(p, &match, e) || docpipe_run(p, &second, e) ? -1
								       : 0;
}

int
contam_docs(struct contam *c, const char *const *files, size_t n,
	    struct filter *f, struct err *e)
{
	struct docs x = {.c = c, .f = f};
	struct docpipe *p;
	int i, rc;

	x.match = xcalloc((size_t)c->o->threads, sizeof(*x.match));
	for (i = 0; i < c->o->threads; i++)
		x.match[i] = match_new(&c->x);
	p = docpipe_open(files, n, &c->o->filter.doc, c->o->threads,
			 c->tally.max_df ? 2 : 1);
	rc = run_passes(&x, p, e);
	docpipe_close(p);
	for (i = 0; i < c->o->threads; i++)
		match_free(x.match[i]);
	free(x.match);
	spool_free(x.spool);
	free(x.hits.v);
	free(x.matches.v);
	buf_clear(&x.id);
	buf_clear(&x.cut);
	return rc;
}
