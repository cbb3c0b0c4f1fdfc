/*
 * split_o200k.c - the o200k pattern, one pre-token at a time
 *
 * The code follows the pattern alternative by alternative.  A run of white
 * space is handled as a whole: `\s*[\r\n]+` ends at its last line end,
 * `\s+(?!\S)` leaves its last character to what follows.  Every alternative
 * reads a character a fixed number of times at most, so the cost is linear.
 */
#include "tokenizer/split_priv.h"

#include "text/unicode.h"

struct text {
	const char *p;
	size_t n;
};

/* Classes of ASCII characters, as far as the pattern uses them. */
static const uint8_t ascii[128] = {
	['\t'] = UC_SPACE, ['\n'] = UC_SPACE, ['\v'] = UC_SPACE,
	['\f'] = UC_SPACE, ['\r'] = UC_SPACE, [' '] = UC_SPACE,
	['0' ... '9'] = UC_NUMBER, ['A' ... 'Z'] = UC_UPPER,
	['a' ... 'z'] = UC_LOWER
};

/* Class of the character at i, 0 at the end; *next: where the next one is. */
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

/* End of the run of characters from i on whose class has a bit of set. */
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
	size_t j = i, next, after_both = i;
	unsigned c = 0;

	while (j < t.n && ((c = class_at(t, j, &next)) & (UC_UPPER | both))) {
		j = next;
		if (c & both)
			after_both = j;
	}
	if (j < t.n && (c & UC_LOWER))
		return skip(t, j, UC_LOWER | both);
	return after_both > i ? after_both : first ? i : j;
}

static size_t
with_contraction(struct text t, size_t i)
{
	return i < t.n && t.p[i] == '\'' ?
		i + split_contraction(t.p + i, t.n - i, 1) : i;
}

size_t
split_o200k(const char *text, size_t n, size_t i)
{
	struct text t = {text, n};
	size_t next, next2, j;
	unsigned c = class_at(t, i, &next), c2;

	/* A mark before a word of upper-case letters is a pre-token of its
	 * own: the first alternative matches it without the optional leading
	 * character. */
	if (!(c & (UC_LETTER | UC_NUMBER)) && !is_line_end(t, i) &&
	    (j = word_o200k(t, next, (c & UC_MARK) != 0)) > next)
		return with_contraction(t, j);
	if ((j = word_o200k(t, i, 0)) > i)
		return with_contraction(t, j);
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

