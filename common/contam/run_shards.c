/*
 * run_shards.c - all documents of shards against the benchmarks
 *
 * Work is handed out in groups of documents of about a million tokens; the
 * writer takes them in order.  A stream without bounds is cut into groups
 * that share n - 1 tokens, so that every run of n tokens is whole in one.
 * Shards can be read twice, so the second pass over grams in many documents
 * matches again.
 *
 * Where windows are stored a document may stand in several pieces, anywhere.
 * They are one document in every count: what a piece adds is looked up in a
 * set of (id of the document, gram).  Documents of one id are one there, so
 * that no gram is ignored that stands in few documents.
 */
#include <pthread.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/pipeline.h"
#include "base/progress.h"
#include "contam/run.h"

enum { GROUP = 1 << 20 };

/* Hits of one document of a group, or of one stretch of a boundless stream. */
struct hit_doc {
	uint64_t doc, start;	/* start: its first token in the stream */
	size_t hit, hits;
};

struct group {
	uint64_t from, to;	/* documents, or tokens without bounds */
	struct hit_doc *v;
	size_t n, cap;
	struct ngram_hits hits;
};

/* Hashes; open, at most half full. */
struct set {
	XXH128_hash_t *v;	/* low64 0: empty */
	size_t n, slots;
};

struct run {
	struct ngram_run *r;
	const struct shards *s;
	const struct shard_info *info;
	struct output *report;
	struct ngram_match **match;
	uint32_t **ids;		/* [threads] */
	size_t *idcap;
	unsigned longest;	/* the largest n */
	int counting;
	struct set seen;
	uint64_t next;		/* document, or token without bounds */
	struct ngram_hits hits;
	struct ngram_founds founds;
	struct buf line, tmp, id, text;
	uint32_t *piece;	/* ids for the report */
	size_t piececap;
};

/* --- reading: what belongs to a group --- */

static struct group *
group_new(uint64_t from, uint64_t to)
{
	struct group *g = xcalloc(1, sizeof(*g));

	g->from = from;
	g->to = to;
	return g;
}

static void *
run_read(void *ctx, struct err *e)
{
	struct run *x = ctx;
	struct shard_doc d;
	uint64_t from = x->next, tokens = 0;

	if (!x->info->pieces) {
		if (from >= x->info->tokens)
			return NULL;
		x->next = from + GROUP < x->info->tokens ? from + GROUP
							 : x->info->tokens;
		progress_set(x->next);
		return group_new(from, x->next);
	}
	if (from >= x->info->pieces)
		return NULL;
	while (x->next < x->info->pieces && tokens < GROUP) {
		if (shards_doc(x->s, x->next, &d, e))
			return NULL;
		if (d.end - d.start > UINT32_MAX) {
			err_set(e, "%s: document %llu has more than "
				"4,294,967,295 tokens", d.file,
				(unsigned long long)d.nth);
			return NULL;
		}
		tokens += d.end - d.start;
		x->next++;
	}
	progress_set(d.end);
	return group_new(from, x->next);
}

/* --- matching --- */

/* Hits that begin `own` tokens behind the start or later are the next group's. */
static void
only_own(struct group *g, size_t was, uint64_t own)
{
	size_t i, n = was;

	for (i = was; i < g->hits.n; i++)
		if (g->hits.v[i].start < own)
			g->hits.v[n++] = g->hits.v[i];
	g->hits.n = n;
}

static int
match(struct run *x, struct group *g, int worker, uint64_t doc, uint64_t start,
      uint64_t end, struct err *e)
{
	size_t n = (size_t)(end - start), was = g->hits.n;

	if (n > x->idcap[worker]) {
		x->idcap[worker] = n + n / 2;
		x->ids[worker] = xreallocarray(x->ids[worker],
					       x->idcap[worker],
					       sizeof(**x->ids));
	}
	if (shards_read(x->s, start, n, x->ids[worker], e))
		return -1;
	ngram_match_ids(x->match[worker], x->ids[worker], n, &g->hits);
	if (!x->info->pieces)
		only_own(g, was, g->to - g->from);
	if (g->hits.n == was)
		return 0;
	if (g->n == g->cap) {
		g->cap = g->cap ? 2 * g->cap : 16;
		g->v = xreallocarray(g->v, g->cap, sizeof(*g->v));
	}
	g->v[g->n++] = (struct hit_doc){doc, start, was, g->hits.n - was};
	return 0;
}

static int
run_work(void *ctx, void *item, int worker, struct err *e)
{
	struct run *x = ctx;
	struct group *g = item;
	struct shard_doc d;
	uint64_t i, end;

	if (!x->info->pieces) {
		end = g->to + x->longest - 1;
		return match(x, g, worker, 0, g->from, end < x->info->tokens ?
			     end : x->info->tokens, e);
	}
	for (i = g->from; i < g->to; i++)
		if (shards_doc(x->s, i, &d, e) ||
		    match(x, g, worker, i, d.start, d.end, e))
			return -1;
	return 0;
}

static void
run_drop(void *ctx, void *item)
{
	struct group *g = item;

	(void)ctx;
	free(g->v);
	free(g->hits.v);
	free(g);
}

/* --- pieces of one document --- */

static XXH128_hash_t *
set_find(const struct set *s, XXH128_hash_t h)
{
	size_t i = h.high64 & (s->slots - 1);

	while (s->v[i].low64 && !XXH128_isEqual(s->v[i], h))
		i = (i + 1) & (s->slots - 1);
	return &s->v[i];
}

static void
set_grow(struct set *s)
{
	struct set old = *s;
	size_t i;

	s->slots = old.slots ? 2 * old.slots : 256;
	s->v = xcalloc(s->slots, sizeof(*s->v));
	for (i = 0; i < old.slots; i++)
		if (old.v[i].low64)
			*set_find(s, old.v[i]) = old.v[i];
	free(old.v);
}

/* Is this the first time?  From now on it is not. */
static int
set_add(struct set *s, struct span id, uint64_t what)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(id.p, id.n, what), *at;

	h.low64 |= 1;
	if (2 * s->n >= s->slots)
		set_grow(s);
	at = set_find(s, h);
	if (at->low64)
		return 0;
	*at = h;
	s->n++;
	return 1;
}

/* The id of the document that this is a piece of; p NULL: it is whole. */
static int
piece_of(const struct run *x, uint64_t doc, struct span *id, struct err *e)
{
	struct shard_doc d;

	*id = (struct span){"stream", 6};
	if (!x->info->pieces)
		return 0;
	if (shards_doc(x->s, doc, &d, e))
		return -1;
	*id = d.first && d.last ? (struct span){NULL, 0} : d.id;
	return 0;
}

/* Take out what other pieces of the document have had. */
static void
only_new(struct run *x, struct span id, struct ngram_hits *h)
{
	size_t i, n = 0;

	for (i = 0; i < h->n; i++)
		if (set_add(&x->seen, id, h->v[i].gram))
			h->v[n++] = h->v[i];
	h->n = n;
}

/* --- reporting --- */

/* The text of tokens [start, end) of the stream; what is long, in part. */
static int
decode(struct run *x, uint64_t start, uint64_t end, struct err *e)
{
	size_t n = (size_t)(end - start);

	if (n > x->piececap) {
		x->piececap = n + n / 2;
		x->piece = xreallocarray(x->piece, x->piececap,
					 sizeof(*x->piece));
	}
	buf_reset(&x->text);
	return shards_read(x->s, start, n, x->piece, e) ||
	       vocab_decode(x->r->nb->vocab, x->piece, n, 0, &x->text, e) ?
	       -1 : 0;
}

static int
report(struct run *x, const struct hit_doc *h, struct err *e)
{
	struct span id = {"stream", 6};
	struct shard_doc d;
	uint64_t base = h->start, i;

	if (x->info->pieces) {
		if (shards_doc(x->s, h->doc, &d, e))
			return -1;
		id = shards_doc_id(&d, &x->id);
		base = d.from;
	}
	for (i = 0; i < x->founds.n; i++) {
		const struct ngram_found *f = &x->founds.v[i];

		if (decode(x, h->start + f->start, h->start + f->end, e))
			return -1;
		ngram_run_line(x->r->nb, id, f, base, buf_span(&x->text),
			       &x->tmp, &x->line);
		buf_putc(&x->line, '\n');
		if (output_write(x->report, x->line.p, x->line.n, e))
			return -1;
	}
	x->r->pairs += x->founds.n;
	return 0;
}

static int
write_doc(struct run *x, const struct hit_doc *d, struct ngram_hits *h,
	  struct err *e)
{
	struct span id;

	if (piece_of(x, d->doc, &id, e))
		return -1;
	if (x->counting) {
		if (id.p)
			only_new(x, id, h);
		ngram_bench_count(x->r->nb, h);
		return 0;
	}
	ngram_bench_judge(x->r->nb, h, x->report ? &x->founds : NULL);
	if (!h->n)
		return 0;
	x->r->docs_hit += !id.p || set_add(&x->seen, id, NGRAM_NONE);
	return x->report ? report(x, d, e) : 0;
}

static int
run_write(void *ctx, void *item, struct err *e)
{
	struct run *x = ctx;
	struct group *g = item;
	struct ngram_hits h;
	size_t i;

	for (i = 0; i < g->n; i++) {
		h = (struct ngram_hits){g->hits.v + g->v[i].hit, g->v[i].hits,
					g->v[i].hits};
		if (write_doc(x, &g->v[i], &h, e))
			return -1;
	}
	return 0;
}

/* --- the passes --- */

static int
one_pass(struct run *x, int counting, struct err *e)
{
	const struct pipeline pipe = {
		x, run_read, run_work, run_write, run_drop
	};
	int rc;

	x->counting = counting;
	x->next = 0;
	progress_start("matching", "tokens", x->info->tokens);
	rc = pipeline_run(&pipe, x->r->threads, e);
	progress_stop();
	return rc;
}

int
ngram_run_shards(struct ngram_run *r, const struct shards *s,
		 struct output *report_to, struct err *e)
{
	struct run x = {.r = r, .s = s, .report = report_to};
	size_t k;
	int i, rc = 0;

	x.info = shards_info(s);
	r->docs = x.info->docs;
	r->tokens = x.info->tokens;
	for (k = 0; k < r->nb->b.n; k++)
		if (r->nb->b.v[k].gram > x.longest)
			x.longest = r->nb->b.v[k].gram;
	x.match = xcalloc((size_t)r->threads, sizeof(*x.match));
	x.ids = xcalloc((size_t)r->threads, sizeof(*x.ids));
	x.idcap = xcalloc((size_t)r->threads, sizeof(*x.idcap));
	for (i = 0; i < r->threads; i++)
		x.match[i] = ngram_match_new(r->nb);
	if (r->nb->max_df)
		rc = one_pass(&x, 1, e);
	if (!rc)
		rc = one_pass(&x, 0, e);
	for (i = 0; i < r->threads; i++) {
		ngram_match_free(x.match[i]);
		free(x.ids[i]);
	}
	free(x.match);
	free(x.ids);
	free(x.idcap);
	free(x.piece);
	free(x.seen.v);
	free(x.founds.v);
	buf_clear(&x.line);
	buf_clear(&x.tmp);
	buf_clear(&x.id);
	buf_clear(&x.text);
	return rc;
}
