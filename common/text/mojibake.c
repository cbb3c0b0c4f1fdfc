/*
 * mojibake.c - find U+FFFD and UTF-8 read as Latin-1 in a stream of bytes
 *
 * Two state machines: bytes to code points (strict UTF-8), and code points
 * back to their bytes in Windows-1252 and those to UTF-8 again.
 */
#include "text/mojibake.h"

#include <string.h>

#include "base/utf8.h"

void
mojibake_init(struct mojibake *m, int cut)
{
	memset(m, 0, sizeof(*m));
	m->begun = !cut;
}

/* The byte that a character is in Latin-1 or Windows-1252, or -1. */
static int
byte_of(uint32_t c)
{
	static const uint16_t high[32] = {	/* 0x80 to 0x9f */
		0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
		0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d, 0x017d, 0x8f,
		0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
		0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d, 0x017e, 0x0178
	};
	int i;

	if (c >= 0x80 && c < 0x100)
		return (int)c;
	for (i = 0; i < 32; i++)
		if (high[i] == c)
			return 0x80 + i;
	return -1;
}

/* b spells one character: is it a fault even alone? */
static int
certain(const uint8_t *b)
{
	if (b[0] == 0xc2 || b[0] == 0xc3)
		/* "MANHÃ" before « » ' " ... is Portuguese in capitals. */
		return b[1] != 0xab && b[1] != 0xbb && b[1] != 0x85 &&
		       (b[1] < 0x91 || b[1] > 0x94);
	return b[0] == 0xe2 && (b[1] == 0x80 || b[1] == 0x82);
}

static void
count(struct mojibake *m, int replaced, uint64_t at)
{
	*(replaced ? &m->replaced : &m->mojibake) += 1;
	if (m->found)
		m->found(m->ctx, replaced, at);
}

/* One more wrong character in a row. */
static void
add_wrong(struct mojibake *m)
{
	m->row++;
	if (m->row == 2 && !m->counted)
		count(m, 0, m->before);
	m->counted = m->row > 1 || certain(m->byte);
	if (m->counted)
		count(m, 0, m->first);
	m->before = m->first;
}

static void
end_row(struct mojibake *m)
{
	m->have = m->want = m->row = 0;
}

static void
code_point(struct mojibake *m, uint32_t c)
{
	int b = c < 0x80 ? -1 : byte_of(c);

	m->begun = 1;
	if (c == 0xfffd)
		count(m, 1, m->start);
	if (m->have && b >= 0x80 && b < 0xc0) {
		m->byte[m->have++] = (uint8_t)b;
		if (m->have < m->want)
			return;
		m->have = 0;
		add_wrong(m);
		return;
	}
	if (m->have)
		end_row(m);
	if (c >= 0xc2 && c < 0xf5) {
		m->byte[0] = (uint8_t)c;
		m->have = 1;
		m->first = m->start;
		m->want = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	} else {
		end_row(m);
	}
}

static void
broken(struct mojibake *m)
{
	count(m, 1, m->start);
	m->need = 0;
	end_row(m);
}

void
mojibake_feed(struct mojibake *m, const char *p, size_t n)
{
	const unsigned char *s = (const unsigned char *)p, *end = s + n;

	for (; s < end; s++) {
		if (m->need && utf8_is_cont((char)*s)) {
			m->cp = m->cp << 6 | (*s & 0x3f);
			if (--m->need)
				continue;
			if (m->cp < m->least || m->cp > 0x10ffff ||
			    (m->cp >= 0xd800 && m->cp < 0xe000))
				broken(m);
			else
				code_point(m, m->cp);
			continue;
		}
		if (m->need)
			broken(m);
		m->start = m->at + (uint64_t)(s - (const unsigned char *)p);
		if (*s < 0x80) {
			code_point(m, *s);
		} else if (*s < 0xc0) {
			if (m->begun)
				broken(m);	/* else: begun before */
		} else {
			m->need = *s < 0xe0 ? 1 : *s < 0xf0 ? 2 : 3;
			m->least = *s < 0xe0 ? 0x80 : *s < 0xf0 ? 0x800 :
				   0x10000;
			m->cp = *s & (*s < 0xe0 ? 0x1f : *s < 0xf0 ? 0xf : 7);
			m->begun = 1;
			if (*s > 0xf4)
				broken(m);
		}
	}
	m->at += n;
}

void
mojibake_end(struct mojibake *m, int cut)
{
	if (m->need && !cut)
		broken(m);
	m->need = 0;
	end_row(m);
}
