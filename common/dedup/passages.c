/*
 * passages.c - passages that are cut
 *
 * Spans are found when every text is there, between the passes; then the
 * texts are let go and the last pass cuts them out of the lines that it reads.
 */
#include "dedup/dedup_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "tokenizer/align.h"

/* --- texts in --- */

/*
 * The model's tokens as the text stands: without its normalizer, and without
 * the space that it puts before a text.
 */
static int
open_model(struct dedup *d, struct err *e)
{
	const struct dedup_opts *o = d->o;
	struct vocab *v = vocab_load(o->tokenizer, o->split, e);

	d->span_vocab = v;
	if (!v)
		return -1;
	v->nfc = v->add_prefix_space = 0;
	v->sp_prepend = VOCAB_PREPEND_NEVER;
	d->span_bpe = bpe_new(v, e);
	return d->span_bpe ? 0 : -1;
}

int
dedup_open_spans(struct dedup *d, struct err *e)
{
	const struct dedup_opts *o = d->o;
	const char *split = o->split ? o->split : "cl100k";
	/* keys and sets of the other methods have the other half */
	size_t mem = (size_t)(o->exact || o->near ? o->mem / 2 : o->mem);
	int i;

	if (!o->spans)
		return 0;
	if (o->has_span_bytes) {
		d->spans = spans_new((size_t)o->span_bytes, mem,
				     args_common.threads);
		return 0;
	}
	d->spantok = spans_tokens_new((size_t)o->span_tokens, mem,
				 args_common.threads);
	if (o->tokenizer && open_model(d, e))
		return -1;
	if (!o->tokenizer && (pattern_check(split, e) < 0 ||
			      !(d->split = split_new(&split, NULL, 1, e))))
		return -1;
	for (i = 0; i < args_common.threads; i++) {
		struct worker *w = &d->worker[i];

		if (d->span_bpe)
			w->span_enc = bpe_enc_new(d->span_bpe, 0);
		else
			w->scratch = split_scratch_new(d->split);
	}
	return 0;
}

static void
tokens_room(struct item *x, size_t more)
{
	if (x->ntok + more <= x->tok_cap)
		return;
	x->tok_cap = x->ntok + more + x->tok_cap / 2;
	x->tok_end = xreallocarray(x->tok_end, x->tok_cap,
				   sizeof(*x->tok_end));
	x->tok_id = xreallocarray(x->tok_id, x->tok_cap, sizeof(*x->tok_id));
}

/* A worker: the tokens of a text, behind those of the texts before it. */
void
dedup_span_tokens(struct dedup *d, struct worker *w, struct item *x,
		  struct span text)
{
	enum { PIECES = 1024 };
	size_t pos = 0, n;

	if (d->span_bpe) {
		w->ids.n = 0;
		bpe_encode(w->span_enc, text, &w->ids);
		n = w->ids.n;
		tokens_room(x, n);
		n = align_ends(d->span_vocab, text, w->ids.v, n,
			       x->tok_end + x->ntok);
		if (n)
			memcpy(x->tok_id + x->ntok, w->ids.v,
			       n * sizeof(*x->tok_id));
		x->ntok += n;
	}
	while (d->split && pos < text.n) {
		tokens_room(x, PIECES);
		x->ntok += split_next(d->split, w->scratch, text.p, text.n,
				      &pos, x->tok_end + x->ntok, PIECES);
	}
}

/* The i-th document of a block. */
int
dedup_add_text(struct dedup *d, const struct item *x, size_t i,
	       struct span text, struct err *e)
{
	size_t from;

	if (d->spans)
		return spans_add(d->spans, text, e);
	if (!d->spantok)
		return 0;
	from = i ? x->tok_to[i - 1] : 0;
	return spans_tokens_add(d->spantok, text, x->tok_end + from,
			   d->span_bpe ? x->tok_id + from : NULL,
			   x->tok_to[i] - from, e);
}

/* --- spans --- */

static int
cmp_span(const void *a, const void *b)
{
	const struct text_span *x = a, *y = b;

	if (x->doc != y->doc)
		return x->doc < y->doc ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

static int
cmp_source(const void *a, const void *b)
{
	const struct decompress *x = a, *y = b;

	return (x->doc > y->doc) - (x->doc < y->doc);
}

/* One that stands before nothing but itself: of --all. */
static int
is_first(const struct text_span *v)
{
	return v->first == v->doc && v->first_start == v->start;
}

/*
 * The spans v[0..n) of one document: without first copies that lie in the
 * union of the others.  Returns how many are left.
 */
static size_t
drop_inside(struct text_span *v, size_t n)
{
	uint32_t (*range)[2] = xreallocarray(NULL, n + 1, sizeof(*range));
	struct text_span *copy = xreallocarray(NULL, n + 1, sizeof(*copy));
	size_t i, k = 0, m = 0, left = 0;

	for (i = 0; i < n; i++)
		if (!is_first(&v[i]))
			copy[m++] = v[i];
	m = spans_merge(copy, m, range);
	for (i = 0; i < n; i++) {
		while (k < m && range[k][1] < v[i].end)
			k++;
		if (!is_first(&v[i]) || k == m || range[k][0] > v[i].start)
			v[left++] = v[i];
	}
	free(range);
	free(copy);
	return left;
}

/* --all: what stands later goes too. */
static int
add_firsts(struct dedup *d, struct err *e)
{
	const struct text_span *v;
	size_t n, i, k, end;

	v = d->spans ? spans_find_later(d->spans, &n, e) :
		spans_tokens_find_later(d->spantok, &n, e);
	if (!v)
		return -1;
	d->span = xreallocarray(d->span, d->nspan + n + 1, sizeof(*d->span));
	for (i = 0; i < n; i++)
		d->span[d->nspan++] = (struct text_span){
			v[i].doc, v[i].doc, v[i].start, v[i].end, v[i].start
		};
	qsort(d->span, d->nspan, sizeof(*d->span), cmp_span);
	for (i = k = 0; i < d->nspan; i = end) {
		for (end = i; end < d->nspan &&
		     d->span[end].doc == d->span[i].doc; end++)
			;
		n = drop_inside(d->span + i, end - i);
		memmove(d->span + k, d->span + i, n * sizeof(*d->span));
		k += n;
	}
	d->nspan = k;
	return 0;
}

static void
find_sources(struct dedup *d)
{
	size_t i, k = 0;

	d->source = xreallocarray(NULL, d->nspan + 1, sizeof(*d->source));
	for (i = 0; i < d->nspan; i++)
		d->source[i] = (struct decompress){d->span[i].first, 0};
	qsort(d->source, d->nspan, sizeof(*d->source), cmp_source);
	for (i = 0; i < d->nspan; i++)
		if (!k || d->source[k - 1].doc != d->source[i].doc)
			d->source[k++] = d->source[i];
	d->nsource = k;
}

int
dedup_find_spans(struct dedup *d, struct err *e)
{
	const struct text_span *v;
	size_t n, i;

	if (!d->spans && !d->spantok)
		return 0;
	v = d->spans ? spans_find(d->spans, &n, e) :
		spans_tokens_find(d->spantok, &n, e);
	if (!v)
		return -1;
	d->span = xreallocarray(NULL, n + 1, sizeof(*d->span));
	memcpy(d->span, v, n * sizeof(*v));
	d->nspan = n;
	if (d->o->all && add_firsts(d, e))
		return -1;
	d->spans_spilled = d->spans ? spans_spilled(d->spans) :
		spans_tokens_spilled(d->spantok);
	find_sources(d);
	for (i = 0; i < d->nspan; i++)
		d->flag[d->span[i].doc] |= DOC_SPAN;
	for (i = 0; i < d->nsource; i++)
		d->flag[d->source[i].doc] |= DOC_SOURCE;
	spans_free(d->spans);
	spans_tokens_free(d->spantok);
	d->spans = NULL;
	d->spantok = NULL;
	return 0;
}

static const struct text_span *
spans_of(const struct dedup *d, uint32_t doc, size_t *n)
{
	size_t lo = 0, hi = d->nspan, at;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (d->span[mid].doc < doc)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (at = lo; at < d->nspan && d->span[at].doc == doc; at++)
		;
	*n = at - lo;
	return d->span + lo;
}

void
dedup_cut(const struct dedup *d, uint32_t doc, struct span text,
	  struct buf *out)
{
	uint32_t (*range)[2], at = 0;
	const struct text_span *v;
	size_t n, i;

	v = spans_of(d, doc, &n);
	range = xreallocarray(NULL, n + 1, sizeof(*range));
	n = spans_merge(v, n, range);
	for (i = 0; i < n; i++) {
		buf_put(out, text.p + at, range[i][0] - at);
		at = range[i][1];
	}
	buf_put(out, text.p + at, text.n - at);
	free(range);
}

/* --- the report --- */

static struct decompress *
source_of(const struct dedup *d, uint32_t doc)
{
	const struct decompress key = {doc, 0};

	return bsearch(&key, d->source, d->nsource, sizeof(key), cmp_source);
}

/* A document that others have copies of goes by: put its name aside. */
int
dedup_name_source(struct dedup *d, uint32_t n, const struct doc *doc,
		  struct err *e)
{
	return dedup_put_name(d, doc, "first_id", "first_at",
			      &source_of(d, n)->name, e);
}

/* What is cut: the union of the spans. */
static void
put_cuts(const struct text_span *v, size_t n, struct buf *b)
{
	uint32_t (*range)[2] = xreallocarray(NULL, n + 1, sizeof(*range));
	size_t i;

	n = spans_merge(v, n, range);
	buf_puts(b, ",\"cuts\":[");
	for (i = 0; i < n; i++)
		buf_printf(b, "%s{\"start\":%u,\"end\":%u}", i ? "," : "",
			   range[i][0], range[i][1]);
	buf_putc(b, ']');
	free(range);
}

int
dedup_put_spans(struct dedup *d, uint32_t doc, struct buf *b, struct err *e)
{
	const struct text_span *v;
	size_t n, i;
	uint32_t len;

	v = spans_of(d, doc, &n);
	buf_puts(b, ",\"spans\":[");
	for (i = 0; i < n; i++) {
		uint64_t at = source_of(d, v[i].first)->name;

		buf_printf(b, "%s{\"start\":%u,\"end\":%u,", i ? "," : "",
			   v[i].start, v[i].end);
		if (spool_read(d->names, at, &len, sizeof(len), e) ||
		    spool_read(d->names, at + sizeof(len), buf_reserve(b, len),
			       len, e))
			return -1;
		b->n += len;
		buf_printf(b, ",\"first_start\":%u}", v[i].first_start);
	}
	buf_putc(b, ']');
	put_cuts(v, n, b);
	return 0;
}
