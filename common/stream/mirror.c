/*
 * mirror.c - a folder with one output for each input file
 *
 * One output is open at a time: lines come in the order of the files.
 */
#include "stream/mirror.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/outdir.h"
#include "stream/output.h"

struct mirror {
	const char *const *files;
	size_t n, at;		/* at: whose output is open */
	const char **sorted;	/* the files, by the last part of their names */
	struct outdir *dir;
	struct output *out;
};

int
mirror_wanted(const char *output)
{
	return output && *output && output[strlen(output) - 1] == '/';
}

static int
by_base(const void *a, const void *b)
{
	return strcmp(path_base(*(const char *const *)a),
		      path_base(*(const char *const *)b));
}

/* Older files of these names are replaced; others stay in the folder. */
static int
is_old(void *ctx, const char *name)
{
	const struct mirror *m = ctx;

	return bsearch(&name, m->sorted, m->n, sizeof *m->sorted, by_base) !=
	       NULL;
}

static int
check_names(const struct mirror *m, const char *dir, struct err *e)
{
	int std = !m->n;

	for (size_t i = 0; i < m->n; i++)
		std |= path_is_std(m->files[i]);
	if (std)
		return err_set(e, "%s: a folder has an output for each file, "
			       "and <stdin> has no name", dir);
	for (size_t i = 1; i < m->n; i++)
		if (!by_base(&m->sorted[i - 1], &m->sorted[i]))
			return err_set(e, "%s and %s would both be %s%s",
				       m->sorted[i - 1], m->sorted[i], dir,
				       path_base(m->sorted[i]));
	return 0;
}

static int
check_inputs(struct mirror *m, const char *dir, const char *const *v, size_t n,
	     struct err *e)
{
	struct stat a, b;
	int bad = 0;

	for (size_t i = 0; i < n && !bad; i++) {
		char *to = path_join(dir, path_base(v[i]));

		if (is_old(m, path_base(v[i])) && !stat(to, &a) &&
		    !stat(v[i], &b) && a.st_dev == b.st_dev &&
		    a.st_ino == b.st_ino)
			bad = err_set(e, "%s: is an input (write to another "
				      "folder)", to);
		free(to);
	}
	return bad;
}

static int
next_out(struct mirror *m, struct err *e)
{
	m->out = outdir_file(m->dir, path_base(m->files[m->at]), e);
	return m->out ? 0 : -1;
}

struct mirror *
mirror_open(const char *dir, const char *const *files, size_t n,
	    const char *const *refs, size_t nrefs, struct err *e)
{
	struct mirror *m = xcalloc(1, sizeof *m);

	m->files = files;
	m->n = n;
	m->sorted = xreallocarray(NULL, n, sizeof *m->sorted);
	if (n)
		memcpy(m->sorted, files, n * sizeof *m->sorted);
	qsort(m->sorted, n, sizeof *m->sorted, by_base);
	if (check_names(m, dir, e) == 0 &&
	    check_inputs(m, dir, files, n, e) == 0 &&
	    check_inputs(m, dir, refs, nrefs, e) == 0 &&
	    (m->dir = outdir_open(dir, is_old, m, e)) && next_out(m, e) == 0)
		return m;
	mirror_abort(m);
	return NULL;
}

/* Close the output of this file and open that of the next. */
static int
go_on(struct mirror *m, struct err *e)
{
	struct output *o = m->out;

	m->out = NULL;
	if (outdir_done(m->dir, o, e) < 0)
		return -1;
	return ++m->at < m->n ? next_out(m, e) : 0;
}

int
mirror_write(struct mirror *m, const char *file, struct span line,
	     struct err *e)
{
	while (m->out && m->files[m->at] != file)
		if (go_on(m, e))
			return -1;
	if (!m->out)
		return err_set(e, "%s: not one of the inputs", file);
	return output_write(m->out, line.p, line.n, e);
}

static void
release(struct mirror *m)
{
	free(m->sorted);
	free(m);
}

int
mirror_commit(struct mirror *m, struct err *e)
{
	int bad = 0;

	while (!bad && m->out)
		bad = go_on(m, e);
	if (bad) {
		mirror_abort(m);
		return -1;
	}
	bad = outdir_commit_all(&m->dir, 1, e);
	release(m);
	return bad;
}

void
mirror_abort(struct mirror *m)
{
	if (!m)
		return;
	output_abort(m->out);
	outdir_abort(m->dir);
	release(m);
}
