/*
 * rare.c - see rare.h
 */
#include "rare/rare.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/unicode.h"
#include "tokenizer/bpe.h"

const char *const rare_category_names[] = {
	"OK", "OK_SPECIAL", "UNREACHABLE_SPECIAL", "UNDECODEABLE",
	"UNREACHABLE_SINGLE_TOKEN", "UNREACHABLE_MULTI_TOKEN"
};

/* ---- text of a token ---- */

/* One character as a decoder gives it.  Returns the bytes read. */
static size_t
put_char(const char *p, size_t n, struct buf *out)
{
	int k = utf8_step(p, n);

	if (k > 0)
		buf_put(out, p, (size_t)k);
	else
		buf_puts(out, "\ufffd");
	return (size_t)(k > 0 ? k : -k);
}

void
rare_text(const struct rare *r, uint32_t id, struct buf *out)
{
	struct span t;
	size_t i, mark = strlen(VOCAB_SPACE);

	if (!r->vocab || rare_is(r, id, RARE_NO_TOKEN))
		return;
	t = r->vocab->token[id];
	for (i = 0; i < t.n;)
		if (r->vocab->kind == VOCAB_SENTENCEPIECE && t.n - i >= mark &&
		    !memcmp(t.p + i, VOCAB_SPACE, mark)) {
			buf_putc(out, ' ');
			i += mark;
		} else {
			i += put_char(t.p + i, t.n - i, out);
		}
}

/* ---- encode(decode(i)) ---- */

struct encoder {
	struct bpe *bpe;
	struct bpe_enc *enc;
	int puts_space;			/* in front of a text */
	struct ids prefix[2], r;	/* ids of the two prefixes, of a text */
	struct buf text;
};

static const char *const prefixes[2] = {"\u00ab", "\u00bb"};

static int
encoder_init(struct encoder *c, const struct vocab *v, struct err *e)
{
	int i;

	memset(c, 0, sizeof(*c));
	c->bpe = bpe_new(v, e);
	if (!c->bpe)
		return -1;
	c->enc = bpe_enc_new(c->bpe, 64 << 10);
	c->puts_space = v->add_prefix_space ||
			(v->kind == VOCAB_SENTENCEPIECE &&
			 v->sp_prepend != VOCAB_PREPEND_NEVER);
	for (i = 0; i < 2 && c->puts_space; i++)
		if (bpe_units(c->enc, span_str(prefixes[i]), &c->prefix[i],
			      e) < 0)
			return -1;
	return 0;
}

static void
encoder_clear(struct encoder *c)
{
	bpe_enc_free(c->enc);
	bpe_free(c->bpe);
	free(c->prefix[0].v);
	free(c->prefix[1].v);
	free(c->r.v);
	buf_clear(&c->text);
}

/* Encode s into c->r, which stays empty where that is not possible.  Returns
 * where its ids start, past a prefix. */
static size_t
encode(struct encoder *c, struct span s)
{
	const struct ids *p;
	struct err e;
	int i;

	e.set = 0;
	c->r.n = 0;
	if (!c->puts_space) {
		bpe_units(c->enc, s, &c->r, &e);
		return 0;
	}
	for (i = 0; i < 2; i++) {
		p = &c->prefix[i];
		buf_reset(&c->text);
		buf_puts(&c->text, prefixes[i]);
		buf_put(&c->text, s.p, s.n);
		c->r.n = 0;
		bpe_units(c->enc, buf_span(&c->text), &c->r, &e);
		if (c->r.n >= p->n && p->n &&
		    !memcmp(c->r.v, p->v, p->n * sizeof(*p->v)))
			return p->n;
	}
	return 0;
}

/* ---- categories ---- */

/* <one> or [one] with a letter; at least three characters. */
static int
looks_special(struct span s)
{
	size_t i = 0, chars = 0;
	int letter = 0;
	unsigned len;

	if (s.n < 3 || !memchr("[<", s.p[0], 2) ||
	    !memchr("]>", s.p[s.n - 1], 2))
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
	size_t i;

	if (!looks_special(s))
		return 0;
	for (i = 1; i < s.n && memchr("<[|_", s.p[i], 4); i++)
		;
	return (s.n - i > 6 && !strncasecmp(s.p + i, "unused", 6)) ||
	       (s.n - i > 8 && !strncasecmp(s.p + i, "reserved", 8));
}

/* A byte that UTF-8 never uses. */
static int
is_never(struct span t)
{
	unsigned char c = t.n == 1 ? (unsigned char)t.p[0] : 0;

	return c == 0xc0 || c == 0xc1 || c >= 0xf5;
}

static enum rare_category
category(struct encoder *c, uint32_t id, struct span s, int valid)
{
	size_t at = encode(c, s), n = c->r.n - at;

	if (n == 1 && c->r.v[at] == id)
		return RARE_CAT_OK;
	if (looks_special(s))
		return RARE_CAT_UNREACHABLE_SPECIAL;
	if (!valid || (s.n >= 3 && memmem(s.p, s.n, "\ufffd", 3)))
		return RARE_CAT_UNDECODEABLE;
	return n == 1 ? RARE_CAT_UNREACHABLE_SINGLE :
			RARE_CAT_UNREACHABLE_MULTI;
}

static void
categorize(struct rare *r, struct encoder *c, uint32_t id, struct buf *s)
{
	const struct vocab *v = r->vocab;
	unsigned flags = 0;
	struct span t;
	int valid;

	if (id >= v->n || !v->token[id].p) {
		r->flags[id] = RARE_NO_TOKEN | RARE_UNUSED;
		r->category[id] = RARE_CAT_NONE;
		return;
	}
	t = v->token[id];
	valid = utf8_valid(t.p, t.n);
	buf_reset(s);
	rare_text(r, id, s);
	if (!valid)
		flags |= RARE_NO_UTF8;
	if (v->flags[id] & VOCAB_SPECIAL)
		flags |= RARE_SPECIAL;
	if (is_reserved(buf_span(s)))
		flags |= RARE_RESERVED | RARE_UNUSED;
	if (is_never(t))
		flags |= RARE_UNUSED;
	r->category[id] = flags & RARE_SPECIAL ? RARE_CAT_OK_SPECIAL :
			  category(c, id, buf_span(s), valid);
	if (v->kind == VOCAB_SENTENCEPIECE && (v->flags[id] & VOCAB_BYTE) &&
	    r->category[id] == RARE_CAT_UNREACHABLE_SINGLE)
		flags |= RARE_UNUSED;
	r->flags[id] = (uint16_t)flags;
}

int
rare_init(struct rare *r, const struct vocab *v, uint32_t n, struct err *e)
{
	struct buf s = {0};
	struct encoder c;
	uint32_t id;

	memset(r, 0, sizeof(*r));
	r->vocab = v;
	r->n = n;
	r->category = xcalloc((size_t)n + 1, 1);
	r->flags = xcalloc((size_t)n + 1, sizeof(*r->flags));
	if (!v)
		return 0;
	if (encoder_init(&c, v, e))
		return -1;
	for (id = 0; id < n; id++)
		categorize(r, &c, id, &s);
	encoder_clear(&c);
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

int
rare_parse_id(const char **p, uint32_t *id)
{
	uint64_t x = 0;
	const char *s = *p;

	while (*s >= '0' && *s <= '9' && x < UINT32_MAX)
		x = 10 * x + (uint64_t)(*s++ - '0');
	if (s == *p || x >= UINT32_MAX)
		return -1;
	*p = s;
	*id = (uint32_t)x;
	return 0;
}

int
rare_unused(struct rare *r, const char *list, struct err *e)
{
	const char *p = list;
	uint32_t from, to;

	do {
		if (rare_parse_id(&p, &from))
			break;
		to = from;
		if (*p == '-' && (p++, rare_parse_id(&p, &to)))
			break;
		if (to < from)
			return err_set(e, "unused ids: %u-%u runs backwards",
				       from, to);
		if (to >= r->n)
			return err_set(e, "unused ids: %u is out of range: "
				       "ids are 0 to %u", to, r->n - 1);
		for (; from <= to; from++)
			r->flags[from] |= RARE_UNUSED | RARE_GIVEN;
		if (!*p)
			return 0;
	} while (*p++ == ',');
	return err_set(e, "unused ids: '%s' is not a list such as "
		       "7,9,100-120", list);
}
