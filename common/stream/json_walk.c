/*
 * json_walk.c - values of an object as they are in the text
 *
 * The walker relies on a validated text: a string ends at the first quote with
 * an even number of backslashes before it, an array or object where its
 * brackets outside strings are balanced.
 */
#include "base/utf8.h"
#include "stream/json_scan.h"

const char *
json_skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' ||
			   *p == '\r'))
		p++;
	return p;
}

static const char *
skip_string(const char *p, const char *end)
{
	const char *q = p + 1, *b;

	while ((q = memchr(q, '"', (size_t)(end - q)))) {
		for (b = q; b[-1] == '\\'; b--)
			;
		q++;
		if ((q - 1 - b) % 2 == 0)
			return q;
	}
	return end;
}

/* The length of a word of Python's at p, a whole token after `before`; or 0. */
static size_t
python_word(char before, const char *p, const char *end)
{
	static const char *const word[] = {"NaN", "Infinity", "-Infinity"};

	for (size_t k = 0; k < 3; k++) {
		size_t n = strlen(word[k]);

		if ((size_t)(end - p) > n && !memcmp(p, word[k], n) &&
		    strchr(":,[ \t\r\n", before) &&
		    strchr(",]} \t\r\n", p[n]))
			return n;
	}
	return 0;
}

size_t
json_scan_tame_words(char *p, size_t n)
{
	const char *end = p + n;
	size_t words = 0, k;
	char *q = p;

	while (q < end) {
		if (*q == '"') {
			q = p + (skip_string(q, end) - p);
			continue;
		}
		k = q > p && (*q == 'N' || *q == 'I' || *q == '-') ?
			python_word(q[-1], q, end) : 0;
		if (k) {
			memset(q, ' ', k);
			*q = '0';
			words++;
		}
		q += k ? k : 1;
	}
	return words;
}

static const char *
skip_list(const char *p, const char *end)
{
	size_t depth = 0;

	while (p < end) {
		if (*p == '"') {
			p = skip_string(p, end);
			continue;
		}
		if (*p == '{' || *p == '[')
			depth++;
		else if (*p == '}' || *p == ']')
			depth--;
		p++;
		if (!depth)
			break;
	}
	return p;
}

static const char *
skip_value(const char *p, const char *end)
{
	if (*p == '"')
		return skip_string(p, end);
	if (*p == '{' || *p == '[')
		return skip_list(p, end);
	while (p < end && !strchr(" \t\r\n,}]", *p))
		p++;
	return p;
}

void
json_walk_open(struct json_walk *w, struct span object)
{
	w->end = object.p + object.n;
	w->p = json_skip_space(object.p, w->end);
	if (w->p < w->end)
		w->p++;		/* the brace */
}

int
json_walk_next(struct json_walk *w, struct span *key, struct span *val)
{
	const char *p = json_skip_space(w->p, w->end), *q;

	if (p < w->end && *p == ',')
		p = json_skip_space(p + 1, w->end);
	if (p >= w->end || *p != '"')
		return 0;
	q = skip_string(p, w->end);
	*key = (struct span){ p + 1, (size_t)(q - p) - 2 };
	p = json_skip_space(q, w->end);
	p = json_skip_space(p + 1, w->end);	/* the colon */
	if (p >= w->end)
		return 0;
	q = skip_value(p, w->end);
	*val = (struct span){ p, (size_t)(q - p) };
	w->p = q;
	return 1;
}

/* One character of a raw string into c[0..4); returns where it ends. */
static const char *
unescape(const char *p, const char *end, char *c, int *n)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *f;
	int v;

	*n = 1;
	*c = *p;
	if (*p != '\\' || end - p < 2)
		return p + 1;
	v = json_scan_escape(&p, end);
	if (v < 0) {
		f = strchr(from, p[1]);
		*c = f && *f ? to[f - from] : p[1];
		return p + 2;
	}
	if (v >= 0xd800 && v < 0xe000)
		v = 0xfffd;
	*n = utf8_put(c, (unsigned)v);
	return p;
}

/* Is the raw key (escaped) equal to the plain one? */
static int
key_eq(struct span raw, const char *key, size_t n)
{
	const char *p = raw.p, *end = raw.p + raw.n;
	size_t i = 0;
	char c[4];
	int k;

	if (!memchr(raw.p, '\\', raw.n))
		return raw.n == n && !memcmp(raw.p, key, n);
	while (p < end) {
		p = unescape(p, end, c, &k);
		if (n - i < (size_t)k || memcmp(key + i, c, (size_t)k))
			return 0;
		i += (size_t)k;
	}
	return i == n;
}

struct span
json_scan_find(struct span object, const char *path)
{
	struct span key, val, whole = {0}, part = {0};
	const char *dot = strchr(path, '.');
	size_t n = strlen(path);
	struct json_walk w;

	json_walk_open(&w, object);
	while (json_walk_next(&w, &key, &val)) {
		if (key_eq(key, path, n))
			whole = val;
		else if (dot && key_eq(key, path, (size_t)(dot - path)))
			part = val;
	}
	if (whole.p || !part.p || *part.p != '{')
		return whole;
	return json_scan_find(part, dot + 1);
}
