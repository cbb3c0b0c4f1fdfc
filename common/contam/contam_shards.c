/*
 * contam_shards.c - all documents of shards against the benchmarks
 *
 * Work is divided into groups of documents of about a million tokens, which
 * the writer takes in order.  A stream without boundaries is divided into
 * groups that overlap by n - 1 tokens, so that each n-gram is whole in one.
 * Shards can be read twice, so the second pass of max_df matches again.
 *
 * Where windows are stored, a document may occur in several pieces anywhere.
 * They count as one document: what a piece adds is looked up in a set of
 * (document id, n-gram).  Documents of equal id are one there, so that no
 * n-gram is ignored that occurs in few documents.
 */
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/pipeline.h"
#include "base/progress.h"
#include "contam/contam_priv.h"
#include "contam/match.h"

enum { GROUP = 1 << 20 };

/* Hits of a document of a group, or of its part of an unbounded stream. */
struct hit_doc {
	uint64_t doc, start;	/* start: its first token in the stream */
	size_t hit, hits;
};

struct group {
	uint64_t from, to;	/* documents, or tokens without boundaries */
	struct hit_doc *v;
	size_t n, cap;
	struct ngram_hits hits;
};

/* Hashes; open addressing, at most half full. */
struct set {
	XXH128_hash_t *v;	/* low64 0: empty */
	size_t n, slots;
};

struct worker {
	struct match *match;
	struct ids ids;
};

struct pass {
	struct contam *c;
	const struct shards *s;
	const struct shard_info *info;
	struct findings *findings;
	struct worker *worker;	/* [threads] */
	unsigned longest;	/* the largest n */
	int counting;
	struct set seen;
	uint64_t next;		/* document, or token without boundaries */
	struct tally_matches matches;
	struct buf id, text;
	struct ids ids;		/* of a match, for the report */
};

/* --- reading: what belongs to a group --- */

static void *
pass_read(void *ctx, struct err *e)
{
	struct pass *x = ctx;
	int bounded = x->info->pieces > 0;
	uint64_t from = x->next, tokens = 0;
	uint64_t end = bounded ? x->info->pieces : x->info->tokens;
	struct shard_doc d = {0};
	struct group *g;

	if (from >= end)
		return NULL;
	if (!bounded) {
		x->next = from + GROUP < end ? from + GROUP : end;
		d.end = x->next;
	}
	while (bounded && x->next < end && tokens < GROUP) {
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
	g = xcalloc(1, sizeof(*g));
	g->from = from;
	g->to = x->next;
	return g;
}

/* --- matching --- */

static int
read_ids(const struct pass *x, uint64_t start, uint64_t end, struct ids *ids,
	 struct err *e)
{
	ids->n = 0;
	ids_reserve(ids, (size_t)(end - start));
	ids->n = (size_t)(end - start);
	return shards_read(x->s, start, ids->n, ids->v, e);
}

/* Hits that begin `own` or more tokens after the start are the next group's. */
static void
keep_own(struct ngram_hits *h, size_t first, uint64_t own)
{
	size_t i, n = first;

	for (i = first; i < h->n; i++)
		if (h->v[i].start < own)
			h->v[n++] = h->v[i];
	h->n = n;
}

static int
match_doc(struct pass *x, struct group *g, struct worker *w, uint64_t doc,
	  uint64_t start, uint64_t end, struct err *e)
{
	size_t first = g->hits.n;

	if (read_ids(x, start, end, &w->ids, e))
		return -1;
	match_ids(w->match, w->ids.v, w->ids.n, &g->hits);
	if (!x->info->pieces)
		keep_own(&g->hits, first, g->to - g->from);
	if (g->hits.n == first)
		return 0;
	GROW(g->v, g->cap, g->n + 1);
	g->v[g->n++] = (struct hit_doc){doc, start, first, g->hits.n - first};
	return 0;
}

static int
pass_work(void *ctx, void *item, int worker, struct err *e)
{
	struct pass *x = ctx;
	struct group *g = item;
	struct worker *w = &x->worker[worker];
	struct shard_doc d;
	uint64_t i, end;

	if (!x->info->pieces) {
		end = g->to + x->longest - 1;
		if (end > x->info->tokens)
			end = x->info->tokens;
		return match_doc(x, g, w, 0, g->from, end, e);
	}
	for (i = g->from; i < g->to; i++)
		if (shards_doc(x->s, i, &d, e) ||
		    match_doc(x, g, w, i, d.start, d.end, e))
			return -1;
	return 0;
}

static void
pass_drop(void *ctx, void *item)
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

/* Returns 1 if it was not in the set. */
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

/* Remove n-grams that other pieces of the document had. */
static void
keep_new(struct set *seen, struct span id, struct ngram_hits *h)
{
	size_t i, n = 0;

	for (i = 0; i < h->n; i++)
		if (set_add(seen, id, h->v[i].gram))
			h->v[n++] = h->v[i];
	h->n = n;
}

/* --- writing, in order --- */

/* d is NULL without boundaries. */
static int
report(struct pass *x, const struct hit_doc *h, const struct shard_doc *d,
       struct err *e)
{
	const struct vocab *vocab = x->c->x.vocab;
	struct span id = d ? shards_doc_id(d, &x->id) : span_str("stream");
	struct span line;
	size_t i;

	for (i = 0; i < x->matches.n; i++) {
		const struct tally_match *m = &x->matches.v[i];

		buf_reset(&x->text);
		if (read_ids(x, h->start + m->start, h->start + m->end,
			     &x->ids, e) ||
		    vocab_decode(vocab, x->ids.v, x->ids.n, 0, &x->text, e))
			return -1;
		line = contam_report_line(x->c, id, m, d ? d->from : h->start,
					  buf_span(&x->text));
		if (findings_put(x->findings, line, e))
			return -1;
	}
	return 0;
}

static int
write_doc(struct pass *x, const struct hit_doc *h, struct ngram_hits *hits,
	  struct err *e)
{
	struct contam *c = x->c;
	struct span id = {"stream", 6};
	struct shard_doc d;
	int bounded = x->info->pieces > 0, in_pieces = !bounded;
	int reports;

	if (bounded) {
		if (shards_doc(x->s, h->doc, &d, e))
			return -1;
		in_pieces = !d.first || !d.last;
		id = d.id;
	}
	in_pieces = in_pieces && id.p;
	if (x->counting) {
		if (in_pieces)
			keep_new(&x->seen, id, hits);
		tally_count(&c->tally, hits);
		return 0;
	}
	reports = findings_any(x->findings);
	tally_judge(&c->tally, hits, reports ? &x->matches : NULL);
	if (!hits->n)
		return 0;
	c->docs_hit += !in_pieces || set_add(&x->seen, id, NGRAM_NONE);
	return reports ? report(x, h, bounded ? &d : NULL, e) : 0;
}

static int
pass_write(void *ctx, void *item, struct err *e)
{
	struct pass *x = ctx;
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
run_pass(struct pass *x, int counting, struct err *e)
{
	const struct pipeline pipe = {
		x, pass_read, pass_work, pass_write, pass_drop
	};
	int rc;

	x->counting = counting;
	x->next = 0;
	progress_start("matching", "tokens", x->info->tokens);
	rc = pipeline_run(&pipe, x->c->o->threads, e);
	progress_stop();
	return rc;
}

int
contam_shards(struct contam *c, const struct shards *s,
	      struct findings *findings, struct err *e)
{
	struct pass x = {.c = c, .s = s, .findings = findings};
	size_t k;
	int i, rc = 0;

	x.info = shards_info(s);
	for (k = 0; k < c->x.b.n; k++)
		if (c->x.b.v[k].ngram > x.longest)
			x.longest = c->x.b.v[k].ngram;
	x.worker = xcalloc((size_t)c->o->threads, sizeof(*x.worker));
	for (i = 0; i < c->o->threads; i++)
		x.worker[i].match = match_new(&c->x);
	if (c->tally.max_df)
		rc = run_pass(&x, 1, e);
	if (!rc)
		rc = run_pass(&x, 0, e);
	for (i = 0; i < c->o->threads; i++) {
		match_free(x.worker[i].match);
		free(x.worker[i].ids.v);
	}
	free(x.worker);
	free(x.ids.v);
	free(x.seen.v);
	free(x.matches.v);
	buf_clear(&x.id);
	buf_clear(&x.text);
	return rc;
}
