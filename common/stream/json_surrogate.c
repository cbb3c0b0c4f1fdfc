/*
 * json_surrogate.c - escapes of characters, and surrogates that have no partner
 */
#include "stream/json_scan.h"

int
json_scan_maybe_surrogate(const char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t end = n - i < 4096 ? n : i + 4096;
		unsigned char hit = 0;

		for (; i < end; i++)	/* vectorized: no branch inside */
			hit |= (unsigned char)((p[i] == '\\') &
					       (p[i + 1] == 'u') &
					       ((p[i + 2] | 32) == 'd'));
		if (hit)
			return 1;
	}
	return 0;
}

int
json_scan_hex(int b)
{
	return b >= '0' && b <= '9' ? b - '0' :
	       b >= 'a' && b <= 'f' ? b - 'a' + 10 :
	       b >= 'A' && b <= 'F' ? b - 'A' + 10 : -1;
}

/* The code unit of a \u escape at p, or -1 if there is none. */
static int
escaped_unit(const char *p, const char *end)
{
	int v = 0, digit;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		digit = json_scan_hex((unsigned char)p[i]);
		if (digit < 0)
			return -1;
		v = v * 16 + digit;
	}
	return v;
}

int
json_scan_escape(const char **p, const char *end)
{
	int v = escaped_unit(*p, end), w;

	if (v < 0)
		return -1;
	*p += 6;
	w = v >= 0xd800 && v < 0xdc00 ? escaped_unit(*p, end) : -1;
	if (w < 0xdc00 || w >= 0xe000)
		return v;
	*p += 6;
	return 0x10000 + ((v & 0x3ff) << 10 | (w & 0x3ff));
}

uint64_t
json_scan_fix_surrogates(char *p, size_t n)
{
	const char *q, *end = p + n;
	uint64_t fixed = 0;
	int v;

	for (; (p = memchr(p, '\\', (size_t)(end - p))); p += q - p) {
		q = p;
		v = json_scan_escape(&q, end);
		if (v < 0)	/* another escape, or malformed */
			q += end - p < 2 ? 1 : 2;
		if (v >= 0xd800 && v < 0xe000) {
			memcpy(p + 2, "fffd", 4);
			fixed++;
		}
	}
	return fixed;
}

uint64_t
json_scan_count_fixed(const char *old, const char *fixed, size_t from,
		      size_t to)
{
	uint64_t n = 0;

	for (size_t i = from; i < to; i++)	/* 'd' became 'f' after \u */
		n += i >= 2 && old[i] != fixed[i] && old[i - 1] == 'u' &&
		     fixed[i] == 'f' && (old[i] | 32) == 'd' &&
		     old[i - 2] == '\\';
	return n;
}
