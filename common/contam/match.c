/*
 * match.c - the n-grams of benchmarks that occur in a document
 */
#include "contam/match.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tokenizer/align.h"

struct match {
	const struct benchmark_index *x;
	struct span text;	/* of the current match_text() */
	struct words words;
	struct buf tmp;
	struct bpe_enc *enc;
	struct ids ids;
	struct word *token;	/* tokens as the words of ngram_scan() */
	size_t tokencap;
};

struct match *
match_new(const struct benchmark_index *x)
{
	struct match *m = xcalloc(1, sizeof(*m));

	m->x = x;
	if (x->bpe)
		m->enc = bpe_enc_new(x->bpe, 0);
	return m;
}

void
match_free(struct match *m)
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
	struct match *m = ctx;

	return word_table_is(&m->x->words, unit, m->text, &m->words.v[i],
			     &m->tmp);
}

static int
same_token(void *ctx, size_t i, uint32_t unit)
{
	return (*(const uint32_t **)ctx)[i] == unit;
}

void
match_ids(struct match *m, const uint32_t *ids, size_t n,
	  struct ngram_hits *out)
{
	size_t i;

	GROW(m->token, m->tokencap, n);
	for (i = 0; i < n; i++)
		m->token[i] = (struct word){ngram_token_hash(ids[i]),
					    (uint32_t)i, (uint32_t)i + 1};
	ngram_scan(m->x->ngrams, m->token, n, same_token, &ids, out);
}

int
match_text(struct match *m, struct span text, struct ngram_hits *out,
	   struct err *e)
{
	size_t i = out->n;
	struct align a;

	if (!m->enc) {
		m->text = text;
		words_split(&m->words, text);
		ngram_scan(m->x->ngrams, m->words.v, m->words.n, same_word, m,
			   out);
		return 0;
	}
	m->ids.n = 0;
	if (bpe_units(m->enc, text, &m->ids, e) < 0)
		return -1;
	match_ids(m, m->ids.v, m->ids.n, out);
	if (out->n == i)
		return 0;
	align_init(&a, m->x->bpe, text, m->ids.v, m->ids.n);
	for (; i < out->n; i++)
		align_range(&a, &out->v[i].start, &out->v[i].end);
	align_clear(&a);
	return 0;
}
