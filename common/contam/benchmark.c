/*
 * benchmark.c - what has been read: ids, classes, the paper's n
 */
#include "contam/benchmark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contam/benchmark_priv.h"

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
		free(b->v[i].data);
	}
	free(b->v);
	free(b->ex);
	buf_clear(&b->ids);
	memset(b, 0, sizeof(*b));
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
