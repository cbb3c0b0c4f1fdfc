/*
 * json_scan.c - what simdjson does not provide
 *
 * The checker is a recursive descent, one call per level, at most 1,025 deep.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stream/json_scan.h"
#include "base/utf8.h"
#include "stream/json.h"

struct check {
	const char *p;
	size_t n, i;
	const char *what;	/* the first error, at i */
	int depth;
	char *tame;		/* see json_scan_tame_numbers() */
	struct buf *loose;	/* see json_scan_loose() */
	size_t copied;		/* p[0..copied) is in loose */
};

static int check_value(struct check *c);

static int
check_fault(struct check *c, const char *what)
{
	c->what = what;
	return -1;
}

/* The byte at i, or -1 at the end. */
static int
check_peek(const struct check *c)
{
	return c->i < c->n ? (unsigned char)c->p[c->i] : -1;
}

static void
check_space(struct check *c)
{
	c->i = (size_t)(json_skip_space(c->p + c->i, c->p + c->n) - c->p);
}

static int
check_escape(struct check *c)
{
	int b;

	c->i++;
	b = check_peek(c);
	if (b < 0)
		return check_fault(c, "unterminated string");
	if (!strchr("\"\\/bfnrtu", b) || !b)
		return check_fault(c, "unknown escape");
	c->i++;
	for (int k = 0; b == 'u' && k < 4; k++, c->i++)
		if (json_scan_hex(check_peek(c)) < 0)
			return check_fault(c, "\\u needs four hex digits");
	return 0;
}

static int
check_string(struct check *c)
{
	int b, k;

	c->i++;
	while ((b = check_peek(c)) != '"') {
		if (b < 0)
			return check_fault(c, "unterminated string");
		if (b < 0x20)
			return check_fault(c, "control character in a string "
					   "(escape it)");
		if (b == '\\') {
			if (check_escape(c) < 0)
				return -1;
			continue;
		}
		k = utf8_step(c->p + c->i, c->n - c->i);
		if (k < 0)
			return check_fault(c, "invalid UTF-8");
		c->i += (size_t)k;
	}
	c->i++;
	return 0;
}

static size_t
check_digits(struct check *c)
{
	size_t start = c->i;

	while (check_peek(c) >= '0' && check_peek(c) <= '9')
		c->i++;
	return c->i - start;
}

/*
 * Does a well-formed number fit a double, an int64 or a uint64?  It is followed
 * by a byte that does not belong to it.
 */
static int
number_fits(const char *p, size_t n, int is_int)
{
	if (!is_int)
		return isfinite(strtod(p, NULL));
	if (n > 20)
		return 0;
	errno = 0;
	if (*p == '-')
		(void)strtoll(p, NULL, 10);
	else
		(void)strtoull(p, NULL, 10);
	return errno == 0;
}

/* The number p[start..i) as a double or, if none holds it, a string. */
static void
put_loose(struct check *c, size_t start)
{
	const char *p = c->p + start;
	double x = strtod(p, NULL);

	buf_put(c->loose, c->p + c->copied, start - c->copied);
	c->copied = c->i;
	if (isfinite(x))
		json_put_real(c->loose, x);
	else
		json_put_str(c->loose, (struct span){p, c->i - start});
}

/* In the place of the number p[start..i), which the library refuses. */
static void
put_other(struct check *c, size_t start)
{
	if (c->loose) {
		put_loose(c, start);
		return;
	}
	memset(c->tame + start, ' ', c->i - start);
	c->tame[start] = '0';
}

static int
check_number(struct check *c)
{
	size_t start = c->i;
	int is_int = 1;

	if (check_peek(c) == '-')
		c->i++;
	if (check_peek(c) == '0')
		c->i++;
	else if (!check_digits(c))
		return check_fault(c, "number without a digit");
	if (check_peek(c) == '.') {
		is_int = 0;
		c->i++;
		if (!check_digits(c))
			return check_fault(c, "number without a digit");
	}
	if ((check_peek(c) | 32) == 'e') {
		is_int = 0;
		c->i++;
		if (check_peek(c) == '+' || check_peek(c) == '-')
			c->i++;
		if (!check_digits(c))
			return check_fault(c, "number without a digit");
	}
	if (number_fits(c->p + start, c->i - start, is_int))
		return 0;
	if (c->tame || c->loose) {
		put_other(c, start);
		return 0;
	}
	c->i = start;
	return check_fault(c, "number out of range");
}

static int
check_word(struct check *c, const char *word)
{
	size_t n = strlen(word);

	if (c->n - c->i < n || memcmp(c->p + c->i, word, n))
		return check_fault(c, "not a JSON value");
	c->i += n;
	return 0;
}

/* What Python's json writes for a float that is not finite. */
static int
check_python(struct check *c)
{
	static const char *const word[] = {"NaN", "Infinity", "-Infinity"};
	size_t start = c->i;

	for (size_t k = 0; (c->loose || c->tame) && k < 3; k++) {
		size_t n = strlen(word[k]);

		if (c->n - start < n || memcmp(c->p + start, word[k], n))
			continue;
		c->i += n;
		put_other(c, start);
		return 0;
	}
	return -1;
}

static int
check_member(struct check *c)
{
	if (check_peek(c) != '"')
		return check_fault(c, c->i == c->n ? "unexpected end of JSON"
				   : "expected a key in quotes");
	if (check_string(c) < 0)
		return -1;
	check_space(c);
	if (check_peek(c) != ':')
		return check_fault(c, "expected ':' after the key");
	c->i++;
	return check_value(c);
}

static int
check_list(struct check *c, char close)
{
	size_t start = c->i++;

	check_space(c);
	if (check_peek(c) == close) {	/* the parser counts no empty ones */
		c->i++;
		return 0;
	}
	if (++c->depth > JSON_DEPTH_MAX) {
		c->i = start;
		return check_fault(c, "more than 1,024 levels of nesting");
	}
	for (;;) {
		check_space(c);
		if ((close == '}' ? check_member(c) : check_value(c)) < 0)
			return -1;
		check_space(c);
		if (check_peek(c) == close)
			break;
		if (check_peek(c) != ',')
			return check_fault(c, c->i == c->n
					   ? "unexpected end of JSON"
					   : close == '}'
					   ? "expected ',' or '}'"
					   : "expected ',' or ']'");
		c->i++;
	}
	c->i++;
	c->depth--;
	return 0;
}

static int
check_value(struct check *c)
{
	int b;

	check_space(c);
	b = check_peek(c);
	switch (b) {
	case '{':
		return check_list(c, '}');
	case '[':
		return check_list(c, ']');
	case '"':
		return check_string(c);
	case 't':
		return check_word(c, "true");
	case 'f':
		return check_word(c, "false");
	case 'n':
		return check_word(c, "null");
	case -1:
		return check_fault(c, "unexpected end of JSON");
	default:
		if (check_python(c) == 0)
			return 0;
		if (b == '-' || (b >= '0' && b <= '9'))
			return check_number(c);
		return check_fault(c, "not a JSON value");
	}
}

static void
check_text(struct check *c)
{
	if (check_value(c) < 0)
		return;
	check_space(c);
	if (c->i < c->n)
		check_fault(c, "unexpected text after the value");
}

size_t
json_scan_error(const char *p, size_t n, const char **what)
{
	struct check c = { p, n, 0, NULL, 0, NULL, NULL, 0 };

	check_text(&c);
	*what = c.what;
	return c.what ? c.i : SIZE_MAX;
}

size_t
json_scan_tame_numbers(char *p, size_t n, const char **what)
{
	struct check c = { .p = p, .n = n, .tame = p };

	check_text(&c);
	*what = c.what;
	return c.what ? c.i : SIZE_MAX;
}

int
json_scan_loose(const char *p, size_t n, struct buf *out)
{
	struct check c = { p, n, 0, NULL, 0, NULL, out, 0 };

	check_text(&c);
	buf_put(out, p + c.copied, n - c.copied);
	return c.what ? -1 : 0;
}
