/*
 * align.c - where in a text its tokens are
 *
 * The text as the tokenizer splits it is made in `norm`, with the origin of
 * each of its bytes.  The tokens are then laid on it one after another.  Two
 * things are not part of it.  One is the space that the tokenizer puts before
 * a text, or before each section after an added token: it shows in that the
 * tokens have more bytes than the text.  The other is the unknown token,
 * which goes as far as the next token is found; so does what bpe_units() gives
 * for a character that SentencePiece cannot express.
 */
#include "tokenizer/align.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"

struct align_origin {
	uint32_t start, end;	/* in the text */
};

/* An id's bytes; those of bpe_units() from v->n on are one byte each. */
static struct span
token_of(const struct vocab *v, uint32_t id)
{
	if (id < v->n)
		return v->token[id];
	return (struct span){(const char *)&vocab_id_byte[
		vocab_byte_id[(id - v->n) & 255]], 1};
}

/* Does this id stand for characters that it does not spell? */
static int
is_unknown(const struct vocab *v, uint32_t id)
{
	return id == v->unk || (id >= v->n && v->kind == VOCAB_SENTENCEPIECE);
}

/* --- the text as the tokenizer splits it --- */

/* one: the n bytes come from [start, end) as a whole, else one from each. */
static void
put(struct align *x, const char *p, size_t n, size_t start, size_t end,
    int one)
{
	size_t i;

	GROW(x->from, x->cap, x->norm.n + n);
	for (i = 0; i < n; i++)
		x->from[x->norm.n + i] = (struct align_origin){
			(uint32_t)(one ? start : start + i),
			(uint32_t)(one ? end : start + i + 1)};
	buf_put(&x->norm, p, n);
}

/* End of the characters that are normalized together with the one at a. */
static size_t
segment_end(struct span t, size_t a)
{
	unsigned len;
	size_t b;

	uc_next(t.p + a, t.n - a, &len);
	for (b = a + len; b < t.n; b += len)
		if (uc_nfc_boundary(uc_next(t.p + b, t.n - b, &len)))
			break;
	return b;
}

/*
 * The segment t[a..b), whose normal form is in tmp.  What is equal at both
 * ends comes from the same bytes.
 */
static void
put_changed(struct align *x, size_t a, size_t b)
{
	const char *t = x->text.p, *q = x->tmp.p;
	size_t n = x->tmp.n, k = 0, m = 0, least;

	least = b - a < n ? b - a : n;
	while (k < least && t[a + k] == q[k])
		k++;
	while (k && ((a + k < b && utf8_is_cont(t[a + k])) ||
		     (k < n && utf8_is_cont(q[k]))))
		k--;
	while (m < least - k && t[b - m - 1] == q[n - m - 1])
		m++;
	while (m && utf8_is_cont(q[n - m]))
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
			put(x, VOCAB_SPACE, 3, a, b, 1);
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

/* After an unknown token at p: where next (n 0: none) may begin. */
static size_t
skip_unknown(const struct align *x, size_t p, struct span next)
{
	size_t end = x->norm.n;

	do {
		for (p += p < end; p < end && utf8_is_cont(x->norm.p[p]); p++)
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

/* Bytes that the tokens have more than the text; 0: unknown. */
static size_t
excess(const struct align *x, const uint32_t *ids, size_t n)
{
	size_t i, sum = 0;

	for (i = 0; i < n; i++) {
		if (is_unknown(x->v, ids[i]))
			return 0;
		sum += token_of(x->v, ids[i]).n;
	}
	return sum > x->norm.n ? sum - x->norm.n : 0;
}

/* at[i] is where token i begins in norm, at[n] the end of the last one. */
static void
lay(const struct align *x, const uint32_t *ids, size_t n, size_t *at)
{
	int sp = x->v->kind == VOCAB_SENTENCEPIECE;
	struct span space = span_str(sp ? VOCAB_SPACE : " ");
	size_t i, p = 0, more = excess(x, ids, n);

	for (i = 0; i < n; i++) {
		struct span s = token_of(x->v, ids[i]);
		int known = i + 1 < n && !is_unknown(x->v, ids[i + 1]);

		at[i] = p;
		if (is_unknown(x->v, ids[i])) {
			p = skip_unknown(x, p, known ?
					 token_of(x->v, ids[i + 1]) :
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

/* Where in the text the bytes of norm that a token covers come from. */
static void
origin(const struct align *x, size_t from, size_t to, size_t *a, size_t *b)
{
	*a = from < x->norm.n ? x->from[from].start : x->text.n;
	*b = to > from ? x->from[to - 1].end : *a;
}

void
align_range(const struct align *x, uint32_t *start, uint32_t *end)
{
	struct span t = x->text;
	size_t a, b;

	origin(x, x->at[*start], x->at[*end], &a, &b);
	while (a && a < t.n && utf8_is_cont(t.p[a]))
		a--;
	while (b < t.n && utf8_is_cont(t.p[b]))
		b++;
	*start = (uint32_t)a;
	*end = (uint32_t)b;
}

/* --- ends of all tokens --- */

/* How many bytes of p[0..n) a token spells, with a space for U+2581; else 0. */
static size_t
spells(const struct vocab *v, uint32_t id, const char *p, size_t n)
{
	struct span t = token_of(v, id);
	size_t i = 0, k = 0;

	if (is_unknown(v, id))
		return 0;
	if (v->kind != VOCAB_SENTENCEPIECE)
		return t.n <= n && !memcmp(t.p, p, t.n) ? t.n : 0;
	for (; i < t.n && k < n; k++) {
		if (t.n - i >= 3 && !memcmp(t.p + i, VOCAB_SPACE, 3)) {
			if (p[k] != ' ')
				return 0;
			i += 3;
		} else if (p[k] != t.p[i++]) {
			return 0;
		}
	}
	return i == t.n ? k : 0;
}

size_t
align_ends(const struct vocab *v, struct span text, uint32_t *ids, size_t n,
	   uint32_t *end)
{
	size_t i, at = 0, m = 0, len, from, to;
	struct align x;

	for (i = 0; i < n; i++) {
		len = spells(v, ids[i], text.p + at, text.n - at);
		if (!len)
			break;
		end[i] = (uint32_t)(at += len);
	}
	if (i == n && at == text.n)
		return n;
	align_init(&x, v, text, ids, n);
	for (i = at = 0; i < n; i++, at = to) {
		origin(&x, x.at[i], x.at[i + 1], &from, &to);
		if (i + 1 == n)
			to = text.n;
		if (to <= at) {
			to = at;
			continue;
		}
		ids[m] = spells(v, ids[i], text.p + at, to - at) == to - at ?
			ids[i] : ALIGN_OTHER;
		end[m++] = (uint32_t)to;
	}
	align_clear(&x);
	if (at < text.n && m)
		end[m - 1] = (uint32_t)text.n;
	return m;
}
