/*
 * cut.c - what remains of a text without its hits
 *
 * One pass over the hits in order.  `from` is where the text begins that is
 * not decided on yet; the window of the current hits grows until the next hit
 * begins after it.
 */
#include "contam/cut.h"

#include "base/utf8.h"

static size_t
back(struct span t, size_t at, size_t chars)
{
	while (at && chars)
		chars -= !utf8_is_cont(t.p[--at]);
	return at;
}

static size_t
forward(struct span t, size_t at, size_t chars)
{
	while (at < t.n && chars) {
		at++;
		chars -= at == t.n || !utf8_is_cont(t.p[at]);
	}
	return at;
}

/* Append t[a..b), between two windows; returns how many pieces it is. */
static size_t
put_piece(struct span t, size_t a, size_t b, size_t window, struct buf *out)
{
	size_t i, missing = window;

	if (a >= b)
		return 0;
	for (i = a; missing && i < b; i++)
		missing -= !utf8_is_cont(t.p[i]);
	if (!missing) {
		if (out->n)
			buf_puts(out, "\n\n");
		buf_put(out, t.p + a, b - a);
	}
	return 1;
}

size_t
cut_text(struct span text, const struct ngram_hit *v, size_t n, size_t window,
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
			pieces += put_piece(text, from, start, window, out);
		to = forward(text, end, window);
		from = to;
	}
	pieces += put_piece(text, from, text.n, window, out);
	if (pieces > CUT_PIECES_MAX)
		buf_reset(out);
	return pieces;
}
