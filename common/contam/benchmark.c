/*
 * benchmark.c - what has been read: ids, classes, the paper's n
 */
#include "contam/benchmark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contam/benchmark_priv.h"

enum { SEEN_SHOWN = 10 };

int
benchmark_read(struct benchmarks *b, const char *path,
	       const struct benchmark_opts *o, struct buf *notes,
	       struct err *e)
{
	struct stat s;

	if (!strcmp(path, "-"))
		return benchmark_read_file(b, path, NULL, o, NULL, e);
	if (stat(path, &s))
		return err_sys(e, errno, "%s", path);
	if (S_ISDIR(s.st_mode))
		return benchmark_read_folder(b, path, o, notes, e);
	return benchmark_read_file(b, path, &s, o, NULL, e);
}

void
benchmark_clear(struct benchmarks *b)
{
	size_t i;

	for (i = 0; i < b->n; i++) {
		free(b->v[i].name);
		free(b->v[i].path);
		free(b->v[i].used);
		free(b->v[i].seen);
		free(b->v[i].data);
	}
	free(b->v);
	free(b->ex);
	buf_clear(&b->ids);
	memset(b, 0, sizeof(*b));
}

void
benchmark_put_seen(const struct benchmark *v, struct buf *out)
{
	struct span all = span_str(v->seen), line;
	size_t n = 0;

	for (; n < SEEN_SHOWN && span_line(&all, &line); n++)
		buf_printf(out, "%s%.*s", n ? ", " : " (strings are in ",
			   (int)line.n, line.p);
	if (n)
		buf_puts(out, all.n ? ", ...)" : ")");
}

int
benchmark_check_fields(const struct benchmarks *b, const char *fields,
		       struct err *e)
{
	struct fields f;
	struct buf where = {0}, seen = {0};
	size_t i = 0;

	if (!fields || fields_init(&f, fields, e))
		return fields ? -1 : 0;
	while (i < f.nnamed && b->fields_found >> i & 1)
		i++;
	if (i < f.nnamed) {
		if (b->n == 1)
			buf_printf(&where, "%s: no example", b->v[0].path);
		else
			buf_printf(&where, "no example of %zu benchmarks",
				   b->n);
		benchmark_put_seen(&b->v[0], &seen);
		err_set(e, "%.*s has a string in the field %s%.*s",
			(int)where.n, where.p, f.named[i], (int)seen.n,
			seen.n ? seen.p : "");
	}
	i = i < f.nnamed;
	buf_clear(&where);
	buf_clear(&seen);
	fields_clear(&f);
	return i ? -1 : 0;
}

struct span
benchmark_id(const struct benchmarks *b, const struct benchmark_example *x,
	     struct buf *tmp)
{
	if (x->idn)
		return (struct span){b->ids.p + x->id, x->idn};
	buf_reset(tmp);
	buf_printf(tmp, "%s:%llu", b->v[x->of].name,
		   (unsigned long long)x->line);
	return buf_span(tmp);
}

int
benchmark_check_names(const struct benchmarks *b, struct err *e)
{
	size_t i, k;

	for (i = 0; i < b->n; i++)
		for (k = 0; k < i; k++)
			if (!strcmp(b->v[i].name, b->v[k].name))
				return err_set(e, "two benchmarks are called "
					       "%s: %s and %s (rename one)",
					       b->v[i].name, b->v[k].path,
					       b->v[i].path);
	return 0;
}

enum benchmark_class
benchmark_class(const struct benchmark_example *x)
{
	return x->too_short ? BENCHMARK_SHORT
			    : x->dirty ? BENCHMARK_DIRTY : BENCHMARK_CLEAN;
}

static int
by_size(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

unsigned
benchmark_auto_n(size_t *lengths, size_t n)
{
	size_t at;

	if (!n)
		return 13;
	qsort(lengths, n, sizeof(*lengths), by_size);
	at = lengths[(n + 19) / 20 - 1];
	return at < 8 ? 8 : at > 13 ? 13 : (unsigned)at;
}
