/*
 * split_scan.c - the known split patterns, one piece at a time
 *
 * Each function follows its pattern alternative by alternative.  A run of
 * white space is looked at as a whole: `\s*[\r\n]+` ends at its last line
 * end, `\s+(?!\S)` leaves its last character to what follows.  No
 * alternative looks at a character more than a fixed number of times, so
 * the cost is linear.
 */
#include "tokenizer/split_scan.h"

#include "text/unicode.h"

struct text {
	const char *p;
	size_t n;
};

/* The classes of ASCII as far as a scanner asks for them. */
static const uint8_t ascii[128] = {
	['\t'] = UC_SPACE, ['\n'] = UC_SPACE, ['\v'] = UC_SPACE,
	['\f'] = UC_SPACE, ['\r'] = UC_SPACE, [' '] = UC_SPACE,
	['0' ... '9'] = UC_NUMBER, ['A' ... 'Z'] = UC_UPPER,
	['a' ... 'z'] = UC_LOWER
};

/* Class of the character at i, 0 at the end; *next is behind it. */
static inline unsigned
class_at(struct text t, size_t i, size_t *next)
{
	unsigned len, c;

	if (i >= t.n) {
		*next = i;
		return 0;
	}
	if ((unsigned char)t.p[i] < 128) {
		*next = i + 1;
		return ascii[(unsigned char)t.p[i]];
	}
	c = uc_class(uc_next(t.p + i, t.n - i, &len));
	*next = i + len;
	return c;
}

/* Behind the run of characters whose class has a bit of set, from i on. */
static size_t
skip(struct text t, size_t i, unsigned set)
{
	size_t next;

	while (i < t.n && (class_at(t, i, &next) & set))
		i = next;
	return i;
}

/* [^\s\p{L}\p{N}]+ */
static size_t
skip_other(struct text t, size_t i)
{
	size_t next;

	while (i < t.n && !(class_at(t, i, &next) &
			    (UC_SPACE | UC_LETTER | UC_NUMBER)))
		i = next;
	return i;
}

static int
is_line_end(struct text t, size_t i)
{
	return i < t.n && (t.p[i] == '\n' || t.p[i] == '\r');
}

static int
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c + 32 : c;
}

/* 's 't 're 've 'm 'll 'd at i, or i.  Without case U+017F is an s too. */
static size_t
contraction(struct text t, size_t i, int any_case)
{
	size_t left = t.n - i;
	int a, b;

	if (left < 2 || t.p[i] != '\'')
		return i;
	a = any_case ? lower(t.p[i + 1]) : t.p[i + 1];
	if (a == 's' || a == 't' || a == 'm' || a == 'd')
		return i + 2;
	if (left < 3)
		return i;
	b = any_case ? lower(t.p[i + 2]) : t.p[i + 2];
	if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') ||
	    (a == 'l' && b == 'l'))
		return i + 3;
	if (any_case && t.p[i + 1] == '\xc5' && t.p[i + 2] == '\xbf')
		return i + 3;
	return i;
}

/* \s+(?!\S)|\s+ on white space at i */
static size_t
blanks(struct text t, size_t i)
{
	size_t last = i, next = i, prev = i;

	while (next < t.n) {
		size_t after;

		if (!(class_at(t, next, &after) & UC_SPACE)) {
			last = prev;
			return last > i ? last : next;
		}
		prev = next;
		next = after;
	}
	return next;
}

/* \s*[\r\n]+|\s+(?!\S)|\s+ on white space at i */
static size_t
blanks_lines(struct text t, size_t i)
{
	size_t end = i, next, after;

	for (next = i; next < t.n && (class_at(t, next, &after) & UC_SPACE);
	     next = after)
		if (is_line_end(t, next))
			end = after;
	return end > i ? end : blanks(t, i);
}

static size_t
piece_gpt2(struct text t, size_t i)
{
	size_t j = contraction(t, i, 0), next;
	unsigned c;

	if (j > i)
		return j;
	j = i + (t.p[i] == ' ');
	c = class_at(t, j, &next);
	if (c & UC_LETTER)
		return skip(t, next, UC_LETTER);
	if (c & UC_NUMBER)
		return skip(t, next, UC_NUMBER);
	if (j < t.n && !(c & UC_SPACE))
		return skip_other(t, next);
	return blanks(t, i);
}

/* cl100k, and qwen2 with one digit a piece */
static size_t
piece_cl100k(struct text t, size_t i, int digits)
{
	size_t j = contraction(t, i, 1), next, next2;
	unsigned c, c2;

	if (j > i)
		return j;
	c = class_at(t, i, &next);
	if (c & UC_LETTER)
		return skip(t, next, UC_LETTER);
	if (c & UC_NUMBER) {
		while (--digits > 0 && next < t.n &&
		       (class_at(t, next, &next2) & UC_NUMBER))
			next = next2;
		return next;
	}
	c2 = class_at(t, next, &next2);
	if ((c2 & UC_LETTER) && !is_line_end(t, i))
		return skip(t, next2, UC_LETTER);
	if (!(c & UC_SPACE) || (t.p[i] == ' ' && next < t.n &&
	    !(c2 & (UC_SPACE | UC_LETTER | UC_NUMBER)))) {
		j = skip_other(t, next);
		while (is_line_end(t, j))
			j++;
		return j;
	}
	return blanks_lines(t, i);
}

/*
 * U*W+, else U+W* (unless first), of o200k from i on, or i.  U is upper,
 * caseless, mark; W is lower, caseless, mark.  Greedy U* gives back until W+
 * has a character: the last one of the run that is also a W, when no lower
 * letter follows.
 */
static size_t
word_o200k(struct text t, size_t i, int first)
{
	const unsigned both = UC_CASELESS | UC_MARK;
	size_t j = i, next, behind_both = i;
	unsigned c = 0;

	while (j < t.n && ((c = class_at(t, j, &next)) & (UC_UPPER | both))) {
		j = next;
		if (c & both)
			behind_both = j;
	}
	if (j < t.n && (c & UC_LOWER))
		return skip(t, j, UC_LOWER | both);
	return behind_both > i ? behind_both : first ? i : j;
}

static size_t
piece_o200k(struct text t, size_t i)
{
	size_t next, next2, j;
	unsigned c = class_at(t, i, &next), c2;

	/* a mark before a word of upper letters is a word of its own: without
	 * the leading character the first alternative matches it */
	if (!(c & (UC_LETTER | UC_NUMBER)) && !is_line_end(t, i) &&
	    (j = word_o200k(t, next, (c & UC_MARK) != 0)) > next)
		return contraction(t, j, 1);
	if ((j = word_o200k(t, i, 0)) > i)
		return contraction(t, j, 1);
	if (c & UC_NUMBER) {
		for (int k = 1; k < 3 && next < t.n &&
		     (class_at(t, next, &next2) & UC_NUMBER); k++)
			next = next2;
		return next;
	}
	c2 = class_at(t, next, &next2);
	if (!(c & UC_SPACE) || (t.p[i] == ' ' && next < t.n &&
	    !(c2 & (UC_SPACE | UC_LETTER | UC_NUMBER)))) {
		j = skip_other(t, next);
		while (is_line_end(t, j) || (j < t.n && t.p[j] == '/'))
			j++;
		return j;
	}
	return blanks_lines(t, i);
}

size_t
scan_piece(enum scan kind, const char *text, size_t n, size_t i)
{
	struct text t = {text, n};

	switch (kind) {
	case SCAN_GPT2:
		return piece_gpt2(t, i);
	case SCAN_CL100K:
		return piece_cl100k(t, i, 3);
	case SCAN_QWEN2:
		return piece_cl100k(t, i, 1);
	case SCAN_O200K:
		return piece_o200k(t, i);
	default:
		return n;
	}
}
