/*
 * bpe.c - a text to sections, sections to pieces, pieces to ids
 *
 * In tokenizers' order: added tokens that are not special and not
 * `normalized` are cut out of the text; what is left is normalized; added
 * tokens that are `normalized` are cut out; what is left is split into
 * pieces, each of which is merged by itself.  Of added tokens the leftmost
 * match counts, of these the longest.  A special one is matched too, so that
 * nothing inside of it is, but stays text.
 */
#include "tokenizer/bpe.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tokenizer/bpe_priv.h"
#include "tokenizer/bpe_shared.h"
#include "text/unicode.h"

struct added_token {
	struct span text;
	uint32_t id;
	int special;
};

struct added {
	struct added_token *t;	/* by first two bytes, then longest first */
	size_t n;
	uint64_t pair[1024];	/* a bit for each two first bytes */
	uint8_t first[256];	/* some token begins with this byte */
	char *bytes;		/* of all texts */
};

void
ids_grow(struct ids *o, size_t n)
{
	if (o->n + n <= o->cap)
		return;
	o->cap = o->n + n > 2 * o->cap ? o->n + n : 2 * o->cap;
	o->v = xreallocarray(o->v, o->cap, sizeof(*o->v));
}

static unsigned
first_two(struct span s)
{
	return (uint8_t)s.p[0] << 8 | (s.n > 1 ? (uint8_t)s.p[1] : 0);
}

static int
cmp_added(const void *a, const void *b)
{
	const struct added_token *x = a, *y = b;
	unsigned p = (uint8_t)x->text.p[0], q = (uint8_t)y->text.p[0];

	if (p != q)
		return p < q ? -1 : 1;
	return (x->text.n < y->text.n) - (x->text.n > y->text.n);
}

static void
added_free(struct added *a)
{
	if (!a)
		return;
	free(a->t);
	free(a->bytes);
	free(a);
}

/* The added tokens of one pass; NULL when none of them is ever cut out. */
static struct added *
added_new(const struct vocab *v, int normalized)
{
	struct added *a = xcalloc(1, sizeof(*a));
	struct buf all = {0}, nfc = {0};
	size_t off = 0;
	int any = 0;

	a->t = xcalloc(v->nspecial + 1, sizeof(*a->t));
	for (size_t i = 0; i < v->nspecial; i++) {
		const struct vocab_special *s = &v->special[i];
		struct span t = s->text;

		if (!s->normalized != !normalized)
			continue;
		if (normalized && v->nfc && !uc_nfc(t, &nfc))
			t = buf_span(&nfc);
		buf_put(&all, t.p, t.n);
		a->t[a->n++] = (struct added_token){{NULL, t.n}, s->id,
			s->special};
		any |= !s->special;
	}
	buf_clear(&nfc);
	a->bytes = all.p;
	for (size_t i = 0; i < a->n; i++) {
		unsigned f;

		a->t[i].text.p = a->bytes + off;
		off += a->t[i].text.n;
		f = first_two(a->t[i].text);
		a->first[f >> 8] = 1;
		for (unsigned k = 0; k < 256; k++) {
			unsigned g = a->t[i].text.n > 1 ? f : (f & 0xff00) | k;

			a->pair[g >> 6] |= UINT64_C(1) << (g & 63);
		}
	}
	qsort(a->t, a->n, sizeof(*a->t), cmp_added);
	if (!any) {
		added_free(a);
		return NULL;
	}
	return a;
}

/* The longest token at p, or NULL. */
static const struct added_token *
added_at(const struct added *a, const char *p, size_t n)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->t[i].text.n <= n &&
		    memcmp(a->t[i].text.p, p, a->t[i].text.n) == 0)
			return &a->t[i];
	return NULL;
}

/* The next token that is cut out of t from *at on; *at: where it is. */
static const struct added_token *
added_next(const struct added *a, struct span t, size_t *at)
{
	size_t i = *at;

	while (i < t.n) {
		const struct added_token *x;
		unsigned f = (uint8_t)t.p[i];

		if (!a->first[f]) {
			i++;
			continue;
		}
		f = f << 8 | (i + 1 < t.n ? (uint8_t)t.p[i + 1] : 0);
		x = a->pair[f >> 6] >> (f & 63) & 1 || i + 1 == t.n ?
			added_at(a, t.p + i, t.n - i) : NULL;
		if (x && !x->special) {
			*at = i;
			return x;
		}
		i += x ? x->text.n : 1;
	}
	return NULL;
}

static int
check_added(const struct vocab *v, struct err *e)
{
	if (v->kind != VOCAB_SENTENCEPIECE)
		return 0;
	for (size_t i = 0; i < v->nspecial; i++)
		if (v->special[i].normalized && !v->special[i].special)
			return err_set(e, "added token '%.*s': normalized in a "
				       "SentencePiece vocabulary is not done",
				       (int)v->special[i].text.n,
				       v->special[i].text.p);
	return 0;
}

struct bpe *
bpe_new(const struct vocab *v, struct err *e)
{
	struct bpe *b = xcalloc(1, sizeof(*b));
	const char **names = xcalloc(v->nsplit + 1, sizeof(*names));

	b->v = v;
	for (size_t i = 0; i < v->nsplit; i++)
		names[i] = v->split[i].p;
	memset(b->byte_id, 0xff, sizeof(b->byte_id));
	for (uint32_t i = 0; i < v->n; i++)
		if (v->token[i].n == 1 && (v->flags[i] & VOCAB_BYTE))
			b->byte_id[(uint8_t)v->token[i].p[0]] = i;
	b->split = split_new(names, v->split_behavior, v->nsplit, e);
	free(names);
	if (!b->split || check_added(v, e) < 0 || merge_init(b, e) < 0 ||
	    (v->kind == VOCAB_SENTENCEPIECE && spm_init(b, e) < 0)) {
		bpe_free(b);
		return NULL;
	}
	if (v->ignore_merges) {
		names_init(&b->whole, v->token, v->n);
		for (uint32_t i = 0; i < v->n; i++)
			if (v->token[i].p && !(v->flags[i] & VOCAB_SPECIAL))
				names_add(&b->whole, i);
	}
	b->raw = added_new(v, 0);
	b->normal = added_new(v, 1);
	b->pool = pool_new(BPE_POOL);
	return b;
}

void
bpe_free(struct bpe *b)
{
	if (!b)
		return;
	split_free(b->split);
	merge_clear(b);
	spm_clear(b);
	names_clear(&b->whole);
	added_free(b->raw);
	added_free(b->normal);
	pool_free(b->pool);
	free(b);
}

struct bpe_enc *
bpe_enc_new(const struct bpe *b, size_t cache_bytes)
{
	struct bpe_enc *c = xcalloc(1, sizeof(*c));

	c->b = b;
	c->split = split_scratch_new(b->split);
	c->cache = cache_new(cache_bytes);
	return c;
}

void
bpe_enc_free(struct bpe_enc *c)
{
	if (!c)
		return;
	split_scratch_free(c->split);
	merge_work_clear(&c->work);
	cache_free(c->cache);
	buf_clear(&c->nfc);
	buf_clear(&c->text);
	free(c);
}

void
piece_encode(struct bpe_enc *c, const char *p, size_t n, struct ids *out)
{
	const struct bpe *b = c->b;

	if (b->v->ignore_merges) {
		int64_t id = names_find(&b->whole, (struct span){p, n});

		if (id >= 0) {
			ids_add(out, (uint32_t)id);
			return;
		}
	}
	merge_room(&c->work, n);
	if (b->v->kind == VOCAB_SENTENCEPIECE)
		n = spm_symbols(b, p, n, c->work.id);
	else
		for (size_t i = 0; i < n; i++)
			c->work.id[i] = b->byte_id[(uint8_t)p[i]];
	merge_run(b, &c->work, n, out);
}

static void
pieces(struct bpe_enc *c, struct span t, struct ids *out)
{
	size_t pos = 0, start = 0, k;
	uint32_t ends[256];

	while ((k = split_next(c->b->split, c->split, t.p, t.n, &pos, ends,
			       256))) {
		cache_encode(c, t.p, t.n, start, ends, k, out);
		start = ends[k - 1];
	}
}

/* A section without added tokens; first: it begins the document. */
static void
section(struct bpe_enc *c, struct span t, int first, struct ids *out)
{
	if (t.n == 0)
		return;
	if (c->b->v->kind == VOCAB_SENTENCEPIECE) {
		spm_section(c, t, first, out);
		return;
	}
	if (c->b->v->add_prefix_space && t.p[0] != ' ') {
		buf_reset(&c->text);
		buf_putc(&c->text, ' ');
		buf_put(&c->text, t.p, t.n);
		t = buf_span(&c->text);
	}
	pieces(c, t, out);
}

/* A stretch of raw text: normalize, cut the normalized added tokens out. */
static void
normalized(struct bpe_enc *c, struct span t, int first, struct ids *out)
{
	const struct added_token *x;
	size_t start = 0, at = 0;

	if (c->b->v->nfc && !uc_nfc(t, &c->nfc))
		t = buf_span(&c->nfc);
	while (c->b->normal && (x = added_next(c->b->normal, t, &at))) {
		section(c, (struct span){t.p + start, at - start},
			first && start == 0, out);
		ids_add(out, x->id);
		start = at += x->text.n;
	}
	section(c, (struct span){t.p + start, t.n - start},
		first && start == 0, out);
}

void
bpe_encode(struct bpe_enc *c, struct span t, struct ids *out)
{
	const struct added_token *x;
	size_t start = 0, at = 0;

	while (c->b->raw && (x = added_next(c->b->raw, t, &at))) {
		normalized(c, (struct span){t.p + start, at - start},
			   start == 0, out);
		ids_add(out, x->id);
		start = at += x->text.n;
	}
	normalized(c, (struct span){t.p + start, t.n - start}, start == 0,
		   out);
}
