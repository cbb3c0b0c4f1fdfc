/*
 * dedup.c - the job of dedup: its first pass and its wiring
 *
 * Workers parse a block and compute what each method needs; one thread, in
 * order, numbers the documents and puts their keys into two sorters.  Of a
 * document that shares no key nothing is kept but 13 bytes.
 */
#include "dedup/dedup.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/pipeline.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "dedup/dedup_priv.h"
#include "text/unicode.h"

/* --- items --- */

struct item *
item_new(struct dedup *d)
{
	struct item *x;

	pthread_mutex_lock(&d->lock);
	x = d->free;
	if (x)
		d->free = x->next;
	pthread_mutex_unlock(&d->lock);
	if (!x)
		x = xcalloc(1, sizeof(*x));
	x->n = x->nkeys = x->nset = x->ntok = 0;
	buf_reset(&x->text);
	return x;
}

void
item_drop(void *ctx, void *batch)
{
	struct dedup *d = ctx;
	struct doc_batch *b = batch;
	struct item *x = b->user;

	if (x) {
		pthread_mutex_lock(&d->lock);
		x->next = d->free;
		d->free = x;
		pthread_mutex_unlock(&d->lock);
	}
	doc_batch_free(b);
}

static void
item_free(struct item *x)
{
	free(x->flag);
	free(x->exact);
	free(x->keys);
	free(x->hash);
	free(x->set);
	free(x->len);
	free(x->text_end);
	free(x->tok_end);
	free(x->tok_id);
	free(x->tok_to);
	free(x->hit);
	buf_clear(&x->text);
	free(x);
}

void
item_room(struct item *x, size_t docs)
{
	if (docs <= x->cap)
		return;
	x->cap = docs > 2 * x->cap ? docs : 2 * x->cap;
	x->flag = xrealloc(x->flag, x->cap);
	x->exact = xreallocarray(x->exact, x->cap, sizeof(*x->exact));
	x->hash = xreallocarray(x->hash, x->cap, sizeof(*x->hash));
	x->len = xreallocarray(x->len, 2 * x->cap, sizeof(*x->len));
	x->text_end = xreallocarray(x->text_end, x->cap,
				    sizeof(*x->text_end));
	x->tok_to = xreallocarray(x->tok_to, x->cap, sizeof(*x->tok_to));
	x->hit = xreallocarray(x->hit, x->cap, sizeof(*x->hit));
}

void
item_keys(struct item *x, size_t more)
{
	if (x->nkeys + more <= x->keys_cap)
		return;
	x->keys_cap = 2 * x->keys_cap + more;
	x->keys = xreallocarray(x->keys, x->keys_cap, sizeof(*x->keys));
}

/* --- the first pass --- */

/* NFC, lower case, runs of white space as one space, none at the ends. */
static void
fold_text(struct worker *w, struct span text, struct buf *out)
{
	int space = 0;
	unsigned len;
	size_t i;

	if (!uc_nfc(text, &w->nfc))
		text = buf_span(&w->nfc);
	buf_reset(out);
	buf_reserve(out, text.n + text.n / 2 + 8);
	for (i = 0; i < text.n; i += len) {
		uint32_t c = uc_next(text.p + i, text.n - i, &len);

		if (uc_class(c) & UC_SPACE) {
			space = out->n > 0;
			continue;
		}
		if (space)
			buf_putc(out, ' ');
		space = 0;
		out->n += utf8_put(buf_reserve(out, 4), uc_to_lower(c));
	}
}

struct span
exact_text(const struct dedup *d, struct worker *w, struct span text)
{
	if (!d->o->normalize)
		return text;
	fold_text(w, text, &w->fold);
	return buf_span(&w->fold);
}

/* Units of the repeats rules: tokens, or the hashes of the words. */
static size_t
units(struct dedup *d, struct worker *w, struct span text, int have_words)
{
	size_t i, n;

	if (d->bpe) {
		w->ids.n = 0;
		bpe_encode(w->enc, text, &w->ids);
	} else if (!have_words) {
		words_split(&w->sh.words, text);
	}
	n = d->bpe ? w->ids.n : w->sh.words.n;
	if (n > w->unit_cap) {
		w->unit_cap = n + n / 2;
		w->unit = xreallocarray(w->unit, w->unit_cap,
					sizeof(*w->unit));
	}
	for (i = 0; i < n; i++)
		w->unit[i] = d->bpe ? w->ids.v[i] : w->sh.words.v[i].hash;
	return n;
}

struct repeat
dedup_repeat(struct dedup *d, struct worker *w, struct span text,
	     int have_words, struct gopher_hit *hit)
{
	size_t n = units(d, w, text, have_words);
	struct repeat r = repeats_find(&w->rep, &d->o->rep, w->unit, n);

	if (r.rule || !d->o->gopher.on)
		return r;
	if (d->bpe && !have_words)
		words_split(&w->sh.words, text);
	*hit = gopher_find(&w->gopher, &d->o->gopher, text, w->sh.words.v,
			   w->sh.words.n);
	if (hit->share >= 0)
		r.rule = REPEAT_GOPHER;
	return r;
}

struct scan {
	struct dedup *d;
	struct worker *w;
	struct item *x;
	struct err *e;
};

static void
scan_near(struct scan *s, struct span text, uint8_t *flag)
{
	struct dedup *d = s->d;
	struct item *x = s->x;

	shingles_of(&s->w->sh, &d->o->mh, text);
	if (!s->w->sh.n)
		return;
	*flag |= DOC_WORDS;
	if (d->o->apply) {
		shingles_sort(&s->w->sh);
		x->hash[x->n] = set_hash(s->w->sh.v, s->w->sh.n);
		return;
	}
	minhash_bands(d->mh, s->w->sh.v, s->w->sh.n, x->keys + x->nkeys);
	x->nkeys += (size_t)d->o->mh.bands;
}

static void
scan_doc(void *ctx, const struct doc *doc)
{
	struct scan *s = ctx;
	const struct dedup_opts *o = s->d->o;
	struct item *x = s->x;
	uint8_t flag = 0;

	item_room(x, x->n + 1);
	item_keys(x, (size_t)o->mh.bands);
	if (doc->bad) {
		flag = DOC_BAD;
	} else {
		if (o->near)
			scan_near(s, doc->text, &flag);
		if (o->repeats) {
			static const uint8_t flags[] = {
				0, DOC_RUN, DOC_PHRASE, DOC_GOPHER
			};
			struct gopher_hit hit;

			flag |= flags[dedup_repeat(s->d, s->w, doc->text,
						   o->near, &hit).rule];
		}
		if (o->exact)
			x->exact[x->n] = text_key(exact_text(
				s->d, s->w, doc->text)).low64;
	}
	if (o->spans && !doc->bad) {
		buf_put(&x->text, doc->text.p, doc->text.n);
		dedup_span_tokens(s->d, s->w, x, doc->text);
	}
	x->tok_to[x->n] = x->ntok;
	x->text_end[x->n] = x->text.n;
	x->flag[x->n++] = flag;
}

static void *
scan_read(void *ctx, struct err *e)
{
	struct dedup *d = ctx;
	struct doc_batch *b = NULL;

	if (d->refs) {
		b = doc_read(d->refs, 0, e);
		if (b || e->set)
			return b;
	}
	return NULL;
}

static void *
scan_read_docs(void *ctx, struct err *e)
{
	struct dedup *d = ctx;
	struct doc_batch *b = doc_read(d->docs, 0, e);

	if (b)
		progress_set(input_done(doc_reader_input(d->docs)));
	return b;
}

static int
scan_work(void *ctx, void *batch, int worker, struct err *e)
{
	struct dedup *d = ctx;
	struct doc_batch *b = batch;
	struct scan s = {d, &d->worker[worker], item_new(d), e};

	b->user = s.x;
	if (doc_parse_each(s.w->parser, b, scan_doc, &s, e))
		return -1;
	return e->set ? -1 : 0;
}

static int
grow(struct dedup *d, size_t n, struct err *e)
{
	if (n > DEDUP_MAX - d->n)
		return err_set(e, "more than %u documents: deduplicate in "
			       "parts (--emit bands)", DEDUP_MAX);
	if (d->n + n <= d->cap)
		return 0;
	d->cap = d->n + (uint32_t)n;
	if (d->cap < DEDUP_MAX - d->cap / 2)
		d->cap += d->cap / 2;
	d->digest = xreallocarray(d->digest, d->cap, sizeof(*d->digest));
	d->len = xreallocarray(d->len, d->cap, sizeof(*d->len));
	d->flag = xrealloc(d->flag, d->cap);
	return 0;
}

static int
scan_write(void *ctx, void *batch, struct err *e)
{
	struct dedup *d = ctx;
	const struct dedup_opts *o = d->o;
	const struct doc_batch *b = batch;
	const struct item *x = b->user;
	const uint64_t *key = x->keys;
	size_t i, k, end = 0;
	struct span text;

	if (grow(d, b->n, e))
		return -1;
	for (i = 0; i < b->n; i++, d->n++) {
		d->digest[d->n] = b->v[i].digest;
		d->len[d->n] = (uint32_t)b->v[i].text.n;
		d->flag[d->n] = x->flag[i];
		d->surrogates += b->v[i].surrogates;
		text = (struct span){x->text.p, x->text_end[i] - end};
		if (end)	/* else there may be no text yet */
			text.p += end;
		end = x->text_end[i];
		if (dedup_add_text(d, x, i, text, e))
			return -1;
		if (x->flag[i] & DOC_BAD)
			continue;
		if (o->exact &&
		    extsort_put(d->exact, x->exact[i], d->n, e))
			return -1;
		if (!o->near)
			continue;
		if (!(x->flag[i] & DOC_WORDS)) {
			d->no_words++;
			continue;
		}
		if (o->apply) {
			if (dedup_in_pairs(d, x->hash[i]))
				d->flag[d->n] |= DOC_MEMBER;
			if (extsort_put(d->bands, x->hash[i].a, d->n, e))
				return -1;
			continue;
		}
		for (k = 0; k < (size_t)o->mh.bands; k++)
			if (extsort_put(d->bands, *key++, d->n, e))
				return -1;
	}
	return 0;
}

static int
dedup_scan(struct dedup *d, struct err *e)
{
	struct pipeline pipe = {
		d, scan_read, scan_work, scan_write, item_drop
	};

	if (d->refs) {
		if (pipeline_run(&pipe, args_common.threads, e))
			return -1;
		d->nref = d->n;
	}
	pipe.read = scan_read_docs;
	progress_start("reading", "B",
		       input_total(doc_reader_input(d->docs)));
	if (pipeline_run(&pipe, args_common.threads, e))
		return -1;
	progress_stop();
	return 0;
}

/* --- the later passes: lines alone, numbered as they are read --- */

void *
lines_read(void *ctx, struct err *e)
{
	struct dedup *d = ctx;
	struct doc_batch *b = NULL;
	struct item *x;

	if (d->cursor < d->nref)
		b = doc_read(d->refs, 0, e);
	if (!b && !e->set) {
		b = doc_read(d->docs, 0, e);
		if (b)
			progress_set(input_done(doc_reader_input(d->docs)));
	}
	if (!b)
		return NULL;
	doc_lines(b);
	if (b->n > d->n - d->cursor) {
		err_set(e, "%s: changed while it was read", b->chunk.name);
		doc_batch_free(b);
		return NULL;
	}
	x = item_new(d);
	x->first = d->cursor;
	d->cursor += (uint32_t)b->n;
	b->user = x;
	return b;
}

/* --- wiring --- */

static int
open_tokenizer(struct dedup *d, struct err *e)
{
	if (!d->o->tokenizer || !d->o->repeats)
		return 0;
	d->vocab = vocab_load(d->o->tokenizer, d->o->split, e);
	d->bpe = d->vocab ? bpe_new(d->vocab, e) : NULL;
	return d->bpe ? 0 : -1;
}

struct dedup *
dedup_open(const struct dedup_opts *o, const char *const *files, size_t n,
	   int filter, struct err *e)
{
	struct dedup *d = xcalloc(1, sizeof(*d));
	size_t mem;
	int i;

	d->o = o;
	pthread_mutex_init(&d->lock, NULL);
	d->docs = doc_reader_open(files, n, &o->filter.doc);
	input_keep(doc_reader_input(d->docs));
	if (o->against.n) {
		d->refs = doc_reader_open(o->against.v, o->against.n,
					  &o->filter.doc);
		input_keep(doc_reader_input(d->refs));
	}
	d->worker = xcalloc((size_t)args_common.threads, sizeof(*d->worker));
	for (i = 0; i < args_common.threads; i++)
		d->worker[i].parser = doc_parser_new(&o->filter.doc);
	d->mh = minhash_new(&o->mh);
	mem = d->mem = (size_t)(o->spans ? o->mem / 2 : o->mem);
	d->exact = extsort_new(mem / 8);
	d->bands = extsort_new(mem / 2);
	d->sets = spool_new(mem / 4 - mem / 16);	/* the rest: an index */
	d->texts = spool_new(mem / 16);
	d->names = spool_new(mem / 16);
	if (open_tokenizer(d, e) || dedup_open_spans(d, e) ||
	    (filter && !(d->filter = filter_open(&o->filter, e)))) {
		dedup_close(d);
		return NULL;
	}
	for (i = 0; d->bpe && i < args_common.threads; i++)
		d->worker[i].enc = bpe_enc_new(d->bpe, 0);
	return d;
}

static void
worker_clear(struct worker *w)
{
	doc_parser_free(w->parser);
	shingles_clear(&w->sh);
	repeats_clear(&w->rep);
	gopher_clear(&w->gopher);
	if (w->enc)
		bpe_enc_free(w->enc);
	if (w->span_enc)
		bpe_enc_free(w->span_enc);
	split_scratch_free(w->scratch);
	free(w->ids.v);
	free(w->unit);
	buf_clear(&w->fold);
	buf_clear(&w->nfc);
}

void
dedup_close(struct dedup *d)
{
	struct item *x, *next;
	int i;

	filter_abort(d->filter);
	doc_reader_close(d->refs);
	doc_reader_close(d->docs);
	for (i = 0; i < args_common.threads; i++)
		worker_clear(&d->worker[i]);
	free(d->worker);
	for (x = d->free; x; x = next) {
		next = x->next;
		item_free(x);
	}
	minhash_free(d->mh);
	bpe_free(d->bpe);
	vocab_free(d->vocab);
	bpe_free(d->span_bpe);
	vocab_free(d->span_vocab);
	split_free(d->split);
	extsort_free(d->exact);
	extsort_free(d->bands);
	spool_free(d->sets);
	spool_free(d->texts);
	spool_free(d->names);
	spans_free(d->spans);
	spans_tokens_free(d->spantok);
	free(d->span);
	free(d->source);
	free(d->digest);
	free(d->len);
	free(d->flag);
	free(d->m);
	free(d->size);
	free(d->second);
	free(d->failed);
	free(d->copy);
	free(d->ref);
	dedup_apply_clear(&d->applied);
	union_find_clear(&d->near);
	for (i = 0; i < 4; i++)
		buf_clear(&d->row[i]);
	for (i = 0; i < 5; i++)
		buf_clear(&d->top[i].text);
	buf_clear(&d->line);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

static int
run(struct dedup *d, struct err *e)
{
	struct buf extra = {0};
	int status;

	if ((d->o->apply && dedup_load_pairs(d, e)) ||
	    dedup_scan(d, e) || dedup_find_spans(d, e))
		return -1;
	if (dedup_members(d, e) || dedup_look(d, e) || dedup_join(d, e) ||
	    dedup_write(d, e))
		return -1;
	filter_stats(d->filter)->surrogates += d->surrogates;
	dedup_stats(d, &extra);
	if (!args_common.quiet && (args_common.verbose || isatty(2)))
		dedup_summary(d);
	status = filter_commit(d->filter, buf_span(&extra), e);
	d->filter = NULL;
	buf_clear(&extra);
	return status;
}

int
dedup_run(const struct dedup_opts *o, const char *const *files, size_t n,
	  struct err *e)
{
	struct dedup *d = dedup_open(o, files, n, 1, e);
	int status;

	if (!d)
		return -1;
	status = run(d, e);
	dedup_close(d);
	return status;
}
