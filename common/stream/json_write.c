/*
 * json_write.c - JSON out, and typed members of a tree
 *
 * Strings are copied in runs that need no escape.  Invalid UTF-8 becomes
 * U+FFFD, so that the output is always JSON.
 */
#include <stdio.h>

#include "base/utf8.h"
#include "stream/json.h"

static int
is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/*
 * Copy the bytes at the start of p[0..n) that are ASCII and need no escape,
 * eight at a time; returns their number.  `to` has room for n bytes.  In `hit`
 * the lowest byte marked is the first: a carry from a byte that needs an escape
 * reaches only those after it.
 */
static size_t
copy_ascii(char *to, const char *p, size_t n)
{
	const uint64_t one = UINT64_MAX / 255, high = one << 7;
	uint64_t w, quote, slash, hit;
	size_t i;

	for (i = 0; i + sizeof(w) <= n; i += sizeof(w)) {
		memcpy(&w, p + i, sizeof(w));
		memcpy(to + i, &w, sizeof(w));
		quote = w ^ one * '"';
		slash = w ^ one * '\\';
		hit = (w | (w - one * 0x20) | (quote - one) | (slash - one)) &
			high;
		if (hit)
			return i + (unsigned)__builtin_ctzll(hit) / 8;
	}
	for (; i < n && is_plain((unsigned char)p[i]); i++)
		to[i] = p[i];
	return i;
}

/* The same for all that needs no escape. */
static size_t
copy_run(char *to, const char *p, size_t n)
{
	size_t i;
	int k;

	for (i = copy_ascii(to, p, n); i < n && (unsigned char)p[i] >= 0x80;
	     i += copy_ascii(to + i, p + i, n - i))
		while (i < n && (unsigned char)p[i] >= 0x80) {
			k = utf8_step(p + i, n - i);
			if (k < 0)
				return i;
			for (; k; k--, i++)
				to[i] = p[i];
		}
	return i;
}

/* The first byte of p[0..n) in its escaped form; returns the bytes read. */
static size_t
put_escape(struct buf *b, const char *p, size_t n)
{
	static const char short_form[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
		['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'
	};
	unsigned char c = (unsigned char)*p;
	char *to;

	if (c >= 0x80) {
		buf_puts(b, "\xef\xbf\xbd");
		return (size_t)-utf8_step(p, n);
	}
	if (!short_form[c]) {
		buf_printf(b, "\\u%04x", c);
		return 1;
	}
	to = buf_reserve(b, 2);
	to[0] = '\\';
	to[1] = short_form[c];
	b->n += 2;
	return 1;
}

void
json_put_str(struct buf *b, struct span s)
{
	size_t i = 0, k;

	buf_putc(b, '"');
	while (i < s.n) {
		k = copy_run(buf_reserve(b, s.n - i), s.p + i, s.n - i);
		b->n += k;
		i += k;
		if (i < s.n)
			i += put_escape(b, s.p + i, s.n - i);
	}
	buf_putc(b, '"');
}

void
json_put_key(struct buf *b, const char *key)
{
	if (b->n && b->p[b->n - 1] != '{')
		buf_putc(b, ',');
	json_put_str(b, span_str(key));
	buf_putc(b, ':');
}

void
json_put_int(struct buf *b, int64_t x)
{
	buf_printf(b, "%lld", (long long)x);
}

void
json_put_uint(struct buf *b, uint64_t x)
{
	buf_printf(b, "%llu", (unsigned long long)x);
}

void
json_put_key_uint(struct buf *b, const char *key, uint64_t x)
{
	json_put_key(b, key);
	json_put_uint(b, x);
}

void
json_put_key_real(struct buf *b, const char *key, double x)
{
	json_put_key(b, key);
	json_put_real(b, x);
}

void
json_put_key_bool(struct buf *b, const char *key, int x)
{
	json_put_key(b, key);
	buf_puts(b, x ? "true" : "false");
}

void
json_put_key_str(struct buf *b, const char *key, const char *s)
{
	json_put_key(b, key);
	json_put_str(b, span_str(s));
}

/* The last member with that key. */
static const struct json *
json_member(const struct json *j, const char *key, size_t n)
{
	for (size_t i = j->n; i-- > 0;)
		if (j->kids[i].key.n == n && !memcmp(j->kids[i].key.p, key, n))
			return &j->kids[i];
	return NULL;
}

const struct json *
json_get(const struct json *j, const char *path)
{
	const char *dot = strchr(path, '.');
	const struct json *k;

	if (!j || j->type != JSON_OBJECT)
		return NULL;
	k = json_member(j, path, strlen(path));
	if (k || !dot)
		return k;
	return json_get(json_member(j, path, (size_t)(dot - path)), dot + 1);
}

/* A member that is not null. */
static const struct json *
member_set(const struct json *j, const char *k)
{
	const struct json *m = json_get(j, k);

	return m && m->type != JSON_NULL ? m : NULL;
}

int
json_get_int(const struct json *j, const char *k, int64_t *v, struct err *e)
{
	const struct json *m = member_set(j, k);

	if (m && (m->type != JSON_NUMBER || !m->is_int))
		return err_set(e, "%s: not an integer", k);
	if (m)
		*v = m->i;
	return 0;
}

int
json_get_bool(const struct json *j, const char *k, int *v, struct err *e)
{
	const struct json *m = member_set(j, k);

	if (m && m->type != JSON_TRUE && m->type != JSON_FALSE)
		return err_set(e, "%s: not true or false", k);
	if (m)
		*v = m->type == JSON_TRUE;
	return 0;
}

int
json_get_str(const struct json *j, const char *k, struct span *v,
	     struct err *e)
{
	const struct json *m = member_set(j, k);

	if (m && m->type != JSON_STRING)
		return err_set(e, "%s: not a string", k);
	if (m)
		*v = m->str;
	return 0;
}
