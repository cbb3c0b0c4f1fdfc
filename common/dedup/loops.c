/*
 * loops.c - text that loops: the rules of repeats.h, then those of gopher.h
 */
#include <stdlib.h>

#include "base/mem.h"
#include "dedup/dedup_priv.h"

int
dedup_loops_open(struct loops *l, const struct dedup_opts *o, struct err *e)
{
	l->o = o;
	if (!o->tokenizer || !o->repeats)
		return 0;
	l->vocab = vocab_load(o->tokenizer, o->split, e);
	l->bpe = l->vocab ? bpe_new(l->vocab, e) : NULL;
	return l->bpe ? 0 : -1;
}

void
dedup_loops_clear(struct loops *l)
{
	bpe_free(l->bpe);
	vocab_free(l->vocab);
}

void
dedup_loops_scratch_clear(struct loops_scratch *s)
{
	repeats_clear(&s->rep);
	gopher_clear(&s->gopher);
	if (s->enc)
		bpe_enc_free(s->enc);
	free(s->ids.v);
	free(s->unit);
}

/* Units of the rules: tokens, or the hashes of the words.  -1: the text cannot
 * be tokenized. */
static int64_t
units(const struct loops *l, struct loops_scratch *s, struct words *words,
      int split, struct span text, struct err *e)
{
	size_t i, n;

	if (l->bpe) {
		if (!s->enc)
			s->enc = bpe_enc_new(l->bpe, 0);
		s->ids.n = 0;
		if (bpe_units(s->enc, text, &s->ids, e) < 0)
			return -1;
	} else if (!split) {
		words_split(words, text);
	}
	n = l->bpe ? s->ids.n : words->n;
	GROW(s->unit, s->cap, n);
	for (i = 0; i < n; i++)
		s->unit[i] = l->bpe ? s->ids.v[i] : words->v[i].hash;
	return (int64_t)n;
}

struct repeat
dedup_loops_find(const struct loops *l, struct loops_scratch *s,
		 struct words *words, int split, struct span text,
		 struct gopher_hit *hit, struct err *e)
{
	int64_t n = units(l, s, words, split, text, e);
	struct repeat r = {.rule = REPEAT_NONE};

	if (n < 0)
		return r;
	r = repeats_find(&s->rep, &l->o->rep, s->unit, (size_t)n);
	if (r.rule || !l->o->gopher.on)
		return r;
	if (l->bpe && !split)
		words_split(words, text);
	*hit = gopher_find(&s->gopher, &l->o->gopher, text, words->v,
			   words->n);
	if (hit->share >= 0)
		r.rule = REPEAT_GOPHER;
	return r;
}
