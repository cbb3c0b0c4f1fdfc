/*
 * passages.c - passages that are cut
 *
 * The first pass hands over every text.  Spans are found after it, then the
 * texts are freed, and the last pass cuts spans out of the lines it reads.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/search.h"
#include "dedup/dedup_priv.h"
#include "tokenizer/align.h"

/* --- texts in --- */

/*
 * The model's tokens of the text as it is: without its normalizer, and without
 * a space put before the text.
 */
static int
open_model(struct passages *p, struct err *e)
{
	struct vocab *v = vocab_load(p->o->tokenizer, p->o->split, e);

	p->vocab = v;
	if (!v)
		return -1;
	v->nfc = v->add_prefix_space = 0;
	v->sp_prepend = VOCAB_PREPEND_NEVER;
	p->bpe = bpe_new(v, e);
	return p->bpe ? 0 : -1;
}

/* Keys and sets of the other methods have the other half. */
static size_t
memory(const struct dedup_opts *o)
{
	return (size_t)(o->exact || o->near ? o->mem / 2 : o->mem);
}

int
dedup_passages_open(struct passages *p, const struct dedup_opts *o,
		    struct err *e)
{
	const int how = SPLIT_ISOLATED | SPLIT_SIMPLE_FOLD;
	char *split;
	size_t mem = memory(o);

	p->o = o;
	if (!o->spans)
		return 0;
	if (o->has_span_bytes) {
		p->spans = spans_new((size_t)o->span_bytes, mem,
				     o->threads);
		return 0;
	}
	p->tokens = spans_tokens_new((size_t)o->span_tokens, mem,
				     o->threads);
	if (o->tokenizer)
		return open_model(p, e);
	split = pattern_split(o->split ? o->split : "cl100k", e);
	if (split)
		p->split = split_new(&(const char *){split}, &how, 1, e);
	free(split);
	return p->split ? 0 : -1;
}

/* Bytes of the files that have a size; of compressed ones, too few. */
static uint64_t
file_bytes(const char *const *files, size_t n)
{
	uint64_t bytes = 0;
	struct stat st;
	size_t i;

	for (i = 0; i < n; i++)
		if (!path_is_std(files[i]) && !stat(files[i], &st) &&
		    S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	return bytes;
}

int
dedup_passages_room(const struct dedup_opts *o, const char *const *files,
		    size_t n, struct err *e)
{
	size_t least = (size_t)(o->has_span_bytes ? o->span_bytes :
				SPANS_TOKEN_BYTES * o->span_tokens);

	if (!o->spans)
		return 0;
	return spans_room(least, memory(o), file_bytes(files, n) +
			  file_bytes(o->against.v, o->against.n), e);
}

void
dedup_passages_clear(struct passages *p)
{
	bpe_free(p->bpe);
	vocab_free(p->vocab);
	split_free(p->split);
	spans_free(p->spans);
	spans_tokens_free(p->tokens);
	free(p->span);
	free(p->source);
}

void
dedup_passages_scratch_clear(struct passages_scratch *s)
{
	if (s->enc)
		bpe_enc_free(s->enc);
	split_scratch_free(s->split);
	free(s->ids.v);
}

void
dedup_passages_block_reset(struct passages_block *b)
{
	b->n = b->ntok = 0;
	buf_reset(&b->text);
}

void
dedup_passages_block_clear(struct passages_block *b)
{
	buf_clear(&b->text);
	free(b->end);
	free(b->id);
	free(b->to);
}

static int
take_ids(const struct passages *p, struct passages_scratch *s,
	 struct passages_block *b, struct span text, struct err *e)
{
	size_t n;

	if (!s->enc)
		s->enc = bpe_enc_new(p->bpe, 0);
	s->ids.n = 0;
	if (bpe_units(s->enc, text, &s->ids, e) < 0)
		return -1;
	GROW(b->end, b->end_cap, b->ntok + s->ids.n);
	GROW(b->id, b->id_cap, b->ntok + s->ids.n);
	n = align_ends(p->bpe, text, s->ids.v, s->ids.n, b->end + b->ntok);
	if (n)
		memcpy(b->id + b->ntok, s->ids.v, n * sizeof(*b->id));
	b->ntok += n;
	return 0;
}

int
dedup_passages_take(const struct passages *p, struct passages_scratch *s,
		    struct passages_block *b, struct span text, struct err *e)
{
	enum { SOME = 1024 };
	size_t pos = 0, k, from = b->ntok;

	if (p->bpe && take_ids(p, s, b, text, e) < 0)
		return -1;
	if (p->split && !s->split)
		s->split = split_scratch_new(p->split);
	while (p->split && pos < text.n) {
		GROW(b->end, b->end_cap, b->ntok + SOME);
		k = split_next(p->split, s->split, text.p, text.n, &pos,
			       b->end + b->ntok, SOME, e);
		if (k == 0) {
			b->ntok = from;
			return -1;
		}
		b->ntok += k;
	}
	buf_put(&b->text, text.p, text.n);
	GROW(b->to, b->cap, b->n + 1);
	b->to[b->n].text = b->text.n;
	b->to[b->n++].tok = b->ntok;
	return 0;
}

int
dedup_passages_add(struct passages *p, const struct passages_block *b,
		   size_t i, struct err *e)
{
	size_t from = i ? b->to[i - 1].text : 0, tok = i ? b->to[i - 1].tok : 0;
	struct span text = {b->text.p ? b->text.p + from : "",
			    b->to[i].text - from};

	if (p->spans)
		return spans_add(p->spans, text, e);
	return spans_tokens_add(p->tokens, text, b->end ? b->end + tok : NULL,
				p->bpe && b->id ? b->id + tok : NULL,
				b->to[i].tok - tok, e);
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
	const struct source *x = a, *y = b;

	return (x->doc > y->doc) - (x->doc < y->doc);
}

/* Of --all: a first copy, which has none before it. */
static int
is_first(const struct text_span *v)
{
	return v->first == v->doc && v->first_start == v->start;
}

/*
 * The spans v[0..n) of one document: drop first copies inside the union of
 * the others.  Returns the number left.
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

/* --all: add what occurs again later. */
static int
add_firsts(struct passages *p, struct err *e)
{
	const struct text_span *v;
	size_t n, i, k, end;

	v = p->spans ? spans_find_later(p->spans, &n, e) :
		spans_tokens_find_later(p->tokens, &n, e);
	if (!v)
		return -1;
	p->span = xreallocarray(p->span, p->nspan + n + 1, sizeof(*p->span));
	for (i = 0; i < n; i++)
		p->span[p->nspan++] = (struct text_span){
			v[i].doc, v[i].doc, v[i].start, v[i].end, v[i].start
		};
	qsort(p->span, p->nspan, sizeof(*p->span), cmp_span);
	for (i = k = 0; i < p->nspan; i = end) {
		for (end = i; end < p->nspan &&
		     p->span[end].doc == p->span[i].doc; end++)
			;
		n = drop_inside(p->span + i, end - i);
		memmove(p->span + k, p->span + i, n * sizeof(*p->span));
		k += n;
	}
	p->nspan = k;
	return 0;
}

static void
find_sources(struct passages *p)
{
	size_t i, k = 0;

	p->source = xreallocarray(NULL, p->nspan + 1, sizeof(*p->source));
	for (i = 0; i < p->nspan; i++)
		p->source[i] = (struct source){p->span[i].first, 0};
	qsort(p->source, p->nspan, sizeof(*p->source), cmp_source);
	for (i = 0; i < p->nspan; i++)
		if (!k || p->source[k - 1].doc != p->source[i].doc)
			p->source[k++] = p->source[i];
	p->nsource = k;
}

int
dedup_passages_find(struct passages *p, struct corpus *c, struct err *e)
{
	const struct text_span *v;
	size_t n, i;

	if (!p->spans && !p->tokens)
		return 0;
	v = p->spans ? spans_find(p->spans, &n, e) :
		spans_tokens_find(p->tokens, &n, e);
	if (!v)
		return -1;
	p->span = xreallocarray(NULL, n + 1, sizeof(*p->span));
	memcpy(p->span, v, n * sizeof(*v));
	p->nspan = n;
	if (p->o->all && add_firsts(p, e))
		return -1;
	p->spilled = p->spans ? spans_spilled(p->spans) :
		spans_tokens_spilled(p->tokens);
	find_sources(p);
	for (i = 0; i < p->nspan; i++)
		c->flag[p->span[i].doc] |= DOC_SPAN;
	for (i = 0; i < p->nsource; i++)
		c->flag[p->source[i].doc] |= DOC_SOURCE;
	spans_free(p->spans);
	spans_tokens_free(p->tokens);
	p->spans = NULL;
	p->tokens = NULL;
	return 0;
}

static const struct text_span *
spans_of(const struct passages *p, uint32_t doc, size_t *n)
{
	size_t lo, at;

	FIND_FIRST(lo, 0, p->nspan, p->span[lo].doc >= doc);
	for (at = lo; at < p->nspan && p->span[at].doc == doc; at++)
		;
	*n = at - lo;
	return p->span + lo;
}

void
dedup_passages_cut(const struct passages *p, uint32_t doc,
		   struct span text, struct buf *out)
{
	uint32_t (*range)[2], at = 0;
	const struct text_span *v;
	size_t n, i;

	v = spans_of(p, doc, &n);
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

static struct source *
source_of(const struct passages *p, uint32_t doc)
{
	const struct source key = {doc, 0};

	return bsearch(&key, p->source, p->nsource, sizeof(key), cmp_source);
}

int
dedup_passages_name(struct passages *p, struct names *names, uint32_t doc,
		    const struct doc *d, struct err *e)
{
	return dedup_names_put(names, d, "first_id", "first_at",
			       &source_of(p, doc)->name, e);
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
dedup_passages_put(const struct passages *p, const struct names *names,
		   uint32_t doc, struct buf *b, struct err *e)
{
	const struct text_span *v;
	size_t n, i;

	v = spans_of(p, doc, &n);
	buf_puts(b, ",\"spans\":[");
	for (i = 0; i < n; i++) {
		uint64_t at = source_of(p, v[i].first)->name;

		buf_printf(b, "%s{\"start\":%u,\"end\":%u,", i ? "," : "",
			   v[i].start, v[i].end);
		if (dedup_names_get(names, at, b, e))
			return -1;
		buf_printf(b, ",\"first_start\":%u}", v[i].first_start);
	}
	buf_putc(b, ']');
	put_cuts(v, n, b);
	return 0;
}
