/*
 * train_docs.c - documents in, counted pieces out
 *
 * One pipeline: blocks are read in order, parsed and counted by any worker
 * into its own inventory, and entered into the books in order.  Counts are
 * sums, so which worker counted what does not show in the result.
 *
 * With max_docs no worker can know yet what will be chosen.  The ordered end
 * of the pipeline then keeps copies of the texts with the smallest ranks in
 * a heap whose top is the largest, and a second pipeline counts them.  A
 * rank decides by hash, then weight; documents that tie in both have equal
 * texts, so it does not matter which of them goes.
 */
#include "tokenizer/train_docs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pipeline.h"
#include "base/progress.h"
#include "base/rng.h"

enum { ENDS = 1024 };

struct kept {			/* a chosen document, max_docs only */
	uint64_t rank, weight;
	char *text;
	size_t n;
};

struct worker {
	struct doc_parser *parser;
	struct split_scratch *scratch;
	struct pieces *pieces;
	uint64_t memory;	/* of pieces, as last added to the sum */
	uint32_t ends[ENDS];
};

struct count {
	const struct bpetrain_docs *o;
	struct doc_reader *reader;
	struct doc_stats *stats;
	struct worker *worker;	/* [o->threads] */
	uint64_t memory;	/* of all workers and kept texts; atomic */
	struct kept *kept;	/* heap, the largest first */
	size_t nkept, cap_kept;
	size_t next;		/* of the second pipeline */
};

/* ---- weights and the choice ---- */

static uint64_t
doc_weight(const struct count *c, const struct doc *d)
{
	uint64_t w = 0;

	if (!c->o->doc->extra_key)
		return 1;
	for (size_t i = 0; i < d->extra.n; i++)
		w = 10 * w + (d->extra.p[i] - '0');
	return w;
}

/* NULL, or what is wrong with the weight of a good document. */
static const char *
weight_fault(const struct doc *d)
{
	uint64_t w = 0;

	if (!d->extra.p)
		return "the weight is missing";
	for (size_t i = 0; i < d->extra.n; i++) {
		unsigned digit = (unsigned char)d->extra.p[i] - '0';

		if (digit > 9)
			return "the weight is no whole number";
		if (__builtin_mul_overflow(w, 10, &w) ||
		    __builtin_add_overflow(w, digit, &w) || w >> 63)
			return "the weight is 2^63 or more";
	}
	return d->extra.n ? NULL : "the weight is no whole number";
}

/* Mark documents with bad weights; with on_bad fail the first is the error. */
static int
check_weights(const struct count *c, struct doc_batch *b, struct err *e)
{
	for (size_t i = 0; i < b->n; i++) {
		struct doc *d = &b->v[i];
		const char *why = d->bad ? NULL : weight_fault(d);

		if (!why)
			continue;
		if (c->o->doc->on_bad == DOC_FAIL) {
			e->set = 0;	/* it comes before the parser's */
			return err_set(e, "%s:%llu: %s: key \"%s\", found %.*s",
				       d->file, (unsigned long long)d->lineno,
				       why, c->o->doc->extra_key,
				       d->extra.n < 40 ? (int)d->extra.n : 40,
				       d->extra.p ? d->extra.p : "");
		}
		d->bad = 1;
		d->why = why;
		d->text.n = 0;
	}
	return 0;
}

static int
doc_chosen(const struct count *c, const struct doc *d)
{
	return !d->bad && (c->o->frac >= 1 ||
		rng_uniform(0, RNG_PICK, d->digest) < c->o->frac);
}

/* ---- memory ---- */

static int
memory_add(struct count *c, uint64_t more, struct err *e)
{
	uint64_t sum = __atomic_add_fetch(&c->memory, more, __ATOMIC_RELAXED);

	if (c->o->mem && sum > c->o->mem)
		return err_set(e, "the pieces and texts kept so far take "
			       "%llu bytes of memory in %d threads, more than "
			       "--mem %llu: raise it, or take a sample, or "
			       "fewer threads",
			       (unsigned long long)sum, c->o->threads,
			       (unsigned long long)c->o->mem);
	return 0;
}

static int
worker_memory(struct count *c, struct worker *w, struct err *e)
{
	uint64_t now = pieces_memory(w->pieces), was = w->memory;

	w->memory = now;
	return now == was ? 0 : memory_add(c, now - was, e);
}

/* ---- counting ---- */

static int
count_text(struct count *c, struct worker *w, struct span text,
	   uint64_t weight, struct err *e)
{
	size_t pos = 0, start, n;

	while (pos < text.n) {
		start = pos;
		n = split_next(c->o->split, w->scratch, text.p, text.n, &pos,
			       w->ends, ENDS);
		if (n == 0)
			break;
		if (pieces_add(w->pieces, text.p, text.n, start, w->ends, n,
			       weight, e))
			return -1;
	}
	return 0;
}

static int
count_doc(struct count *c, struct worker *w, const struct doc *d,
	  struct err *e)
{
	struct err what = {0};

	if (d->text.n >= UINT32_MAX)
		return err_set(e, "%s:%llu: a text of %zu bytes: at most "
			       "4294967294 can be split", d->file,
			       (unsigned long long)d->lineno, d->text.n);
	if (count_text(c, w, d->text, doc_weight(c, d), &what))
		return err_set(e, "%s:%llu: %s", d->file,
			       (unsigned long long)d->lineno, what.msg);
	return 0;
}

static void *
read_block(void *ctx, struct err *e)
{
	struct count *c = ctx;

	progress_set(input_done(doc_reader_input(c->reader)));
	return doc_read(c->reader, 0, e);
}

static int
work_block(void *ctx, void *item, int worker, struct err *e)
{
	struct count *c = ctx;
	struct doc_batch *b = item;
	struct worker *w = &c->worker[worker];
	int bad = doc_parse(w->parser, b, e);

	if (c->o->doc->extra_key && check_weights(c, b, e))
		return -1;
	if (bad)
		return -1;
	if (c->o->max_docs)
		return 0;
	for (size_t i = 0; i < b->n; i++)
		if (doc_chosen(c, &b->v[i]) && count_doc(c, w, &b->v[i], e))
			return -1;
	return worker_memory(c, w, e);
}

/* ---- max_docs: the documents of smallest rank ---- */

static int
kept_after(const struct kept *a, const struct kept *b)
{
	return a->rank != b->rank ? a->rank > b->rank : a->weight > b->weight;
}

static void
kept_swap(struct kept *a, struct kept *b)
{
	struct kept t = *a;

	*a = *b;
	*b = t;
}

static void
kept_up(struct kept *v, size_t i)
{
	for (size_t up; i > 0; i = up) {
		up = (i - 1) / 2;
		if (!kept_after(&v[i], &v[up]))
			break;
		kept_swap(&v[i], &v[up]);
	}
}

static void
kept_down(struct kept *v, size_t n)
{
	for (size_t i = 0, kid; (kid = 2 * i + 1) < n; i = kid) {
		if (kid + 1 < n && kept_after(&v[kid + 1], &v[kid]))
			kid++;
		if (!kept_after(&v[kid], &v[i]))
			break;
		kept_swap(&v[i], &v[kid]);
	}
}

static int
keep(struct count *c, const struct doc *d, struct err *e)
{
	struct kept k = {
		.rank = rng_u64(0, RNG_PICK, d->digest),
		.weight = doc_weight(c, d), .n = d->text.n
	};

	if (c->nkept == c->o->max_docs) {
		if (!kept_after(&c->kept[0], &k))
			return 0;
		__atomic_sub_fetch(&c->memory, c->kept[0].n, __ATOMIC_RELAXED);
		free(c->kept[0].text);
		c->kept[0] = c->kept[--c->nkept];
		kept_down(c->kept, c->nkept);
	}
	if (c->nkept == c->cap_kept) {
		c->cap_kept = c->cap_kept ? 2 * c->cap_kept : 256;
		c->kept = xreallocarray(c->kept, c->cap_kept, sizeof k);
	}
	k.text = xmemdup0(d->text.p, d->text.n);
	c->kept[c->nkept] = k;
	kept_up(c->kept, c->nkept++);
	return memory_add(c, k.n, e);
}

static int
write_block(void *ctx, void *item, struct err *e)
{
	struct count *c = ctx;
	const struct doc_batch *b = item;

	for (size_t i = 0; i < b->n; i++) {
		const struct doc *d = &b->v[i];

		doc_stats_in(c->stats, d);
		if (d->bad)
			continue;
		if (!doc_chosen(c, d))
			doc_stats_dropped(c->stats, d);
		else if (!c->o->max_docs)
			doc_stats_kept(c->stats, d);
		else if (keep(c, d, e))
			return -1;
	}
	return 0;
}

static void
drop_block(void *ctx, void *item)
{
	(void)ctx;
	doc_batch_free(item);
}

static void *
read_kept(void *ctx, struct err *e)
{
	struct count *c = ctx;

	(void)e;
	return c->next < c->nkept ? &c->kept[c->next++] : NULL;
}

static int
work_kept(void *ctx, void *item, int worker, struct err *e)
{
	struct count *c = ctx;
	const struct kept *k = item;
	struct worker *w = &c->worker[worker];

	if (count_text(c, w, (struct span){k->text, k->n}, k->weight, e))
		return -1;
	return worker_memory(c, w, e);
}

static int
write_kept(void *ctx, void *item, struct err *e)
{
	struct count *c = ctx;
	const struct kept *k = item;
	struct span text = {k->text, k->n};

	(void)e;
	doc_stats_kept(c->stats, &(struct doc){
		.text = text, .digest = doc_digest(text)});
	return 0;
}

static void
drop_kept(void *ctx, void *item)
{
	struct kept *k = item;

	(void)ctx;
	free(k->text);
	k->text = NULL;
}

/* ---- all of it ---- */

static int
count_run(struct count *c, struct err *e)
{
	const struct pipeline all = {
		c, read_block, work_block, write_block, drop_block
	}, chosen = {
		c, read_kept, work_kept, write_kept, drop_kept
	};
	int bad = pipeline_run(&all, c->o->threads, e);

	if (!bad && c->o->max_docs) {
		bad = pipeline_run(&chosen, c->o->threads, e);
		c->stats->docs_dropped = c->stats->docs_in -
			c->stats->docs_bad - c->stats->docs_kept;
	}
	for (int i = 1; !bad && i < c->o->threads; i++) {
		bad = pieces_merge(c->worker[0].pieces, c->worker[i].pieces,
				   e);
		pieces_free(c->worker[i].pieces);
		c->worker[i].pieces = NULL;
	}
	return bad;
}

struct pieces *
bpetrain_count(const struct bpetrain_docs *o, struct doc_stats *stats,
	       struct err *e)
{
	struct count c = {.o = o, .stats = stats};
	struct pieces *p = NULL;

	*stats = (struct doc_stats){0};
	c.reader = doc_reader_open(o->paths, o->npaths, o->doc);
	c.worker = xcalloc(o->threads, sizeof *c.worker);
	for (int i = 0; i < o->threads; i++) {
		c.worker[i].parser = doc_parser_new(o->doc);
		c.worker[i].scratch = split_scratch_new(o->split);
		c.worker[i].pieces = pieces_new();
	}
	progress_start("counting", "B",
		       input_total(doc_reader_input(c.reader)));
	if (!count_run(&c, e)) {
		p = c.worker[0].pieces;
		c.worker[0].pieces = NULL;
	}
	progress_stop();
	for (int i = 0; i < o->threads; i++) {
		doc_parser_free(c.worker[i].parser);
		split_scratch_free(c.worker[i].scratch);
		pieces_free(c.worker[i].pieces);
	}
	for (size_t i = 0; i < c.nkept; i++)
		free(c.kept[i].text);
	free(c.kept);
	free(c.worker);
	doc_reader_close(c.reader);
	return p;
}
