/*
 * shard_check.c - what is wrong with packed tokens, before a model learns it
 *
 * The stream is cut into pieces of work of about WORK tokens at the bounds of
 * documents; each is looked at by any thread, the results are added in order,
 * so the first place is the first of the stream.  A token whose bytes are all
 * ASCII can neither be nor be part of a wrong character, so only the others
 * are decoded.
 *
 * Whether a window has no bound follows from the length of its document; so
 * does whether a document can fill a batch at all, and only if one can are
 * the batches walked, in the trainer's order.
 */
#include "inspect/shard_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/pipeline.h"
#include "base/progress.h"
#include "text/mojibake.h"

enum { WORK = 1 << 20, CHUNK = 1 << 14, ASCII = 1, SPECIAL = 2 };
enum { LENGTHS = 256 };		/* four to each doubling */

static const char *const check_name[CHECK_N] = {
	"tokenizer", "ids", "replaced", "mojibake", "bounds", "separators",
	"repeat", "batch"
};

/* A place: token of record; and how often. */
struct seen {
	uint64_t count, record, token;
};

struct work {
	uint64_t from, to;		/* records, or tokens without bounds */
	struct seen ids, replaced, mojibake, repeat;
	uint64_t longest;		/* repeat */
	uint32_t repeated, bad_id;
	uint64_t begins, ends;		/* pieces that should carry them */
	struct seen no_bos, no_eos, inside;
	uint64_t docs, longer, closed;	/* documents > T; windows in one */
	struct seen first_closed;
	uint64_t largest;
	struct seen largest_at;
	uint64_t lengths[LENGTHS];	/* documents by length_class() */
};

struct checker {
	const struct shards *s;
	const struct shard_info *info;
	const struct check_opts *o;
	uint8_t *class;			/* [vocab->n] */
	uint32_t vocab;			/* ids are below; 0: unknown */
	int64_t bos, eos;
	uint64_t next;			/* record or token */
	struct work sum;
};

void
check_opts_init(struct check_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->batch = 16;
	o->order = ORDER_SHUFFLE;
	o->doc_share = 0.9;
	o->max_repeat = 100;
	o->max_rate = 1e-6;
	o->threads = 1;
}

static void
see(struct seen *s, uint64_t count, uint64_t record, uint64_t token)
{
	if (count && s->count == 0) {
		s->record = record;
		s->token = token;
	}
	s->count += count;
}

static void
seen_add(struct seen *to, const struct seen *from)
{
	see(to, from->count, from->record, from->token);
}

/* ---- one document ---- */
struct state {
	struct mojibake m;
	uint64_t replaced, mojibake;	/* counted already */
	uint32_t last;
	uint64_t run;
};

static void
text_of(const struct checker *c, struct work *w, struct state *t, uint32_t id,
	uint64_t record, uint64_t at)
{
	const struct vocab *v = c->o->vocab;

	if (id >= v->n || (c->class[id] & SPECIAL))
		mojibake_end(&t->m, 0);
	else if (c->class[id] & ASCII)
		mojibake_ascii(&t->m);
	else
		mojibake_feed(&t->m, v->token[id].p, v->token[id].n);
	if (t->m.replaced != t->replaced || t->m.mojibake != t->mojibake) {
		see(&w->replaced, t->m.replaced - t->replaced, record, at);
		see(&w->mojibake, t->m.mojibake - t->mojibake, record, at);
		t->replaced = t->m.replaced;
		t->mojibake = t->m.mojibake;
	}
}

/* Ids of one chunk of a record; at: of the first in its document. */
static void
chunk(const struct checker *c, struct work *w, struct state *t,
      const uint32_t *ids, size_t n, uint64_t record, uint64_t at)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (c->vocab && ids[i] >= c->vocab) {
			if (w->ids.count == 0)
				w->bad_id = ids[i];
			see(&w->ids, 1, record, at + i);
		}
		t->run = ids[i] == t->last && t->run ? t->run + 1 : 1;
		t->last = ids[i];
		if (t->run == c->o->max_repeat + 1)
			see(&w->repeat, 1, record, at + i + 1 - t->run);
		if (t->run > w->longest) {
			w->longest = t->run;
			w->repeated = ids[i];
		}
		if (c->o->vocab)
			text_of(c, w, t, ids[i], record, at + i);
	}
}

/* BOS in front, EOS behind, none of them between. */
static void
separators(const struct checker *c, struct work *w, const struct shard_doc *d,
	   const uint32_t *ids, size_t n, uint64_t done, uint64_t record)
{
	uint64_t len = d->end - d->start, at, i;
	int end;

	for (i = 0; i < n; i++) {
		at = done + i;
		end = (at == 0 && d->first) || (at + 1 == len && d->last);
		if (!end && (ids[i] == c->bos || ids[i] == c->eos))
			see(&w->inside, 1, record, d->from + at);
	}
	if (done == 0 && d->first && c->bos >= 0) {
		w->begins++;
		if (n == 0 || ids[0] != c->bos)
			see(&w->no_bos, 1, record, 0);
	}
	if (done + n == len && d->last && c->eos >= 0) {
		w->ends++;
		if (n == 0 || ids[n - 1] != c->eos)
			see(&w->no_eos, 1, record, d->from + len);
	}
}

static size_t
length_class(uint64_t n)
{
	int k = n < 4 ? 2 : 63 - __builtin_clzll(n);

	return n < 4 ? n : (size_t)k * 4 + (n >> (k - 2) & 3);
}

/* The length that this share of the documents stays below, roughly. */
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
 * Lengths of documents are about log-normal.  One that is further from the
 * median than six deviations (taken from the middle two thirds, a third of an
 * e-fold at least) is no document of this corpus.
 */
static int
out_of_proportion(const struct work *w)
{
	double low = length_at(w, 0.16), high = length_at(w, 0.84);
	double dev = log(high / low) / 2;

	return log((double)w->largest / length_at(w, 0.5)) >
	    6 * (dev > 0.33 ? dev : 0.33);
}

/* Windows that lie in this record alone. */
static void
windows_in(const struct checker *c, struct work *w, const struct shard_doc *d,
	   uint64_t record)
{
	uint64_t T = c->o->T, first, last;

	if (T == 0)
		return;
	if (c->info->windows) {
		see(&w->first_closed, d->end - d->start == T + 1, record,
		    d->from);
		return;
	}
	first = (d->start + T - 1) / T;
	last = d->end ? (d->end - 1) / T : 0;
	if (last > first)
		see(&w->first_closed, last - first, record,
		    first * T - d->start);
}

static int
record(const struct checker *c, struct work *w, uint64_t k, uint32_t *ids,
       struct err *e)
{
	struct shard_doc d;
	struct state t = {0};
	uint64_t at, len;
	size_t n;

	if (shards_doc(c->s, k, &d, e) < 0)
		return -1;
	len = d.end - d.start;
	mojibake_init(&t.m, !d.first);
	w->docs += d.first;
	w->longer += d.from + len > c->o->T && d.last;
	if (d.last)
		w->lengths[length_class(d.from + len)]++;
	if (d.last && d.from + len > w->largest) {
		w->largest = d.from + len;
		w->largest_at.record = k;
	}
	windows_in(c, w, &d, k);
	for (at = 0; at < len || at == 0; at += n) {
		n = len - at < CHUNK ? len - at : CHUNK;
		if (shards_read(c->s, d.start + at, n, ids, e) < 0)
			return -1;
		chunk(c, w, &t, ids, n, k, d.from + at);
		separators(c, w, &d, ids, n, at, k);
		if (n == 0)
			break;
	}
	mojibake_end(&t.m, !d.last);
	see(&w->replaced, t.m.replaced - t.replaced, k, d.from + len);
	progress_add(len);
	return 0;
}

/* ---- all of them ---- */
static void *
work_read(void *ctx, struct err *e)
{
	struct checker *c = ctx;
	uint64_t end = c->info->pieces ? c->info->pieces : c->info->tokens;
	uint64_t tokens = 0;
	struct shard_doc d;
	struct work *w;

	if (c->next == end)
		return NULL;
	w = xcalloc(1, sizeof(*w));
	w->from = c->next;
	if (c->info->pieces == 0) {
		c->next = end - c->next < WORK ? end : c->next + WORK;
	} else {
		while (c->next < end && tokens < WORK &&
		       c->next - w->from < WORK) {
			if (shards_doc(c->s, c->next, &d, e) < 0) {
				free(w);
				return NULL;
			}
			tokens += d.end - d.start;
			c->next++;
		}
	}
	w->to = c->next;
	return w;
}

static int
work_do(void *ctx, void *item, int worker, struct err *e)
{
	struct checker *c = ctx;
	struct work *w = item;
	uint32_t ids[CHUNK];
	struct state t = {0};
	uint64_t k;
	size_t n;
	int r = 0;

	(void)worker;
	for (k = w->from; c->info->pieces && r == 0 && k < w->to; k++)
		r = record(c, w, k, ids, e);
	if (c->info->pieces)
		return r;
	mojibake_init(&t.m, 1);		/* no bounds: a text without them */
	for (; k < w->to; k += n) {
		n = w->to - k < CHUNK ? w->to - k : CHUNK;
		if (shards_read(c->s, k, n, ids, e) < 0)
			return -1;
		chunk(c, w, &t, ids, n, 0, k);
		progress_add(n);
	}
	return 0;
}

static int
work_sum(void *ctx, void *item, struct err *e)
{
	struct work *s = &((struct checker *)ctx)->sum, *w = item;
	size_t i;

	(void)e;
	if (w->ids.count && s->ids.count == 0)
		s->bad_id = w->bad_id;
	if (w->longest > s->longest) {
		s->longest = w->longest;
		s->repeated = w->repeated;
	}
	seen_add(&s->ids, &w->ids);
	seen_add(&s->replaced, &w->replaced);
	seen_add(&s->mojibake, &w->mojibake);
	seen_add(&s->repeat, &w->repeat);
	seen_add(&s->no_bos, &w->no_bos);
	seen_add(&s->no_eos, &w->no_eos);
	seen_add(&s->inside, &w->inside);
	seen_add(&s->first_closed, &w->first_closed);
	s->begins += w->begins;
	s->ends += w->ends;
	s->docs += w->docs;
	s->longer += w->longer;
	for (i = 0; i < LENGTHS; i++)
		s->lengths[i] += w->lengths[i];
	if (w->largest > s->largest) {
		s->largest = w->largest;
		s->largest_at = w->largest_at;
	}
	return 0;
}

static void
work_drop(void *ctx, void *item)
{
	(void)ctx;
	free(item);
}

/* ---- findings ---- */
static struct check_found *
found(const struct checker *c, struct check_report *r, enum shard_check k,
      const struct seen *at, uint64_t of, const char *unit, struct err *e)
{
	struct check_found *f = &r->v[k];
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

static void
separator_findings(const struct checker *c, struct check_report *r,
		   struct err *e)
{
	const struct work *s = &c->sum;
	int native = c->info->format == SHARD_ASSAY, bos, eos;
	struct seen all = {s->docs, 0, 0};

	if (s->docs == 0 || (c->bos < 0 && c->eos < 0 && !native))
		return;
	/* A file that does not say: what most documents have, all should. */
	bos = native ? c->info->has_bos : s->no_bos.count * 2 < s->begins;
	eos = native ? c->info->has_eos : s->no_eos.count * 2 < s->ends;
	if (!bos && !eos)
		buf_puts(&found(c, r, CHECK_SEPARATORS, &all, s->docs,
				"documents", e)->what, "neither BOS in front "
			 "nor EOS behind a document: the model never sees an "
			 "end");
	else if (bos && s->no_bos.count)
		buf_printf(&found(c, r, CHECK_SEPARATORS, &s->no_bos, s->docs,
				  "documents", e)->what, "BOS (id %lld) is not "
			   "the first token", (long long)c->bos);
	else if (eos && s->no_eos.count)
		buf_printf(&found(c, r, CHECK_SEPARATORS, &s->no_eos, s->docs,
				  "documents", e)->what, "EOS (id %lld) is not "
			   "the last token", (long long)c->eos);
	else if (s->inside.count)
		buf_puts(&found(c, r, CHECK_SEPARATORS, &s->inside,
				c->info->tokens, "tokens", e)->what,
			 "BOS or EOS inside a document");
}

static void
bound_findings(const struct checker *c, struct check_report *r, struct err *e)
{
	const struct work *s = &c->sum;
	struct seen all = {r->windows, 0, 0}, at = s->largest_at;

	if (c->info->pieces == 0 && c->info->tokens) {
		buf_puts(&found(c, r, CHECK_BOUNDS, &all, r->windows, "windows",
				e)->what, "no bounds of documents are known: "
			 "no index, and no BOS or EOS id to find them by");
		if (r->v[CHECK_BOUNDS].count == 0)
			r->v[CHECK_BOUNDS].count = 1;
	} else if (s->docs >= 20 && s->longer * 50 <= s->docs &&
		   s->first_closed.count && out_of_proportion(s)) {
		at.count = s->first_closed.count;
		buf_printf(&found(c, r, CHECK_BOUNDS, &at, r->windows,
				  "windows", e)->what,
			   "no bound inside, though %.1f %% of the documents "
			   "are shorter than a window; the longest has %llu "
			   "tokens, half of them fewer than about %.0f: are "
			   "documents joined?",
			   100 - 100.0 * (double)s->longer / (double)s->docs,
			   (unsigned long long)s->largest,
			   length_at(s, 0.5) * 1.19);
	}
}

static void
id_findings(const struct checker *c, struct check_report *r, struct err *e)
{
	const struct work *s = &c->sum;
	const struct shard_info *i = c->info;
	double fine = c->o->max_rate * (double)i->tokens;
	struct seen all = {i->tokens, 0, 0};

	if (c->o->vocab && i->fingerprint &&
	    i->fingerprint != c->o->vocab->fingerprint)
		buf_printf(&found(c, r, CHECK_TOKENIZER, &all, i->tokens,
				  "tokens", e)->what, "packed with the "
			   "tokenizer %016llx, this one is %016llx",
			   (unsigned long long)i->fingerprint,
			   (unsigned long long)c->o->vocab->fingerprint);
	if (s->ids.count)
		buf_printf(&found(c, r, CHECK_IDS, &s->ids, i->tokens, "tokens",
				  e)->what, "id %u, the vocabulary has %u",
			   s->bad_id, c->vocab);
	else if (c->vocab > 65536 && i->width == 2)
		buf_printf(&found(c, r, CHECK_IDS, &all, i->tokens, "tokens",
				  e)->what, "ids of 2 bytes cannot hold a "
			   "vocabulary of %u", c->vocab);
	if ((double)s->replaced.count > fine)
		buf_puts(&found(c, r, CHECK_REPLACED, &s->replaced, i->tokens,
				"tokens", e)->what, "U+FFFD or bytes that are "
			 "no UTF-8");
	if ((double)s->mojibake.count > fine)
		buf_puts(&found(c, r, CHECK_MOJIBAKE, &s->mojibake, i->tokens,
				"tokens", e)->what, "UTF-8 that was read as "
			 "Latin-1");
	if (s->repeat.count)
		buf_printf(&found(c, r, CHECK_REPEAT, &s->repeat, i->tokens,
				  "tokens", e)->what, "one token more than "
			   "%llu times in a row, the longest run is id %u "
			   "%llu times", (unsigned long long)c->o->max_repeat,
			   s->repeated, (unsigned long long)s->longest);
}

/* Tokens of one batch that each large document has. */
struct share {
	uint64_t key;			/* of the document */
	uint64_t tokens, record;
};

/* Add what window k has of records of at least `least` tokens. */
static int
window_shares(const struct checker *c, uint64_t k, uint64_t least,
	      struct share **v, size_t *n, size_t *cap, struct err *e)
{
	uint64_t at = shards_window_at(c->s, c->o->T, k), d, from, to;
	struct shard_doc doc;
	uint64_t key;
	size_t i;

	d = shards_doc_at(c->s, at, e);
	if (e->set)
		return -1;
	for (d = d == UINT64_MAX ? 0 : d; d < c->info->pieces; d++) {
		if (shards_doc(c->s, d, &doc, e) < 0)
			return -1;
		if (doc.start >= at + c->o->T)
			break;
		from = doc.start > at ? doc.start : at;
		to = doc.end < at + c->o->T ? doc.end : at + c->o->T;
		if (to <= from || doc.from + doc.end - doc.start < least)
			continue;
		/* Pieces of one document have its id in common. */
		key = c->info->windows ? XXH3_64bits(doc.id.p, doc.id.n) :
		      doc.start;
		for (i = 0; i < *n && (*v)[i].key != key; i++)
			;
		if (i == *n) {
			GROW(*v, *cap, *n + 1);
			(*v)[(*n)++] = (struct share){key, 0, d};
		}
		(*v)[i].tokens += to - from;
	}
	return 0;
}

static int
batch_findings(const struct checker *c, struct check_report *r, struct err *e)
{
	const struct check_opts *o = c->o;
	double full = o->doc_share * (double)o->batch * o->T, most = 0;
	uint64_t steps, step, i;
	struct seen hit = {0};
	struct share *v = NULL;
	size_t n, cap = 0, k;
	int bad = 0;

	if (o->T == 0 || o->batch == 0 || (double)c->sum.largest < full)
		return 0;
	steps = r->windows / o->batch;
	for (step = 0; step < steps && !bad; step++) {
		for (n = i = 0; i < o->batch && !bad; i++)
			bad = window_shares(c, order_window(o->order, o->seed,
					    r->windows, step * o->batch + i),
					    c->info->windows ? 1 :
					    (uint64_t)full, &v, &n, &cap, e);
		for (k = 0; k < n; k++) {
			if ((double)v[k].tokens > most)
				most = (double)v[k].tokens;
			if ((double)v[k].tokens >= full) {
				see(&hit, 1, v[k].record, step);
				break;
			}
		}
	}
	free(v);
	if (hit.count && !bad)
		buf_printf(&found(c, r, CHECK_BATCH, &hit, steps, "batches",
				  e)->what, "%.0f %% of the tokens of a batch "
			   "(%llu windows, %s order, the first is step %llu) "
			   "are of one document", 100 * most /
			   ((double)o->batch * o->T),
			   (unsigned long long)o->batch, order_names[o->order],
			   (unsigned long long)hit.token);
	r->v[CHECK_BATCH].token = 0;
	return bad;
}

static void
classify(struct checker *c)
{
	const struct vocab *v = c->o->vocab;
	uint32_t i;
	size_t k;

	c->class = xcalloc(v->n, 1);
	for (i = 0; i < v->n; i++) {
		if (!v->token[i].p || (v->flags[i] & VOCAB_SPECIAL)) {
			c->class[i] = SPECIAL;
			continue;
		}
		for (k = 0; k < v->token[i].n; k++)
			if ((unsigned char)v->token[i].p[k] >= 0x80)
				break;
		if (k == v->token[i].n && k > 0)
			c->class[i] = ASCII;
	}
}

int
check_run(const struct shards *s, const struct check_opts *o,
	  struct check_report *r, struct err *e)
{
	struct checker c = {.s = s, .info = shards_info(s), .o = o};
	struct pipeline p = {&c, work_read, work_do, work_sum, work_drop};
	int bad;

	memset(r, 0, sizeof(*r));
	c.vocab = o->vocab ? o->vocab->n : c.info->vocab;
	c.bos = c.info->bos >= 0 || !o->vocab ? c.info->bos : o->vocab->bos;
	c.eos = c.info->eos >= 0 || !o->vocab ? c.info->eos : o->vocab->eos;
	if (c.bos < 0 && c.info->format != SHARD_ASSAY)
		c.bos = c.eos;		/* GPT-2's one id, on either side */
	if (o->vocab)
		classify(&c);
	r->tokens = c.info->tokens;
	r->windows = shards_windows(s, o->T);
	progress_start("checking", "tokens", r->tokens);
	bad = pipeline_run(&p, o->threads, e);
	progress_stop();
	r->docs = c.sum.docs;
	if (bad == 0) {
		id_findings(&c, r, e);
		bound_findings(&c, r, e);
		separator_findings(&c, r, e);
		bad = batch_findings(&c, r, e);
	}
	free(c.class);
	return bad || e->set ? -1 : 0;
}

static void
put_json(const char *name, const struct check_found *f, struct buf *b)
{
	buf_puts(b, "{\"check\":");
	json_put_str(b, span_str(name));
	buf_printf(b, ",\"count\":%llu,\"of\":%llu,\"unit\":\"%s\"",
		   (unsigned long long)f->count, (unsigned long long)f->of,
		   f->unit);
	if (f->where.n) {
		buf_puts(b, ",\"doc\":");
		json_put_str(b, buf_span(&f->where));
		buf_printf(b, ",\"token\":%llu",
			   (unsigned long long)f->token);
	}
	buf_puts(b, ",\"what\":");
	json_put_str(b, buf_span(&f->what));
	buf_puts(b, "}\n");
}

/* what: 0, or columns that it takes: then the others have theirs too. */
static void
put_row(const char *name, const struct check_found *f, size_t what,
	struct buf *b)
{
	char of[64];
	size_t i;

	snprintf(of, sizeof of, "%llu %s", (unsigned long long)f->of, f->unit);
	buf_printf(b, what ? "%-10s  %10llu  %-20s  " : "%s\t%llu\t%s\t",
		   name, (unsigned long long)f->count, of);
	buf_put(b, f->what.p, f->what.n);
	for (i = f->what.n; i < what + 2 && what; i++)
		buf_putc(b, ' ');
	if (!what)
		buf_putc(b, '\t');
	for (i = 0; i < f->where.n; i++)	/* one line, whatever it is */
		buf_putc(b, (unsigned char)f->where.p[i] < 0x20 ? '?' :
			 f->where.p[i]);
	if (f->where.n)
		buf_printf(b, " token %llu", (unsigned long long)f->token);
	buf_putc(b, '\n');
}

static void
put_head(size_t what, struct buf *b)
{
	if (what)
		buf_printf(b, "%-10s  %10s  %-20s  %-*s  first\n", "check",
			   "count", "of", (int)what, "what");
	else
		buf_puts(b, "check\tcount\tof\twhat\tfirst\n");
}

int
check_report_put(const struct check_report *r, int json, int wide,
		 struct buf *out)
{
	size_t what = wide ? strlen("what") : 0;
	int i, n = 0;

	for (i = 0; i < CHECK_N && wide; i++)
		if (r->v[i].count && r->v[i].what.n > what)
			what = r->v[i].what.n;
	for (i = 0; i < CHECK_N; i++) {
		if (r->v[i].count == 0)
			continue;
		if (n++ == 0 && !json)
			put_head(what, out);
		if (json)
			put_json(check_name[i], &r->v[i], out);
		else
			put_row(check_name[i], &r->v[i], what, out);
	}
	return n;
}

void
check_report_clear(struct check_report *r)
{
	size_t i;

	for (i = 0; i < CHECK_N; i++) {
		buf_clear(&r->v[i].what);
		buf_clear(&r->v[i].where);
	}
}
