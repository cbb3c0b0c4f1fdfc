/*
 * scan.c - the first pass
 *
 * Workers parse a block and compute what each method needs; one thread, in
 * order, numbers the documents and puts their keys into two sorters.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "dedup/dedup_priv.h"

/* What a worker found in a block. */
struct scanned {
	struct scanned_doc {
		uint8_t flag;
		uint64_t exact;		/* low half of the text's key */
		struct set_hash set;	/* --apply: of the set of shingles */
	} *doc;
	uint64_t *keys;		/* bands of each document that has words */
	size_t n, nkeys, cap, keys_cap;
	struct passages_block texts;
};

static void
scanned_reset(void *result)
{
	struct scanned *x = result;

	x->n = x->nkeys = 0;
	dedup_passages_block_reset(&x->texts);
}

static void
scanned_clear(void *result)
{
	struct scanned *x = result;

	free(x->doc);
	free(x->keys);
	dedup_passages_block_clear(&x->texts);
}

/* --- workers --- */

static uint8_t
scan_near(const struct dedup *d, struct worker *w, struct scanned *x,
	  struct span text)
{
	size_t bands = (size_t)d->o->mh.bands;

	shingles_of(&w->sh, &d->o->mh, text);
	if (!w->sh.n)
		return 0;
	if (d->o->apply) {
		shingles_sort(&w->sh);
		x->doc[x->n].set = set_hash(w->sh.v, w->sh.n);
		return DOC_WORDS;
	}
	GROW(x->keys, x->keys_cap, x->nkeys + bands);
	minhash_bands(d->mh, w->sh.v, w->sh.n, x->keys + x->nkeys);
	x->nkeys += bands;
	return DOC_WORDS;
}

static uint8_t
scan_text(const struct dedup *d, struct worker *w, struct scanned *x,
	  struct span text, struct err *e)
{
	static const uint8_t loop[] = {0, DOC_RUN, DOC_PHRASE, DOC_GOPHER};
	const struct dedup_opts *o = d->o;
	struct gopher_hit hit;
	uint8_t flag = 0;

	if (o->near)
		flag = scan_near(d, w, x, text);
	if (o->repeats)
		flag |= loop[dedup_loops_find(&d->loops, &w->loops,
					      &w->sh.words, o->near, text,
					      &hit, e).rule];
	if (o->exact)
		x->doc[x->n].exact = dedup_exact_key(
			dedup_exact_text(o, w, text)).a;
	return flag;
}

static int
scan_doc(const struct docpipe_work *dw, struct doc *doc, struct err *e)
{
	const struct dedup *d = dw->ctx;
	struct worker *w = &d->worker[dw->worker];
	struct scanned *x = dw->result;
	size_t nkeys = x->nkeys;
	uint8_t flag = 0;
	struct err why;

	why.set = 0;
	GROW(x->doc, x->cap, x->n + 1);
	if (!doc->bad)
		flag = scan_text(d, w, x, doc->text, &why);
	if (!doc->bad && !why.set && d->o->spans)
		dedup_passages_take(&d->passages, &w->passages, &x->texts,
				    doc->text, &why);
	if (why.set && docpipe_bad(dw, doc, why.msg, e) < 0)
		return -1;
	if (doc->bad) {
		flag = DOC_BAD;
		x->nkeys = nkeys;
	}
	if (doc->bad && d->o->spans)
		dedup_passages_take(&d->passages, &w->passages, &x->texts,
				    span_str(""), &why);
	x->doc[x->n++].flag = flag;
	return 0;
}

/* --- in order --- */

/* Keys of document n; *key: its bands, if it has any. */
static int
put_near(struct dedup *d, const struct scanned_doc *x, uint32_t n,
	 const uint64_t **key, struct err *e)
{
	int64_t k;

	if (!(x->flag & DOC_WORDS)) {
		d->no_words++;
		return 0;
	}
	if (d->o->apply) {
		if (dedup_apply_has(&d->applied, x->set))
			d->corpus.flag[n] |= DOC_MEMBER;
		return extsort_put(d->members.bands, x->set.a, n, e);
	}
	for (k = 0; k < d->o->mh.bands; k++)
		if (extsort_put(d->members.bands, *(*key)++, n, e))
			return -1;
	return 0;
}

static int
scan_write(void *ctx, struct doc_batch *b, void *result, struct err *e)
{
	struct dedup *d = ctx;
	const struct scanned *x = result;
	const uint64_t *key = x->keys;
	uint32_t n;
	size_t i;

	for (i = 0; i < b->n; i++) {
		const struct scanned_doc *at = &x->doc[i];

		n = d->corpus.n;
		d->surrogates += b->v[i].surrogates;
		if (dedup_corpus_add(&d->corpus, &b->v[i], at->flag, e) ||
		    (d->o->spans &&
		     dedup_passages_add(&d->passages, &x->texts, i, e)))
			return -1;
		if (at->flag & DOC_BAD)
			continue;
		if (d->o->exact &&
		    extsort_put(d->members.exact, at->exact, n, e))
			return -1;
		if (d->o->near && put_near(d, at, n, &key, e))
			return -1;
	}
	return 0;
}

int
dedup_scan(struct dedup *d, struct err *e)
{
	struct docpipe_pass pass = {
		.ctx = d, .label = "reading", .mode = DOCPIPE_EACH,
		.doc = scan_doc, .write = scan_write,
		.result_size = sizeof(struct scanned),
		.reset = scanned_reset, .clear = scanned_clear
	};

	return dedup_corpus_scan(&d->corpus, &pass, e);
}
