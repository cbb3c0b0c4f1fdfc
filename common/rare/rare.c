/*
 * rare.c - see rare.h
 *
 * A merge makes its result of two parts, so a part that never stands alone
 * has been swallowed.
 */
#include "rare/rare.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "tokenizer/bpe.h"
#include "rare/rare_count.h"
#include "text/unicode.h"

const char *const rare_category_names[] = {
	"OK", "OK_SPECIAL", "UNREACHABLE_SPECIAL", "UNDECODEABLE",
	"UNREACHABLE_SINGLE_TOKEN", "UNREACHABLE_MULTI_TOKEN"
};

struct encoder {
	const struct vocab *v;
	struct bpe_enc *enc;
	struct ids prefix[2], r;	/* ids of the two prefixes */
	struct buf text;
};

static const char *const prefixes[2] = {"\u00ab", "\u00bb"};

static int
puts_space(const struct vocab *v)
{
	return v->add_prefix_space || (v->kind == VOCAB_SENTENCEPIECE &&
				       v->sp_prepend != VOCAB_PREPEND_NEVER);
}

/* Bytes of a token as text, a leading space kept. */
static void
raw_text(const struct vocab *v, uint32_t id, struct buf *out)
{
	struct span t = v->token[id];
	size_t i;

	if (v->kind == VOCAB_BYTE_LEVEL) {
		buf_put(out, t.p, t.n);
		return;
	}
	for (i = 0; i < t.n; i++)
		if (t.n - i >= 3 && memcmp(t.p + i, "\u2581", 3) == 0) {
			buf_putc(out, ' ');
			i += 2;
		} else {
			buf_putc(out, t.p[i]);
		}
}

/* As a decoder gives it; 1 when something had to be replaced. */
static int
valid(struct span s, struct buf *out)
{
	size_t i = 0;
	int k, bad = 0;

	while (i < s.n) {
		k = utf8_step(s.p + i, s.n - i);
		if (k > 0) {
			buf_put(out, s.p + i, (size_t)k);
		} else {
			buf_puts(out, "\ufffd");
			bad = 1;
		}
		i += (size_t)(k > 0 ? k : -k);
	}
	return bad;
}

void
rare_text(const struct rare *r, uint32_t id, struct buf *out)
{
	struct buf raw = {0};

	if (!r->vocab || (r->flags[id] & RARE_NO_TOKEN))
		return;
	raw_text(r->vocab, id, &raw);
	valid(buf_span(&raw), out);
	buf_clear(&raw);
}

/* ---- encode(decode(i)) ---- */

static int
encoder_init(struct encoder *c, const struct bpe *b, const struct vocab *v)
{
	int i;

	memset(c, 0, sizeof(*c));
	c->v = v;
	c->enc = bpe_enc_new(b, 64 << 10);
	for (i = 0; i < 2 && puts_space(v); i++)
		bpe_encode(c->enc, span_str(prefixes[i]), &c->prefix[i]);
	return 0;
}

static void
encoder_clear(struct encoder *c)
{
	bpe_enc_free(c->enc);
	free(c->prefix[0].v);
	free(c->prefix[1].v);
	free(c->r.v);
	buf_clear(&c->text);
}

/* Ids of s in c->r, from *at on. */
static void
encode(struct encoder *c, struct span s, size_t *at)
{
	const struct ids *p;
	int i;

	*at = 0;
	if (!puts_space(c->v)) {
		c->r.n = 0;
		bpe_encode(c->enc, s, &c->r);
		return;
	}
	for (i = 0; i < 2; i++) {
		p = &c->prefix[i];
		buf_reset(&c->text);
		buf_puts(&c->text, prefixes[i]);
		buf_put(&c->text, s.p, s.n);
		c->r.n = 0;
		bpe_encode(c->enc, buf_span(&c->text), &c->r);
		if (c->r.n >= p->n && p->n &&
		    !memcmp(c->r.v, p->v, p->n * sizeof(*p->v))) {
			*at = p->n;
			return;
		}
	}
}

/* <one> or [one] with a letter; at least three characters. */
static int
looks_special(struct span s)
{
	size_t i = 0, chars = 0;
	int letter = 0;
	unsigned len;

	if (s.n < 3 || !strchr("[<", s.p[0]) || !s.p[0] ||
	    !strchr("]>", s.p[s.n - 1]) || !s.p[s.n - 1])
		return 0;
	while (i < s.n) {
		letter |= (uc_class(uc_next(s.p + i, s.n - i, &len)) &
			   UC_LETTER) != 0;
		i += len;
		chars++;
	}
	return letter && chars >= 3;
}

/* <unused7>, [UNUSED3], <|reserved_special_token_3|> */
static int
is_reserved(struct span s)
{
	static const char *const words[] = {"unused", "reserved"};
	size_t i, k, n;

	if (!looks_special(s))
		return 0;
	for (i = 1; i < s.n && strchr("<[|_", s.p[i]) && s.p[i]; i++)
		;
	for (k = 0; k < 2; k++) {
		n = strlen(words[k]);
		if (s.n - i > n && !strncasecmp(s.p + i, words[k], n))
			return 1;
	}
	return 0;
}

static int
is_never(struct span t)
{
	unsigned char c = t.n == 1 ? (unsigned char)t.p[0] : 0;

	return c == 0xc0 || c == 0xc1 || c >= 0xf5;
}

static void
categorize(struct rare *r, struct encoder *c, uint32_t id, struct buf *s)
{
	const struct vocab *v = r->vocab;
	size_t at;
	int bad;

	buf_reset(s);
	if (id >= v->n || !v->token[id].p) {
		r->flags[id] = RARE_NO_TOKEN | RARE_UNUSED;
		r->category[id] = RARE_CAT_UNREACHABLE_MULTI;
		return;
	}
	rare_text(r, id, s);
	bad = s->n != v->token[id].n ||
	      memcmp(s->p, v->token[id].p, s->n) != 0;
	if (bad && v->kind == VOCAB_SENTENCEPIECE) {
		struct buf again = {0};

		bad = valid(v->token[id], &again);
		buf_clear(&again);
	}
	if (bad)
		r->flags[id] |= RARE_NO_UTF8;
	if (v->flags[id] & VOCAB_SPECIAL)
		r->flags[id] |= RARE_SPECIAL;
	if (is_reserved(buf_span(s)))
		r->flags[id] |= RARE_RESERVED | RARE_UNUSED;
	if (is_never(v->token[id]))
		r->flags[id] |= RARE_UNUSED;
	if (r->flags[id] & RARE_SPECIAL) {
		r->category[id] = RARE_CAT_OK_SPECIAL;
		return;
	}
	encode(c, buf_span(s), &at);
	if (c->r.n - at == 1 && c->r.v[at] == id)
		r->category[id] = RARE_CAT_OK;
	else if (looks_special(buf_span(s)))
		r->category[id] = RARE_CAT_UNREACHABLE_SPECIAL;
	else if (bad || (s->n >= 3 && memmem(s->p, s->n, "\ufffd", 3)))
		r->category[id] = RARE_CAT_UNDECODEABLE;
	else if (c->r.n - at == 1)
		r->category[id] = RARE_CAT_UNREACHABLE_SINGLE;
	else
		r->category[id] = RARE_CAT_UNREACHABLE_MULTI;
	if (v->kind == VOCAB_SENTENCEPIECE && (v->flags[id] & VOCAB_BYTE) &&
	    r->category[id] == RARE_CAT_UNREACHABLE_SINGLE)
		r->flags[id] |= RARE_UNUSED;
}

int
rare_init(struct rare *r, const struct vocab *v, uint32_t n, struct err *e)
{
	struct buf s = {0};
	struct encoder c;
	struct bpe *b;
	uint32_t id;

	memset(r, 0, sizeof(*r));
	r->vocab = v;
	r->n = n;
	r->category = xcalloc((size_t)n + 1, 1);
	r->flags = xcalloc((size_t)n + 1, sizeof(*r->flags));
	if (!v)
		return 0;
	b = bpe_new(v, e);
	if (!b)
		return -1;
	encoder_init(&c, b, v);
	for (id = 0; id < n; id++)
		categorize(r, &c, id, &s);
	encoder_clear(&c);
	bpe_free(b);
	buf_clear(&s);
	return 0;
}

void
rare_clear(struct rare *r)
{
	free(r->category);
	free(r->flags);
	free(r->swallowed_by);
	memset(r, 0, sizeof(*r));
}

/* ---- --unused ---- */

/* A number at *p, moved behind it. */
static int
number(const char **p, uint32_t *out)
{
	uint64_t x = 0;
	const char *s = *p;

	while (*s >= '0' && *s <= '9' && x < UINT32_MAX)
		x = 10 * x + (uint64_t)(*s++ - '0');
	if (s == *p || x >= UINT32_MAX)
		return -1;
	*p = s;
	*out = (uint32_t)x;
	return 0;
}

int
rare_unused(struct rare *r, const char *list, struct err *e)
{
	const char *p = list;
	uint32_t from, to;

	for (;;) {
		if (number(&p, &from))
			break;
		to = from;
		if (*p == '-' && (p++, number(&p, &to)))
			break;
		if (to < from)
			return err_set(e, "--unused: %u-%u runs backwards",
				       from, to);
		if (to >= r->n)
			return err_set(e, "--unused: id %u, but there are ids "
				       "0 to %u", to, r->n - 1);
		for (; from <= to; from++)
			r->flags[from] |= RARE_UNUSED | RARE_GIVEN;
		if (!*p)
			return 0;
		if (*p++ != ',')
			break;
	}
	return err_set(e, "--unused: '%s' is no list of ids such as "
		       "7,9,100-120", list);
}

/* ---- counts ---- */

/* The token with most that a merge makes of this one. */
static void
swallow(struct rare *r, const struct rare_counts *c)
{
	const struct vocab *v = r->vocab;
	uint32_t part, by, res;
	size_t m, k;

	for (m = 0; m < v->nmerges; m++) {
		res = v->merge[m][2];
		for (k = 0; k < 2; k++) {
			part = v->merge[m][k];
			by = r->swallowed_by[part];
			if (part != res &&
			    (by == RARE_NONE ||
			     c->v[res].count > c->v[by].count ||
			     (c->v[res].count == c->v[by].count && res < by)))
				r->swallowed_by[part] = res;
		}
	}
}

/*
 * best[]: the greatest count of all that merges make of a token, and of what
 * is made of that.  One walk is enough where merges stand in the order of
 * training; in files of SentencePiece they do not, so walk until nothing
 * changes.
 */
static void
hand_down(const struct vocab *v, const struct rare_counts *c, uint64_t *best)
{
	int changed = 1;
	size_t m, k;

	while (changed)
		for (changed = 0, m = v->nmerges; m-- > 0;) {
			const uint32_t *x = v->merge[m];
			uint64_t most = c->v[x[2]].count > best[x[2]] ?
					c->v[x[2]].count : best[x[2]];

			for (k = 0; k < 2; k++)
				if (x[k] != x[2] && best[x[k]] < most) {
					best[x[k]] = most;
					changed = 1;
				}
		}
}

void
rare_join(struct rare *r, const struct rare_counts *c, uint64_t min_count)
{
	uint64_t *best = xcalloc((size_t)r->n + 1, sizeof(*best));
	uint32_t id;

	r->counts = c;
	r->min_count = min_count;
	r->swallowed_by = xreallocarray(NULL, (size_t)r->n + 1,
					sizeof(*r->swallowed_by));
	for (id = 0; id < r->n; id++)
		r->swallowed_by[id] = RARE_NONE;
	swallow(r, c);
	hand_down(r->vocab, c, best);
	for (id = 0; id < r->n; id++) {
		if (c->v[id].count && !(r->flags[id] & RARE_GIVEN))
			r->flags[id] &= (uint16_t)~RARE_UNUSED;
		if (id == c->bos || id == c->eos)
			r->flags[id] |= RARE_BOUNDARY;
		if (c->v[id].count >= min_count)
			continue;
		if (best[id] >= min_count)
			r->flags[id] |= RARE_STEP;
		else if (r->category[id] == RARE_CAT_OK &&
			 !(r->flags[id] & (RARE_UNUSED | RARE_BOUNDARY)))
			r->flags[id] |= RARE_RARE;
	}
	free(best);
}
