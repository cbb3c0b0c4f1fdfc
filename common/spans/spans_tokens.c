/*
 * spans_tokens.c - long passages that occur earlier in a corpus, in tokens
 *
 * Each token is written as a character of four bytes, so that spans.c finds
 * windows of tokens as it finds windows of bytes: a first byte outside
 * 0x80..0xbf, and three inside.  A token that begins inside a character of its
 * text has four of the latter, so it is not a boundary.  Any number of these
 * may follow each other, when a token holds the end of one character and the
 * start of the next; the longest run is measured.
 *
 * Distinct pieces (pre-tokens) are numbered as they come, by a table that
 * compares their bytes, so equal numbers are equal pieces.
 */
#include "spans/spans_tokens.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "stream/spool.h"

#define MIX UINT64_C(0x9e3779b97f4a7c15)

enum {
	CODE = SPANS_TOKEN_BYTES,
	SHORT = sizeof(uint64_t),	/* bytes of a piece that are its key */
	AHEAD = 16
};

#define MAX_TOKENS (((size_t)1 << 30) - 1024)	/* of a document */
#define MAX_ID (UINT32_C(192) << 18)	/* of tokens at boundaries */
#define MAX_MID (UINT32_C(1) << 24)
#define FIRST_NUMBER (UINT32_C(1) << 22)	/* after a model's ids */

struct piece {
	uint64_t at;		/* in `bytes`; or up to SHORT bytes */
	uint32_t n, hash;
};

struct spans_tokens {
	struct spans *spans;
	struct spool *end;	/* of each token, in its text */
	uint64_t n;
	uint64_t *first;		/* token of each document */
	size_t ndocs, docs_cap;
	size_t run;		/* longest, from a boundary to the next */
	struct buf code;
	struct buf bytes;	/* of the pieces */
	struct piece *piece;
	size_t npieces, pieces_cap;
	uint32_t *slot;		/* piece + 1; 0: free */
	size_t mask;
	struct text_span *v;
};

struct spans_tokens *
spans_tokens_new(size_t least, size_t mem, int threads)
{
	struct spans_tokens *t = xcalloc(1, sizeof(*t));

	t->end = spool_new(mem / 16);
	t->spans = spans_new(CODE * least, mem - mem / 16, threads);
	t->mask = 4095;
	t->slot = xcalloc(t->mask + 1, sizeof(*t->slot));
	return t;
}

static void
free_pieces(struct spans_tokens *t)
{
	buf_clear(&t->code);
	buf_clear(&t->bytes);
	free(t->piece);
	free(t->slot);
	t->piece = NULL;
	t->slot = NULL;
}

void
spans_tokens_free(struct spans_tokens *t)
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
slots_grow(struct spans_tokens *t)
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

/* A token of the text at hand. */
struct token {
	const char *p;
	uint32_t n, hash;
	uint64_t word;		/* its bytes, where they are SHORT or fewer */
};

static struct token
token_at(const struct spans_tokens *t, struct span text, uint32_t at,
	 uint32_t end)
{
	struct token x = {text.p + at, end - at, 0, 0};

	if (x.n > SHORT) {
		x.hash = (uint32_t)XXH3_64bits(x.p, x.n);
	} else {
		if (text.n - at < SHORT)
			memcpy(&x.word, x.p, x.n);
		else	/* of a constant size: inline */
			memcpy(&x.word, x.p, SHORT);
		x.word = x.n ? x.word << (64 - 8 * x.n) : 0;
		x.hash = (uint32_t)((x.word ^ x.n) * MIX >> 32);
		x.hash ^= x.hash >> 15;
	}
	__builtin_prefetch(&t->slot[x.hash & t->mask]);
	return x;
}

static uint32_t
number_of(struct spans_tokens *t, const struct token *x)
{
	uint64_t at = x->n > SHORT ? t->bytes.n : x->word;
	const struct piece *y;
	size_t k;

	for (k = x->hash & t->mask; t->slot[k]; k = (k + 1) & t->mask) {
		y = &t->piece[t->slot[k] - 1];
		if (y->hash == x->hash && y->n == x->n &&
		    (x->n > SHORT ? !memcmp(t->bytes.p + y->at, x->p, x->n) :
		     y->at == x->word))
			return t->slot[k] - 1;
	}
	GROW(t->piece, t->pieces_cap, t->npieces + 1);
	t->piece[t->npieces] = (struct piece){at, x->n, x->hash};
	if (x->n > SHORT)
		buf_put(&t->bytes, x->p, x->n);
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
spans_tokens_add(struct spans_tokens *t, struct span text,
		 const uint32_t *end, const uint32_t *id, size_t n,
		 struct err *e)
{
	struct token ahead[AHEAD];
	uint32_t at = 0, x, from = 0;
	size_t i, k, run = 0;
	int mid;

	if (n > MAX_TOKENS)
		return err_set(e, "a document of more than %zu tokens: "
			       "measure passages in bytes", MAX_TOKENS);
	GROW(t->first, t->docs_cap, t->ndocs + 1);
	buf_reset(&t->code);
	buf_reserve(&t->code, CODE * n + 1);
	for (i = 0; i < n; i++) {
		for (k = i; !id && i % AHEAD == 0 && k < n && k < i + AHEAD;
		     from = end[k++])
			ahead[k % AHEAD] = token_at(t, text, from, end[k]);
		if (id && id[i] == SPANS_TOKENS_BYTES)
			ahead[i % AHEAD] = token_at(t, text, at, end[i]);
		x = !id ? number_of(t, &ahead[i % AHEAD]) :
			id[i] != SPANS_TOKENS_BYTES ? id[i] :
			FIRST_NUMBER + number_of(t, &ahead[i % AHEAD]);
		mid = (text.p[at] & 0xc0) == 0x80;
		if (x >= (mid ? MAX_MID : MAX_ID))
			return err_set(e, "more than %u different tokens: "
				       "deduplicate in parts",
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
to_byte(struct spans_tokens *t, uint32_t doc, uint32_t *at, struct err *e)
{
	uint64_t i = *at / CODE;

	if (!i)
		return 0;
	return spool_read(t->end, (t->first[doc] + i - 1) * sizeof(*at), at,
			  sizeof(*at), e);
}

static const struct text_span *
to_bytes(struct spans_tokens *t, const struct text_span *v, size_t n,
	 struct err *e)
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
spans_tokens_find(struct spans_tokens *t, size_t *n, struct err *e)
{
	const struct text_span *v;

	free_pieces(t);
	spans_longest_char(t->spans, CODE * (t->run ? t->run : 1));
	v = spans_find(t->spans, n, e);
	return to_bytes(t, v, *n, e);
}

const struct text_span *
spans_tokens_find_later(struct spans_tokens *t, size_t *n, struct err *e)
{
	const struct text_span *v = spans_find_later(t->spans, n, e);

	return to_bytes(t, v, *n, e);
}

int
spans_tokens_spilled(const struct spans_tokens *t)
{
	return spans_spilled(t->spans) || spool_on_disk(t->end);
}
