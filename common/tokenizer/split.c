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

#include "base/mem.h"
#include "base/utf8.h"
#include "tokenizer/split_priv.h"

enum { BATCH = 256 };

struct level {
	enum pattern kind;
	int behavior, invert;
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
		l->behavior = how & ~SPLIT_INVERT;
		l->invert = (how & SPLIT_INVERT) != 0;
		s->n++;
		if (l->behavior == SPLIT_REMOVED)
			err_set(e, "split behavior Removed is not supported: "
				"it loses text");
		else if (l->kind == PATTERN_OTHER)
			l->re = split_re_new(names[i], strlen(names[i]), e);
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

struct split_scratch *
split_scratch_new(const struct split *s)
{
	struct split_scratch *t = xcalloc(1, sizeof(*t));

	t->mask = split_mask_new();
	t->nlevels = s->n;
	t->match = xcalloc(s->n + 1, sizeof(*t->match));
	for (size_t i = 0; i < s->n; i++)
		if (s->level[i].re)
			t->match[i] = split_re_match_new(s->level[i].re);
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
	free(t);
}

static void
ends_add(struct ends *x, size_t end)
{
	GROW(x->v, x->cap, x->n + 1);
	x->v[x->n++] = (uint32_t)end;
}

/*
 * Append one match, or the gap between two, that ends at `end`.  *prev: was
 * the one before a match?  Merging it with the one before drops the end
 * between them.
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

static void
cut_regex(const struct level *l, struct split_re_match *m, const char *p,
	  size_t base, size_t n, struct ends *out)
{
	size_t first = out->n, at = 0, from = 0, s, e;
	int prev = -1;

	while (from <= n && split_re_find(l->re, m, p, n, from, &s, &e)) {
		if (s > at)
			stretch(out, l->behavior, first, base + s, l->invert,
				&prev);
		if (e > s)
			stretch(out, l->behavior, first, base + e, !l->invert,
				&prev);
		at = e > at ? e : s > at ? s : at;
		from = e;
		if (e == s)	/* an empty match: skip a character */
			do
				from++;
			while (from < n && utf8_is_cont(p[from]));
	}
	if (at < n)
		stretch(out, l->behavior, first, base + n, l->invert, &prev);
}

/* The next ends of a known pattern.  A new one needs a case: -Wswitch. */
static size_t
known_next(enum pattern kind, struct split_mask *mask, const char *text,
	   size_t n, size_t *pos, uint32_t *ends, size_t max)
{
	size_t k = 0;

	switch (kind) {
	case PATTERN_GPT2:
	case PATTERN_CL100K:
	case PATTERN_QWEN2:
		return split_mask_next(kind, mask, text, n, pos, ends, max);
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

/* Split text[start..end) at one level. */
static void
cut(const struct level *l, struct split_scratch *t, size_t level,
    const char *text, size_t start, size_t end, struct ends *out)
{
	size_t pos = 0, n = end - start, k;

	if (l->kind == PATTERN_OTHER) {
		cut_regex(l, t->match[level], text + start, start, n, out);
		return;
	}
	/* known patterns leave no gaps: the text is one run of matches */
	if (l->behavior == SPLIT_CONTIGUOUS) {
		if (n)
			ends_add(out, end);
		return;
	}
	for (; pos < n; out->n += k) {
		uint32_t *v;

		GROW(out->v, out->cap, out->n + BATCH);
		v = out->v + out->n;
		k = known_next(l->kind, t->mask, text + start, n, &pos, v,
			       BATCH);
		for (size_t i = 0; i < k; i++)
			v[i] += (uint32_t)start;
	}
}

static void
cut_all(const struct split *s, struct split_scratch *t, const char *text,
	size_t n)
{
	t->q.n = t->at = 0;
	ends_add(&t->q, n);
	for (size_t i = 0; i < s->n; i++) {
		struct ends x;
		size_t start = 0;

		t->next.n = 0;
		for (size_t k = 0; k < t->q.n; k++) {
			cut(&s->level[i], t, i, text, start, t->q.v[k],
			    &t->next);
			start = t->q.v[k];
		}
		x = t->q;
		t->q = t->next;
		t->next = x;
	}
}

size_t
split_next(const struct split *s, struct split_scratch *t, const char *text,
	   size_t n, size_t *pos, uint32_t *ends, size_t max)
{
	size_t k;

	if (*pos >= n)
		return 0;
	if (s->n == 1 && s->level[0].kind != PATTERN_OTHER &&
	    s->level[0].behavior != SPLIT_CONTIGUOUS)
		return known_next(s->level[0].kind, t->mask, text, n, pos,
				  ends, max);
	if (*pos == 0)
		cut_all(s, t, text, n);
	k = t->q.n - t->at < max ? t->q.n - t->at : max;
	memcpy(ends, t->q.v + t->at, k * sizeof(*ends));
	t->at += k;
	*pos = ends[k - 1];
	return k;
}
