/*
 * spans_tokens.c - long passages that stand in a corpus before, in tokens
 *
 * Each token is written as a character of four bytes, so that spans.c finds
 * windows of tokens as it finds windows of bytes: a first byte that is none of
 * 0x80..0xbf, and three that are.  A token that begins inside a character of
 * its text has four of the latter, so that it is no bound.  Any number of these
 * may follow each other, where a token holds the end of one character and the
 * begin of the next: the longest run is measured.
 *
 * Different pieces are numbered as they come, by a table that compares their
 * bytes: equal numbers are equal pieces.
 */
#include "spans/spans_tokens.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/spool.h"

enum { CODE = 4 };

#define MAX_TOKENS (((size_t)1 << 30) - 1024)	/* of a document */
#define MAX_ID (UINT32_C(192) << 18)	/* of tokens at bounds */
#define MAX_MID (UINT32_C(1) << 24)
#define FIRST_NUMBER (UINT32_C(1) << 22)	/* after a model's ids */

struct piece {
	uint64_t at;		/* of bytes */
	uint32_t n, hash;
};

struct spantok {
	struct spans *spans;
	struct spool *end;	/* of each token, in its text */
	uint64_t n;
	uint64_t *first;		/* token of each document */
	size_t ndocs, docs_cap;
	size_t run;		/* tokens from a bound to the next, at most */
	struct buf code;
	struct buf bytes;	/* of the pieces */
	struct piece *piece;
	size_t npieces, pieces_cap;
	uint32_t *slot;		/* piece + 1; 0: free */
	size_t mask;
	struct text_span *v;
};

struct spantok *
spantok_new(size_t least, size_t mem, int threads)
{
	struct spantok *t = xcalloc(1, sizeof(*t));

	t->end = spool_new(mem / 16);
	t->spans = spans_new(CODE * least, mem - mem / 16, threads);
	t->mask = 4095;
	t->slot = xcalloc(t->mask + 1, sizeof(*t->slot));
	return t;
}

static void
free_pieces(struct spantok *t)
{
	buf_clear(&t->code);
	buf_clear(&t->bytes);
	free(t->piece);
	free(t->slot);
	t->piece = NULL;
	t->slot = NULL;
}

void
spantok_free(struct spantok *t)
{
	if (!t)
		return;
	spans_free(t->spans);
	free_pieces(t);
	spool_free(t->end);
	free(t->first);
	free(t->v);
	free(t);
}

/* --- pieces to numbers --- */

static void
slots_grow(struct spantok *t)
{
	size_t i, k;

	if (2 * t->npieces <= t->mask)
		return;
	t->mask = 2 * t->mask + 1;
	free(t->slot);
	t->slot = xcalloc(t->mask + 1, sizeof(*t->slot));
	for (i = 0; i < t->npieces; i++) {
		for (k = t->piece[i].hash & t->mask; t->slot[k];)
			k = (k + 1) & t->mask;
		t->slot[k] = (uint32_t)i + 1;
	}
}

static uint32_t
number_of(struct spantok *t, const char *p, uint32_t n)
{
	uint32_t hash = (uint32_t)XXH3_64bits(p, n);
	struct piece *x;
	size_t k;

	for (k = hash & t->mask; t->slot[k]; k = (k + 1) & t->mask) {
		x = &t->piece[t->slot[k] - 1];
		if (x->hash == hash && x->n == n &&
		    !memcmp(t->bytes.p + x->at, p, n))
			return t->slot[k] - 1;
	}
	if (t->npieces == t->pieces_cap) {
		t->pieces_cap = t->pieces_cap ? 2 * t->pieces_cap : 1024;
		t->piece = xreallocarray(t->piece, t->pieces_cap,
					 sizeof(*t->piece));
	}
	t->piece[t->npieces] = (struct piece){t->bytes.n, n, hash};
	buf_put(&t->bytes, p, n);
	t->slot[k] = (uint32_t)++t->npieces;
	slots_grow(t);
	return (uint32_t)t->npieces - 1;
}

/* --- tokens to characters --- */

static void
put_code(char *p, uint32_t id, int mid)
{
	uint32_t top = id >> 18;

	if (mid)
		top += 0x80;
	else if (top >= 0x80)
		top += 0x40;
	p[0] = (char)top;
	p[1] = (char)(0x80 | (id >> 12 & 63));
	p[2] = (char)(0x80 | (id >> 6 & 63));
	p[3] = (char)(0x80 | (id & 63));
}

int
spantok_add(struct spantok *t, struct span text, const uint32_t *end,
	    const uint32_t *id, size_t n, struct err *e)
{
	uint32_t at = 0, x;
	size_t i, run = 0;
	int mid;

	if (n > MAX_TOKENS)
		return err_set(e, "--spans: a document of more than %zu "
			       "tokens: use --span-bytes", MAX_TOKENS);
	if (t->ndocs == t->docs_cap) {
		t->docs_cap = t->docs_cap ? t->docs_cap + t->docs_cap / 2 :
			1024;
		t->first = xreallocarray(t->first, t->docs_cap,
					 sizeof(*t->first));
	}
	buf_reset(&t->code);
	buf_reserve(&t->code, CODE * n + 1);
	for (i = 0; i < n; i++) {
		x = !id ? number_of(t, text.p + at, end[i] - at) :
			id[i] != SPANTOK_BYTES ? id[i] :
			FIRST_NUMBER + number_of(t, text.p + at, end[i] - at);
		mid = (text.p[at] & 0xc0) == 0x80;
		if (x >= (mid ? MAX_MID : MAX_ID))
			return err_set(e, "--spans: more than %u different "
				       "tokens: deduplicate in parts",
				       mid ? MAX_MID : MAX_ID);
		put_code(t->code.p + CODE * i, x, mid);
		run = mid ? run + 1 : 1;
		t->run = run > t->run ? run : t->run;
		at = end[i];
	}
	t->code.n = CODE * n;
	t->first[t->ndocs++] = t->n;
	t->n += n;
	if (spool_append(t->end, end, n * sizeof(*end), e))
		return -1;
	return spans_add(t->spans, buf_span(&t->code), e);
}

/* From codes to the byte where a token of a document begins. */
static int
to_byte(struct spantok *t, uint32_t doc, uint32_t *at, struct err *e)
{
	uint64_t i = *at / CODE;

	if (!i)
		return 0;
	return spool_read(t->end, (t->first[doc] + i - 1) * sizeof(*at), at,
			  sizeof(*at), e);
}

static const struct text_span *
to_bytes(struct spantok *t, const struct text_span *v, size_t n, struct err *e)
{
	size_t i;

	if (!v)
		return NULL;
	t->v = xreallocarray(t->v, n + 1, sizeof(*t->v));
	memcpy(t->v, v, n * sizeof(*v));
	for (i = 0; i < n; i++) {
		struct text_span *x = &t->v[i];

		if (to_byte(t, x->doc, &x->start, e) ||
		    to_byte(t, x->doc, &x->end, e) ||
		    to_byte(t, x->first, &x->first_start, e))
			return NULL;
	}
	return t->v;
}

const struct text_span *
spantok_find(struct spantok *t, size_t *n, struct err *e)
{
	const struct text_span *v;

	free_pieces(t);
	spans_longest_char(t->spans, CODE * (t->run ? t->run : 1));
	v = spans_find(t->spans, n, e);
	return to_bytes(t, v, *n, e);
}

const struct text_span *
spantok_find_later(struct spantok *t, size_t *n, struct err *e)
{
	const struct text_span *v = spans_find_later(t->spans, n, e);

	return to_bytes(t, v, *n, e);
}

int
spantok_spilled(const struct spantok *t)
{
	return spans_spilled(t->spans) || spool_on_disk(t->end);
}
