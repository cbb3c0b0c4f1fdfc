/*
 * bpe.c - a text to sections, sections to pre-tokens, pre-tokens to ids
 *
 * In tokenizers' order: added tokens that are neither special nor
 * `normalized` are cut out of the text; the text between them is normalized;
 * `normalized` added tokens are cut out; what remains is split into
 * pre-tokens, each of which is merged by itself.  The leftmost added token
 * wins, of these the longest.  A special one is matched too, so that no other
 * matches inside it, but stays text.
 */
#include "tokenizer/bpe.h"

#include <stdlib.h>

#include "base/mem.h"
#include "text/unicode.h"
#include "tokenizer/bpe_cache_priv.h"
#include "tokenizer/split.h"

struct bpe {
	const struct vocab *v;
	struct split *split;
	struct bpe_merge merge;
	struct bpe_shared *shared;
	struct added *raw, *normal;	/* added tokens before and after NFC */
	int missing;		/* some byte has no token */
};

struct bpe_enc {
	const struct bpe *b;
	struct split_scratch *split;
	struct bpe_cache *cache;
	struct buf nfc, text;
	int rest;		/* the text continues another one */
};

struct added_token {
	struct span text;
	uint32_t id;
	int special;
};

struct added {
	struct added_token *t;	/* by first two bytes, then longest first */
	size_t n;
	uint64_t pair[1024];	/* a bit for each pair of first bytes */
	uint8_t first[256];	/* some token begins with this byte */
	char *bytes;		/* of all texts */
};

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

/* The added tokens of one pass; NULL if none of them is ever cut out. */
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

/* The next token to cut out of t from *at on; moves *at to it. */
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
				       "SentencePiece vocabulary is not "
				       "supported",
				       (int)v->special[i].text.n,
				       v->special[i].text.p);
	return 0;
}

struct bpe *
bpe_new_sized(const struct vocab *v, size_t shared_bytes, struct err *e)
{
	struct bpe *b = xcalloc(1, sizeof(*b));
	const char **names = xcalloc(v->nsplit + 1, sizeof(*names));

	b->v = v;
	for (size_t i = 0; i < v->nsplit; i++)
		names[i] = v->split[i].p;
	b->split = split_new(names, v->split_behavior, v->nsplit, e);
	free(names);
	if (!b->split || check_added(v, e) < 0 ||
	    bpe_merge_init(&b->merge, v, e) < 0) {
		bpe_free(b);
		return NULL;
	}
	b->raw = added_new(v, 0);
	b->normal = added_new(v, 1);
	b->shared = bpe_shared_new(shared_bytes);
	b->missing = bpe_merge_has_missing(&b->merge);
	return b;
}

struct bpe *
bpe_new(const struct vocab *v, struct err *e)
{
	return bpe_new_sized(v, BPE_SHARED, e);
}

void
bpe_free(struct bpe *b)
{
	if (!b)
		return;
	split_free(b->split);
	bpe_merge_clear(&b->merge);
	added_free(b->raw);
	added_free(b->normal);
	bpe_shared_free(b->shared);
	free(b);
}

struct bpe_enc *
bpe_enc_new(const struct bpe *b, size_t cache_bytes)
{
	struct bpe_enc *c = xcalloc(1, sizeof(*c));

	c->b = b;
	c->split = split_scratch_new(b->split);
	c->cache = bpe_cache_new(&b->merge, b->shared, cache_bytes);
	return c;
}

void
bpe_enc_free(struct bpe_enc *c)
{
	if (!c)
		return;
	split_scratch_free(c->split);
	bpe_cache_free(c->cache);
	buf_clear(&c->nfc);
	buf_clear(&c->text);
	free(c);
}

/* A section without added tokens; first: it begins the document. */
static void
section(struct bpe_enc *c, struct span t, int first, struct ids *out)
{
	const struct bpe *b = c->b;
	const struct bpe_spm *spm = b->merge.spm;
	uint32_t ends[BPE_CACHE_BATCH];
	struct err e = {0};
	size_t pos = 0, start = 0, k;
	int bare = first && c->rest;

	if (t.n == 0)
		return;
	if (spm) {
		t = bpe_spm_text(bare ? VOCAB_PREPEND_NEVER : b->v->sp_prepend,
				 t, first, &c->text);
	} else if (b->v->add_prefix_space && !bare && t.p[0] != ' ') {
		buf_reset(&c->text);
		buf_putc(&c->text, ' ');
		buf_put(&c->text, t.p, t.n);
		t = buf_span(&c->text);
	}
	while (pos < t.n) {
		k = spm ? bpe_spm_next(spm, t.p, t.n, &pos, ends,
				       BPE_CACHE_BATCH) :
			split_next(b->split, c->split, t.p, t.n, &pos, ends,
				   BPE_CACHE_BATCH, &e);
		if (k == 0)
			die_err(&e);
		bpe_cache_encode(c->cache, t.p, t.n, start, ends, k, out);
		start = ends[k - 1];
	}
}

/* Text between raw added tokens: normalize, cut out the normalized ones. */
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

/* Error if there is the id of a byte without a token from ids[from] on. */
static int
check_missing(const struct bpe *b, struct ids *ids, size_t from, struct err *e)
{
	for (size_t i = from; i < ids->n; i++)
		if (ids->v[i] >= b->v->n) {
			ids->n = from;
			return err_set(e, "the tokenizer has no token for the "
				       "byte 0x%02x", ids->v[i] - b->v->n);
		}
	return 0;
}

void
bpe_units(struct bpe_enc *c, struct span t, struct ids *out)
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

int
bpe_encode(struct bpe_enc *c, struct span t, struct ids *out, struct err *e)
{
	size_t from = out->n;

	bpe_units(c, t, out);
	return c->b->missing ? check_missing(c->b, out, from, e) : 0;
}

int
bpe_encode_rest(struct bpe_enc *c, struct span t, struct ids *out,
		struct err *e)
{
	int rc;

	c->rest = 1;
	rc = bpe_encode(c, t, out, e);
	c->rest = 0;
	return rc;
}
