/*
 * bpe_spm.c - SentencePiece-style BPE: Llama-2, Mistral
 *
 * The file asks for U+2581 in place of each space and one before the text.
 * Here it is the other way round: the tokens were given a space for each
 * U+2581 (see space_form), and so is a text that holds one, which is rare:
 * most texts are used as they are.
 *
 * Symbols are characters; one that the vocabulary lacks becomes its bytes
 * (byte_fallback), else the unknown token, several in a row one with
 * fuse_unk.  There is no pre-tokenizer: a text is one piece.  But where no
 * merge has a left part that ends in x and a right part that begins with y,
 * none crosses a place "xy", and cutting there changes nothing.  Such pairs
 * of ASCII characters are found once, and whether all of "x " are such; then
 * the pieces are about words, and the cache knows them.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "tokenizer/bpe_priv.h"
#include "text/unicode.h"

#define U2581 "\xe2\x96\x81"

static size_t
char_place(const struct bpe *b, uint32_t c)
{
	size_t i = c * UINT32_C(0x9e3779b1) >> 7 & b->char_mask;

	while (b->char_slot[2 * i] != c && b->char_slot[2 * i] != UINT32_MAX)
		i = (i + 1) & b->char_mask;
	return i;
}

/* The id of a character, UINT32_MAX: none. */
static uint32_t
char_id(const struct bpe *b, uint32_t c)
{
	return b->char_slot[2 * char_place(b, c) + 1];
}

static int
starts_space(struct span t)
{
	return t.n >= 3 && memcmp(t.p, U2581, 3) == 0;
}

static int
ends_space(struct span t)
{
	return t.n >= 3 && memcmp(t.p + t.n - 3, U2581, 3) == 0;
}

static void
set_join(struct bpe *b, unsigned x, unsigned y)
{
	b->join[x][y >> 6] |= UINT64_C(1) << (y & 63);
}

/* Which places a merge may cross; unknown characters may fuse. */
static void
find_joins(struct bpe *b)
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
	for (unsigned x = 0; !v->byte_fallback && x < 128; x++)
		for (unsigned y = 0; y < 128; y++)
			if (char_id(b, x) == UINT32_MAX &&
			    char_id(b, y) == UINT32_MAX)
				set_join(b, x, y);
}

int
spm_init(struct bpe *b, struct err *e)
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

		if (!t.n || (v->flags[i] & VOCAB_BYTE))
			continue;
		c = uc_next(t.p, t.n, &len);
		if (len != t.n)
			continue;
		if (c == ' ')
			return err_set(e, "token %u is a space: not done "
				       "beside U+2581", i);
		k = char_place(b, c == 0x2581 ? ' ' : c);
		b->char_slot[2 * k] = c == 0x2581 ? ' ' : c;
		b->char_slot[2 * k + 1] = i;
	}
	if (char_id(b, ' ') == UINT32_MAX)
		return err_set(e, "no token for U+2581: not done");
	if (v->ignore_merges)
		return err_set(e, "ignore_merges is not done for a "
			       "SentencePiece vocabulary");
	find_joins(b);
	return 0;
}

void
spm_clear(struct bpe *b)
{
	free(b->char_slot);
}

size_t
spm_symbols(const struct bpe *b, const char *p, size_t n, uint32_t *id)
{
	const struct vocab *v = b->v;
	size_t i = 0, k = 0;
	int unk = 0;	/* the last symbol is an unknown one */

	while (i < n) {
		unsigned len;
		uint32_t x = char_id(b, uc_next(p + i, n - i, &len));

		if (x != UINT32_MAX) {
			id[k++] = x;
			unk = 0;
		} else if (v->byte_fallback) {
			for (unsigned j = 0; j < len; j++)
				id[k++] = b->byte_id[(uint8_t)p[i + j]];
		} else {
			if (!(unk && v->fuse_unk))
				id[k++] = (uint32_t)v->unk;
			unk = 1;
		}
		i += len;
	}
	return k;
}

/* Ends of pieces: where no merge crosses; before each space where the file
 * asks for that. */
static size_t
next_pieces(const struct bpe *b, const char *p, size_t n, size_t *pos,
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

/* Replace each U+2581 by a space. */
static struct span
space_form(struct span t, struct buf *b)
{
	const char *s = memmem(t.p, t.n, U2581, 3);

	if (!s)
		return t;
	buf_reset(b);
	while (s) {
		size_t k = (size_t)(s - t.p);

		buf_put(b, t.p, k);
		buf_putc(b, ' ');
		t = (struct span){s + 3, t.n - k - 3};
		s = memmem(t.p, t.n, U2581, 3);
	}
	buf_put(b, t.p, t.n);
	return buf_span(b);
}

static struct span
with_prefix(struct bpe_enc *c, struct span t, int first)
{
	enum vocab_prepend how = c->b->v->sp_prepend;
	int has = t.n && t.p[0] == ' ';

	if (t.n == 0 || how == VOCAB_PREPEND_NEVER ||
	    (how == VOCAB_PREPEND_ALWAYS && has) ||
	    (how == VOCAB_PREPEND_FIRST && (has || !first)))
		return t;
	if (t.p == c->nfc.p) {
		buf_reserve(&c->nfc, 1);
		memmove(c->nfc.p + 1, c->nfc.p, t.n);
		c->nfc.p[0] = ' ';
		return (struct span){c->nfc.p, t.n + 1};
	}
	buf_reset(&c->text);
	buf_putc(&c->text, ' ');
	buf_put(&c->text, t.p, t.n);
	return buf_span(&c->text);
}

void
spm_section(struct bpe_enc *c, struct span text, int first, struct ids *out)
{
	struct span t = with_prefix(c, space_form(text, &c->nfc), first);
	size_t pos = 0, start = 0, k;
	uint32_t ends[256];

	while ((k = next_pieces(c->b, t.p, t.n, &pos, ends, 256))) {
		cache_encode(c, t.p, t.n, start, ends, k, out);
		start = ends[k - 1];
	}
}
