/*
 * pieces.c - counted pre-tokens as a file, for training in stages
 *
 * To be in the order of sort(1) in the C locale the lines are sorted as they
 * are written, escapes, tab and count included.
 */
#include "tokenizer/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "stream/input.h"

static const char plain[] = "\\\t\n\r", letter[] = "\\tnr0";	/* NUL: 0 */

static void
put_line(struct buf *b, struct span s, uint64_t count)
{
	for (size_t i = 0; i < s.n; i++) {
		const char *at = memchr(plain, s.p[i], sizeof(plain));

		if (at) {
			buf_putc(b, '\\');
			buf_putc(b, letter[at - plain]);
		} else {
			buf_putc(b, s.p[i]);
		}
	}
	buf_printf(b, "\t%llu\n", (unsigned long long)count);
}

static int
cmp_line(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	int c = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);

	return c ? c : (x->n > y->n) - (x->n < y->n);
}

int
pieces_write(const struct pretokens *p, struct output *out, struct err *e)
{
	struct pretokens_size z;
	struct pretoken t;
	struct span *line;
	struct buf b = {0};
	size_t it = 0, n = 0, from = 0;
	int rc = 0;

	pretokens_size(p, &z);
	line = xcalloc(z.distinct + 1, sizeof(*line));
	while (pretokens_next(p, &it, &t)) {
		put_line(&b, t.bytes, t.count);
		line[n++].n = b.n - from;
		from = b.n;
	}
	for (size_t i = 0, at = 0; i < n; at += line[i++].n)
		line[i].p = b.p + at;
	qsort(line, n, sizeof(*line), cmp_line);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = output_write(out, line[i].p, line[i].n, e);
	free(line);
	buf_clear(&b);
	return rc;
}

/* --- reading --- */

struct reader {
	struct pretokens *p;
	struct buf piece;
};

/* The count at the end of a line: 1 to 2^63 - 1, else 0. */
static uint64_t
count_of(struct span s)
{
	uint64_t x = 0;

	if (s.n == 0 || s.n > 19)
		return 0;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return 0;
		x = x * 10 + (uint64_t)(s.p[i] - '0');
	}
	return x > INT64_MAX ? 0 : x;
}

/* The text of s into b; NULL, or what is wrong. */
static const char *
unescape(struct span s, struct buf *b)
{
	buf_reset(b);
	for (size_t i = 0; i < s.n; i++) {
		const char *at;

		if (s.p[i] != '\\') {
			buf_putc(b, s.p[i]);
			continue;
		}
		at = ++i < s.n ? memchr(letter, s.p[i], 5) : NULL;
		if (!at)
			return "a backslash before another character than "
				"\\ t n r 0";
		buf_putc(b, plain[at - letter]);
	}
	if (b->n == 0)
		return "no pre-token before the tab";
	if (b->n >= UINT32_MAX || !utf8_valid(b->p, b->n))
		return "the pre-token is not UTF-8";
	return NULL;
}

static int
add_line(struct reader *r, struct span s, const char *file, uint64_t number,
	 struct err *e)
{
	const char *tab = memchr(s.p, '\t', s.n), *why;
	struct err what = {0};
	uint64_t count;
	uint32_t end;

	count = !tab ? 0 : count_of((struct span){
		tab + 1, s.n - (size_t)(tab + 1 - s.p)});
	if (!count)
		return err_set(e, "%s:%llu: expected a pre-token, a tab and "
			       "its count (1 to 2^63 - 1)", file,
			       (unsigned long long)number);
	why = unescape((struct span){s.p, (size_t)(tab - s.p)}, &r->piece);
	if (why)
		return err_set(e, "%s:%llu: %s", file,
			       (unsigned long long)number, why);
	end = (uint32_t)r->piece.n;
	if (pretokens_add(r->p, r->piece.p, r->piece.n, 0, &end, 1, count,
			  &what) < 0)
		return err_set(e, "%s:%llu: %s", file,
			       (unsigned long long)number, what.msg);
	return 0;
}

static int
add_chunk(struct reader *r, const struct chunk *c, struct err *e)
{
	const char *p = c->p, *end = c->p + c->n;
	uint64_t number = c->line;

	while (p < end) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));

		if (!lf)
			return err_set(e, "%s:%llu: the last line has no line "
				       "end (truncated?)", c->name,
				       (unsigned long long)number);
		if (add_line(r, (struct span){p, (size_t)(lf - p)}, c->name,
			     number++, e) < 0)
			return -1;
		p = lf + 1;
	}
	return 0;
}

struct pretokens *
pieces_read(const char *const *paths, size_t n, uint64_t mem, struct err *e)
{
	struct input *in = input_open(paths, n);
	struct reader r = {.p = pretokens_new()};
	struct chunk c = {0};
	int rc;

	progress_start("reading", "B", input_total(in));
	while ((rc = input_chunk(in, &c, 1 << 20, e)) > 0) {
		progress_set(input_done(in));
		if (add_chunk(&r, &c, e) < 0)
			break;
		if (pretokens_memory(r.p) > mem) {
			err_set(e, "the pre-tokens take more memory than the "
				"limit of %llu bytes: raise it",
				(unsigned long long)mem);
			break;
		}
	}
	progress_stop();
	chunk_clear(&c);
	input_close(in);
	buf_clear(&r.piece);
	if (!e->set)
		return r.p;
	pretokens_free(r.p);
	return NULL;
}
