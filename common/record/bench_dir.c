/*
 * bench_dir.c - folders of benchmarks
 *
 * Folders are gone through in the order of names, each once, so that links
 * that lead round in a circle end.  What is not read is told: a benchmark
 * that nobody looked for would be called clean.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/bench_int.h"

struct place {
	dev_t dev;
	ino_t ino;
};

struct walk {
	struct benches *b;
	const struct bench_opts *o;
	struct buf *notes;
	struct place *seen;	/* folders */
	size_t nseen, cap;
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

/* Has this folder not been met?  From now on it has. */
static int
is_new(struct walk *w, const struct stat *s)
{
	size_t i;

	for (i = 0; i < w->nseen; i++)
		if (w->seen[i].dev == s->st_dev && w->seen[i].ino == s->st_ino)
			return 0;
	if (w->nseen == w->cap) {
		w->cap = w->cap ? 2 * w->cap : 16;
		w->seen = xreallocarray(w->seen, w->cap, sizeof(*w->seen));
	}
	w->seen[w->nseen++] = (struct place){s->st_dev, s->st_ino};
	return 1;
}

static int walk(struct walk *w, const char *path, const char *prefix);

static int
enter(struct walk *w, const char *path, const char *prefix, const char *name)
{
	struct buf sub = {0};
	int rc;

	buf_printf(&sub, "%s%s/%c", prefix, name, 0);
	rc = walk(w, path, sub.p);
	buf_clear(&sub);
	return rc;
}

static int
read_bench(struct walk *w, const char *path, const char *prefix,
	   const struct stat *s)
{
	w->met++;
	return bench_read_file(w->b, path, prefix, s, w->o, w->notes, w->e);
}

static int
read_entry(struct walk *w, const char *dir, const char *prefix,
	   const char *name)
{
	struct buf path = {0};
	struct stat s;
	char *own;
	int rc = 0, form;

	buf_printf(&path, "%s%s%s%c", dir,
		   dir[strlen(dir) - 1] == '/' ? "" : "/", name, 0);
	own = bench_name(name, &form);
	free(own);
	if (stat(path.p, &s))
		rc = err_sys(w->e, errno, "%s", path.p);
	else if (S_ISDIR(s.st_mode))
		rc = is_new(w, &s) ? enter(w, path.p, prefix, name) : 0;
	else if (form >= 0)
		rc = read_bench(w, path.p, prefix, &s);
	else
		buf_printf(w->notes, "%s: passed over, %s\n", path.p,
			   other(name));
	buf_clear(&path);
	return rc;
}

static int
walk(struct walk *w, const char *path, const char *prefix)
{
	char **name;
	size_t i, n;
	int rc = 0;

	if (list_folder(path, &name, &n))
		rc = err_sys(w->e, errno, "%s", path);
	for (i = 0; i < n; i++) {
		if (!rc)
			rc = read_entry(w, path, prefix, name[i]);
		free(name[i]);
	}
	free(name);
	return rc;
}

static int
check(const struct walk *w, const char *path, size_t was)
{
	const struct benches *b = w->b;
	size_t i;

	if (!w->met)
		return err_set(w->e, "%s: no benchmark in this folder (names "
			       "end in .jsonl, .json or .txt, with or without "
			       ".zst or .gz)", path);
	for (i = was; i < b->n && !b->v[i].found; i++)
		;
	if (i < b->n || i == was)
		return 0;
	return w->o->fields ?
		err_set(w->e, "%s: no example of this folder has a field of "
			"--bench-fields %s", path, w->o->fields) :
		err_set(w->e, "%s: no example of this folder has a string "
			"in it", path);
}

int
bench_read_folder(struct benches *b, const char *path,
		  const struct bench_opts *o, struct buf *notes, struct err *e)
{
	struct buf unheard = {0};
	struct walk w = {.b = b, .o = o, .e = e,
			 .notes = notes ? notes : &unheard};
	size_t was = b->n;
	struct stat s;
	int rc;

	if (!stat(path, &s))
		is_new(&w, &s);
	rc = walk(&w, path, "");
	free(w.seen);
	buf_clear(&unheard);
	return rc ? rc : check(&w, path, was);
}
