/*
 * match.c - documents against benchmarks
 *
 * Matching finds the places of a document that are grams.  What they mean is
 * worked out by one thread, for the few documents that have any: hits are
 * brought together gram by gram, then each gram's places in the benchmarks
 * give the examples.  Where nobody wants the list, a gram that was met before
 * is not followed again.
 */
#include "contam/match.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tokenizer/align.h"

struct ngram_match {
	const struct ngram_bench *nb;
	struct words words;
	struct buf tmp;
	struct bpe_enc *enc;
	struct ids ids;
	struct word *token;	/* [tokencap] */
	size_t tokencap;
	struct span text;
};

/* --- loading --- */

/* What turns the texts of examples into units. */
struct loading {
	struct ngram_bench *nb;
	struct words words;
	uint32_t *unit;
	size_t cap;
	struct bpe_enc *enc;
	struct ids ids;
};

static int
add_example(void *ctx, struct span text, struct err *e)
{
	struct loading *l = ctx;
	struct ngram_bench *nb = l->nb;
	size_t i;

	if (l->enc) {
		l->ids.n = 0;
		bpe_encode(l->enc, text, &l->ids);
		return ngram_add(nb->g, l->ids.v, l->ids.n, e);
	}
	words_split(&l->words, text);
	if (l->words.n > l->cap) {
		l->cap = 2 * l->words.n;
		l->unit = xreallocarray(l->unit, l->cap, sizeof(*l->unit));
	}
	for (i = 0; i < l->words.n; i++)
		l->unit[i] = ngram_words_add(&nb->words, text, &l->words.v[i]);
	return ngram_add(nb->g, l->unit, l->words.n, e);
}

static int
read_all(struct ngram_bench *nb, const struct ngram_bench_opts *o,
	 struct buf *notes, struct err *e)
{
	struct loading l = {.nb = nb};
	const struct bench_opts bo = {
		.fields = o->fields, .keep = o->keep, .text = add_example,
		.ctx = &l,
	};
	size_t i;
	int rc = 0;

	if (o->bpe)
		l.enc = bpe_enc_new(o->bpe, 0);
	for (i = 0; i < o->npath && !rc; i++)
		rc = benches_read(&nb->b, o->path[i], &bo, notes, e);
	if (l.enc)
		bpe_enc_free(l.enc);
	words_clear(&l.words);
	free(l.ids.v);
	free(l.unit);
	return rc;
}

static void
set_sizes(struct ngram_bench *nb, unsigned n)
{
	size_t i, k, *len = xreallocarray(NULL, nb->b.nex + 1, sizeof(*len));
	struct bench *v;

	for (i = 0; i < nb->b.n; i++) {
		v = &nb->b.v[i];
		for (k = 0; k < v->n; k++)
			len[k] = ngram_length(nb->g, v->first + k);
		v->gram = n ? n : bench_auto_n(len, v->n);
		for (k = v->first; k < v->first + v->n; k++) {
			ngram_set_n(nb->g, k, v->gram);
			nb->b.ex[k].too_short =
				ngram_length(nb->g, k) < v->gram;
		}
	}
	free(len);
}

static void
build(struct ngram_bench *nb)
{
	uint64_t *hash = nb->words.hash;
	uint32_t i;

	if (nb->vocab) {
		hash = xreallocarray(NULL, nb->vocab->n + 1, sizeof(*hash));
		for (i = 0; i < nb->vocab->n; i++)
			hash[i] = ngram_token_hash(i);
	}
	ngram_build(nb->g, hash);
	if (nb->vocab)
		free(hash);
}

int
ngram_bench_load(struct ngram_bench *nb, const struct ngram_bench_opts *o,
		 uint64_t max_df, struct buf *notes, struct err *e)
{
	size_t i;

	memset(nb, 0, sizeof(*nb));
	nb->g = ngram_new();
	nb->vocab = o->vocab;
	nb->bpe = o->bpe;
	nb->max_df = max_df;
	if (read_all(nb, o, notes, e))
		return -1;
	set_sizes(nb, o->n);
	build(nb);
	for (i = 0; i < nb->b.nex; i++)
		nb->nplaces += ngram_length(nb->g, i);
	nb->met = xcalloc(nb->nplaces + 1, 1);
	if (max_df)
		nb->df = xcalloc(nb->nplaces + 1, sizeof(*nb->df));
	return 0;
}

void
ngram_bench_clear(struct ngram_bench *nb)
{
	benches_clear(&nb->b);
	ngram_free(nb->g);
	ngram_words_clear(&nb->words);
	free(nb->df);
	free(nb->met);
	free(nb->tmp);
	memset(nb, 0, sizeof(*nb));
}

/* --- matching --- */

struct ngram_match *
ngram_match_new(const struct ngram_bench *nb)
{
	struct ngram_match *m = xcalloc(1, sizeof(*m));

	m->nb = nb;
	if (nb->bpe)
		m->enc = bpe_enc_new(nb->bpe, 0);
	return m;
}

void
ngram_match_free(struct ngram_match *m)
{
	if (!m)
		return;
	if (m->enc)
		bpe_enc_free(m->enc);
	words_clear(&m->words);
	buf_clear(&m->tmp);
	free(m->ids.v);
	free(m->token);
	free(m);
}

static int
same_word(void *ctx, size_t i, uint32_t unit)
{
	struct ngram_match *m = ctx;

	return ngram_words_same(&m->nb->words, unit, m->text, &m->words.v[i],
				&m->tmp);
}

/* ids of the one call of ngram_match_ids() */
struct tokens {
	const uint32_t *ids;
};

static int
same_token(void *ctx, size_t i, uint32_t unit)
{
	return ((struct tokens *)ctx)->ids[i] == unit;
}

void
ngram_match_ids(struct ngram_match *m, const uint32_t *ids, size_t n,
		struct ngram_hits *out)
{
	struct tokens t = {ids};
	size_t i;

	if (n > m->tokencap) {
		m->tokencap = n + n / 2;
		m->token = xreallocarray(m->token, m->tokencap,
					 sizeof(*m->token));
	}
	for (i = 0; i < n; i++)
		m->token[i] = (struct word){ngram_token_hash(ids[i]),
					    (uint32_t)i, (uint32_t)i + 1};
	ngram_scan(m->nb->g, m->token, n, same_token, &t, out);
}

void
ngram_match_text(struct ngram_match *m, struct span text,
		 struct ngram_hits *out)
{
	size_t i = out->n;
	struct align a;

	if (!m->enc) {
		m->text = text;
		words_split(&m->words, text);
		ngram_scan(m->nb->g, m->words.v, m->words.n, same_word, m,
			   out);
		return;
	}
	m->ids.n = 0;
	bpe_encode(m->enc, text, &m->ids);
	ngram_match_ids(m, m->ids.v, m->ids.n, out);
	if (out->n == i)
		return;
	align_init(&a, m->nb->vocab, text, m->ids.v, m->ids.n);
	for (; i < out->n; i++)
		align_range(&a, &out->v[i].start, &out->v[i].end);
	align_clear(&a);
}

/* --- the books --- */

static int
by_gram(const void *a, const void *b)
{
	const struct ngram_hit *x = a, *y = b;

	if (x->gram != y->gram)
		return x->gram < y->gram ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static int
by_start(const void *a, const void *b)
{
	const struct ngram_hit *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->gram > y->gram) - (x->gram < y->gram);
}

/* A copy of the hits in nb->tmp, by gram. */
static const struct ngram_hit *
grouped(struct ngram_bench *nb, const struct ngram_hits *h)
{
	if (h->n > nb->tmpcap) {
		nb->tmpcap = h->n + h->n / 2;
		nb->tmp = xreallocarray(nb->tmp, nb->tmpcap, sizeof(*nb->tmp));
	}
	memcpy(nb->tmp, h->v, h->n * sizeof(*h->v));
	qsort(nb->tmp, h->n, sizeof(*nb->tmp), by_gram);
	return nb->tmp;
}

void
ngram_bench_count(struct ngram_bench *nb, const struct ngram_hits *h)
{
	const struct ngram_hit *v;
	size_t i;

	if (!h->n)
		return;
	v = grouped(nb, h);
	for (i = 0; i < h->n; i++)
		if (!i || v[i].gram != v[i - 1].gram)
			nb->df[v[i].gram] += nb->df[v[i].gram] < UINT32_MAX;
}

static int
is_ignored(const struct ngram_bench *nb, uint32_t gram)
{
	return nb->df && nb->df[gram] > nb->max_df;
}

static void
take_ignored(const struct ngram_bench *nb, struct ngram_hits *h)
{
	size_t i, n = 0;

	for (i = 0; i < h->n; i++)
		if (!is_ignored(nb, h->v[i].gram))
			h->v[n++] = h->v[i];
	h->n = n;
}

static void
found_add(struct ngram_founds *o, const struct ngram_found *f)
{
	if (o->n == o->cap) {
		o->cap = o->cap ? 2 * o->cap : 64;
		o->v = xreallocarray(o->v, o->cap, sizeof(*o->v));
	}
	o->v[o->n++] = *f;
}

/* The examples that hold one gram; f has its places in the document. */
static void
follow(struct ngram_bench *nb, uint32_t gram, struct ngram_found f,
       struct ngram_founds *out)
{
	size_t last = SIZE_MAX;
	uint32_t at;

	if (nb->met[gram] && !out)
		return;
	nb->met[gram] = 1;
	for (at = gram; at != NGRAM_NONE; at = ngram_next(nb->g, at)) {
		f.ex = ngram_example(nb->g, at);
		if (f.ex == last)
			continue;
		last = f.ex;
		nb->b.ex[f.ex].dirty = 1;
		if (out)
			found_add(out, &f);
	}
}

static int
by_example(const void *a, const void *b)
{
	const struct ngram_found *x = a, *y = b;

	if (x->ex != y->ex)
		return x->ex < y->ex ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static int
by_place(const void *a, const void *b)
{
	const struct ngram_found *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->ex > y->ex) - (x->ex < y->ex);
}

/* One entry an example, from its first to its last gram. */
static void
merge_founds(struct ngram_founds *o)
{
	size_t i, n = 0;

	qsort(o->v, o->n, sizeof(*o->v), by_example);
	for (i = 0; i < o->n; i++) {
		struct ngram_found *to = n ? &o->v[n - 1] : NULL;

		if (!to || to->ex != o->v[i].ex) {
			o->v[n++] = o->v[i];
			continue;
		}
		if (o->v[i].end > to->end)
			to->end = o->v[i].end;
		to->grams += o->v[i].grams;
	}
	o->n = n;
	qsort(o->v, o->n, sizeof(*o->v), by_place);
}

void
ngram_bench_judge(struct ngram_bench *nb, struct ngram_hits *h,
		  struct ngram_founds *out)
{
	const struct ngram_hit *v;
	size_t i, first;

	if (out)
		out->n = 0;
	take_ignored(nb, h);
	if (!h->n)
		return;
	v = grouped(nb, h);
	for (first = i = 0; i < h->n; i++) {
		struct ngram_found f = {.start = v[first].start,
					.end = v[i].end};

		if (i + 1 < h->n && v[i + 1].gram == v[first].gram)
			continue;
		f.grams = i + 1 - first;
		follow(nb, v[first].gram, f, out);
		first = i + 1;
	}
	if (out && out->n)
		merge_founds(out);
	qsort(h->v, h->n, sizeof(*h->v), by_start);
}

void
ngram_bench_text(const struct ngram_bench *nb, uint32_t gram, struct buf *out)
{
	const uint32_t *u;
	struct span s;
	unsigned n, i;

	u = ngram_units(nb->g, gram, &n);
	for (i = 0; i < n; i++) {
		s = nb->vocab ? nb->vocab->token[u[i]]
			      : ngram_words_at(&nb->words, u[i]);
		if (i && !nb->vocab)
			buf_putc(out, ' ');
		if (s.n)
			buf_put(out, s.p, s.n);
	}
}

/* --- ignored grams --- */

struct ranked {
	uint32_t df, gram;
};

static int
by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->df != y->df)
		return x->df > y->df ? -1 : 1;
	return (x->gram > y->gram) - (x->gram < y->gram);
}

uint32_t *
ngram_bench_ignored(const struct ngram_bench *nb, size_t *n)
{
	struct ranked *v = NULL;
	uint32_t *out;
	size_t i, cap = 0;

	for (*n = i = 0; nb->df && i < nb->nplaces; i++) {
		if (!is_ignored(nb, (uint32_t)i))
			continue;
		if (*n == cap) {
			cap = cap ? 2 * cap : 64;
			v = xreallocarray(v, cap, sizeof(*v));
		}
		v[(*n)++] = (struct ranked){nb->df[i], (uint32_t)i};
	}
	if (*n)
		qsort(v, *n, sizeof(*v), by_rank);
	out = xreallocarray(NULL, *n + 1, sizeof(*out));
	for (i = 0; i < *n; i++)
		out[i] = v[i].gram;
	free(v);
	return out;
}
