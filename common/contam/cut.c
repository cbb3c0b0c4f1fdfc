/*
 * cut.c - what is left of a text when its hits are cut out
 *
 * One pass over the hits in their order: `from` is where the text that is
 * not yet decided on begins, the window of the current hits grows until the
 * next one begins behind it.  Steps of characters look at the bytes that
 * begin one.
 */
#include "contam/cut.h"

static int
begins(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static size_t
back(struct span t, size_t at, size_t chars)
{
	while (at && chars)
		chars -= begins(t.p[--at]);
	return at;
}

static size_t
forth(struct span t, size_t at, size_t chars)
{
	while (at < t.n && chars) {
		at++;
		chars -= at == t.n || begins(t.p[at]);
	}
	return at;
}

/* Are there at least `least` characters in t[a..b)? */
static int
long_enough(struct span t, size_t a, size_t b, size_t least)
{
	for (; least && a < b; a++)
		least -= begins(t.p[a]);
	return !least;
}

/* The text between two windows; returns the pieces it makes: 0 or 1. */
static size_t
piece(struct span t, size_t a, size_t b, size_t window, struct buf *out)
{
	if (a >= b)
		return 0;
	if (long_enough(t, a, b, window)) {
		if (out->n)
			buf_puts(out, "\n\n");
		buf_put(out, t.p + a, b - a);
	}
	return 1;
}

size_t
ngram_cut(struct span text, const struct ngram_hit *v, size_t n, size_t window,
	  struct buf *out)
{
	size_t from = 0, pieces = 0, i = 0, start, end, to = 0;

	buf_reset(out);
	while (i < n) {
		start = v[i].start;
		end = v[i].end;
		for (i++; i < n && v[i].start < end; i++)
			if (v[i].end > end)
				end = v[i].end;
		start = back(text, start, window);
		if (!to || start > to)
			pieces += piece(text, from, start, window, out);
		to = forth(text, end, window);
		from = to;
	}
	pieces += piece(text, from, text.n, window, out);
	if (pieces > NGRAM_PIECES)
		buf_reset(out);
	return pieces;
}
