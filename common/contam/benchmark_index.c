/*
 * benchmark_index.c - benchmarks and the index of their n-grams
 */
#include "contam/benchmark_index.h"

#include <stdlib.h>

#include "base/mem.h"

/* Turns the texts of examples into units. */
struct loader {
	struct benchmark_index *x;
	struct words words;
	struct ids unit;
	struct bpe_enc *enc;
};

static int
add_example(void *ctx, struct span text, struct err *e)
{
	struct loader *l = ctx;
	struct benchmark_index *x = l->x;
	size_t i;

	l->unit.n = 0;
	if (l->enc) {
		if (bpe_units(l->enc, text, &l->unit, e) < 0)
			return -1;
	} else {
		words_split(&l->words, text);
		for (i = 0; i < l->words.n; i++)
			ids_add(&l->unit, word_table_add(&x->words, text,
							 &l->words.v[i]));
	}
	x->positions += l->unit.n;
	return ngram_add(x->ngrams, l->unit.v, l->unit.n, e);
}

static int
read_all(struct benchmark_index *x, const struct benchmark_index_opts *o,
	 struct buf *notes, struct err *e)
{
	struct loader l = {.x = x};
	const struct benchmark_opts opts = {
		.fields = o->fields, .keep = o->keep, .text = add_example,
		.ctx = &l,
	};
	size_t i;
	int rc = 0;

	if (o->bpe)
		l.enc = bpe_enc_new(o->bpe, 0);
	for (i = 0; i < o->npath && !rc; i++)
		rc = benchmark_read(&x->b, o->path[i], &opts, notes, e);
	if (!rc)
		rc = benchmark_check_fields(&x->b, o->fields, e);
	if (l.enc)
		bpe_enc_free(l.enc);
	words_clear(&l.words);
	free(l.unit.v);
	return rc;
}

static void
set_n(struct benchmark_index *x, unsigned n)
{
	size_t i, k, *len = xcalloc(x->b.nex + 1, sizeof(*len));
	struct benchmark *v;

	for (i = 0; i < x->b.n; i++) {
		v = &x->b.v[i];
		for (k = 0; k < v->n; k++)
			len[k] = ngram_length(x->ngrams, v->first + k);
		v->ngram = n ? n : benchmark_auto_n(len, v->n);
		for (k = v->first; k < v->first + v->n; k++) {
			ngram_set_n(x->ngrams, k, v->ngram);
			x->b.ex[k].too_short =
				ngram_length(x->ngrams, k) < v->ngram;
		}
	}
	free(len);
}

static void
build(struct benchmark_index *x)
{
	uint64_t *hash;
	uint32_t i, n;

	if (!x->vocab) {
		ngram_build(x->ngrams, x->words.hash);
		return;
	}
	n = x->vocab->n + BPE_MISSING;
	hash = xcalloc(n, sizeof(*hash));
	for (i = 0; i < n; i++)
		hash[i] = ngram_token_hash(i);
	ngram_build(x->ngrams, hash);
	free(hash);
}

int
benchmark_index_init(struct benchmark_index *x,
		     const struct benchmark_index_opts *o, struct buf *notes,
		     struct err *e)
{
	*x = (struct benchmark_index){
		.ngrams = ngram_new(), .vocab = o->vocab, .bpe = o->bpe,
	};
	if (read_all(x, o, notes, e))
		return -1;
	set_n(x, o->n);
	build(x);
	return 0;
}

void
benchmark_index_clear(struct benchmark_index *x)
{
	benchmark_clear(&x->b);
	ngram_free(x->ngrams);
	word_table_clear(&x->words);
	memset(x, 0, sizeof(*x));
}

void
benchmark_index_text(const struct benchmark_index *x, uint32_t gram,
		     struct buf *out)
{
	const uint32_t *u;
	struct span s;
	unsigned n, i;

	u = ngram_units(x->ngrams, gram, &n);
	for (i = 0; i < n; i++) {
		s = x->vocab ? x->vocab->token[u[i]]
			     : word_table_get(&x->words, u[i]);
		if (i && !x->vocab)
			buf_putc(out, ' ');
		if (s.n)
			buf_put(out, s.p, s.n);
	}
}
