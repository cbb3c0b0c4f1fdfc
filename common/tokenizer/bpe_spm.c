/*
 * bpe_spm.c - SentencePiece-style BPE: Llama-2, Mistral
 *
 * The file asks for U+2581 in place of each space, and for one before the
 * text.  Here it is the other way round: the tokens have a space for each
 * U+2581, and so gets a text that has one.  That is rare, so most texts are
 * used as they are.
 *
 * Symbols are characters.  One that the vocabulary lacks becomes its bytes
 * (byte_fallback, if all have tokens) or the unknown token; with fuse_unk a
 * run of them is one unknown token, which tokenizers puts after any bytes that
 * follow it.  There is no pre-tokenizer: a text is one pre-token.  But
 * if no merge has a left part that ends in x and a right part that begins
 * with y, no merge crosses "xy", and a cut between them changes nothing.
 * Such pairs of ASCII characters are found once.  The pre-tokens that result
 * are about words, which a cache can hold.
 */
#include "tokenizer/bpe_spm_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "text/unicode.h"
#include "tokenizer/bpe_merge_priv.h"

struct bpe_spm {
	const struct vocab *v;
	const uint32_t *byte_id;
	uint32_t *char_slot;	/* code point, id: open table of pairs */
	size_t char_mask;
	int cut_spaces;		/* no merge crosses "x ", x not a space */
	uint64_t join[128][2];	/* a merge may cross "xy": bit y of join[x] */
};

static size_t
char_place(const struct bpe_spm *b, uint32_t c)
{
	size_t i = c * UINT32_C(0x9e3779b1) >> 7 & b->char_mask;

	while (b->char_slot[2 * i] != c && b->char_slot[2 * i] != UINT32_MAX)
		i = (i + 1) & b->char_mask;
	return i;
}

/* The id of a character, UINT32_MAX: none. */
static uint32_t
char_id(const struct bpe_spm *b, uint32_t c)
{
	return b->char_slot[2 * char_place(b, c) + 1];
}

static int
starts_space(struct span t)
{
	return t.n >= 3 && memcmp(t.p, VOCAB_SPACE, 3) == 0;
}

static int
ends_space(struct span t)
{
	return t.n >= 3 && memcmp(t.p + t.n - 3, VOCAB_SPACE, 3) == 0;
}

static void
set_join(struct bpe_spm *b, unsigned x, unsigned y)
{
	b->join[x][y >> 6] |= UINT64_C(1) << (y & 63);
}

/* Does each byte of a character have a token to fall back to? */
static int
has_all_bytes(const struct bpe_spm *b)
{
	unsigned i = 0;

	while (i < 0xf5 && (b->byte_id[i] != UINT32_MAX || i == 0xc0 ||
			    i == 0xc1))
		i++;
	return b->v->byte_fallback && i == 0xf5;
}

/* Which "xy" a merge may cross; what is unknown may fuse. */
static void
find_joins(struct bpe_spm *b)
{
	const struct vocab *v = b->v;

	b->cut_spaces = 1;
	for (size_t i = 0; i < v->nmerges; i++) {
		struct span l = v->token[v->merge[i][0]];
		struct span r = v->token[v->merge[i][1]];
		unsigned x = ends_space(l) ? ' ' : (uint8_t)l.p[l.n - 1];
		unsigned y = starts_space(r) ? ' ' : (uint8_t)r.p[0];

		if (x < 128 && y < 128)
			set_join(b, x, y);
		if (y == ' ' && x != ' ')
			b->cut_spaces = 0;
	}
	for (unsigned x = 0; !has_all_bytes(b) && x < 128; x++)
		for (unsigned y = 0; y < 128; y++)
			if (char_id(b, x) == UINT32_MAX &&
			    char_id(b, y) == UINT32_MAX)
				set_join(b, x, y);
}

/* The single characters of the vocabulary by code point. */
static int
chars_init(struct bpe_spm *b, struct err *e)
{
	const struct vocab *v = b->v;
	size_t size = 1024;

	while (size < 2 * (size_t)v->n)
		size *= 2;
	b->char_slot = xreallocarray(NULL, size, 2 * sizeof(*b->char_slot));
	memset(b->char_slot, 0xff, size * 2 * sizeof(*b->char_slot));
	b->char_mask = size - 1;
	for (uint32_t i = 0; i < v->n; i++) {
		struct span t = v->token[i];
		unsigned len;
		uint32_t c;
		size_t k;

		if (!t.n || (v->flags[i] & (VOCAB_BYTE | VOCAB_ADDED)))
			continue;
		c = uc_next(t.p, t.n, &len);
		if (len != t.n)
			continue;
		if (c == ' ')
			return err_set(e, "token %u is a space: not supported "
				       "in a vocabulary with U+2581", i);
		k = char_place(b, c == 0x2581 ? ' ' : c);
		b->char_slot[2 * k] = c == 0x2581 ? ' ' : c;
		b->char_slot[2 * k + 1] = i;
	}
	if (char_id(b, ' ') == UINT32_MAX)
		return err_set(e, "a SentencePiece vocabulary without a token "
			       "for U+2581 is not supported");
	return 0;
}

struct bpe_spm *
bpe_spm_new(const struct vocab *v, const uint32_t *byte_id, struct err *e)
{
	struct bpe_spm *b = xcalloc(1, sizeof(*b));
	int bad;

	b->v = v;
	b->byte_id = byte_id;
	bad = chars_init(b, e);
	if (!bad && v->ignore_merges)
		bad = err_set(e, "ignore_merges is not supported in a "
			      "SentencePiece vocabulary");
	if (bad) {
		bpe_spm_free(b);
		return NULL;
	}
	find_joins(b);
	return b;
}

void
bpe_spm_free(struct bpe_spm *b)
{
	if (!b)
		return;
	free(b->char_slot);
	free(b);
}

/* The tokens of the bytes of a character; 0: some byte has none. */
static unsigned
fallback(const struct bpe_spm *b, const char *p, unsigned len, uint32_t *id)
{
	if (!b->v->byte_fallback)
		return 0;
	for (unsigned j = 0; j < len; j++) {
		id[j] = b->byte_id[(uint8_t)p[j]];
		if (id[j] == UINT32_MAX)
			return 0;
	}
	return len;
}

size_t
bpe_spm_symbols(const struct bpe_spm *b, const char *p, size_t n, uint32_t *id)
{
	const struct vocab *v = b->v;
	size_t i = 0, k = 0;
	int unk = 0;	/* an unknown one is due */

	while (i < n) {
		unsigned len, m;
		uint32_t x = char_id(b, uc_next(p + i, n - i, &len));

		if (x != UINT32_MAX) {
			if (unk)
				id[k++] = (uint32_t)v->unk;
			id[k++] = x;
			unk = 0;
		} else if ((m = fallback(b, p + i, len, id + k))) {
			k += m;
		} else if (v->unk < 0) {
			id[k++] = bpe_merge_missing(v, p[i]);
		} else {
			if (unk && !v->fuse_unk)
				id[k++] = (uint32_t)v->unk;
			unk = 1;
		}
		i += len;
	}
	if (unk)
		id[k++] = (uint32_t)v->unk;
	return k;
}

size_t
bpe_spm_unknown(const struct bpe_spm *b, const char *p, size_t n, size_t *pos)
{
	uint32_t id[4];
	size_t len = 0;
	unsigned k;

	for (; *pos < n; *pos += k) {
		uint32_t x = char_id(b, uc_next(p + *pos, n - *pos, &k));
		int known = x != UINT32_MAX;

		if (!known && fallback(b, p + *pos, k, id))
			continue;
		if (len && (known || !b->v->fuse_unk))
			break;
		len += known ? 0 : k;
	}
	return len;
}

/* With Metaspace's split, also before each space. */
size_t
bpe_spm_next(const struct bpe_spm *b, const char *p, size_t n, size_t *pos,
	     uint32_t *ends, size_t max)
{
	int each = b->v->sp_split, spaces = each || b->cut_spaces;
	size_t k = 0, i = *pos;
	unsigned x;

	while (k < max && i < n) {
		for (x = (uint8_t)p[i++]; i < n; i++) {
			unsigned y = (uint8_t)p[i];

			if ((x | y) < 128) {
				if (!(b->join[x][y >> 6] >> (y & 63) & 1) ||
				    (each && y == ' '))
					break;
			} else if (y == ' ' && spaces) {
				break;
			}
			x = y;
		}
		ends[k++] = (uint32_t)i;
	}
	*pos = i;
	return k;
}

int
bpe_spm_puts(enum vocab_prepend how, struct span t, int first)
{
	int has = t.n && (t.p[0] == ' ' || starts_space(t));

	return t.n && (how == VOCAB_PREPEND_EACH ||
		       (how == VOCAB_PREPEND_ALWAYS && !has) ||
		       (how == VOCAB_PREPEND_FIRST && !has && first));
}

struct span
bpe_spm_text(enum vocab_prepend how, struct span t, int first, struct buf *tmp)
{
	const char *s = memmem(t.p, t.n, VOCAB_SPACE, 3);
	int put = bpe_spm_puts(how, t, first);

	if (!s && !put)
		return t;
	buf_reset(tmp);
	if (put)
		buf_putc(tmp, ' ');
	for (; s; s = memmem(t.p, t.n, VOCAB_SPACE, 3)) {
		buf_put(tmp, t.p, (size_t)(s - t.p));
		buf_putc(tmp, ' ');
		t.n -= (size_t)(s - t.p) + 3;
		t.p = s + 3;
	}
	buf_put(tmp, t.p, t.n);
	return buf_span(tmp);
}
