/*
 * split.c - one split pattern or a sequence of them
 *
 * A single known pattern, the usual case, writes its ends straight to the
 * caller.  Otherwise the whole text is split level by level: each pattern
 * replaces the pre-tokens in a list by its own, and split_next() hands out
 * the list.
 */
#include "tokenizer/split.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "record/vocab.h"
#include "text/unicode.h"
#include "tokenizer/split_priv.h"

enum { BATCH = 256 };

struct level {
	enum pattern kind;
	int behavior, invert, bytes;	/* bytes: SPLIT_BYTES */
	struct split_re *re;		/* PATTERN_OTHER only */
};

struct split {
	size_t n;
	struct level *level;
};

struct ends {
	uint32_t *v;
	size_t n, cap;
};

struct split_scratch {
	struct split_mask *mask;
	struct split_re_match **match;	/* [levels] */
	size_t nlevels;
	struct ends q, next;		/* pre-tokens, those before `at` used */
	size_t at;
	struct buf chars;		/* of SPLIT_BYTES */
	size_t blanks;			/* where the white space at the end of
					   a text begins (CL100K_END) */
};

struct split *
split_new(const char *const *names, const int *behavior, size_t n,
	  struct err *e)
{
	struct split *s = xcalloc(1, sizeof(*s));

	s->level = xcalloc(n + 1, sizeof(*s->level));
	for (size_t i = 0; i < n; i++) {
		struct level *l = &s->level[s->n];
		int how = behavior ? behavior[i] : SPLIT_ISOLATED;

		l->kind = pattern_find(names[i]);
		if (l->kind == PATTERN_NONE)
			continue;
		l->behavior = how & (SPLIT_INVERT - 1);
		l->bytes = (how & SPLIT_BYTES) != 0;
		l->invert = (how & SPLIT_INVERT) != 0;
		s->n++;
		if (l->behavior == SPLIT_REMOVED && !l->invert)
			err_set(e, "split behavior Removed without invert is "
				"not supported: it loses text");
		else if (l->kind == PATTERN_OTHER)
			l->re = split_re_new(names[i], strlen(names[i]),
					     (how & SPLIT_SIMPLE_FOLD) != 0, e);
		if (e->set) {
			split_free(s);
			return NULL;
		}
	}
	return s;
}

void
split_free(struct split *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		split_re_free(s->level[i].re);
	free(s->level);
	free(s);
}

int
split_may_fail(const struct split *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->level[i].re)
			return 1;
	return 0;
}

struct split_scratch *
split_scratch_new(const struct split *s)
{
	struct split_scratch *t = xcalloc(1, sizeof(*t));

	t->mask = split_mask_new();
	t->nlevels = s->n;
	t->match = xcalloc(s->n + 1, sizeof(*t->match));
	for (size_t i = 0; i < s->n; i++)
		if (s->level[i].re)
			t->match[i] = split_re_match_new();
	return t;
}

void
split_scratch_free(struct split_scratch *t)
{
	if (!t)
		return;
	split_mask_free(t->mask);
	for (size_t i = 0; i < t->nlevels; i++)
		split_re_match_free(t->match[i]);
	free(t->match);
	free(t->q.v);
	free(t->next.v);
	buf_clear(&t->chars);
	free(t);
}

static void
ends_add(struct ends *x, size_t end)
{
	GROW(x->v, x->cap, x->n + 1);
	x->v[x->n++] = (uint32_t)end;
}

/*
 * Append one match, or the gap between two, that ends at `end`; an empty match
 * too, whose end is dropped later.  *prev: was the one before a match?  Merging
 * it with the one before drops the end between them.
 */
static void
stretch(struct ends *out, int behavior, size_t first, size_t end, int match,
	int *prev)
{
	if (out->n > first &&
	    ((behavior == SPLIT_CONTIGUOUS && *prev == match) ||
	     (behavior == SPLIT_MERGED_WITH_PREVIOUS && match && !*prev) ||
	     (behavior == SPLIT_MERGED_WITH_NEXT && !match && *prev)))
		out->n--;
	ends_add(out, end);
	*prev = match;
}

/* Drop the ends of empty stretches. */
static void
drop_empty(struct ends *x, size_t first, size_t start)
{
	size_t k = first;

	for (size_t i = first; i < x->n; i++) {
		if (x->v[i] == start)
			continue;
		start = x->v[k++] = x->v[i];
	}
	x->n = k;
}

static int
removed(size_t at, struct err *e)
{
	return err_set(e, "byte %zu of the text: the split pattern does not "
		       "match, and the tokenizer removes such text", at);
}

static int
cut_regex(const struct level *l, struct split_re_match *m, const char *p,
	  size_t base, size_t n, struct ends *out, struct err *e)
{
	size_t first = out->n, at = 0, from = 0, s, end;
	int prev = -1, rc;

	while ((rc = split_re_find(l->re, m, p, n, &from, &s, &end, e)) > 0) {
		if (s > at && l->behavior == SPLIT_REMOVED)
			return removed(base + at, e);
		if (s > at)
			stretch(out, l->behavior, first, base + s, l->invert,
				&prev);
		stretch(out, l->behavior, first, base + end, !l->invert,
			&prev);
		at = end;
	}
	if (rc == 0 && at < n && l->behavior == SPLIT_REMOVED)
		return removed(base + at, e);
	if (at < n)
		stretch(out, l->behavior, first, base + n, l->invert, &prev);
	drop_empty(out, first, base);
	return rc;
}

/* Where the white space at the end of a text begins. */
static size_t
last_blanks(const char *p, size_t n)
{
	unsigned len;
	size_t i;

	for (i = n; i; i -= len) {
		for (len = 1; len < i && utf8_is_cont(p[i - len]); len++)
			;
		if (!(uc_class(uc_next(p + i - len, len, &len)) & UC_SPACE))
			break;
	}
	return i;
}

/*
 * cl100k, but `\s++\z` comes before its other alternatives for white space:
 * where a pre-token begins in the white space that ends the text, it is the
 * last one.
 */
static size_t
end_next(struct split_scratch *t, const char *text, size_t n, size_t *pos,
	 uint32_t *ends, size_t max)
{
	size_t k = 0;

	if (*pos == 0)
		t->blanks = last_blanks(text, n);
	if (*pos < t->blanks)
		k = split_mask_next(PATTERN_CL100K, t->mask, text, n, pos,
				    ends, max);
	while (k > 1 && ends[k - 2] >= t->blanks)
		k--;
	if (k == max && ends[k - 1] < n) {
		*pos = ends[k - 1];
		return k;
	}
	if (k == 0 || (ends[k - 1] >= t->blanks && ends[k - 1] < n))
		ends[k++] = (uint32_t)n;
	*pos = ends[k - 1];
	return k;
}

/* The next ends of a known pattern.  A new one needs a case: -Wswitch. */
static size_t
known_next(enum pattern kind, struct split_scratch *t, const char *text,
	   size_t n, size_t *pos, uint32_t *ends, size_t max)
{
	size_t k = 0;

	switch (kind) {
	case PATTERN_GPT2:
	case PATTERN_CL100K:
	case PATTERN_QWEN2:
		return split_mask_next(kind, t->mask, text, n, pos, ends,
				       max);
	case PATTERN_CL100K_END:
		return end_next(t, text, n, pos, ends, max);
	case PATTERN_O200K:
		while (k < max && *pos < n) {
			*pos = split_o200k(text, n, *pos);
			ends[k++] = (uint32_t)*pos;
		}
		break;
	case PATTERN_NONE:	/* has no level */
	case PATTERN_OTHER:	/* is a regex */
		break;
	}
	return k;
}

static int cut(const struct level *l, struct split_scratch *t, size_t level,
	       const char *text, size_t start, size_t end, struct ends *out,
	       struct err *e);

/*
 * Split the characters that ByteLevel writes for text[start..end): each is one
 * byte of the text, and one or two in UTF-8.
 */
static int
cut_bytes(const struct level *l, struct split_scratch *t, size_t level,
	  const char *text, size_t start, size_t end, struct ends *out,
	  struct err *e)
{
	struct level plain = *l;
	size_t first = out->n, k = 0, c = start;

	plain.bytes = 0;
	buf_reset(&t->chars);
	for (size_t i = start; i < end; i++)
		t->chars.n += (size_t)utf8_put(buf_reserve(&t->chars, 4),
			vocab_byte_char((uint8_t)text[i]));
	if (cut(&plain, t, level, t->chars.p, 0, t->chars.n, out, e) < 0)
		return -1;
	for (size_t i = first; i < out->n; i++) {
		for (; k < out->v[i]; c++)
			k += vocab_byte_char((uint8_t)text[c]) < 0x80 ? 1 : 2;
		out->v[i] = (uint32_t)c;
	}
	return 0;
}

/* Split text[start..end) at one level. */
static int
cut(const struct level *l, struct split_scratch *t, size_t level,
    const char *text, size_t start, size_t end, struct ends *out,
    struct err *e)
{
	size_t pos = 0, n = end - start, k;

	if (l->bytes)
		return cut_bytes(l, t, level, text, start, end, out, e);
	if (l->kind == PATTERN_OTHER)
		return cut_regex(l, t->match[level], text + start, start, n,
				 out, e);
	/* known patterns leave no gaps: the text is one run of matches */
	if (l->behavior == SPLIT_CONTIGUOUS) {
		if (n)
			ends_add(out, end);
		return 0;
	}
	for (; pos < n; out->n += k) {
		uint32_t *v;

		GROW(out->v, out->cap, out->n + BATCH);
		v = out->v + out->n;
		k = known_next(l->kind, t, text + start, n, &pos, v,
			       BATCH);
		for (size_t i = 0; i < k; i++)
			v[i] += (uint32_t)start;
	}
	return 0;
}

static int
cut_all(const struct split *s, struct split_scratch *t, const char *text,
	size_t n, struct err *e)
{
	t->q.n = t->at = 0;
	ends_add(&t->q, n);
	for (size_t i = 0; i < s->n; i++) {
		struct ends x;
		size_t start = 0;

		t->next.n = 0;
		for (size_t k = 0; k < t->q.n; k++) {
			if (cut(&s->level[i], t, i, text, start, t->q.v[k],
				&t->next, e) < 0)
				return -1;
			start = t->q.v[k];
		}
		x = t->q;
		t->q = t->next;
		t->next = x;
	}
	return 0;
}

size_t
split_next(const struct split *s, struct split_scratch *t, const char *text,
	   size_t n, size_t *pos, uint32_t *ends, size_t max, struct err *e)
{
	size_t k;

	if (*pos >= n)
		return 0;
	if (s->n == 1 && s->level[0].kind != PATTERN_OTHER &&
	    !s->level[0].bytes && s->level[0].behavior != SPLIT_CONTIGUOUS)
		return known_next(s->level[0].kind, t, text, n, pos,
				  ends, max);
	if (*pos == 0 && cut_all(s, t, text, n, e) < 0)
		return 0;
	k = t->q.n - t->at < max ? t->q.n - t->at : max;
	memcpy(ends, t->q.v + t->at, k * sizeof(*ends));
	t->at += k;
	*pos = ends[k - 1];
	return k;
}
