/*
 * shard_check_find.c - from the sums of a pass to findings
 *
 * Whether a window lacks a boundary follows from the length of its document.
 * So does whether a document can fill a batch at all; only if one can are the
 * batches walked, in the trainer's order.
 */
#include <math.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "inspect/shard_check_priv.h"

/* Roughly the length that this fraction of the documents stays below. */
static double
length_at(const struct work *w, double share)
{
	uint64_t want = (uint64_t)(share * (double)w->docs), sum = 0;
	size_t i;

	for (i = 0; i + 1 < LENGTHS && (sum += w->lengths[i]) <= want; i++)
		;
	return i < 8 ? i < 1 ? 1 : (double)i : ldexp(4 + i % 4, (int)i / 4 - 2);
}

/*
 * Document lengths are about log-normal.  A document more than six standard
 * deviations from the median (estimated from the middle two thirds, at least
 * a third of an e-fold) is an outlier.
 */
static int
out_of_proportion(const struct work *w)
{
	double low = length_at(w, 0.16), high = length_at(w, 0.84);
	double dev = log(high / low) / 2;

	return log((double)w->largest / length_at(w, 0.5)) >
	    6 * (dev > 0.33 ? dev : 0.33);
}

static struct shard_check_found *
found(const struct checker *c, struct shard_check_report *r, enum shard_check k,
      const struct seen *at, uint64_t of, const char *unit, struct err *e)
{
	struct shard_check_found *f = &r->v[k];
	struct shard_doc d;
	struct buf tmp = {0};
	struct span id;

	f->count = at->count;
	f->of = of;
	f->unit = unit;
	f->token = at->token;
	if (c->info->pieces && shards_doc(c->s, at->record, &d, e) == 0) {
		id = shards_doc_id(&d, &tmp);
		buf_reset(&f->where);
		buf_put(&f->where, id.p, id.n);
	}
	buf_clear(&tmp);
	buf_reset(&f->what);
	return f;
}

/* The same, of places that shard_check_list() finds again. */
static struct shard_check_found *
listed(const struct checker *c, struct shard_check_report *r,
       enum shard_check k, enum hit hit, uint64_t of, const char *unit,
       struct err *e)
{
	struct seen at = c->sum.seen[hit];

	r->listed |= 1u << hit;
	if (hit == HIT_REPLACED || hit == HIT_MOJIBAKE)
		shard_check_first(c, hit, &at.token, e);
	return found(c, r, k, &at, of, unit, e);
}

static void
separator_findings(const struct checker *c, struct shard_check_report *r,
		   struct err *e)
{
	const struct work *s = &c->sum;
	const struct seen *v = s->seen;
	int native = c->info->format == SHARD_ASSAY, bos, eos;
	struct seen all = {s->docs, 0, 0};

	if (s->docs == 0 || (c->bos < 0 && c->eos < 0 && !native))
		return;
	/* If the file does not say: what most documents have, all should. */
	bos = native ? c->info->has_bos :
		       v[HIT_NO_BOS].count * 2 < s->begins;
	eos = native ? c->info->has_eos :
		       v[HIT_NO_EOS].count * 2 < s->ends;
	if (!bos && !eos)
		buf_puts(&found(c, r, CHECK_SEPARATORS, &all, s->docs,
				"documents", e)->what, "documents have neither "
			 "BOS nor EOS: the model never sees an end");
	else if (bos && v[HIT_NO_BOS].count)
		buf_printf(&listed(c, r, CHECK_SEPARATORS, HIT_NO_BOS,
				   s->docs, "documents", e)->what,
			   "BOS (id %lld) is not the first token",
			   (long long)c->bos);
	else if (eos && v[HIT_NO_EOS].count)
		buf_printf(&listed(c, r, CHECK_SEPARATORS, HIT_NO_EOS,
				   s->docs, "documents", e)->what,
			   "EOS (id %lld) is not the last token",
			   (long long)c->eos);
	else if (v[HIT_INSIDE].count)
		buf_puts(&listed(c, r, CHECK_SEPARATORS, HIT_INSIDE,
				 c->info->tokens, "tokens", e)->what,
			 "BOS or EOS inside a document");
}

static void
bound_findings(const struct checker *c, struct shard_check_report *r,
	       struct err *e)
{
	const struct work *s = &c->sum;
	struct seen all = {r->windows, 0, 0}, at = s->largest_at;
	uint64_t closed = s->seen[HIT_CLOSED].count;

	if (c->info->pieces == 0 && c->info->tokens) {
		buf_puts(&found(c, r, CHECK_BOUNDS, &all, r->windows, "windows",
				e)->what, "document boundaries are unknown: "
			 "no index, and no BOS or EOS id to infer them from");
		if (r->v[CHECK_BOUNDS].count == 0)
			r->v[CHECK_BOUNDS].count = 1;
	} else if (s->docs >= 20 && s->longer * 50 <= s->docs &&
		   closed && out_of_proportion(s)) {
		r->listed |= 1u << HIT_CLOSED;
		at.count = closed;
		buf_printf(&found(c, r, CHECK_BOUNDS, &at, r->windows,
				  "windows", e)->what,
			   "no document boundary, although %.1f %% of the "
			   "documents are shorter than a window; the longest "
			   "has %llu tokens, the median about %.0f: are "
			   "documents joined?",
			   100 - 100.0 * (double)s->longer / (double)s->docs,
			   (unsigned long long)s->largest,
			   length_at(s, 0.5) * 1.19);
	}
}

static void
id_findings(const struct checker *c, struct shard_check_report *r,
	    struct err *e)
{
	const struct seen *v = c->sum.seen;
	const struct shard_info *i = c->info;
	double fine = c->o.max_rate * (double)i->tokens;
	struct seen all = {i->tokens, 0, 0};

	if (c->o.vocab && i->fingerprint &&
	    i->fingerprint != c->o.vocab->fingerprint)
		buf_printf(&found(c, r, CHECK_TOKENIZER, &all, i->tokens,
				  "tokens", e)->what, "packed with "
			   "tokenizer %016llx, this one is %016llx",
			   (unsigned long long)i->fingerprint,
			   (unsigned long long)c->o.vocab->fingerprint);
	if (v[HIT_IDS].count)
		buf_printf(&listed(c, r, CHECK_IDS, HIT_IDS, i->tokens,
				   "tokens", e)->what, "id %u, the vocabulary "
			   "has %u", c->sum.bad_id, c->vocab);
	else if (c->vocab > 65536 && i->width == 2)
		buf_printf(&found(c, r, CHECK_IDS, &all, i->tokens, "tokens",
				  e)->what, "ids of 2 bytes cannot hold a "
			   "vocabulary of %u", c->vocab);
	if ((double)v[HIT_REPLACED].count > fine)
		buf_puts(&listed(c, r, CHECK_REPLACED, HIT_REPLACED, i->tokens,
				 "tokens", e)->what, "U+FFFD or bytes that are "
			 "not UTF-8");
	if ((double)v[HIT_MOJIBAKE].count > fine)
		buf_puts(&listed(c, r, CHECK_MOJIBAKE, HIT_MOJIBAKE, i->tokens,
				 "tokens", e)->what, "UTF-8 read as Latin-1");
	if (v[HIT_REPEAT].count)
		buf_printf(&listed(c, r, CHECK_REPEAT, HIT_REPEAT, i->tokens,
				   "tokens", e)->what, "one token more than "
			   "%llu times in a row; longest run: id %u, "
			   "%llu times", (unsigned long long)c->o.max_repeat,
			   c->sum.repeated,
			   (unsigned long long)c->sum.longest);
}

/* Tokens in one batch of a large document. */
struct share {
	uint64_t key;			/* of the document */
	uint64_t tokens, record, window;	/* the first ones */
};

/* Add the tokens in window k of records of at least `least` tokens. */
static int
window_shares(const struct checker *c, uint64_t k, uint64_t least,
	      struct share **v, size_t *n, size_t *cap, struct err *e)
{
	uint64_t at = shards_window_at(c->s, c->o.T, k), d, from, to;
	struct shard_doc doc;
	uint64_t key;
	size_t i;

	d = shards_doc_at(c->s, at, e);
	if (e->set)
		return -1;
	for (d = d == UINT64_MAX ? 0 : d; d < c->info->pieces; d++) {
		if (shards_doc(c->s, d, &doc, e) < 0)
			return -1;
		if (doc.start >= at + c->o.T)
			break;
		from = doc.start > at ? doc.start : at;
		to = doc.end < at + c->o.T ? doc.end : at + c->o.T;
		if (to <= from || doc.from + doc.end - doc.start < least)
			continue;
		/* All records of a document have its id. */
		key = c->info->windows ? XXH3_64bits(doc.id.p, doc.id.n) :
		      doc.start;
		for (i = 0; i < *n && (*v)[i].key != key; i++)
			;
		if (i == *n) {
			GROW(*v, *cap, *n + 1);
			(*v)[(*n)++] = (struct share){key, 0, d, k};
		}
		(*v)[i].tokens += to - from;
	}
	return 0;
}

/* A batch that a document fills; its place is the document's first window. */
static void
add_batch(const struct checker *c, struct shard_check_report *r,
	  const struct share *s, uint64_t step)
{
	struct shard_doc d;
	struct err e = {0};
	uint64_t at = shards_window_at(c->s, c->o.T, s->window);

	if (shards_doc(c->s, s->record, &d, &e) < 0)
		return;		/* it has been read before */
	GROW(r->batch, r->batch_cap, r->nbatch + 1);
	r->batch[r->nbatch++] = (struct shard_check_batch){s->record,
		d.from + (at > d.start ? at - d.start : 0), step};
}

static int
batch_findings(const struct checker *c, struct shard_check_report *r,
	       struct err *e)
{
	const struct shard_check_opts *o = &c->o;
	struct plan_part plan = o->batches;
	uint64_t batch = plan.batch_size, steps, step, i;
	double full = o->doc_frac * (double)batch * o->T, most = 0;
	struct seen hit = {0};
	struct share *v = NULL;
	size_t n, cap = 0, k;
	int bad = 0;

	if (o->T == 0 || batch == 0 || (double)c->sum.largest < full)
		return 0;
	plan.windows = r->windows;
	steps = r->windows / batch;
	for (step = plan.step; step < plan.step + steps && !bad; step++) {
		for (n = i = 0; i < batch && !bad; i++)
			bad = window_shares(c, plan_window(&plan, step, i, &k),
					    c->info->windows ? 1 :
					    (uint64_t)full, &v, &n, &cap, e);
		for (k = 0; k < n; k++) {
			if ((double)v[k].tokens > most)
				most = (double)v[k].tokens;
			if ((double)v[k].tokens >= full) {
				see(&hit, 1, v[k].record, step);
				add_batch(c, r, &v[k], step);
				break;
			}
		}
	}
	free(v);
	if (hit.count && !bad)
		buf_printf(&found(c, r, CHECK_BATCH, &hit, steps, "batches",
				  e)->what, "one document has %.0f %% of the "
			   "tokens of a batch (%llu windows, %s order; first "
			   "at step %llu)", 100 * most /
			   ((double)batch * o->T), (unsigned long long)batch,
			   order_names[plan.order],
			   (unsigned long long)hit.token);
	r->v[CHECK_BATCH].token = 0;
	return bad;
}

int
shard_check_find(const struct checker *c, struct shard_check_report *r,
		 struct err *e)
{
	id_findings(c, r, e);
	bound_findings(c, r, e);
	separator_findings(c, r, e);
	return batch_findings(c, r, e);
}
