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

enum { WORK = 1 << 20, ASCII = 1 };

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
	const struct vocab *v = c->o.vocab;
	int class = id < v->n ? c->class[id] : CHECK_SPECIAL;

	if (class & ASCII) {
		if (!mojibake_ascii(&t->m, w->list ? v->token[id].n : 0))
			return;
	} else if (class & CHECK_SPECIAL)
		mojibake_end(&t->m, 0);
	else
		mojibake_feed(&t->m, v->token[id].p, v->token[id].n);
	if (t->m.replaced != t->replaced || t->m.mojibake != t->mojibake) {
		hit(w, HIT_REPLACED, t->m.replaced - t->replaced, record,
			    at);
		hit(w, HIT_MOJIBAKE, t->m.mojibake - t->mojibake, record,
			    at);
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
			if (w->seen[HIT_IDS].count == 0)
				w->bad_id = ids[i];
			hit(w, HIT_IDS, 1, record, at + i);
		}
		t->run = ids[i] == t->last && t->run ? t->run + 1 : 1;
		t->last = ids[i];
		if (t->run == c->o.max_repeat + 1)
			hit(w, HIT_REPEAT, 1, record, at + i + 1 - t->run);
		if (t->run > w->longest) {
			w->longest = t->run;
			w->repeated = ids[i];
		}
		if (c->o.vocab)
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
		if (ids[i] != c->bos && ids[i] != c->eos)
			continue;
		at = done + i;
		end = (at == 0 && d->first) || (at + 1 == len && d->last);
		if (!end)
			hit(w, HIT_INSIDE, 1, record, d->from + at);
	}
	if (done == 0 && d->first && c->bos >= 0) {
		w->begins++;
		if (n == 0 || ids[0] != c->bos)
			hit(w, HIT_NO_BOS, 1, record, 0);
	}
	if (done + n == len && d->last && c->eos >= 0) {
		w->ends++;
		if (n == 0 || ids[n - 1] != c->eos)
			hit(w, HIT_NO_EOS, 1, record, d->from + len);
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
	uint64_t T = c->o.T, first, last;

	if (T == 0)
		return;
	if (c->info->windows) {
		hit(w, HIT_CLOSED, d->end - d->start == T + 1, record,
		    d->from);
		return;
	}
	first = (d->start + T - 1) / T;
	last = d->end ? (d->end - 1) / T : 0;
	if (last > first)
		hit(w, HIT_CLOSED, last - first, record,
		    first * T - d->start);
	while (w->list && ++first < last)	/* the others */
		w->list->hit(w->list, HIT_CLOSED, first * T - d->start);
}

static void
begin(struct state *t, const struct work *w, int cut)
{
	memset(t, 0, sizeof(*t));
	mojibake_init(&t->m, cut);
	if (w->list) {
		t->m.found = w->list->text;
		t->m.ctx = w->list;
	}
}

int
shard_check_record(const struct checker *c, struct work *w, uint64_t k,
		   uint32_t *ids, struct err *e)
{
	struct shard_doc d;
	struct state t;
	uint64_t at, len;
	size_t n;

	if (shards_doc(c->s, k, &d, e) < 0)
		return -1;
	len = d.end - d.start;
	begin(&t, w, !d.first);
	w->docs += d.first;
	w->longer += d.from + len > c->o.T && d.last;
	if (d.last)
		w->lengths[length_class(d.from + len)]++;
	if (d.last && d.from + len > w->largest) {
		w->largest = d.from + len;
		w->largest_at.record = k;
	}
	windows_in(c, w, &d, k);
	for (at = 0; at < len || at == 0; at += n) {
		n = len - at < CHECK_CHUNK ? len - at : CHECK_CHUNK;
		if (shards_read(c->s, d.start + at, n, ids, e) < 0)
			return -1;
		chunk(c, w, &t, ids, n, k, d.from + at);
		separators(c, w, &d, ids, n, at, k);
		if (n == 0)
			break;
	}
	mojibake_end(&t.m, !d.last);
	hit(w, HIT_REPLACED, t.m.replaced - t.replaced, k, d.from + len);
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

int
shard_check_unit(const struct checker *c, struct work *w, uint32_t *ids,
		 struct err *e)
{
	struct state t;
	uint64_t k;
	size_t n;
	int r = 0;

	for (k = w->from; c->info->pieces && r == 0 && k < w->to; k++)
		r = shard_check_record(c, w, k, ids, e);
	if (c->info->pieces)
		return r;
	begin(&t, w, 1);		/* no boundaries: one text */
	for (; k < w->to; k += n) {
		n = w->to - k < CHECK_CHUNK ? w->to - k : CHECK_CHUNK;
		if (shards_read(c->s, k, n, ids, e) < 0)
			return -1;
		chunk(c, w, &t, ids, n, 0, k);
		progress_add(n);
	}
	return 0;
}

static int
work_do(void *ctx, void *item, int worker, struct err *e)
{
	uint32_t ids[CHECK_CHUNK];

	(void)worker;
	return shard_check_unit(ctx, item, ids, e);
}

/* Add the records with hits of this kind; 0: not all of them are known. */
static int
keep_records(struct checker *c, const struct work *w, size_t k)
{
	struct records *r = &c->hits[k];
	size_t n = w->nrecord[k], i;

	if (n > UNIT_RECORDS || n > ALL_RECORDS - r->n)
		return 0;
	GROW(r->v, r->cap, r->n + n);
	for (i = 0; i < n; i++)
		r->v[r->n++] = w->record[k][i];
	return 1;
}

static int
work_sum(void *ctx, void *item, struct err *e)
{
	struct checker *c = ctx;
	struct work *s = &c->sum, *w = item;
	unsigned mask = 0, whole = 0;
	size_t i;

	(void)e;
	if (w->seen[HIT_IDS].count && s->seen[HIT_IDS].count == 0)
		s->bad_id = w->bad_id;
	if (w->longest > s->longest) {
		s->longest = w->longest;
		s->repeated = w->repeated;
	}
	for (i = 0; i < HIT_N; i++) {
		seen_add(&s->seen[i], &w->seen[i]);
		mask |= (unsigned)(w->seen[i].count > 0) << i;
		whole |= (unsigned)!keep_records(c, w, i) << i;
	}
	if (mask) {
		GROW(c->unit, c->unit_cap, c->nunit + 1);
		c->unit[c->nunit++] = (struct unit){w->from, w->to, mask,
			whole};
	}
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
	const struct vocab *v = c->o.vocab;
	uint32_t i;
	size_t k;

	c->class = xcalloc(v->n, 1);
	for (i = 0; i < v->n; i++) {
		if (!v->token[i].p || (v->flags[i] & VOCAB_SPECIAL)) {
			c->class[i] = CHECK_SPECIAL;
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
	struct checker *c = xcalloc(1, sizeof(*c));
	struct pipeline p = {c, work_read, work_do, work_sum, work_drop};
	int bad;

	memset(r, 0, sizeof(*r));
	r->c = c;
	c->s = s;
	c->info = shards_info(s);
	c->o = *o;
	c->vocab = o->vocab ? o->vocab->n : c->info->vocab;
	c->bos = c->info->bos >= 0 || !o->vocab ? c->info->bos : o->vocab->bos;
	c->eos = c->info->eos >= 0 || !o->vocab ? c->info->eos : o->vocab->eos;
	if (c->bos < 0 && c->info->format != SHARD_ASSAY)
		c->bos = c->eos;	/* GPT-2's one id, for both */
	if (o->vocab)
		classify(c);
	r->tokens = c->info->tokens;
	r->windows = shards_windows(s, o->T);
	progress_start("checking", "tokens", r->tokens);
	bad = pipeline_run(&p, o->threads, e);
	progress_stop();
	r->docs = c->sum.docs;
	if (bad == 0)
		bad = shards_verify(s, e) || shard_check_find(c, r, e);
	if (bad || e->set)
		shard_check_report_clear(r);
	return bad || e->set ? -1 : 0;
}

void
shard_check_report_clear(struct shard_check_report *r)
{
	size_t i;

	for (i = 0; i < CHECK_N; i++) {
		buf_clear(&r->v[i].what);
		buf_clear(&r->v[i].where);
	}
	free(r->batch);
	if (r->c) {
		for (i = 0; i < HIT_N; i++)
			free(r->c->hits[i].v);
		free(r->c->class);
		free(r->c->unit);
		free(r->c);
	}
}
