/*
 * shard_check.c - the pass over all documents
 *
 * The stream is cut at document boundaries into units of about WORK tokens.
 * Any thread checks a unit; results are summed in order, so that the first
 * place reported is the first of the stream.  A token of ASCII bytes cannot
 * be part of a wrong character, so only the others are decoded.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/pipeline.h"
#include "base/progress.h"
#include "inspect/shard_check_priv.h"
#include "text/mojibake.h"

enum { WORK = 1 << 20, CHUNK = 1 << 14, ASCII = 1, SPECIAL = 2 };

void
shard_check_opts_init(struct shard_check_opts *o)
{
	memset(o, 0, sizeof(*o));
	o->batches.batch_size = 16;
	o->batches.order = ORDER_SHUFFLE;
	o->doc_frac = 0.9;
	o->max_repeat = 100;
	o->max_rate = 1e-6;
	o->threads = 1;
}

static void
seen_add(struct seen *to, const struct seen *from)
{
	see(to, from->count, from->record, from->token);
}

/* ---- one document ---- */
struct state {
	struct mojibake m;
	uint64_t replaced, mojibake;	/* already counted */
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

/* BOS first, EOS last, neither in between. */
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

/* Windows within this record alone. */
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
	mojibake_init(&t.m, 1);		/* no boundaries: one text */
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
shard_check_run(const struct shards *s, const struct shard_check_opts *o,
	  struct shard_check_report *r, struct err *e)
{
	struct checker c = {.s = s, .info = shards_info(s), .o = o};
	struct pipeline p = {&c, work_read, work_do, work_sum, work_drop};
	int bad;

	memset(r, 0, sizeof(*r));
	c.vocab = o->vocab ? o->vocab->n : c.info->vocab;
	c.bos = c.info->bos >= 0 || !o->vocab ? c.info->bos : o->vocab->bos;
	c.eos = c.info->eos >= 0 || !o->vocab ? c.info->eos : o->vocab->eos;
	if (c.bos < 0 && c.info->format != SHARD_ASSAY)
		c.bos = c.eos;		/* GPT-2's one id, for both */
	if (o->vocab)
		classify(&c);
	r->tokens = c.info->tokens;
	r->windows = shards_windows(s, o->T);
	progress_start("checking", "tokens", r->tokens);
	bad = pipeline_run(&p, o->threads, e);
	progress_stop();
	r->docs = c.sum.docs;
	if (bad == 0)
		bad = shards_verify(s, e) || shard_check_find(&c, r, e);
	free(c.class);
	return bad || e->set ? -1 : 0;
}

