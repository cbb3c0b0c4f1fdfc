/*
 * run.c - all documents against the benchmarks
 *
 * Workers parse a block and match its texts as they are parsed; of a block
 * they hand on the hits, and the texts of documents that have any.  The
 * writer, in order, judges those and passes every document on.  With an upper
 * bound on the documents of a gram, a first pass only counts.
 */
#include "contam/run.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/pipeline.h"
#include "base/progress.h"
#include "contam/cut.h"

/* A document of a block that has hits; its text is a copy. */
struct hit_doc {
	size_t doc, hit, hits;	/* number in the block; v[hit..] of block.hits */
	size_t text, textn;	/* in block.text */
};

struct block {
	struct hit_doc *v;
	size_t n, cap, docs;
	struct ngram_hits hits;
	struct buf text;
	struct block *next;
};

struct run {
	struct ngram_run *r;
	struct doc_reader *reader;
	struct doc_parser **parser;	/* one a worker */
	struct ngram_match **match;
	struct filter *f;
	struct ngram_spool *spool;
	int pass;			/* 0: the only one, 1, 2 */
	uint64_t doc;			/* number of the next one */
	struct ngram_hits hits;
	struct ngram_founds founds;
	struct buf id, line, tmp, cut;
	pthread_mutex_t lock;
	struct block *free;
};

/* --- reading and matching --- */

static void *
run_read(void *ctx, struct err *e)
{
	struct run *x = ctx;
	struct doc_batch *b = doc_read(x->reader, 0, e);

	if (!b)
		return NULL;
	progress_set(input_done(doc_reader_input(x->reader)));
	return b;
}

static struct block *
block_new(struct run *x)
{
	struct block *k;

	pthread_mutex_lock(&x->lock);
	k = x->free;
	if (k)
		x->free = k->next;
	pthread_mutex_unlock(&x->lock);
	if (!k)
		k = xcalloc(1, sizeof(*k));
	k->n = k->docs = k->hits.n = k->text.n = 0;
	return k;
}

/* What a worker fills while it parses a block. */
struct work {
	struct ngram_match *match;
	struct block *k;
};

static void
match_doc(void *ctx, const struct doc *d)
{
	struct work *w = ctx;
	struct block *k = w->k;
	size_t was = k->hits.n, doc = k->docs++;

	if (d->bad)
		return;
	ngram_match_text(w->match, d->text, &k->hits);
	if (k->hits.n == was)
		return;
	if (k->n == k->cap) {
		k->cap = k->cap ? 2 * k->cap : 16;
		k->v = xreallocarray(k->v, k->cap, sizeof(*k->v));
	}
	k->v[k->n++] = (struct hit_doc){doc, was, k->hits.n - was, k->text.n,
					d->text.n};
	buf_put(&k->text, d->text.p, d->text.n);
}

static int
run_work(void *ctx, void *item, int worker, struct err *e)
{
	struct run *x = ctx;
	struct doc_batch *b = item;
	struct work w = {x->match[worker], NULL};

	if (x->pass == 2)
		return doc_parse(x->parser[worker], b, e);
	b->user = w.k = block_new(x);
	return doc_parse_each(x->parser[worker], b, match_doc, &w, e);
}

static void
run_drop(void *ctx, void *item)
{
	struct run *x = ctx;
	struct doc_batch *b = item;
	struct block *k = b->user;

	if (k) {
		pthread_mutex_lock(&x->lock);
		k->next = x->free;
		x->free = k;
		pthread_mutex_unlock(&x->lock);
	}
	doc_batch_free(b);
}

/* --- what a hit leads to --- */

/* A text for the report: whole, or its two ends at character bounds. */
static struct span
shorten(struct span s, struct buf *tmp)
{
	size_t half = NGRAM_TEXT_MAX / 2, a = half, b = s.n - half;

	if (s.n <= NGRAM_TEXT_MAX)
		return s;
	while (a && ((unsigned char)s.p[a] & 0xc0) == 0x80)
		a--;
	while (b < s.n && ((unsigned char)s.p[b] & 0xc0) == 0x80)
		b++;
	buf_reset(tmp);
	buf_put(tmp, s.p, a);
	buf_puts(tmp, " [...] ");
	buf_put(tmp, s.p + b, s.n - b);
	return buf_span(tmp);
}

void
ngram_run_line(const struct ngram_bench *nb, struct span id,
	       const struct ngram_found *f, uint64_t base, struct span text,
	       struct buf *tmp, struct buf *out)
{
	const struct bench_example *x = &nb->b.ex[f->ex];

	buf_reset(out);
	buf_puts(out, "{\"id\":");
	json_put_str(out, id);
	buf_puts(out, ",\"benchmark\":");
	json_put_str(out, span_str(nb->b.v[x->of].name));
	buf_puts(out, ",\"example\":");
	json_put_str(out, bench_id(&nb->b, x, tmp));
	buf_printf(out, ",\"start\":%llu,\"end\":%llu,\"grams\":%llu,"
		   "\"text\":", (unsigned long long)(base + f->start),
		   (unsigned long long)(base + f->end),
		   (unsigned long long)f->grams);
	json_put_str(out, shorten(text, tmp));
	buf_putc(out, '}');
}

static int
report(struct run *x, const struct doc *d, struct err *e)
{
	const struct ngram_found *f;
	size_t i;

	for (i = 0; i < x->founds.n; i++) {
		f = &x->founds.v[i];
		ngram_run_line(x->r->nb, doc_id(d, &x->id), f, 0,
			       (struct span){d->text.p + f->start,
					     f->end - f->start},
			       &x->tmp, &x->line);
		if (filter_report(x->f, buf_span(&x->line), e))
			return -1;
	}
	x->r->pairs += x->founds.n;
	return 0;
}

static int
act(struct run *x, const struct doc *d, struct err *e)
{
	if (x->r->action == NGRAM_LIST) {
		filter_found(x->f);
		return filter_keep(x->f, d, e);
	}
	if (x->r->action == NGRAM_CUT) {
		ngram_cut(d->text, x->hits.v, x->hits.n, x->r->window,
			  &x->cut);
		if (x->cut.n)
			return filter_cut(x->f, d, buf_span(&x->cut), e);
	}
	return filter_drop(x->f, d, e);
}

/* A document with the hits that are in x->hits. */
static int
judge(struct run *x, const struct doc *d, struct err *e)
{
	ngram_bench_judge(x->r->nb, &x->hits, filter_reports(x->f) ?
			  &x->founds : NULL);
	if (!x->hits.n)
		return filter_keep(x->f, d, e);
	x->r->docs_hit++;
	if (filter_reports(x->f) && report(x, d, e))
		return -1;
	return act(x, d, e);
}

static void
take_hits(struct run *x, const struct block *k, const struct hit_doc *h)
{
	if (h->hits > x->hits.cap) {
		x->hits.cap = h->hits + h->hits / 2;
		x->hits.v = xreallocarray(x->hits.v, x->hits.cap,
					  sizeof(*x->hits.v));
	}
	memcpy(x->hits.v, k->hits.v + h->hit, h->hits * sizeof(*x->hits.v));
	x->hits.n = h->hits;
}

static int
write_once(struct run *x, struct doc_batch *b, struct err *e)
{
	struct block *k = b->user;
	size_t i, at = 0;

	for (i = 0; i < b->n; i++) {
		if (at == k->n || k->v[at].doc != i) {
			if (filter_keep(x->f, &b->v[i], e))
				return -1;
			continue;
		}
		take_hits(x, k, &k->v[at]);
		b->v[i].text.p = k->text.p + k->v[at++].text;
		if (judge(x, &b->v[i], e))
			return -1;
	}
	return 0;
}

static int
write_first(struct run *x, struct doc_batch *b, struct err *e)
{
	struct block *k = b->user;
	size_t i;

	for (i = 0; i < k->n; i++) {
		take_hits(x, k, &k->v[i]);
		ngram_bench_count(x->r->nb, &x->hits);
		if (ngram_spool_put(x->spool, x->doc + k->v[i].doc, &x->hits,
				    e))
			return -1;
	}
	x->doc += b->n;
	return 0;
}

static int
write_second(struct run *x, struct doc_batch *b, struct err *e)
{
	size_t i;
	int got;

	for (i = 0; i < b->n; i++) {
		got = ngram_spool_get(x->spool, x->doc++, &x->hits, e);
		if (got < 0 || (got ? judge(x, &b->v[i], e)
				    : filter_keep(x->f, &b->v[i], e)))
			return -1;
	}
	return 0;
}

static int
run_write(void *ctx, void *item, struct err *e)
{
	struct run *x = ctx;

	return x->pass == 0 ? write_once(x, item, e) :
	       x->pass == 1 ? write_first(x, item, e)
			    : write_second(x, item, e);
}

/* --- the passes --- */

static int
one_pass(struct run *x, const char *what, struct err *e)
{
	const struct pipeline pipe = {
		x, run_read, run_work, run_write, run_drop
	};
	struct block *k;
	int rc;

	x->doc = 0;
	progress_start(what, "B", input_total(doc_reader_input(x->reader)));
	rc = pipeline_run(&pipe, x->r->threads, e);
	progress_stop();
	while ((k = x->free)) {
		x->free = k->next;
		free(k->v);
		free(k->hits.v);
		buf_clear(&k->text);
		free(k);
	}
	return rc;
}

static int
two_passes(struct run *x, struct err *e)
{
	struct input *in = doc_reader_input(x->reader);
	int rc;

	input_keep(in);
	x->spool = ngram_spool_new();
	x->pass = 1;
	rc = one_pass(x, "matching", e);
	x->pass = 2;
	if (!rc)
		rc = input_rewind(in, e);
	if (!rc)
		rc = one_pass(x, "writing", e);
	ngram_spool_free(x->spool);
	return rc;
}

int
ngram_run_docs(struct ngram_run *r, const char *const *files, size_t n,
	       const struct doc_opts *opts, struct filter *f, struct err *e)
{
	struct run x = {.r = r, .f = f};
	int i, rc;

	pthread_mutex_init(&x.lock, NULL);
	x.parser = xcalloc((size_t)r->threads, sizeof(*x.parser));
	x.match = xcalloc((size_t)r->threads, sizeof(*x.match));
	for (i = 0; i < r->threads; i++) {
		x.parser[i] = doc_parser_new(opts);
		x.match[i] = ngram_match_new(r->nb);
	}
	x.reader = doc_reader_open(files, n, opts);
	rc = r->nb->max_df ? two_passes(&x, e) : one_pass(&x, "matching", e);
	doc_reader_close(x.reader);
	for (i = 0; i < r->threads; i++) {
		doc_parser_free(x.parser[i]);
		ngram_match_free(x.match[i]);
	}
	free(x.parser);
	free(x.match);
	free(x.hits.v);
	free(x.founds.v);
	buf_clear(&x.id);
	buf_clear(&x.line);
	buf_clear(&x.tmp);
	buf_clear(&x.cut);
	pthread_mutex_destroy(&x.lock);
	return rc;
}
