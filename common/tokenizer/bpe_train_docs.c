/*
 * bpe_train_docs.c - documents in, counted pre-tokens out
 *
 * Each thread counts into a table of its own; the tables are added up at the
 * end.  Counts are sums, so it does not matter which thread counted what.
 *
 * With max_docs the choice is known only at the end.  The ordered end of the
 * pipeline then keeps copies of the texts with the smallest ranks in a heap
 * whose top is the largest, and all threads count them afterwards.  A rank
 * compares by hash, then weight; documents that tie in both have equal texts,
 * so it does not matter which of them is dropped.
 */
#include "tokenizer/bpe_train_docs.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "record/docpipe.h"

enum { ENDS = 1024 };

struct kept {			/* a chosen document, max_docs only */
	uint64_t rank, weight;
	char *text;
	size_t n;
};

struct worker {
	struct split_scratch *scratch;
	struct pretokens *pretokens;
	uint64_t memory;	/* of pretokens, as last added to the sum */
	uint32_t ends[ENDS];
	struct err err;		/* while kept texts are counted */
};

struct count {
	const struct bpe_train_docs *o;
	struct doc_stats *stats;
	struct worker *worker;	/* [o->threads] */
	uint64_t memory;	/* of all workers and kept texts; atomic */
	struct kept *kept;	/* heap, the largest first */
	size_t nkept, cap_kept;
	size_t next;		/* kept text to count; atomic */
};

/* ---- weights and the choice ---- */

/* NULL and the weight of a good document, or what is wrong with it. */
static const char *
weight_read(const struct doc *d, uint64_t *w)
{
	*w = 0;
	if (!d->extra.p)
		return "the weight is missing";
	for (size_t i = 0; i < d->extra.n; i++) {
		unsigned digit = (unsigned char)d->extra.p[i] - '0';

		if (digit > 9)
			return "the weight is not a whole number";
		if (__builtin_mul_overflow(*w, 10, w) ||
		    __builtin_add_overflow(*w, digit, w) || *w >> 63)
			return "the weight is 2^63 or more";
	}
	return d->extra.n ? NULL : "the weight is not a whole number";
}

static uint64_t
doc_weight(const struct count *c, const struct doc *d)
{
	uint64_t w = 1;

	if (c->o->doc->extra_key)
		weight_read(d, &w);
	return w;
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
		return err_set(e, "the pre-tokens and texts kept so far take "
			       "%llu bytes of memory in %d threads, more than "
			       "the limit of %llu: raise it, or use a sample "
			       "or fewer threads", (unsigned long long)sum,
			       c->o->threads, (unsigned long long)c->o->mem);
	return 0;
}

static int
worker_memory(struct count *c, struct worker *w, struct err *e)
{
	uint64_t now = pretokens_memory(w->pretokens), was = w->memory;

	w->memory = now;
	return now == was ? 0 : memory_add(c, now - was, e);
}

/* ---- counting ---- */

/* A text that cannot be split fails before any of it is counted: bad. */
static int
count_text(struct count *c, struct worker *w, struct span text,
	   uint64_t weight, struct err *bad, struct err *e)
{
	size_t pos = 0, start, n;

	while (pos < text.n) {
		start = pos;
		n = split_next(c->o->split, w->scratch, text.p, text.n, &pos,
			       w->ends, ENDS, bad);
		if (n == 0)
			break;
		if (pretokens_add(w->pretokens, text.p, text.n, start, w->ends,
				  n, weight, e))
			return -1;
	}
	return 0;
}

/* --max-docs: can a text that may be kept be split? */
static void
try_text(struct count *c, struct worker *w, struct span text, struct err *bad)
{
	size_t pos = 0;

	if (split_may_fail(c->o->split))
		split_next(c->o->split, w->scratch, text.p, text.n, &pos,
			   w->ends, ENDS, bad);
}

static int
work_doc(const struct docpipe_work *work, struct doc *d, struct err *e)
{
	struct count *c = work->ctx;
	struct worker *w = &c->worker[work->worker];
	struct err what, bad;
	const char *key = c->o->doc->extra_key, *why = NULL;
	uint64_t weight = 1;

	if (key && !d->bad)
		why = weight_read(d, &weight);
	if (why && c->o->doc->on_bad == DOC_FAIL)
		return err_set(e, "%s:%llu: %s: key \"%s\", found %.*s",
			       d->file, (unsigned long long)d->lineno, why, key,
			       d->extra.n < 40 ? (int)d->extra.n : 40,
			       d->extra.p ? d->extra.p : "");
	if (why) {
		d->bad = 1;
		d->why = why;
		d->text.n = 0;
	}
	if (!doc_chosen(c, d))
		return 0;
	if (d->text.n >= UINT32_MAX)
		return err_set(e, "%s:%llu: a text of %zu bytes: at most "
			       "4294967294 can be split", d->file,
			       (unsigned long long)d->lineno, d->text.n);
	what.set = bad.set = 0;
	if (c->o->max_docs)
		try_text(c, w, d->text, &bad);
	else if (count_text(c, w, d->text, weight, &bad, &what))
		return err_set(e, "%s:%llu: %s", d->file,
			       (unsigned long long)d->lineno, what.msg);
	return bad.set ? docpipe_bad(work, d, bad.msg, e) : 0;
}

static int
work_block(const struct docpipe_work *work, struct doc_batch *b, struct err *e)
{
	struct count *c = work->ctx;

	(void)b;
	return worker_memory(c, &c->worker[work->worker], e);
}

/* ---- max_docs: the documents of smallest rank ---- */

static inline int
kept_after(struct kept a, struct kept b)
{
	return a.rank != b.rank ? a.rank > b.rank : a.weight > b.weight;
}

HEAP(kept, struct kept, kept_after)

static int
keep(struct count *c, const struct doc *d, struct err *e)
{
	struct kept k = {
		.rank = rng_u64(0, RNG_PICK, d->digest),
		.weight = doc_weight(c, d), .n = d->text.n
	};

	if (c->nkept == c->o->max_docs) {
		struct kept old;

		if (!kept_after(c->kept[0], k))
			return 0;
		old = kept_pop(c->kept, c->nkept--);
		__atomic_sub_fetch(&c->memory, old.n, __ATOMIC_RELAXED);
		free(old.text);
	}
	GROW(c->kept, c->cap_kept, c->nkept + 1);
	k.text = xmemdup0(d->text.p, d->text.n);
	kept_push(c->kept, c->nkept++, k);
	return memory_add(c, k.n, e);
}

static int
write_block(void *ctx, struct doc_batch *b, void *result, struct err *e)
{
	struct count *c = ctx;

	(void)result;
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
count_kept(void *ctx, int thread)
{
	struct count *c = ctx;
	struct worker *w = &c->worker[thread];
	size_t i;

	while (!w->err.set && (i = __atomic_fetch_add(&c->next, 1,
			__ATOMIC_RELAXED)) < c->nkept) {
		struct kept *k = &c->kept[i];

		if (!count_text(c, w, (struct span){k->text, k->n}, k->weight,
				&w->err, &w->err))
			worker_memory(c, w, &w->err);
	}
}

static int
count_all_kept(struct count *c, struct err *e)
{
	parallel_run(c->o->threads, count_kept, c);
	for (int i = 0; i < c->o->threads; i++)
		if (c->worker[i].err.set)
			return err_set(e, "%s", c->worker[i].err.msg);
	for (size_t i = 0; i < c->nkept; i++) {
		struct span t = {c->kept[i].text, c->kept[i].n};

		doc_stats_kept(c->stats, &(struct doc){
			.text = t, .digest = doc_digest(t)});
	}
	c->stats->docs_dropped = c->stats->docs_in - c->stats->docs_bad -
		c->stats->docs_kept;
	return 0;
}

/* ---- all of it ---- */

static int
count_run(struct count *c, struct err *e)
{
	const struct docpipe_pass pass = {
		.ctx = c, .label = "counting",
		.mode = c->o->max_docs ? DOCPIPE_TEXTS : DOCPIPE_EACH,
		.doc = work_doc, .block = work_block, .write = write_block
	};
	struct docpipe *p = docpipe_open(c->o->paths, c->o->npaths, c->o->doc,
					 c->o->threads, 1);
	int bad = docpipe_run(p, &pass, e);

	docpipe_close(p);
	if (!bad && c->o->max_docs)
		bad = count_all_kept(c, e);
	for (int i = 1; !bad && i < c->o->threads; i++) {
		bad = pretokens_merge(c->worker[0].pretokens,
				      c->worker[i].pretokens, e);
		pretokens_free(c->worker[i].pretokens);
		c->worker[i].pretokens = NULL;
	}
	return bad;
}

struct pretokens *
bpe_train_docs_count(const struct bpe_train_docs *o, struct doc_stats *stats,
		     struct err *e)
{
	struct count c = {.o = o, .stats = stats};
	struct pretokens *p = NULL;

	*stats = (struct doc_stats){0};
	c.worker = xcalloc(o->threads, sizeof *c.worker);
	for (int i = 0; i < o->threads; i++) {
		c.worker[i].scratch = split_scratch_new(o->split);
		c.worker[i].pretokens = pretokens_new();
	}
	if (!count_run(&c, e)) {
		p = c.worker[0].pretokens;
		c.worker[0].pretokens = NULL;
	}
	for (int i = 0; i < o->threads; i++) {
		split_scratch_free(c.worker[i].scratch);
		pretokens_free(c.worker[i].pretokens);
	}
	for (size_t i = 0; i < c.nkept; i++)
		free(c.kept[i].text);
	free(c.kept);
	free(c.worker);
	return p;
}
