/*
 * align.c - where in a text its tokens are
 *
 * The text as the tokenizer splits it is made in `norm`, with the origin of
 * each of its bytes.  The tokens are then laid on it one after another.  Two
 * things are not part of it.  One is the space that the tokenizer puts before
 * a text, or before each section after an added token.  The other is the
 * unknown token, which goes as far as the next token is found; so does what
 * bpe_units() gives for a character that SentencePiece cannot express.
 */
#include "tokenizer/align.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"
#include "tokenizer/bpe_added_priv.h"

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

/* Is it matched in a text where U+2581 has replaced the spaces? */
static int
sees_marks(const struct align *x, const struct vocab_special *s)
{
	return x->v->kind == VOCAB_SENTENCEPIECE && s->normalized &&
		!x->v->metaspace;
}

/* White space at p that s may strip. */
static size_t
white(const struct align *x, const struct vocab_special *s, size_t p)
{
	size_t n = x->norm.n - p;
	unsigned len = 0;

	if (matches(x, p, span_str(VOCAB_SPACE)))
		return x->from[p].start == x->from[p + 1].start &&
			!sees_marks(x, s) ? 3 : 0;	/* was a space */
	if (n && (uc_class(uc_next(x->norm.p + p, n, &len)) & UC_SPACE))
		return len;
	return 0;
}

/* An added token's text as it is in norm. */
static struct span
added_text(const struct align *x, const struct vocab_special *s,
	   struct buf *tmp)
{
	struct span t = s->text;

	if (x->v->nfc && !uc_nfc(t, tmp))
		return buf_span(tmp);
	if (x->v->kind != VOCAB_SENTENCEPIECE)
		return t;
	buf_reset(tmp);
	if (sees_marks(x, s) && x->v->sp_prepend == VOCAB_PREPEND_EACH)
		buf_puts(tmp, VOCAB_SPACE);
	for (size_t i = 0; i < t.n; i++)
		if (t.p[i] == ' ')
			buf_puts(tmp, VOCAB_SPACE);
		else
			buf_putc(tmp, t.p[i]);
	return buf_span(tmp);
}

/* Does the next token, cut out first, keep this one from stripping at p? */
static int
is_taken(const struct align *x, const struct vocab_special *s,
	 const struct vocab_special *next, size_t p)
{
	struct buf tmp = {0};
	int rc;

	if (!s->normalized || !next || next->special || next->normalized)
		return 0;
	rc = next->lstrip || matches(x, p, added_text(x, next, &tmp));
	buf_clear(&tmp);
	return rc;
}

/* Is added token s, spelled t, cut out at p? */
static int
is_cut(const struct align *x, const struct vocab_special *s,
       const struct vocab_special *next, size_t p, struct span t)
{
	struct span all = buf_span(&x->norm);

	if (!matches(x, p, t))
		return 0;
	if (is_taken(x, s, next, p + t.n))
		all.n = p + t.n;
	return !s->single_word || !bpe_added_in_word(all, p, p + t.n);
}

/*
 * The end of an added token at p, with what it strips; 0: it is not there.
 * put: a space before p is not part of norm.
 */
static size_t
added_end(const struct align *x, const struct vocab_special *s,
	  const struct vocab_special *next, size_t p, int put)
{
	struct buf tmp = {0};
	struct span t = added_text(x, s, &tmp);
	size_t n = 1;
	int found;

	if (put && sees_marks(x, s) &&
	    x->v->sp_prepend == VOCAB_PREPEND_EACH)
		t = (struct span){t.p + 3, t.n - 3};
	while (!(found = is_cut(x, s, next, p, t)) && s->lstrip && n)
		p += n = matches(x, p, t) ? t.n : white(x, s, p);
	p = found ? p + t.n : 0;
	buf_clear(&tmp);
	for (n = p; p && n && s->rstrip && !is_taken(x, s, next, p); p += n)
		n = white(x, s, p);
	return p;
}

/* Is the space in front of a section's first token, at p, put there? */
static int
space_is_put(const struct align *x, struct span space, size_t p,
	     const struct vocab_special *prev)
{
	if (x->v->sp_prepend == VOCAB_PREPEND_EACH)
		return !prev || !prev->normalized;
	return !matches(x, p, space);
}

/* at[i] is where token i begins in norm, at[n] the end of the last one. */
static void
lay(const struct align *x, const uint32_t *ids, size_t n, size_t *at)
{
	int sp = x->v->kind == VOCAB_SENTENCEPIECE;
	struct span space = span_str(sp ? VOCAB_SPACE : " ");
	const struct vocab_special *cut = NULL;	/* token i, if cut out */
	size_t i, p = 0, end;

	for (i = 0; i < n; i++) {
		struct span s = token_of(x->v, ids[i]);
		int known = i + 1 < n && !is_unknown(x->v, ids[i + 1]);
		int put = (i == 0 || cut) && space_is_put(x, space, p, cut);

		at[i] = p;
		cut = vocab_added(x->v, ids[i]);
		if (cut && !cut->special && (end = added_end(x, cut, i + 1 < n ?
		    vocab_added(x->v, ids[i + 1]) : NULL, p, put))) {
			p = end;
			continue;
		}
		cut = NULL;
		if (is_unknown(x->v, ids[i])) {
			p = skip_unknown(x, p, known ?
					 token_of(x->v, ids[i + 1]) :
					 (struct span){NULL, 0});
			continue;
		}
		if (put && s.n >= space.n && !memcmp(s.p, space.p, space.n))
			s = (struct span){s.p + space.n, s.n - space.n};
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
