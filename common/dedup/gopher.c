/*
 * gopher.c - fractions of a text that occur in it more than once
 *
 * Lines, paragraphs and n-grams are equal if their 64-bit hashes are.  One pass
 * with a hash table for each kind of line and each n.  Copies come in the order
 * of their places, so coverage is counted on the way: only what is after the
 * end of the previous copy.
 */
#include "dedup/gopher.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"

#define B UINT64_C(0x9e3779b97f4a7c17)

static const struct {
	const char *name;
	double max;
} published[GOPHER_SHARES] = {
	{"dup_lines", 0.30}, {"dup_paragraphs", 0.30},
	{"dup_line_chars", 0.20}, {"dup_paragraph_chars", 0.20},
	{"top_2gram", 0.20}, {"top_3gram", 0.18}, {"top_4gram", 0.16},
	{"dup_5gram", 0.15}, {"dup_6gram", 0.14}, {"dup_7gram", 0.13},
	{"dup_8gram", 0.12}, {"dup_9gram", 0.11}, {"dup_10gram", 0.10},
};

const char *
gopher_name(int share)
{
	return published[share].name;
}

/* --- options --- */

/* One NAME=X of a list. */
static int
set_limit(struct gopher_opts *o, const char *p, size_t n, struct err *e)
{
	const char *eq = memchr(p, '=', n);
	char *end;
	double x;
	int i;

	for (i = 0; eq && i < GOPHER_SHARES; i++)
		if (span_eq((struct span){p, (size_t)(eq - p)},
			    span_str(published[i].name)))
			break;
	if (!eq || i == GOPHER_SHARES)
		return err_set(e, "'%.*s' is not NAME=X with a share that "
			       "dedup-rules(7) lists", (int)n, p);
	x = strtod(eq + 1, &end);
	if (end != p + n || end == eq + 1 || !(x >= 0 && x <= 1) ||
	    strspn(eq + 1, "0123456789.eE-") < (size_t)(end - eq - 1))
		return err_set(e, "'%.*s': the limit is not a number of 0 to "
			       "1", (int)n, p);
	o->max[i] = x;
	return 0;
}

int
gopher_opts_init(struct gopher_opts *o, int all, const char *list,
		 struct err *e)
{
	size_t n;
	int i;

	for (i = 0; i < GOPHER_SHARES; i++)
		o->max[i] = all ? published[i].max : 1;
	for (; list && *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (set_limit(o, list, n, e))
			return -1;
	}
	for (o->on = i = 0; i < GOPHER_SHARES; i++)
		o->on |= o->max[i] < 1;
	return 0;
}

/* --- tables --- */

void
gopher_clear(struct gopher *g)
{
	counts_clear(&g->counts);
	free(g->gram);
	*g = (struct gopher){0};
}

/* The count of a key. */
static uint32_t *
times(struct gopher *g, uint64_t key)
{
	size_t i = counts_slot(&g->counts, key);

	g->counts.key[i] = key;
	return &g->counts.val[i];
}

static uint64_t
chars(const char *p, size_t n)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < n; i++)
		sum += (p[i] & 0xc0) != 0x80;
	return sum;
}

static double
ratio(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

/* --- lines and paragraphs --- */

/* Bytes of the line end at i (LF or CR LF), or 0. */
static size_t
line_end(struct span t, size_t i)
{
	if (i < t.n && t.p[i] == '\n')
		return 1;
	return i + 1 < t.n && t.p[i] == '\r' && t.p[i + 1] == '\n' ? 2 : 0;
}

/* The next line or paragraph from *at on; 0 at the end. */
static int
next_piece(struct span t, size_t *at, int paragraph, struct span *out)
{
	size_t i = *at, feed, end, k;

	while ((k = line_end(t, i)))
		i += k;
	if (i >= t.n)
		return 0;
	for (feed = i;; feed++) {
		const char *lf = memchr(t.p + feed, '\n', t.n - feed);

		feed = lf ? (size_t)(lf - t.p) : t.n;
		if (!paragraph || feed + 1 >= t.n || line_end(t, feed + 1))
			break;
	}
	end = feed < t.n && t.p[feed - 1] == '\r' ? feed - 1 : feed;
	*out = (struct span){t.p + i, end - i};
	*at = end;
	return 1;
}

static void
pieces(struct gopher *g, struct span text, int paragraph, uint64_t all,
       double *share)
{
	size_t at = 0, n = 0, dups = 0;
	uint64_t sum = 0;
	struct span x;

	while (next_piece(text, &at, paragraph, &x))
		n++;
	counts_reset(&g->counts, n, 1);
	at = 0;
	while (next_piece(text, &at, paragraph, &x)) {
		if (!(*times(g, XXH3_64bits(x.p, x.n)))++)
			continue;
		dups++;
		sum += chars(x.p, x.n);
	}
	share[GOPHER_LINES + paragraph] = ratio(dups, n);
	share[GOPHER_LINE_CHARS + paragraph] = ratio(sum, all);
}

/* --- n-grams --- */

/* Characters of places in ascending order that may overlap. */
struct cover {
	const char *text;
	size_t to;
	uint64_t chars;
};

static void
cover(struct cover *c, const struct word *w, size_t i, size_t len)
{
	size_t from = w[i].start > c->to ? w[i].start : c->to;
	size_t to = w[i + len - 1].end;

	if (to <= from)
		return;
	c->chars += chars(c->text + from, to - from);
	c->to = to;
}

/* Hashes of the n-grams; returns their number. */
static size_t
grams(struct gopher *g, const struct word *w, size_t n, size_t len)
{
	size_t i, k;

	if (n < len)
		return 0;
	GROW(g->gram, g->gram_cap, n);
	for (i = 0; i + len <= n; i++) {
		uint64_t h = 0;

		for (k = 0; k < len; k++)
			h = (h + w[i + k].hash) * B;
		g->gram[i] = h ^ h >> 32;
	}
	return n - len + 1;
}

static uint64_t
top_chars(struct gopher *g, struct span text, const struct word *w, size_t n,
	  size_t len)
{
	struct cover c = {text.p, 0, 0};
	size_t ngrams = grams(g, w, n, len), i, top;
	uint32_t most = 1;

	counts_reset(&g->counts, ngrams, 1);
	for (i = 0; i < ngrams; i++) {
		uint32_t k = ++*times(g, g->gram[i]);

		most = k > most ? k : most;
	}
	if (most == 1)
		return 0;
	for (top = 0; *times(g, g->gram[top]) < most; top++)
		;
	for (i = top; i < ngrams; i++)
		if (g->gram[i] == g->gram[top])
			cover(&c, w, i, len);
	return c.chars;
}

static uint64_t
dup_chars(struct gopher *g, struct span text, const struct word *w, size_t n,
	  size_t len)
{
	struct cover c = {text.p, 0, 0};
	size_t ngrams = grams(g, w, n, len), i;

	counts_reset(&g->counts, ngrams, 1);
	for (i = 0; i < ngrams; i++)
		if ((*times(g, g->gram[i]))++)
			cover(&c, w, i, len);
	return c.chars;
}

/* --- all shares --- */

void
gopher_shares(struct gopher *g, const double *max, struct span text,
	      const struct word *w, size_t n, double *share)
{
	uint64_t all = chars(text.p, text.n);
	int i, p;

	for (i = 0; i < GOPHER_SHARES; i++)
		share[i] = 0;
	for (p = 0; p < 2; p++)
		if (max[GOPHER_LINES + p] < 1 || max[GOPHER_LINE_CHARS + p] < 1)
			pieces(g, text, p, all, share);
	for (i = GOPHER_TOP; i < GOPHER_SHARES; i++) {
		size_t len = (size_t)(i - GOPHER_TOP) + 2;

		if (max[i] >= 1)
			continue;
		share[i] = ratio(i < GOPHER_DUP ?
				 top_chars(g, text, w, n, len) :
				 dup_chars(g, text, w, n, len), all);
		if (!share[i])	/* so no longer n-gram is repeated */
			break;
	}
	for (i = 0; i < GOPHER_SHARES; i++)
		if (max[i] >= 1)
			share[i] = 0;
}

struct gopher_hit
gopher_find(struct gopher *g, const struct gopher_opts *o, struct span text,
	    const struct word *w, size_t n)
{
	double share[GOPHER_SHARES];
	int i;

	gopher_shares(g, o->max, text, w, n, share);
	for (i = 0; i < GOPHER_SHARES; i++)
		if (share[i] > o->max[i])
			return (struct gopher_hit){i, share[i]};
	return (struct gopher_hit){-1, 0};
}
