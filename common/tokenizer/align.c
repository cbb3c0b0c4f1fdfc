/*
 * align.c - where in a text its tokens stand
 *
 * The text as the tokenizer cuts it is made in `norm`, and beside each of its
 * bytes the place of the characters that it came from.  The tokens are then
 * laid on it one behind another.  Two things are no part of it: the space that
 * is put in front of a text, or of each section behind an added token, as the
 * tokens have more bytes than the text; and the unknown token, which goes as
 * far as the next one is found.
 */
#include "tokenizer/align.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/unicode.h"

#define UNDERLINE "\xe2\x96\x81"	/* U+2581, SentencePiece's space */

struct align_origin {
	uint32_t start, end;	/* in the text */
};

static int
goes_on(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* --- the text as the tokenizer cuts it --- */

/* one: the n bytes come from [start, end) as a whole, else one from each. */
static void
put(struct align *x, const char *p, size_t n, size_t start, size_t end,
    int one)
{
	size_t i;

	if (x->norm.n + n > x->cap) {
		x->cap = 2 * (x->norm.n + n);
		x->from = xreallocarray(x->from, x->cap, sizeof(*x->from));
	}
	for (i = 0; i < n; i++)
		x->from[x->norm.n + i] = (struct align_origin){
			(uint32_t)(one ? start : start + i),
			(uint32_t)(one ? end : start + i + 1)};
	buf_put(&x->norm, p, n);
}

/* Where the characters end that are normalized with the one at a. */
static size_t
segment_end(struct span t, size_t a)
{
	unsigned len;
	size_t b;

	uc_next(t.p + a, t.n - a, &len);
	for (b = a + len; b < t.n; b += len)
		if (uc_nfc_bound(uc_next(t.p + b, t.n - b, &len)))
			break;
	return b;
}

/*
 * A segment t[a..b) that tmp is the normal form of: what is equal at its ends
 * stands for itself.
 */
static void
put_changed(struct align *x, size_t a, size_t b)
{
	const char *t = x->text.p, *q = x->tmp.p;
	size_t n = x->tmp.n, k = 0, m = 0, least;

	least = b - a < n ? b - a : n;
	while (k < least && t[a + k] == q[k])
		k++;
	while (k && ((a + k < b && goes_on(t[a + k])) ||
		     (k < n && goes_on(q[k]))))
		k--;
	while (m < least - k && t[b - m - 1] == q[n - m - 1])
		m++;
	while (m && goes_on(q[n - m]))
		m--;
	put(x, q, k, a, a + k, 0);
	put(x, q + k, n - k - m, a + k, b - m, 1);
	put(x, q + n - m, m, b - m, b, 0);
}

static void
normalize(struct align *x)
{
	struct span t = x->text, s;
	size_t a, b;

	for (a = 0; a < t.n; a = b) {
		b = x->v->nfc ? segment_end(t, a) : a + 1;
		s = (struct span){t.p + a, b - a};
		if (x->v->kind == VOCAB_SENTENCEPIECE && *s.p == ' ' &&
		    s.n == 1)
			put(x, UNDERLINE, 3, a, b, 1);
		else if (s.n > 1 && !uc_nfc(s, &x->tmp))
			put_changed(x, a, b);
		else
			put(x, s.p, s.n, a, b, 0);
	}
}

/* --- tokens on it --- */

static int
matches(const struct align *x, size_t p, struct span s)
{
	return s.n <= x->norm.n - p && !memcmp(x->norm.p + p, s.p, s.n);
}

/* Behind an unknown token at p: where next (n 0: none) may begin. */
static size_t
skip_unknown(const struct align *x, size_t p, struct span next)
{
	size_t end = x->norm.n;

	do {
		for (p += p < end; p < end && goes_on(x->norm.p[p]); p++)
			;
	} while (p < end && next.n && !matches(x, p, next));
	return p;
}

static int
is_added(const struct vocab *v, uint32_t id)
{
	size_t i;

	for (i = 0; i < v->nspecial; i++)
		if (v->special[i].id == id)
			return 1;
	return 0;
}

/* By how many bytes the tokens are more than the text; 0: not to be told. */
static size_t
excess(const struct align *x, const uint32_t *ids, size_t n)
{
	size_t i, sum = 0;

	for (i = 0; i < n; i++) {
		if (ids[i] == x->v->unk)
			return 0;
		sum += x->v->token[ids[i]].n;
	}
	return sum > x->norm.n ? sum - x->norm.n : 0;
}

/* at[i] is where token i begins in norm, at[n] the end of the last one. */
static void
lay(const struct align *x, const uint32_t *ids, size_t n, size_t *at)
{
	int sp = x->v->kind == VOCAB_SENTENCEPIECE;
	struct span space = span_str(sp ? UNDERLINE : " ");
	size_t i, p = 0, more = excess(x, ids, n);

	for (i = 0; i < n; i++) {
		struct span s = x->v->token[ids[i]];
		int known = i + 1 < n && ids[i + 1] != x->v->unk;

		at[i] = p;
		if (ids[i] == x->v->unk) {
			p = skip_unknown(x, p, known ?
					 x->v->token[ids[i + 1]] :
					 (struct span){NULL, 0});
			continue;
		}
		if ((i == 0 || is_added(x->v, ids[i - 1])) &&
		    more >= space.n && s.n >= space.n &&
		    !memcmp(s.p, space.p, space.n)) {
			s.n -= space.n;
			more -= space.n;
		}
		p += s.n < x->norm.n - p ? s.n : x->norm.n - p;
	}
	at[n] = p;
}

void
align_init(struct align *x, const struct vocab *v, struct span text,
	   const uint32_t *ids, size_t nids)
{
	*x = (struct align){.v = v, .text = text};
	x->at = xreallocarray(NULL, nids + 1, sizeof(*x->at));
	normalize(x);
	lay(x, ids, nids, x->at);
}

void
align_clear(struct align *x)
{
	free(x->at);
	free(x->from);
	buf_clear(&x->norm);
	buf_clear(&x->tmp);
}

void
align_range(const struct align *x, uint32_t *start, uint32_t *end)
{
	size_t from = x->at[*start], to = x->at[*end], a, b;
	struct span t = x->text;

	a = from < x->norm.n ? x->from[from].start : t.n;
	b = to > from ? x->from[to - 1].end : a;
	while (a && a < t.n && goes_on(t.p[a]))
		a--;
	while (b < t.n && goes_on(t.p[b]))
		b++;
	*start = (uint32_t)a;
	*end = (uint32_t)b;
}
