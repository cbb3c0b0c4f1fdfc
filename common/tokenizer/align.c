/*
 * align.c - where in a text its tokens are
 *
 * The text goes through the steps of bpe.c once more: added tokens are cut out
 * by bpe_added_next(), what is between them is normalized, cut again and given
 * the space that the tokenizer puts in front.  The result of each step is a
 * layer, whose bytes know where in the text they come from.  The tokens of a
 * section are then laid on its last layer one after another; they cover it.  As
 * in bpe_spm.c, a space stands for U+2581.
 */
#include "tokenizer/align.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"
#include "tokenizer/bpe_priv.h"

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

/* --- layers --- */

/* one: the n bytes come from [start, end) as a whole, else one from each. */
static void
put(struct align_layer *to, const char *p, size_t n, size_t start, size_t end,
    int one)
{
	size_t i;

	GROW(to->from, to->cap, to->text.n + n);
	for (i = 0; i < n; i++)
		to->from[to->text.n + i] = (struct align_place){
			(uint32_t)(one ? start : start + i),
			(uint32_t)(one ? end : start + i + 1)};
	buf_put(&to->text, p, n);
}

/* Is the character t, or what normalization makes of it, a boundary? */
static int
is_boundary(struct span t, struct buf *tmp)
{
	unsigned len;

	if (uc_nfc_boundary(uc_next(t.p, t.n, &len)))
		return 1;
	return !uc_nfc(t, tmp) && tmp->n &&
		uc_nfc_boundary(uc_next(tmp->p, tmp->n, &len));
}

/* End of the characters that are normalized together with the one at a. */
static size_t
segment_end(struct span t, size_t a, struct buf *tmp)
{
	unsigned len;
	size_t b;

	uc_next(t.p + a, t.n - a, &len);
	for (b = a + len; b < t.n; b += len) {
		uc_next(t.p + b, t.n - b, &len);
		if (is_boundary((struct span){t.p + b, len}, tmp))
			break;
	}
	return b;
}

/*
 * The segment t[a..b), whose normal form is new.  What is equal at both ends
 * comes from the same bytes.
 */
static void
put_changed(struct align_layer *to, const char *t, size_t a, size_t b,
	    struct span new)
{
	const char *q = new.p;
	size_t n = new.n, k = 0, m = 0, least;

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
	put(to, q, k, a, a + k, 0);
	put(to, q + k, n - k - m, a + k, b - m, 1);
	put(to, q + n - m, m, b - m, b, 0);
}

/* The text [a, end) as it is, or in normalization form C. */
static void
first_layer(struct align *x, size_t a, size_t end)
{
	struct span t = {x->text.p, end}, s;
	size_t b;

	buf_reset(&x->one.text);
	if (!x->b->v->nfc) {
		put(&x->one, t.p + a, end - a, a, end, 0);
		return;
	}
	for (; a < end; a = b) {
		b = segment_end(t, a, &x->tmp);
		s = (struct span){t.p + a, b - a};
		if (s.n > 1 && !uc_nfc(s, &x->tmp))
			put_changed(&x->one, t.p, a, b, buf_span(&x->tmp));
		else
			put(&x->one, s.p, s.n, a, b, 0);
	}
}

/*
 * Layer two from one[a..b): a space in front if space is set, and a space for
 * each U+2581 if marks is.
 */
static void
second_layer(struct align *x, size_t a, size_t b, int space, int marks)
{
	const struct align_place *from = x->one.from;
	const char *p = x->one.text.p;
	size_t n;

	buf_reset(&x->two.text);
	if (space)
		put(&x->two, " ", 1, from[a].start, from[a].start, 1);
	for (; a < b; a += n) {
		int mark = marks && b - a >= 3 &&
			!memcmp(p + a, VOCAB_SPACE, 3);

		n = mark ? 3 : 1;
		put(&x->two, mark ? " " : p + a, 1, from[a].start,
		    from[a + n - 1].end, 1);
	}
}

/* --- tokens on a section --- */

/* Token x->n is [a, b) of a layer. */
static void
place(struct align *x, const struct align_layer *l, size_t a, size_t b)
{
	if (x->n < x->nids)
		x->at[x->n++] = (struct align_place){l->from[a].start,
			l->from[b - 1].end};
}

/* The length of what a token spells, with a space for U+2581. */
static size_t
spelled(const struct vocab *v, uint32_t id)
{
	struct span t = token_of(v, id);
	size_t n = t.n, i;

	if (v->kind != VOCAB_SENTENCEPIECE)
		return n;
	for (i = 0; i + 3 <= t.n; i++)
		if (!memcmp(t.p + i, VOCAB_SPACE, 3))
			n -= 2;
	return n;
}

/* The length of the unknown token id at p[a], in a chunk p[0..n). */
static size_t
unknown(struct align *x, uint32_t id, const char *p, size_t n, size_t a,
	size_t *pos)
{
	const struct bpe *b = x->b;
	unsigned len = 1;
	size_t to = a + 1;

	if (b->merge.spm && id < b->v->n)
		return bpe_spm_unknown(b->merge.spm, p, n, pos);
	if (b->merge.spm) {
		uc_next(p + a, n - a, &len);
		return len;
	}
	for (; b->v->fuse_unk && to < n &&
	     b->merge.byte_id[(uint8_t)p[to]] == UINT32_MAX; to++)
		;
	return to - a;
}

static void
lay_chunk(struct align *x, const struct align_layer *l, size_t from, size_t to)
{
	const char *p = l->text.p + from;
	size_t n = to - from, a = 0, len, pos = 0;
	uint32_t id;

	for (; a < n && x->n < x->nids; a += len) {
		id = x->ids[x->n];
		len = is_unknown(x->b->v, id) ?
			unknown(x, id, p, n, a, &pos) : spelled(x->b->v, id);
		if (len == 0 || len > n - a)
			len = n - a;
		place(x, l, from + a, from + a + len);
	}
}

/* Unknown bytes fuse within a pre-token. */
static int
needs_split(const struct bpe *b)
{
	return b->v->kind == VOCAB_BYTE_LEVEL && b->v->fuse_unk &&
		b->v->unk >= 0;
}

static void
lay(struct align *x, const struct align_layer *l, size_t a, size_t b)
{
	const struct bpe *bpe = x->b;
	uint32_t ends[64];
	size_t pos = 0, from = a, k, i;
	struct err ignore = {0};	/* bpe_units() would have failed */

	if (!needs_split(bpe)) {
		lay_chunk(x, l, a, b);
		return;
	}
	if (!x->split)
		x->split = split_scratch_new(bpe->split);
	while (pos < b - a &&
	       (k = split_next(bpe->split, x->split, l->text.p + a, b - a,
			       &pos, ends, 64, &ignore)))
		for (i = 0; i < k; from = a + ends[i++])
			lay_chunk(x, l, from, a + ends[i]);
}

/* One[a..b), a section without added tokens: section() of bpe.c. */
static void
section(struct align *x, size_t a, size_t b, int first)
{
	const struct vocab *v = x->b->v;
	struct span t = {x->one.text.p + a, b - a};
	int space = v->add_prefix_space && t.n && *t.p != ' ';

	if (a >= b)
		return;
	if (v->metaspace)
		space = bpe_spm_puts(v->sp_prepend, t, first);
	if (!v->metaspace && !space) {
		lay(x, &x->one, a, b);
		return;
	}
	second_layer(x, a, b, space, v->metaspace);
	lay(x, &x->two, 0, x->two.text.n);
}

/* The text [a, b) between raw added tokens: normalized() of bpe.c. */
static void
between(struct align *x, size_t a, size_t b, int first)
{
	struct bpe_added_cut c = {.next = 0, .stop = 0};
	const struct bpe_added *added = x->b->normal;
	const struct vocab *v = x->b->v;
	struct span t = {x->text.p + a, b - a};
	size_t from = 0;

	if (a >= b)
		return;
	first_layer(x, a, b);
	if (x->b->merge.spm && !v->metaspace) {
		struct align_layer one = x->one;

		second_layer(x, 0, one.text.n,
			     bpe_spm_puts(v->sp_prepend, t, first), 1);
		x->one = x->two;
		x->two = one;
	}
	t = buf_span(&x->one.text);
	for (; added && bpe_added_next(added, t, &c); from = c.stop) {
		section(x, from, c.start, first && from == 0);
		place(x, &x->one, c.start, c.stop);
	}
	section(x, from, t.n, first && from == 0);
}

void
align_init(struct align *x, const struct bpe *b, struct span text,
	   const uint32_t *ids, size_t nids)
{
	struct bpe_added_cut c = {.next = 0, .stop = 0};
	size_t from = 0;

	*x = (struct align){.b = b, .text = text, .ids = ids, .nids = nids};
	x->at = xreallocarray(NULL, nids + 1, sizeof(*x->at));
	for (; b->raw && bpe_added_next(b->raw, text, &c); from = c.stop) {
		between(x, from, c.start, from == 0);
		if (x->n < nids)
			x->at[x->n++] = (struct align_place){
				(uint32_t)c.start, (uint32_t)c.stop};
	}
	between(x, from, text.n, from == 0);
	while (x->n < nids)	/* ids of another text */
		x->at[x->n++] = (struct align_place){(uint32_t)text.n,
			(uint32_t)text.n};
	split_scratch_free(x->split);
	buf_clear(&x->one.text);
	buf_clear(&x->two.text);
	buf_clear(&x->tmp);
	free(x->one.from);
	free(x->two.from);
}

void
align_clear(struct align *x)
{
	free(x->at);
}

void
align_range(const struct align *x, uint32_t *start, uint32_t *end)
{
	uint32_t a = x->at[*start].start, b = a, i;
	struct span t = x->text;

	for (i = *start; i < *end; i++) {	/* stripped text may overlap */
		a = x->at[i].start < a ? x->at[i].start : a;
		b = x->at[i].end > b ? x->at[i].end : b;
	}
	while (a && a < t.n && utf8_is_cont(t.p[a]))
		a--;
	while (b < t.n && utf8_is_cont(t.p[b]))
		b++;
	*start = a;
	*end = b;
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
align_ends(const struct bpe *b, struct span text, uint32_t *ids, size_t n,
	   uint32_t *end)
{
	const struct vocab *v = b->v;
	size_t i, at = 0, m = 0, len, to;
	struct align x;

	for (i = 0; i < n; i++) {
		len = spells(v, ids[i], text.p + at, text.n - at);
		if (!len)
			break;
		end[i] = (uint32_t)(at += len);
	}
	if (i == n && at == text.n)
		return n;
	align_init(&x, b, text, ids, n);
	for (i = at = 0; i < n; i++, at = to) {
		to = i + 1 == n ? text.n : x.at[i].end;
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
