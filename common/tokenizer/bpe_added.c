/*
 * bpe_added.c - added tokens, cut out of a text before it is split
 *
 * A bit for each pair of first bytes rules out most places of a text.  At the
 * others one hash look-up for each length that a token with this first byte
 * has, longest first: the time does not depend on the number of tokens.
 */
#include "tokenizer/bpe_added_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "record/names.h"
#include "text/unicode.h"
#include "tokenizer/bpe_spm_priv.h"

struct bpe_added {
	const struct vocab_special **of;	/* [n] */
	struct span *text;	/* [n] as they are matched */
	size_t n;
	struct name_table names;	/* text to its index */
	size_t *len;		/* lengths by first byte, longest first */
	size_t len_at[257];	/* of byte b: from len_at[b] to len_at[b + 1] */
	uint64_t pair[1024];	/* a bit for each pair of first bytes */
	int mark;		/* a space is U+2581, not white space */
	char *bytes;		/* of all texts */
};

struct length {
	size_t n;
	uint8_t first;
};

static int
cmp_length(const void *a, const void *b)
{
	const struct length *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->n < y->n) - (x->n > y->n);
}

/* The distinct lengths of each first byte. */
static void
set_lengths(struct bpe_added *a)
{
	struct length *l = xcalloc(a->n, sizeof(*l));
	size_t i, k = 0;

	for (i = 0; i < a->n; i++)
		l[i] = (struct length){a->text[i].n, (uint8_t)*a->text[i].p};
	qsort(l, a->n, sizeof(*l), cmp_length);
	a->len = xcalloc(a->n, sizeof(*a->len));
	for (i = 0; i < a->n; i++)
		if (i == 0 || cmp_length(&l[i], &l[i - 1])) {
			a->len[k++] = l[i].n;
			a->len_at[l[i].first + 1] = k;
		}
	for (i = 1; i < 257; i++)
		if (a->len_at[i] < a->len_at[i - 1])
			a->len_at[i] = a->len_at[i - 1];
	free(l);
}

static void
set_pair(struct bpe_added *a, struct span t)
{
	unsigned f = (uint8_t)t.p[0] << 8;

	for (unsigned k = 0; k < 256; k++)
		if (t.n == 1 || k == (uint8_t)t.p[1])
			a->pair[(f | k) >> 6] |= UINT64_C(1) << (k & 63);
}

/* What normalization makes of an added token's text. */
static struct span
normalize(const struct vocab *v, struct span t, struct buf *tmp)
{
	if (v->nfc && !uc_nfc(t, tmp))
		return buf_span(tmp);
	if (v->kind == VOCAB_SENTENCEPIECE && !v->metaspace)
		return bpe_spm_text(v->sp_prepend, t, 1, tmp);
	return t;
}

struct bpe_added *
bpe_added_new(const struct vocab *v, int normalized)
{
	struct bpe_added *a = xcalloc(1, sizeof(*a));
	struct buf all = {0}, tmp = {0};
	size_t off = 0;
	int any = 0;

	a->of = xcalloc(v->nspecial + 1, sizeof(*a->of));
	a->text = xcalloc(v->nspecial + 1, sizeof(*a->text));
	for (size_t i = 0; i < v->nspecial; i++) {
		const struct vocab_special *s = &v->special[i];
		struct span t = s->text;

		if (!s->normalized != !normalized)
			continue;
		if (normalized)
			t = normalize(v, t, &tmp);
		buf_put(&all, t.p, t.n);
		a->of[a->n] = s;
		a->text[a->n++].n = t.n;
		any |= !s->special;
	}
	buf_clear(&tmp);
	a->bytes = all.p;
	names_init(&a->names, a->text, a->n + 1);
	for (size_t i = 0; i < a->n; off += a->text[i++].n) {
		a->text[i].p = a->bytes + off;
		set_pair(a, a->text[i]);
		if (names_find(&a->names, a->text[i]) < 0)
			names_add(&a->names, (uint32_t)i);
	}
	a->mark = normalized && v->kind == VOCAB_SENTENCEPIECE &&
		!v->metaspace;
	if (!any) {
		bpe_added_free(a);
		return NULL;
	}
	set_lengths(a);
	return a;
}

void
bpe_added_free(struct bpe_added *a)
{
	if (!a)
		return;
	names_clear(&a->names);
	free(a->of);
	free(a->text);
	free(a->len);
	free(a->bytes);
	free(a);
}

/* The longest token at p, or -1. */
static int64_t
longest(const struct bpe_added *a, const char *p, size_t n)
{
	unsigned f = (uint8_t)*p;

	for (size_t i = a->len_at[f]; i < a->len_at[f + 1]; i++) {
		int64_t k = a->len[i] > n ? -1 :
			names_find(&a->names, (struct span){p, a->len[i]});

		if (k >= 0)
			return k;
	}
	return -1;
}

/* --- the text around a token --- */

/* \w of Rust's regex: Alphabetic, M, Nd, Pc and the two joiners. */
static int
is_word(uint32_t c)
{
	enum uc_cat k = uc_cat(c);

	return (uc_class(c) & (UC_LETTER | UC_MARK)) || k == UC_ND ||
		k == UC_NL || k == UC_PC || c == 0x200c || c == 0x200d ||
		(c >= 0x24b6 && c <= 0x24e9) ||
		(c >= 0x1f130 && c <= 0x1f149) ||
		(c >= 0x1f150 && c <= 0x1f169) ||
		(c >= 0x1f170 && c <= 0x1f189);
}

/* The character that ends at t.p + i > t.p. */
static uint32_t
char_before(struct span t, size_t i, unsigned *len)
{
	size_t k = i - 1;

	while (k && ((uint8_t)t.p[k] & 0xc0) == 0x80)
		k--;
	return uc_next(t.p + k, i - k, len);
}

int
bpe_added_in_word(struct span t, size_t start, size_t stop)
{
	unsigned len;

	return (start && is_word(char_before(t, start, &len))) ||
		(stop < t.n && is_word(uc_next(t.p + stop, t.n - stop, &len)));
}

static int
is_white(const struct bpe_added *a, uint32_t c)
{
	return (uc_class(c) & UC_SPACE) && !(a->mark && c == ' ');
}

/* 0: the token before it, which ends at `before`, has stripped it whole. */
static int
strip(const struct bpe_added *a, const struct vocab_special *s, struct span t,
      size_t before, struct bpe_added_cut *c)
{
	unsigned len;

	while (s->lstrip && c->start > before &&
	       is_white(a, char_before(t, c->start, &len)))
		c->start -= len;
	if (s->lstrip && c->start < before)
		c->start = before;
	while (s->rstrip && c->stop < t.n &&
	       is_white(a, uc_next(t.p + c->stop, t.n - c->stop, &len)))
		c->stop += len;
	return c->start < c->stop;
}

int
bpe_added_next(const struct bpe_added *a, struct span t,
	       struct bpe_added_cut *c)
{
	size_t i = c->next, before = c->stop;

	while (i < t.n) {
		unsigned f = (unsigned)(uint8_t)t.p[i] << 8 |
			(i + 1 < t.n ? (uint8_t)t.p[i + 1] : 0);
		const struct vocab_special *s;
		int64_t k = -1;

		if (a->pair[f >> 6] >> (f & 63) & 1 || i + 1 == t.n)
			k = longest(a, t.p + i, t.n - i);
		if (k < 0) {
			i++;
			continue;
		}
		s = a->of[k];
		c->next = i + a->text[k].n;
		if (!s->special && !(s->single_word &&
				     bpe_added_in_word(t, i, c->next))) {
			c->id = s->id;
			c->start = i;
			c->stop = c->next;
			if (strip(a, s, t, before, c))
				return 1;
			c->stop = before;
		}
		i = c->next;
	}
	return 0;
}
