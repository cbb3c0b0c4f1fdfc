/*
 * split.c - patterns by name, and several in a row
 *
 * One known pattern, the usual case, goes straight to its scanner.  All
 * else is cut level by level: the pieces of the first pattern are put into a
 * list, every further pattern replaces each piece of the list by its own
 * pieces, and split_next() hands the list out.
 */
#include "tokenizer/split.h"

#include <stdlib.h>

#include "base/mem.h"
#include "tokenizer/split_scan.h"

struct level {
	enum scan kind;
	int behavior;
	struct regex *re;
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
	struct scan_work *work;
	struct regex_match **match;	/* [levels] */
	size_t nlevels;
	struct ends q, next;		/* pieces waiting from at on */
	size_t at;
};

static enum scan
scan_of(enum pattern p)
{
	switch (p) {
	case PATTERN_NONE:
		return SCAN_NONE;
	case PATTERN_GPT2:
		return SCAN_GPT2;
	case PATTERN_CL100K:
		return SCAN_CL100K;
	case PATTERN_QWEN2:
		return SCAN_QWEN2;
	case PATTERN_O200K:
		return SCAN_O200K;
	default:
		return SCAN_REGEX;
	}
}

const char *
split_pattern(const char *name)
{
	return pattern_regex(name);
}

const char *
split_name(const char *pattern)
{
	return pattern_name(pattern_find(pattern));
}

struct split *
split_new(const char *const *names, const int *behavior, size_t n,
	  struct err *e)
{
	struct split *s = xcalloc(1, sizeof(*s));

	s->level = xcalloc(n + 1, sizeof(*s->level));
	for (size_t i = 0; i < n; i++) {
		struct level *l = &s->level[s->n];

		l->kind = scan_of(pattern_find(names[i]));
		if (l->kind == SCAN_NONE)
			continue;
		l->behavior = behavior ? behavior[i] : SPLIT_ISOLATED;
		s->n++;
		if ((l->behavior & ~SPLIT_INVERT) == SPLIT_REMOVED)
			err_set(e, "split behavior Removed is not done: it "
				"loses text");
		else if (l->kind == SCAN_REGEX)
			l->re = regex_new(names[i], strlen(names[i]), e);
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
		regex_free(s->level[i].re);
	free(s->level);
	free(s);
}

struct split_scratch *
split_scratch_new(const struct split *s)
{
	struct split_scratch *t = xcalloc(1, sizeof(*t));

	t->work = scan_work_new();
	t->nlevels = s->n;
	t->match = xcalloc(s->n + 1, sizeof(*t->match));
	for (size_t i = 0; i < s->n; i++)
		if (s->level[i].re)
			t->match[i] = regex_match_new(s->level[i].re);
	return t;
}

void
split_scratch_free(struct split_scratch *t)
{
	if (!t)
		return;
	scan_work_free(t->work);
	for (size_t i = 0; i < t->nlevels; i++)
		regex_match_free(t->match[i]);
	free(t->match);
	free(t->q.v);
	free(t->next.v);
	free(t);
}

static uint32_t *
ends_room(struct ends *x, size_t n)
{
	if (x->n + n > x->cap) {
		x->cap = 2 * x->cap + n;
		x->v = xreallocarray(x->v, x->cap, sizeof(*x->v));
	}
	return x->v + x->n;
}

static void
ends_add(struct ends *x, size_t end)
{
	*ends_room(x, 1) = (uint32_t)end;
	x->n++;
}

/*
 * One stretch of a level (a match, or what lies between two) is put behind
 * the others.  Empty ones are no pieces.  *prev: whether the one before was a
 * match.  Merging with the next one means that its start is no end.
 */
static void
stretch(struct ends *out, int behavior, size_t first, size_t end, int match,
	int *prev)
{
	int any = out->n > first;

	switch (behavior & ~SPLIT_INVERT) {
	case SPLIT_CONTIGUOUS:
		if (any && *prev == match)
			out->n--;
		break;
	case SPLIT_MERGED_WITH_PREVIOUS:
		if (any && match && *prev == 0)
			out->n--;
		break;
	case SPLIT_MERGED_WITH_NEXT:
		if (any && !match && *prev == 1)
			out->n--;
		break;
	}
	ends_add(out, end);
	*prev = match;
}

static void
cut_regex(const struct level *l, struct regex_match *m, const char *p,
	  size_t base, size_t n, struct ends *out)
{
	size_t first = out->n, at = 0, from = 0, s, e;
	int prev = -1, inv = (l->behavior & SPLIT_INVERT) != 0;

	while (from <= n && regex_find(l->re, m, p, n, from, &s, &e)) {
		if (s > at)
			stretch(out, l->behavior, first, base + s, inv, &prev);
		if (e > s)
			stretch(out, l->behavior, first, base + e, !inv,
				&prev);
		at = e > at ? e : s > at ? s : at;
		from = e;
		if (e == s)	/* an empty match: on by one character */
			do
				from++;
			while (from < n && (p[from] & 0xc0) == 0x80);
	}
	if (at < n)
		stretch(out, l->behavior, first, base + n, inv, &prev);
}

/* Pieces of text[start..end) under one level. */
static void
cut(const struct level *l, struct split_scratch *t, size_t level,
    const char *text, size_t start, size_t end, struct ends *out)
{
	size_t pos = 0, n = end - start;

	if (l->kind == SCAN_REGEX) {
		cut_regex(l, t->match[level], text + start, start, n, out);
		return;
	}
	/* known patterns leave no gaps: all stretches are matches */
	if ((l->behavior & ~SPLIT_INVERT) == SPLIT_CONTIGUOUS) {
		if (n)
			ends_add(out, end);
		return;
	}
	while (pos < n) {
		if (l->kind == SCAN_O200K) {
			pos = scan_piece(l->kind, text + start, n, pos);
			ends_add(out, start + pos);
		} else {
			uint32_t *v = ends_room(out, 256);
			size_t k = scan_masks(l->kind, t->work, text + start,
					      n, &pos, v, 256);

			for (size_t i = 0; i < k; i++)
				v[i] += (uint32_t)start;
			out->n += k;
		}
	}
}

/* Fill the list with the pieces of the whole text. */
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

/* One known pattern, all pieces as matched. */
static int
simple(const struct split *s)
{
	return s->n == 1 && s->level[0].kind != SCAN_REGEX &&
		(s->level[0].behavior & ~SPLIT_INVERT) != SPLIT_CONTIGUOUS;
}

size_t
split_next(const struct split *s, struct split_scratch *t, const char *text,
	   size_t n, size_t *pos, uint32_t *ends, size_t max)
{
	size_t k = 0;

	if (*pos >= n)
		return 0;
	if (simple(s) && s->level[0].kind != SCAN_O200K)
		return scan_masks(s->level[0].kind, t->work, text, n, pos,
				  ends, max);
	if (simple(s)) {
		while (k < max && *pos < n) {
			*pos = scan_piece(SCAN_O200K, text, n, *pos);
			ends[k++] = (uint32_t)*pos;
		}
		return k;
	}
	if (*pos == 0)
		cut_all(s, t, text, n);
	k = t->q.n - t->at < max ? t->q.n - t->at : max;
	memcpy(ends, t->q.v + t->at, k * sizeof(*ends));
	t->at += k;
	*pos = ends[k - 1];
	return k;
}
