/*
 * display.c - tokens as people read them
 *
 * Tokens are joined to runs between special tokens, and a run is printed
 * character by character: what a character is can only be said of the bytes
 * of several tokens together.
 */
#include "text/display.h"

#include "base/utf8.h"
#include "text/unicode.h"

/* East Asian Width W and F, of Unicode 14; what is unassigned bridges gaps. */
static const uint32_t wide[][2] = {
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec},
	{0x23f0, 0x23f0}, {0x23f3, 0x23f3}, {0x25fd, 0x25fe}, {0x2614, 0x2615},
	{0x2648, 0x2653}, {0x267f, 0x267f}, {0x2693, 0x2693}, {0x26a1, 0x26a1},
	{0x26aa, 0x26ab}, {0x26bd, 0x26be}, {0x26c4, 0x26c5}, {0x26ce, 0x26ce},
	{0x26d4, 0x26d4}, {0x26ea, 0x26ea}, {0x26f2, 0x26f3}, {0x26f5, 0x26f5},
	{0x26fa, 0x26fa}, {0x26fd, 0x26fd}, {0x2705, 0x2705}, {0x270a, 0x270b},
	{0x2728, 0x2728}, {0x274c, 0x274c}, {0x274e, 0x274e}, {0x2753, 0x2755},
	{0x2757, 0x2757}, {0x2795, 0x2797}, {0x27b0, 0x27b0}, {0x27bf, 0x27bf},
	{0x2b1b, 0x2b1c}, {0x2b50, 0x2b50}, {0x2b55, 0x2b55}, {0x2e80, 0x303e},
	{0x3041, 0x3247}, {0x3250, 0x4dbf}, {0x4e00, 0xa4c6}, {0xa960, 0xa97c},
	{0xac00, 0xd7a3}, {0xf900, 0xfad9}, {0xfe10, 0xfe19}, {0xfe30, 0xfe6b},
	{0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x1b2fb},
	{0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f18e},
	{0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f335},
	{0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca},
	{0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4},
	{0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440}, {0x1f442, 0x1f4fc},
	{0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567},
	{0x1f57a, 0x1f57a}, {0x1f595, 0x1f596}, {0x1f5a4, 0x1f5a4},
	{0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6cc, 0x1f6cc},
	{0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6df}, {0x1f6eb, 0x1f6ec},
	{0x1f6f4, 0x1f6fc}, {0x1f7e0, 0x1f7f0}, {0x1f90c, 0x1f93a},
	{0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faf6},
	{0x20000, 0x3134a}
};

/* Columns of a terminal that a character takes. */
static size_t
char_columns(uint32_t c)
{
	size_t lo = 0, hi = sizeof(wide) / sizeof(wide[0]), mid;
	enum uc_cat cat = uc_cat(c);

	if (cat == UC_MN || cat == UC_ME || (cat == UC_CF && c != 0xad))
		return 0;
	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (c > wide[mid][1])
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < sizeof(wide) / sizeof(wide[0]) && c >= wide[lo][0] ? 2 : 1;
}

size_t
display_columns(const char *p, size_t n)
{
	size_t i, k = 0;
	unsigned len;

	for (i = 0; i < n; i += len)
		k += char_columns(uc_next(p + i, n - i, &len));
	return k;
}

void
display_fit(struct buf *b, size_t from, size_t columns)
{
	size_t k = display_columns(b->p + from, b->n - from), i;
	unsigned len;

	if (k > columns) {
		for (k = 0, i = from; i < b->n; i += len) {
			k += char_columns(uc_next(b->p + i, b->n - i, &len));
			if (k >= columns)
				break;
		}
		b->n = i;
		buf_puts(b, "\u2026");
		k = display_columns(b->p + from, b->n - from);
	}
	for (; k < columns; k++)
		buf_putc(b, ' ');
}

static int
is_control(const unsigned char *p, size_t k)
{
	return k == 1 ? p[0] < 0x20 || p[0] == 0x7f :
	       k == 2 && p[0] == 0xc2 && p[1] < 0xa0;	/* C1 */
}

static void
put_bytes(const char *p, size_t n, struct buf *out)
{
	size_t i;

	for (i = 0; i < n; i++)
		buf_printf(out, "<0x%02X>", (unsigned char)p[i]);
}

static int
begins_special(const struct vocab *v, const char *p, size_t n)
{
	size_t i;

	for (i = 0; i < v->nspecial; i++) {
		struct span t = v->special[i].text;

		if (v->special[i].special && t.n && t.n <= n &&
		    t.p[0] == *p && memcmp(t.p, p, t.n) == 0)
			return 1;
	}
	return 0;
}

/* line: on one line of a table. */
static void
put_run(const struct vocab *v, const char *p, size_t n, int line,
	struct buf *out)
{
	size_t i, k;

	for (i = 0; i < n; i += k) {
		int len = utf8_step(p + i, n - i);

		k = len > 0 ? (size_t)len : 1;
		if (len < 0) {
			put_bytes(p + i, 1, out);
		} else if (line && strchr("\n\t\\", p[i]) && p[i]) {
			buf_putc(out, '\\');
			buf_putc(out, p[i] == '\n' ? 'n' :
				 p[i] == '\t' ? 't' : '\\');
		} else if (is_control((const unsigned char *)p + i, k) &&
			   p[i] != '\n' && p[i] != '\t') {
			put_bytes(p + i, k, out);
		} else if (v->kind == VOCAB_SENTENCEPIECE && k == 3 &&
			   memcmp(p + i, "\xe2\x96\x81", 3) == 0) {
			buf_putc(out, ' ');
		} else {
			if (begins_special(v, p + i, n - i))
				buf_putc(out, '\\');
			buf_put(out, p + i, k);
		}
	}
}

static int
has_token(const struct vocab *v, uint32_t id)
{
	return id < v->n && v->token[id].p;
}

static int
is_special(const struct vocab *v, uint32_t id)
{
	return !has_token(v, id) || (v->flags[id] & VOCAB_SPECIAL);
}

static void
put_special(const struct vocab *v, uint32_t id, struct buf *out)
{
	if (has_token(v, id))
		buf_put(out, v->token[id].p, v->token[id].n);
	else
		buf_printf(out, "<id %u>", id);
}

void
display_text(const struct vocab *v, const uint32_t *ids, size_t n, struct buf *out)
{
	struct buf run = {0};
	size_t i;

	for (i = 0; i < n; i++) {
		if (!is_special(v, ids[i])) {
			buf_put(&run, v->token[ids[i]].p, v->token[ids[i]].n);
			continue;
		}
		put_run(v, run.p, run.n, 0, out);
		buf_reset(&run);
		put_special(v, ids[i], out);
	}
	put_run(v, run.p, run.n, 0, out);
	buf_clear(&run);
}

void
display_token(const struct vocab *v, uint32_t id, struct buf *out)
{
	if (is_special(v, id))
		put_special(v, id, out);
	else
		put_run(v, v->token[id].p, v->token[id].n, 1, out);
}
