/*
 * benchmark_folder.c - folders of benchmarks
 *
 * The files of a folder are read in the order of their names.  Subfolders are
 * not entered, as they tend to hold the same benchmarks in another form.
 * Everything that is skipped is reported: a benchmark that was not searched
 * for would count as clean.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "base/path.h"
#include "contam/benchmark_priv.h"

struct folder {
	struct benchmarks *b;
	const struct benchmark_opts *o;
	struct buf *notes;
	size_t files;		/* that are benchmarks by their names */
	struct err *e;
};

static int
visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int
read_entry(struct folder *f, const char *dir, const char *name)
{
	char *path = path_join(dir, name);
	struct stat s;
	int rc = 0, form;

	free(benchmark_name(name, &form));
	if (stat(path, &s)) {
		rc = err_sys(f->e, errno, "%s", path);
	} else if (S_ISDIR(s.st_mode)) {
		buf_printf(f->notes, "%s: skipped, a folder (name it as well "
			   "to have it read)\n", path);
	} else if (form >= 0) {
		f->files++;
		rc = benchmark_read_file(f->b, path, &s, f->o, f->notes, f->e);
	} else {
		buf_printf(f->notes, "%s: skipped, %s\n", path,
			   benchmark_skipped(name));
	}
	free(path);
	return rc;
}

static int
read_entries(struct folder *f, const char *path)
{
	struct dirent **d;
	int rc = 0, i, n = scandir(path, &d, visible, alphasort);

	if (n < 0)
		return err_sys(f->e, errno, "%s", path);
	for (i = 0; i < n; i++) {
		if (!rc)
			rc = read_entry(f, path, d[i]->d_name);
		free(d[i]);
	}
	free(d);
	return rc;
}

static int
check_found(const struct folder *f, const char *path, size_t first)
{
	const struct benchmarks *b = f->b;
	const char *fields = f->o->fields;
	size_t i;

	if (!f->files)
		return err_set(f->e, "%s: no benchmark in this folder (their "
			       "names end in .jsonl, .json, .csv or .txt, "
			       "perhaps followed by .zst or .gz)", path);
	for (i = first; i < b->n && !b->v[i].found; i++)
		;
	if (i < b->n || i == first)
		return 0;
	return err_set(f->e, "%s: no example of this folder has a string%s%s",
		       path, fields ? " in the fields " : "",
		       fields ? fields : "");
}

int
benchmark_read_folder(struct benchmarks *b, const char *path,
		      const struct benchmark_opts *o, struct buf *notes,
		      struct err *e)
{
	struct buf unused = {0};
	struct folder f = {.b = b, .o = o, .e = e,
			   .notes = notes ? notes : &unused};
	size_t first = b->n;
	int rc = read_entries(&f, path);

	buf_clear(&unused);
	return rc ? rc : check_found(&f, path, first);
}
