/*
 * buf.h - byte slices and growing buffers
 *
 * Documents contain NUL, so data is a span (borrowed: pointer and length)
 * or a buf (owned, grows).  A buf that is all zero is empty and valid.
 */
#ifndef ASSAY_BUF_H
#define ASSAY_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
	const char *p;
	size_t n;
};

struct buf {
	char *p;
	size_t n, cap;
};

static inline int
span_eq(struct span a, struct span b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline struct span
span_str(const char *s)
{
	return (struct span){s, strlen(s)};
}

static inline int
str_ends(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && memcmp(s + n - k, end, k) == 0;
}

/* Only white space that JSON allows between values? */
static inline int
span_is_blank(struct span s)
{
	while (s.n && (*s.p == ' ' || *s.p == '\t' || *s.p == '\r' ||
		       *s.p == '\n'))
		s.p++, s.n--;
	return s.n == 0;
}

/*
 * Split the first line off *rest: *line gets it without its LF, *rest the
 * remainder.  Returns 0 if *rest is empty.  The last line may lack an LF.
 */
static inline int
span_line(struct span *rest, struct span *line)
{
	const char *lf;

	if (!rest->n)
		return 0;
	lf = (const char *)memchr(rest->p, '\n', rest->n);
	line->p = rest->p;
	line->n = lf ? (size_t)(lf - rest->p) : rest->n;
	rest->p += line->n + (lf != NULL);
	rest->n -= line->n + (lf != NULL);
	return 1;
}

/* Make room for n more bytes; returns where they start (b->p + b->n). */
char *buf_reserve(struct buf *b, size_t n);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_putc(struct buf *b, char c);
void buf_puts(struct buf *b, const char *s);
void buf_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void buf_reset(struct buf *b);		/* empty, memory kept */
void buf_clear(struct buf *b);		/* empty, memory freed */

static inline struct span
buf_span(const struct buf *b)
{
	return (struct span){b->p, b->n};
}

#endif
