/*
 * benchmark_dir.c - folders of benchmarks
 *
 * The files of a folder are read in the order of their names; the folders in
 * it are not gone down, as they tend to hold the same benchmarks in another
 * form.  What is not read is told: a benchmark that nobody looked for would
 * be called clean.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "contam/benchmark_priv.h"

struct folder {
	struct benches *b;
	const struct bench_opts *o;
	struct buf *notes;
	size_t met;		/* files that are benchmarks */
	struct err *e;
};

/* --- what is no benchmark by its name --- */

static int
ends(const char *name, const char *ending)
{
	size_t n = strlen(name), k = strlen(ending);

	return n > k && !strcmp(name + n - k, ending);
}

static const char *
other(const char *name)
{
	static const struct {
		const char *ending;
		enum bench_other what;
	} t[] = {
		{".tar", BENCH_TAR}, {".tar.gz", BENCH_TAR},
		{".tgz", BENCH_TAR}, {".tar.zst", BENCH_TAR},
		{".tar.bz2", BENCH_TAR}, {".tar.xz", BENCH_TAR},
		{".zip", BENCH_ZIP}, {".bz2", BENCH_BZIP2}, {".xz", BENCH_XZ},
		{".parquet", BENCH_PARQUET}, {".arrow", BENCH_ARROW},
		{".csv", BENCH_CSV}, {".tsv", BENCH_CSV},
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (ends(name, t[i].ending))
			return bench_others[t[i].what];
	return "its name does not end in .jsonl, .json or .txt";
}

/* --- one folder --- */

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The entries of a folder; -1: errno says why. */
static int
list_folder(const char *path, char ***name, size_t *n)
{
	DIR *d = opendir(path);
	struct dirent *x;
	size_t cap = 0;
	int errnum;

	*name = NULL;
	*n = 0;
	if (!d)
		return -1;
	while ((errno = 0, x = readdir(d))) {
		if (x->d_name[0] == '.')
			continue;
		if (*n == cap) {
			cap = cap ? 2 * cap : 32;
			*name = xreallocarray(*name, cap, sizeof(**name));
		}
		(*name)[(*n)++] = xstrdup(x->d_name);
	}
	errnum = errno;
	closedir(d);
	errno = errnum;
	if (*n)
		qsort(*name, *n, sizeof(**name), by_name);
	return errnum ? -1 : 0;
}

static int
read_entry(struct folder *f, const char *dir, const char *name)
{
	struct buf path = {0};
	struct stat s;
	char *own;
	int rc = 0, form;

	buf_printf(&path, "%s%s%s%c", dir,
		   dir[strlen(dir) - 1] == '/' ? "" : "/", name, 0);
	own = bench_name(name, &form);
	free(own);
	if (stat(path.p, &s)) {
		rc = err_sys(f->e, errno, "%s", path.p);
	} else if (S_ISDIR(s.st_mode)) {
		buf_printf(f->notes, "%s: passed over, a folder: name it as "
			   "well to have it read\n", path.p);
	} else if (form >= 0) {
		f->met++;
		rc = bench_read_file(f->b, path.p, &s, f->o, f->notes, f->e);
	} else {
		buf_printf(f->notes, "%s: passed over, %s\n", path.p,
			   other(name));
	}
	buf_clear(&path);
	return rc;
}

static int
read_entries(struct folder *f, const char *path)
{
	char **name;
	size_t i, n;
	int rc = 0;

	if (list_folder(path, &name, &n))
		rc = err_sys(f->e, errno, "%s", path);
	for (i = 0; i < n; i++) {
		if (!rc)
			rc = read_entry(f, path, name[i]);
		free(name[i]);
	}
	free(name);
	return rc;
}

static int
check(const struct folder *f, const char *path, size_t was)
{
	const struct benches *b = f->b;
	size_t i;

	if (!f->met)
		return err_set(f->e, "%s: no benchmark in this folder (names "
			       "end in .jsonl, .json or .txt, with or without "
			       ".zst or .gz)", path);
	for (i = was; i < b->n && !b->v[i].found; i++)
		;
	if (i < b->n || i == was)
		return 0;
	return f->o->fields ?
		err_set(f->e, "%s: no example of this folder has a field of "
			"--bench-fields %s", path, f->o->fields) :
		err_set(f->e, "%s: no example of this folder has a string "
			"in it", path);
}

int
bench_read_folder(struct benches *b, const char *path,
		  const struct bench_opts *o, struct buf *notes, struct err *e)
{
	struct buf unheard = {0};
	struct folder f = {.b = b, .o = o, .e = e,
			   .notes = notes ? notes : &unheard};
	size_t was = b->n;
	int rc = read_entries(&f, path);

	buf_clear(&unheard);
	return rc ? rc : check(&f, path, was);
}
