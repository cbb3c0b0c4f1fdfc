/*
 * spans_texts.c - the texts of a search, and following equal text
 *
 * All texts are one after the other in a spool, in memory or on disk.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "spans/spans_priv.h"

enum {
	CHUNK = 1024, FEW = 64,		/* compared at a time, on disk */
	BLOCK = 4096, BLOCKS = 64, DOC_STEP = 1 << 14
};

struct block {
	uint64_t number;	/* + 1; 0: none */
	char p[BLOCK];
};

/* --- texts --- */

void
spans_number(struct spans *s)
{
	uint64_t n = s->n / DOC_STEP + 1, i;
	size_t doc = 0;

	s->doc = xreallocarray(s->doc, n + 1, sizeof(*s->doc));
	for (i = 0; i < n; i++) {
		while (doc + 1 < s->ndocs && s->start[doc + 1] <= i * DOC_STEP)
			doc++;
		s->doc[i] = (uint32_t)doc;
	}
	s->doc[n] = (uint32_t)(s->ndocs ? s->ndocs - 1 : 0);
}

/* An empty document starts where the next one does. */
size_t
spans_doc_of(const struct spans *s, uint64_t at)
{
	size_t i, from = s->doc[at / DOC_STEP], to = s->doc[at / DOC_STEP + 1];

	FIND_FIRST(i, from + 1, to + 1, s->start[i] > at);
	return i - 1;
}

static void
read_spool(struct spans *s, uint64_t at, char *p, size_t n)
{
	if (s->err.set || spool_read(s->text, at, p, n, &s->err))
		memset(p, 0, n);
}

/* The block with the byte `at`. */
static const char *
block_of(struct spans *s, uint64_t at)
{
	uint64_t number = at / BLOCK;
	struct block *b;

	if (!s->block)
		s->block = xcalloc(BLOCKS, sizeof(*s->block));
	b = &s->block[number % BLOCKS];
	if (b->number != number + 1) {
		at = number * BLOCK;
		read_spool(s, at, b->p, s->n - at < BLOCK ?
			   (size_t)(s->n - at) : BLOCK);
		b->number = number + 1;
	}
	return b->p;
}

void
spans_read(struct spans *s, uint64_t at, char *p, size_t n)
{
	const char *view = spool_view(s->text, at, n);
	size_t k;

	if (view) {
		memcpy(p, view, n);
		return;
	}
	pthread_mutex_lock(&s->lock);
	if (n > BLOCK) {
		read_spool(s, at, p, n);
		n = 0;
	}
	for (; n; n -= k, p += k, at += k) {
		k = BLOCK - at % BLOCK < n ? BLOCK - at % BLOCK : n;
		memcpy(p, block_of(s, at) + at % BLOCK, k);
	}
	pthread_mutex_unlock(&s->lock);
}

void
spans_forget(struct spans *s)
{
	free(s->block);
	s->block = NULL;
}

static int
is_bound(struct spans *s, uint64_t at, uint64_t end)
{
	char c;

	if (at >= end)
		return 1;
	spans_read(s, at, &c, 1);
	return (c & 0xc0) != 0x80;
}

size_t
spans_agree(const char *p, const char *q, size_t n)
{
	size_t i;

	for (i = 0; i + 8 <= n && !memcmp(p + i, q + i, 8); i += 8)
		;
	while (i < n && p[i] == q[i])
		i++;
	return i;
}

size_t
spans_agree_end(const char *p, const char *q, size_t n)
{
	size_t i;

	for (i = n; i >= 8 && !memcmp(p + i - 8, q + i - 8, 8); i -= 8)
		;
	while (i && p[i - 1] == q[i - 1])
		i--;
	return n - i;
}

/* Equal bytes of all texts from a and b on, up to max. */
static uint64_t
agree(struct spans *s, uint64_t a, uint64_t b, uint64_t max)
{
	char x[CHUNK], y[CHUNK];
	uint64_t k;
	size_t i, n;

	if (s->p)
		return spans_agree(s->p + a, s->p + b, (size_t)max);
	for (k = 0; k < max; k += n) {
		n = max - k < CHUNK ? (size_t)(max - k) : CHUNK;
		spans_read(s, a + k, x, n);
		spans_read(s, b + k, y, n);
		i = spans_agree(x, y, n);
		if (i < n)
			return k + i;
	}
	return max;
}

/* ... before them; most often there are none. */
static uint64_t
agree_before(struct spans *s, uint64_t a, uint64_t b, uint64_t max)
{
	char x[CHUNK], y[CHUNK];
	size_t i, n = FEW;
	uint64_t k;

	if (s->p)
		return spans_agree_end(s->p + a - max, s->p + b - max,
				       (size_t)max);
	for (k = 0; k < max; k += n, n = CHUNK) {
		n = max - k < n ? (size_t)(max - k) : n;
		spans_read(s, a - k - n, x, n);
		spans_read(s, b - k - n, y, n);
		i = spans_agree_end(x, y, n);
		if (i < n)
			return k + i;
	}
	return max;
}

/* --- spans --- */

static uint64_t
least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void
put_span(struct spans *s, struct text_span v)
{
	/* ends ascend, so a span that begins there or later is inside v */
	while (s->nv && s->v[s->nv - 1].doc == v.doc &&
	       s->v[s->nv - 1].start >= v.start)
		s->nv--;
	GROW(s->v, s->vcap, s->nv + 1);
	s->v[s->nv++] = v;
}

int
spans_follow(struct spans *s, struct doc_at *d, uint64_t x, uint64_t q,
	     size_t n, uint64_t known, int most)
{
	size_t first = spans_doc_of(s, q);
	uint64_t first_begin = s->start[first], first_end = s->start[first + 1];
	uint64_t start, end, max = least_of(first_end - q, d->end - x);
	int same = first == d->doc;

	if (same)		/* the first must end before the copy */
		max = least_of(max, x - q);
	if (max < n)
		return 0;
	end = least_of(known, x + max);
	if (!most)
		end += agree(s, end, q + (end - x), max - (end - x));
	if (end - x < n)
		return 0;
	while (!is_bound(s, end, d->end))
		end--;
	max = least_of(x - d->begin, q - first_begin);
	if (same)
		max = least_of(max, x - (q + (end - x)));
	start = x - agree_before(s, x, q, max);
	while (!is_bound(s, start, d->end))
		start++;
	put_span(s, (struct text_span){
		d->doc, (uint32_t)first, (uint32_t)(start - d->begin),
		(uint32_t)(end - d->begin),
		(uint32_t)(q - (x - start) - first_begin)
	});
	d->covered = end;
	d->from = start;
	return 1;
}
