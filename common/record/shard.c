/*
 * shard.c - one stream over all parts: tokens, documents, windows
 *
 * A part is found by binary search over the first tokens (or records) of all
 * parts, then a block in it (shard_native.c) or an offset (other formats).
 * Nothing here allocates or locks, so any number of threads may read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "record/shard_priv.h"

const struct shard_info *
shards_info(const struct shards *s)
{
	return &s->info;
}

/* Last part whose first token is at or before `at`. */
static const struct part *
part_at(const struct shards *s, uint64_t at)
{
	size_t i;

	FIND_FIRST(i, 1, s->nparts, s->part[i].first > at);
	return &s->part[i - 1];
}

static const struct part *
part_of_doc(const struct shards *s, uint64_t d)
{
	size_t i;

	FIND_FIRST(i, 1, s->nparts, s->part[i].first_doc > d);
	return &s->part[i - 1];
}

/* ids[0..n) came from `at` of part p: are all below the vocabulary? */
static int
within_limit(const struct part *p, uint32_t vocab, uint64_t at, size_t n,
	     const uint32_t *ids, struct err *e)
{
	size_t i = shard_beyond(ids, n, vocab);

	if (i == n)
		return 0;
	return err_set(e, "%s: offset %llu: token %llu is id %u, the "
		       "vocabulary has %u", p->name, (unsigned long long)
		       (p->tok_offset + (at + i) * p->width),
		       (unsigned long long)(at + i), ids[i], vocab);
}

int
shards_read(const struct shards *s, uint64_t at, size_t n, uint32_t *ids,
	    struct err *e)
{
	if (at > s->info.tokens || n > s->info.tokens - at)
		return err_set(e, "%s: no tokens %llu to %llu: the stream has "
			       "%llu", s->part[0].name,
			       (unsigned long long)at,
			       (unsigned long long)(at + n),
			       (unsigned long long)s->info.tokens);
	while (n > 0) {
		const struct part *p = part_at(s, at);
		uint64_t off = at - p->first;
		size_t m = n;

		if (m > p->tokens - off)
			m = (size_t)(p->tokens - off);
		if (p->format != SHARD_ASSAY)
			shard_widen(ids, p->tok + off * p->width, p->width, m);
		else if (shard_native_read(p, off, m, ids, e) < 0)
			return -1;
		if (s->hint.limit && s->hint.vocab &&
		    within_limit(p, s->hint.vocab, off, m, ids, e) < 0)
			return -1;
		ids += m;
		at += m;
		n -= m;
	}
	return 0;
}

static int
by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int
shards_go_together(const struct shards *train, const struct shards *val)
{
	uint64_t *of_val = xreallocarray(NULL, val->nparts + 1,
					 sizeof(*of_val));
	size_t i, n = 0;
	int some = 0, same = 0;

	for (i = 0; i < val->nparts; i++)
		if (val->part[i].pair)
			of_val[n++] = val->part[i].pair;
	qsort(of_val, n, sizeof(*of_val), by_number);
	for (i = 0; i < train->nparts && !same; i++) {
		some |= train->part[i].pair != 0;
		same = train->part[i].pair &&
			bsearch(&train->part[i].pair, of_val, n,
				sizeof(*of_val), by_number) != NULL;
	}
	free(of_val);
	return same || !some || n == 0;
}

int
shards_verify(const struct shards *s, struct err *e)
{
	uint32_t ids[4096];
	uint64_t at;
	size_t i, n;

	for (i = 0; i < s->nparts; i++) {
		const struct part *p = &s->part[i];

		if (p->format == SHARD_ASSAY && shard_native_verify(p, e) < 0)
			return -1;
		if (!s->hint.limit || !s->hint.vocab ||
		    (p->format == SHARD_ASSAY &&
		     p->head->vocab <= s->hint.vocab))
			continue;
		for (at = 0; at < p->tokens; at += n) {
			n = p->tokens - at < 4096 ? p->tokens - at : 4096;
			if (shards_read(s, p->first + at, n, ids, e) < 0)
				return -1;
		}
	}
	return 0;
}

int
shards_doc(const struct shards *s, uint64_t d, struct shard_doc *out,
	   struct err *e)
{
	const struct part *p;
	uint64_t k;

	if (d >= s->info.pieces)
		return err_set(e, "%s: no document %llu: the stream has %llu",
			       s->part[0].name, (unsigned long long)d,
			       (unsigned long long)s->info.pieces);
	p = part_of_doc(s, d);
	k = d - p->first_doc;
	out->file = p->name;
	out->nth = p->nth + k;
	if (p->format == SHARD_ASSAY)
		return shard_native_doc(p, k, out, e);
	out->start = k ? p->first + p->ends[k - 1] : p->first - p->carry;
	out->end = p->first + p->ends[k];
	out->from = 0;
	out->first = out->last = 1;
	out->id = (struct span){NULL, 0};
	if (p->id_end && p->id_end[k] > (k ? p->id_end[k - 1] : 0)) {
		out->id.p = p->id_text + (k ? p->id_end[k - 1] : 0);
		out->id.n = p->id_end[k] - (k ? p->id_end[k - 1] : 0);
	}
	return 0;
}

struct span
shards_doc_id(const struct shard_doc *d, struct buf *tmp)
{
	if (d->id.p)
		return d->id;
	buf_reset(tmp);
	buf_printf(tmp, "%s:#%llu", d->file, (unsigned long long)d->nth);
	return buf_span(tmp);
}

uint64_t
shards_doc_at(const struct shards *s, uint64_t at, struct err *e)
{
	const struct part *p;
	uint64_t d;

	if (s->info.pieces == 0 || at >= s->info.tokens)
		return UINT64_MAX;
	p = part_at(s, at);
	if (p->format == SHARD_ASSAY) {
		d = shard_native_doc_at(p, at - p->first, e);
		if (d == UINT64_MAX && (e->set || p->first_doc == 0))
			return UINT64_MAX;
		return p->first_doc + d;	/* d = -1: the one before */
	}
	at -= p->first;
	FIND_FIRST(d, 0, p->docs, p->ends[d] > at);
	return p->first_doc + d;
}

uint64_t
shards_windows(const struct shards *s, uint32_t T)
{
	if (T == 0)
		return 0;
	if (s->info.windows)
		return T == s->info.seq_len ?
		       s->info.tokens / ((uint64_t)T + 1) : 0;
	return s->info.tokens ? (s->info.tokens - 1) / T : 0;
}

uint64_t
shards_window_at(const struct shards *s, uint32_t T, uint64_t k)
{
	return k * ((uint64_t)T + !!s->info.windows);
}

static int
window_exists(const struct shards *s, uint32_t T, uint64_t k, struct err *e)
{
	uint64_t n = shards_windows(s, T);

	if (k < n)
		return 0;
	if (s->info.windows && T != s->info.seq_len)
		return err_set(e, "%s: its windows have %u tokens, not %u",
			       s->part[0].name, s->info.seq_len, T);
	if (n == 0)
		return err_set(e, "%s: need at least %llu tokens for a window "
			       "of %u and its targets, have %llu",
			       s->part[0].name, (unsigned long long)T + 1, T,
			       (unsigned long long)s->info.tokens);
	return err_set(e, "%s: no window %llu: there are %llu",
		       s->part[0].name, (unsigned long long)k,
		       (unsigned long long)n);
}

/* The records of a window, in order. */
struct walk {
	uint64_t d;			/* the record that may hold the token */
	struct shard_doc doc;
};

static int
walk_load(const struct shards *s, struct walk *w, struct err *e)
{
	w->doc.start = w->doc.end = UINT64_MAX;		/* past the last */
	return w->d < s->info.pieces ? shards_doc(s, w->d, &w->doc, e) : 0;
}

/*
 * Set *run to the number of tokens from `at`, at most n, that are in one
 * document or in padding, and *pad.
 */
static int
walk_run(const struct shards *s, struct walk *w, uint64_t at, uint64_t n,
	 uint64_t *run, int *pad, struct err *e)
{
	while (w->doc.end <= at) {
		w->d++;
		if (walk_load(s, w, e) < 0)
			return -1;
	}
	*pad = w->doc.start > at;
	*run = (*pad ? w->doc.start : w->doc.end) - at;
	if (*run > n)
		*run = n;
	return 0;
}

static void
fill_run(uint32_t T, uint64_t i, uint64_t run, int pad, uint32_t number,
	 int doc_mask, uint8_t *mask, uint32_t *seg)
{
	uint64_t end = i + run, j;

	for (j = i; seg && j < end && j < T; j++)
		seg[j] = number;
	/* The token at i + 1 is the target of position i. */
	for (j = i ? i - 1 : 0; mask && j + 1 < end && j < T; j++)
		mask[j] = !pad;
	if (mask && doc_mask && i && i - 1 < T)
		mask[i - 1] = 0;		/* start of a document */
}

/* The contents of a file, as far as info.hash can tell. */
struct content {
	uint64_t hash, tokens;
	enum shard_format format;
};

static struct content
content_of(const struct part *p)
{
	return (struct content){p->format == SHARD_ASSAY ?
		p->tail->content : p->hash, p->tokens, p->format};
}

static int
by_content(const void *a, const void *b)
{
	const struct content *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->tokens != y->tokens)
		return x->tokens < y->tokens ? -1 : 1;
	return (x->format > y->format) - (x->format < y->format);
}

size_t
shards_common(const struct shards *a, const struct shards *b,
	      const char **first)
{
	struct content *of_b = xreallocarray(NULL, b->nparts + 1,
					     sizeof(*of_b));
	size_t n = 0, i;

	for (i = 0; i < b->nparts; i++)
		of_b[i] = content_of(&b->part[i]);
	qsort(of_b, b->nparts, sizeof(*of_b), by_content);
	for (i = 0; i < a->nparts; i++) {
		struct content c = content_of(&a->part[i]);

		if (bsearch(&c, of_b, b->nparts, sizeof(*of_b), by_content) &&
		    n++ == 0)
			*first = a->part[i].name;
	}
	free(of_b);
	return n;
}

int
shards_window(const struct shards *s, uint32_t T, uint64_t k, int doc_mask,
	      uint32_t *ids, uint32_t *targets, uint8_t *mask, uint32_t *seg,
	      struct err *e)
{
	uint64_t at, i, run;
	struct walk w = {0};
	uint32_t number = 0;
	int pad;

	if (window_exists(s, T, k, e) < 0)
		return -1;
	at = shards_window_at(s, T, k);
	if (shards_read(s, at, T, ids, e) < 0 ||
	    shards_read(s, at + T, 1, targets + T - 1, e) < 0)
		return -1;
	memcpy(targets, ids + 1, (T - 1) * sizeof(*ids));
	if (!mask && !seg)
		return 0;
	if (s->info.pieces == 0) {
		if (seg)
			memset(seg, 0, T * sizeof(*seg));
		if (mask)
			memset(mask, 1, T);
		return 0;
	}
	w.d = shards_doc_at(s, at, e);
	if (e->set)
		return -1;
	if (w.d == UINT64_MAX)
		w.d = 0;
	if (walk_load(s, &w, e) < 0)
		return -1;
	for (i = 0; i <= T; i += run, number++) {
		if (walk_run(s, &w, at + i, T + 1 - i, &run, &pad, e) < 0)
			return -1;
		fill_run(T, i, run, pad, number, doc_mask, mask, seg);
	}
	return 0;
}
