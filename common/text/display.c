/*
 * display.c - tokens as people read them
 *
 * The tokens between two special ones are joined and printed character by
 * character, since a character may be spread over several tokens.
 */
#include "text/display.h"

#include "base/utf8.h"
#include "text/unicode.h"

size_t
display_columns(const char *p, size_t n)
{
	size_t i, k = 0;
	unsigned len;

	for (i = 0; i < n; i += len)
		k += uc_columns(uc_next(p + i, n - i, &len));
	return k;
}

void
display_fit(struct buf *b, size_t from, size_t columns)
{
	size_t k = display_columns(b->p + from, b->n - from), i;
	unsigned len;

	if (k > columns) {
		for (k = 0, i = from; i < b->n; i += len) {
			k += uc_columns(uc_next(b->p + i, b->n - i, &len));
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

/* line: as one line of a table.  v NULL: what is special is unknown. */
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
		} else if (v && v->kind == VOCAB_SENTENCEPIECE && k == 3 &&
			   memcmp(p + i, VOCAB_SPACE, 3) == 0) {
			buf_putc(out, ' ');
		} else {
			if (v && vocab_special_at(v, p + i, n - i))
				buf_putc(out, '\\');
			buf_put(out, p + i, k);
		}
	}
}

void
display_bytes(const char *p, size_t n, int line, struct buf *out)
{
	put_run(NULL, p, n, line, out);
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
display_text(const struct vocab *v, const uint32_t *ids, size_t n,
	     struct buf *out)
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
