/*
 * utf8.h - UTF-8
 *
 * Well-formed means Unicode's table 3-7: no overlong forms, no surrogates,
 * nothing above U+10FFFF.
 */
#ifndef ASSAY_UTF8_H
#define ASSAY_UTF8_H

#include <stddef.h>

/* Is c a byte that continues a character (0x80..0xbf)? */
static inline int
utf8_is_cont(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/*
 * Length of the well-formed sequence at p[0..n), n > 0, or minus the length of
 * the ill-formed part that one U+FFFD replaces (the "maximal subpart", as in
 * the WHATWG decoder and Python).
 */
static inline int
utf8_step(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	unsigned lo = 0x80, hi = 0xbf;
	int len, i;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return -1;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		lo = 0xa0;
	else if (p[0] == 0xed)
		hi = 0x9f;
	else if (p[0] == 0xf0)
		lo = 0x90;
	else if (p[0] == 0xf4)
		hi = 0x8f;
	for (i = 1; i < len; i++) {
		if ((size_t)i >= n || p[i] < lo || p[i] > hi)
			return -i;
		lo = 0x80;
		hi = 0xbf;
	}
	return len;
}

/* Is all of p[0..n) well-formed? */
static inline int
utf8_valid(const char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		int len = utf8_step(p + i, n - i);

		if (len < 0)
			return 0;
		i += (size_t)len;
	}
	return 1;
}

/* Write code point c (no surrogate) to p[0..4); returns its length. */
static inline int
utf8_put(char *p, unsigned c)
{
	if (c < 0x80) {
		p[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		p[0] = (char)(0xc0 | c >> 6);
		p[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		p[0] = (char)(0xe0 | c >> 12);
		p[1] = (char)(0x80 | (c >> 6 & 63));
		p[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	p[0] = (char)(0xf0 | c >> 18);
	p[1] = (char)(0x80 | (c >> 12 & 63));
	p[2] = (char)(0x80 | (c >> 6 & 63));
	p[3] = (char)(0x80 | (c & 63));
	return 4;
}

#endif
