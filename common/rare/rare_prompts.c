/*
 * rare_prompts.c - see rare_prompts.h
 *
 * The token in X's place must be encoded as itself in every place, and occur
 * nowhere else.  The longest ordinary words are tried in turn, with and
 * without a leading space, until one fits.
 */
#include "rare/rare_prompts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stream/json.h"

enum { TRIES = 300 };

/* head, n times body, tail; \1 is X, and the last X is asked for. */
static const struct {
	const char *head, *body, *tail;
	int n;
} templates[RARE_PROMPTS] = {
	{"This device repeats its input exactly, as shown in these 100 "
	 "identical trials.", "\nInput: «\1»\nOutput: «\1»",
	 "\nInput: «\1»\nOutput: «\1", 20},
	{"You are a helpful assistant.\nQuestion: what does '\1' mean?\n"
	 "Answer: the meaning of", "", " '\1", 0},
	{"Below is the output, one string repeated indefinitely:\n", "\1",
	 "\1", 50},
};

static size_t
put_template(struct buf *b, const char *s, struct span x)
{
	size_t n = 0;

	for (; *s; s++)
		if (*s == '\1') {
			buf_put(b, x.p, x.n);
			n++;
		} else {
			buf_putc(b, *s);
		}
	return n;
}

static size_t
prompt_text(int k, struct span x, struct buf *b)
{
	size_t holes;
	int i;

	buf_reset(b);
	holes = put_template(b, templates[k].head, x);
	for (i = 0; i < templates[k].n; i++)
		holes += put_template(b, templates[k].body, x);
	return holes + put_template(b, templates[k].tail, x);
}

struct word {
	uint32_t id;
	size_t n;
};

static int
cmp_word(const void *a, const void *b)
{
	const struct word *x = a, *y = b;

	return x->n != y->n ? (x->n < y->n ? 1 : -1) :
	       (x->id > y->id) - (x->id < y->id);
}

/* Letters, perhaps after one space. */
static int
is_word(struct span s)
{
	size_t i = s.n && s.p[0] == ' ';

	if (i == s.n)
		return 0;
	for (; i < s.n; i++)
		if ((s.p[i] | 32) < 'a' || (s.p[i] | 32) > 'z')
			return 0;
	return 1;
}

static struct word *
words(const struct rare *r, size_t *n)
{
	struct word *w = xcalloc((size_t)r->n + 1, sizeof(*w));
	struct buf b = {0};
	uint32_t id;

	for (*n = 0, id = 0; id < r->n; id++) {
		if (r->category[id] != RARE_CAT_OK)
			continue;
		buf_reset(&b);
		rare_text(r, id, &b);
		if (is_word(buf_span(&b)))
			w[(*n)++] = (struct word){id, b.n};
	}
	buf_clear(&b);
	qsort(w, *n, sizeof(*w), cmp_word);
	return w;
}

/* Make a prompt with this token in X's place.  Returns 0 if it does not fit. */
static int
try_word(struct rare_prompts *p, int k, uint32_t id, struct span x,
	 struct buf *text)
{
	struct ids *ids = &p->ids[k];
	size_t holes = prompt_text(k, x, text), from = ids->n, i, n = 0;
	struct err why = {0};

	if (bpe_encode(p->enc, buf_span(text), ids, &why) < 0)
		return 0;
	for (i = from; i < ids->n; i++)
		n += ids->v[i] == id;
	if (n != holes || ids->v[ids->n - 1] != id) {
		ids->n = from;
		return 0;
	}
	ids->n--;
	p->hole[k] = id;
	return p->made[k] = 1;
}

int
rare_prompts_make(struct rare_prompts *p, const struct rare *r, int64_t bos,
		  struct err *e)
{
	struct buf text = {0}, x = {0};
	struct word *w;
	size_t n, i;
	int k;

	memset(p, 0, sizeof(*p));
	if (!r->vocab)
		return err_set(e, "prompts need a tokenizer");
	p->bpe = bpe_new(r->vocab, e);
	if (!p->bpe)
		return -1;
	p->enc = bpe_enc_new(p->bpe, 64 << 10);
	w = words(r, &n);
	for (k = 0; k < RARE_PROMPTS; k++) {
		if (bos >= 0)
			ids_add(&p->ids[k], (uint32_t)bos);
		for (i = 0; i < n && i < TRIES && !p->made[k]; i++) {
			buf_reset(&x);
			rare_text(r, w[i].id, &x);
			try_word(p, k, w[i].id, buf_span(&x), &text);
		}
	}
	free(w);
	buf_clear(&text);
	buf_clear(&x);
	return 0;
}

void
rare_prompts_clear(struct rare_prompts *p)
{
	int k;

	for (k = 0; k < RARE_PROMPTS; k++)
		free(p->ids[k].v);
	bpe_enc_free(p->enc);
	bpe_free(p->bpe);
	memset(p, 0, sizeof(*p));
}

void
rare_prompts_put(const struct rare_prompts *p, uint32_t id, struct buf *out)
{
	size_t i;
	int k;

	for (k = 0; k < RARE_PROMPTS; k++) {
		if (!p->made[k])
			continue;
		buf_printf(out, "{\"id\":\"%u/%d\",\"context\":[", id, k + 1);
		for (i = 0; i < p->ids[k].n; i++) {
			if (i)
				buf_putc(out, ',');
			json_put_uint(out, p->ids[k].v[i] == p->hole[k] ? id :
				      p->ids[k].v[i]);
		}
		buf_printf(out, "],\"continuation\":[%u],\"ahead\":%d}\n", id,
			   RARE_AHEAD);
	}
}

int
rare_prompts_encode(const struct rare_prompts *p, const struct rare *r,
		    uint32_t id)
{
	struct buf x = {0}, text = {0};
	struct ids ids = {0};
	struct err e = {0};
	int k, found = rare_is(r, id, RARE_SPECIAL);
	size_t i;

	rare_text(r, id, &x);
	for (k = 0; k < RARE_PROMPTS && !found; k++) {
		if (!p->made[k])
			continue;
		prompt_text(k, buf_span(&x), &text);
		ids.n = 0;
		bpe_units(p->enc, (struct span){text.p, text.n - x.n}, &ids,
			  &e);
		for (i = 0; i < ids.n; i++)
			found |= ids.v[i] == id;
	}
	free(ids.v);
	buf_clear(&x);
	buf_clear(&text);
	return found;
}
