/*
 * buf.c - growing buffers
 *
 * The capacity doubles, so appending n bytes copies O(n) bytes.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

char *
buf_reserve(struct buf *b, size_t n)
{
	size_t need;

	if (__builtin_add_overflow(b->n, n, &need))
		die("out of memory (asked for %zu bytes)", n);
	if (need > b->cap || !b->p)
		GROW(b->p, b->cap, need > 64 ? need : 64);
	return b->p + b->n;
}

void
buf_put(struct buf *b, const void *p, size_t n)
{
	char *q = buf_reserve(b, n);

	if (n)
		memcpy(q, p, n);
	b->n += n;
}

void
buf_putc(struct buf *b, char c)
{
	*buf_reserve(b, 1) = c;
	b->n++;
}

void
buf_puts(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		die("out of memory (formatting text)");
	buf_reserve(b, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

void
buf_reset(struct buf *b)
{
	b->n = 0;
}

void
buf_clear(struct buf *b)
{
	free(b->p);
	*b = (struct buf){0};
}
