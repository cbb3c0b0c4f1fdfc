/*
 * benchmark_subsets.c - the examples of each class, as files
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "contam/benchmark_priv.h"
#include "stream/output.h"

/* One line: an element of an array loses its line ends. */
static int
write_example(struct output *o, const struct benchmark *v,
	      const struct benchmark_example *x, struct buf *line,
	      struct err *e)
{
	int element = v->form == BENCHMARK_JSON, string;
	size_t i;

	string = element && x->raw.n && *x->raw.p == '"';
	buf_puts(line, string ? "{\"text\":" : "");
	buf_put(line, x->raw.p, x->raw.n);
	for (i = 0; element && i < line->n; i++)
		if (line->p[i] == '\n' || line->p[i] == '\r')
			line->p[i] = ' ';
	buf_puts(line, string ? "}\n" : "\n");
	return output_put(o, line, e);
}

static struct output *
write_subset(const struct benchmarks *b, const struct benchmark *v,
	     const char *dir, enum benchmark_class c, struct err *e)
{
	static const char *const names[] = {
		[BENCHMARK_CLEAN] = "clean", [BENCHMARK_DIRTY] = "dirty",
		[BENCHMARK_SHORT] = "short",
	};
	char *path = xstrf("%s/%s.%s.%s", dir, v->name, names[c],
			   v->form == BENCHMARK_TEXT ? "txt" : "jsonl");
	struct output *o = output_open(path, e);
	struct buf line = {0};
	size_t i;
	int rc = 0;

	for (i = v->first; o && !rc && i < v->first + v->n; i++)
		if (benchmark_class(&b->ex[i]) == c)
			rc = write_example(o, v, &b->ex[i], &line, e);
	if (o && (rc || output_finish(o, e))) {
		output_abort(o);
		o = NULL;
	}
	free(path);
	buf_clear(&line);
	return o;
}

int
benchmark_write_subsets(const struct benchmarks *b, const char *dir,
			struct err *e)
{
	size_t n = 0, all = b->n * BENCHMARK_CLASSES;
	struct output **o;
	int rc = 0;

	if (benchmark_check_names(b, e))
		return -1;
	if (mkdir(dir, 0777) && errno != EEXIST)
		return err_sys(e, errno, "%s", dir);
	o = xcalloc(all + 1, sizeof(*o));
	for (; n < all && !rc; n += !rc) {
		o[n] = write_subset(b, &b->v[n / BENCHMARK_CLASSES], dir,
				    n % BENCHMARK_CLASSES, e);
		rc = o[n] ? 0 : -1;
	}
	if (!rc)
		rc = output_commit_all(o, n, e);
	else
		while (n)
			output_abort(o[--n]);
	free(o);
	return rc;
}
