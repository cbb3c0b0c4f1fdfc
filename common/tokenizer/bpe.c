/*
 * bpe.c - a text to sections, sections to pre-tokens, pre-tokens to ids
 *
 * In tokenizers' order: added tokens that are neither special nor
 * `normalized` are cut out of the text; the text between them is normalized;
 * `normalized` added tokens are cut out; what remains is split into
 * pre-tokens, each of which is merged by itself.
 */
#include "tokenizer/bpe.h"

#include <stdlib.h>

#include "base/mem.h"
#include "text/unicode.h"
#include "tokenizer/bpe_cache_priv.h"
#include "tokenizer/bpe_priv.h"

struct bpe_enc {
	const struct bpe *b;
	struct split_scratch *split;
	struct bpe_cache *cache;
	struct buf nfc, text;
	int rest;		/* the text continues another one */
};

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
	if (!b->split || bpe_merge_init(&b->merge, v, e) < 0) {
		bpe_free(b);
		return NULL;
	}
	b->raw = bpe_added_new(v, 0);
	b->normal = bpe_added_new(v, 1);
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
	bpe_added_free(b->raw);
	bpe_added_free(b->normal);
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
static int
section(struct bpe_enc *c, struct span t, int first, struct ids *out,
	struct err *e)
{
	const struct vocab *v = c->b->v;
	const struct bpe_spm *spm = c->b->merge.spm;
	uint32_t ends[BPE_CACHE_BATCH];
	size_t pos = 0, start = 0, k;
	int bare = first && c->rest;

	if (t.n == 0)
		return 0;
	if (v->metaspace) {
		t = bpe_spm_text(bare ? VOCAB_PREPEND_NEVER : v->sp_prepend,
				 t, first, &c->text);
	} else if (v->add_prefix_space && !bare && t.p[0] != ' ') {
		buf_reset(&c->text);
		buf_putc(&c->text, ' ');
		buf_put(&c->text, t.p, t.n);
		t = buf_span(&c->text);
	}
	while (pos < t.n) {
		k = spm ? bpe_spm_next(spm, t.p, t.n, &pos, ends,
				       BPE_CACHE_BATCH) :
			split_next(c->b->split, c->split, t.p, t.n, &pos, ends,
				   BPE_CACHE_BATCH, e);
		if (k == 0)
			return -1;
		bpe_cache_encode(c->cache, t.p, t.n, start, ends, k, out);
		start = ends[k - 1];
	}
	return 0;
}

/* Text between raw added tokens: normalize, cut out the normalized ones. */
static int
normalized(struct bpe_enc *c, struct span t, int first, struct ids *out,
	   struct err *e)
{
	const struct bpe *b = c->b;
	const struct vocab *v = b->v;
	struct bpe_added_cut x = {.next = 0, .stop = 0};
	size_t from = 0;

	if (v->nfc && !uc_nfc(t, &c->nfc))
		t = buf_span(&c->nfc);
	if (b->merge.spm && !v->metaspace)
		t = bpe_spm_text(first && c->rest ? VOCAB_PREPEND_NEVER :
				 v->sp_prepend, t, first, &c->text);
	for (; b->normal && bpe_added_next(b->normal, t, &x); from = x.stop) {
		if (from < x.start &&
		    section(c, (struct span){t.p + from, x.start - from},
			    first && from == 0, out, e) < 0)
			return -1;
		ids_add(out, x.id);
	}
	return section(c, (struct span){t.p + from, t.n - from},
		       first && from == 0, out, e);
}

static int
units(struct bpe_enc *c, struct span t, struct ids *out, struct err *e)
{
	const struct bpe_added *raw = c->b->raw;
	struct bpe_added_cut x = {.next = 0, .stop = 0};
	size_t from = 0;

	for (; raw && bpe_added_next(raw, t, &x); from = x.stop) {
		if (from < x.start &&
		    normalized(c, (struct span){t.p + from, x.start - from},
			       from == 0, out, e) < 0)
			return -1;
		ids_add(out, x.id);
	}
	return normalized(c, (struct span){t.p + from, t.n - from}, from == 0,
			  out, e);
}

int
bpe_units(struct bpe_enc *c, struct span t, struct ids *out, struct err *e)
{
	size_t from = out->n;

	if (units(c, t, out, e) == 0)
		return 0;
	out->n = from;
	return -1;
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

int
bpe_encode(struct bpe_enc *c, struct span t, struct ids *out, struct err *e)
{
	size_t from = out->n;

	if (bpe_units(c, t, out, e) < 0)
		return -1;
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
