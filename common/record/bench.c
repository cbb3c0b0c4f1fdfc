/*
 * bench.c - benchmarks: files and folders, names and ids
 *
 * A file is read whole: benchmarks are small beside what they are compared
 * with.  What it is called decides its form where the name says it, since a
 * text may begin with a bracket; else the first bytes do.
 */
#include "record/bench.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/input.h"
#include "base/mem.h"
#include "record/bench_int.h"

enum { FIELDS = 63 };

static const struct {
	const char *ending;
	enum bench_form form;
} endings[] = {
	{".jsonl", BENCH_JSONL}, {".json", BENCH_JSON}, {".txt", BENCH_TEXT},
};

static int
strip(char *name, const char *ending)
{
	size_t n = strlen(name), k = strlen(ending);

	if (n <= k || strcmp(name + n - k, ending))
		return 0;
	name[n - k] = 0;
	return 1;
}

/* The file's name without its endings; *form gets what they say, or -1. */
static char *
name_of(const char *path, int *form)
{
	const char *slash = strrchr(path, '/');
	char *name = xstrdup(slash && slash[1] ? slash + 1 : path);
	size_t i;

	*form = -1;
	if (!strip(name, ".zst"))
		strip(name, ".gz");
	for (i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (!strip(name, endings[i].ending))
			continue;
		*form = endings[i].form;
		break;
	}
	return name;
}

/* --- a file --- */

/* What is no text at all, told by name rather than as a broken line. */
static const char *
no_text(const char *p, size_t n)
{
	if (n > 262 && !memcmp(p + 257, "ustar", 5))
		return "a tar archive: unpack it first";
	if (n > 3 && !memcmp(p, "BZh", 3))
		return "bzip2 is not read: unpack it first";
	if (n > 6 && !memcmp(p, "\xfd" "7zXZ", 6))
		return "xz is not read: unpack it first";
	if (n > 4 && !memcmp(p, "PK\3\4", 4))
		return "a zip archive: unpack it first";
	if (n > 4 && !memcmp(p, "PAR1", 4))
		return "Parquet is not read: write it as JSON Lines first";
	return NULL;
}

/* A .json file may hold one object a line, a file of any name anything. */
static enum bench_form
form_of(int form, const char *p, size_t n)
{
	size_t i = 0;

	if (form == BENCH_JSONL || form == BENCH_TEXT)
		return form;
	while (i < n && strchr(" \t\r\n", p[i]) && p[i])
		i++;
	if (i < n && p[i] == '{')
		return bench_is_jsonl(p + i, n - i) ? BENCH_JSONL : BENCH_JSON;
	if (form == BENCH_JSON || (i < n && p[i] == '['))
		return BENCH_JSON;
	return BENCH_TEXT;
}

static int
split_fields(struct bench_reading *r, char *list)
{
	char *p = list, *comma;

	r->key = xreallocarray(NULL, FIELDS + 1, sizeof(*r->key));
	r->key[r->nkeys++] = "id";
	for (; p; p = comma) {
		comma = strchr(p, ',');
		if (comma)
			*comma++ = 0;
		if (!*p)
			return err_set(r->e, "--bench-fields: a name is "
				       "empty");
		if (r->nkeys > FIELDS)
			return err_set(r->e, "--bench-fields: more than %d "
				       "names", FIELDS);
		r->key[r->nkeys++] = p;
	}
	return 0;
}

static int
check_found(struct bench_reading *r, const struct bench *v)
{
	if (!v->n)
		return err_set(r->e, "%s: no examples in it", r->path);
	if (r->found)
		return 0;
	if (r->o->fields)
		return err_set(r->e, "%s: no example has a field of "
			       "--bench-fields %s", r->path, r->o->fields);
	return err_set(r->e, "%s: no example has a string in it", r->path);
}

static int
read_as(struct bench_reading *r, enum bench_form form, const char *p, size_t n)
{
	switch (form) {
	case BENCH_JSONL:
		return bench_read_jsonl(r, p, n);
	case BENCH_JSON:
		return bench_read_json(r, p, n);
	default:
		return bench_read_text(r, p, n);
	}
}

static struct bench *
bench_new(struct benches *b)
{
	if (b->n == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 16;
		b->v = xreallocarray(b->v, b->cap, sizeof(*b->v));
	}
	return memset(&b->v[b->n++], 0, sizeof(*b->v));
}

static int
read_data(struct bench_reading *r, int form, const char *p, size_t n)
{
	struct bench *v = &r->b->v[r->of];
	const char *what = no_text(p, n);
	char *list = xstrdup(r->o->fields ? r->o->fields : "text");
	int rc = -1;

	if (what)
		err_set(r->e, "%s: %s", r->path, what);
	if (n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		p += 3, n -= 3;
	if (!what && !split_fields(r, list)) {
		v->form = form_of(form, p, n);
		r->json = json_reader_new();
		rc = read_as(r, v->form, p, n);
		json_reader_free(r->json);
	}
	free(r->key);
	free(list);
	buf_clear(&r->text);
	return rc ? rc : check_found(r, v);
}

static int
read_file(struct benches *b, const char *path, const struct bench_opts *o,
	  struct err *e)
{
	struct bench_reading r = {.b = b, .o = o, .path = path, .e = e};
	struct bench *v;
	char *data;
	size_t n;
	int form, rc;

	if (input_slurp(path, &data, &n, e))
		return -1;
	r.of = (uint32_t)b->n;
	v = bench_new(b);
	v->name = name_of(path, &form);
	v->path = xstrdup(path);
	v->first = b->nex;
	rc = read_data(&r, form, data, n);
	if (o->keep)
		v->data = data;
	else
		free(data);
	return rc;
}

/* --- folders --- */

static int
is_bench_name(const struct dirent *d)
{
	char *name;
	int form;

	if (d->d_name[0] == '.')
		return 0;
	name = name_of(d->d_name, &form);
	free(name);
	return form >= 0;
}

static int
same_file(const char *a, const struct stat *s)
{
	struct stat t;

	return S_ISREG(s->st_mode) && !stat(a, &t) && t.st_dev == s->st_dev &&
	       t.st_ino == s->st_ino;
}

static int
read_once(struct benches *b, const char *path, const struct stat *s,
	  const struct bench_opts *o, struct err *e)
{
	size_t i;

	for (i = 0; i < b->n; i++)
		if (same_file(b->v[i].path, s))
			return 0;
	return read_file(b, path, o, e);
}

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
		/* a mark before those that are read */
		(*name)[*n] = xmalloc(strlen(x->d_name) + 2);
		(*name)[*n][0] = is_bench_name(x) ? 'b' : '-';
		strcpy((*name)[(*n)++] + 1, x->d_name);
	}
	errnum = errno;
	closedir(d);
	errno = errnum;
	if (*n)
		qsort(*name, *n, sizeof(**name), by_name);
	return errnum ? -1 : 0;
}

static int
read_entry(struct benches *b, const char *dir, const char *entry,
	   const struct bench_opts *o, struct buf *skipped, struct err *e)
{
	struct buf path = {0};
	struct stat s;
	int rc = 0;

	buf_printf(&path, "%s%s%s", dir,
		   dir[strlen(dir) - 1] == '/' ? "" : "/", entry + 1);
	buf_putc(&path, 0);
	if (stat(path.p, &s))
		rc = err_sys(e, errno, "%s", path.p);
	else if (S_ISDIR(s.st_mode))
		;
	else if (entry[0] == 'b')
		rc = read_once(b, path.p, &s, o, e);
	else if (skipped && !skipped->n)
		buf_put(skipped, path.p, path.n - 1);
	buf_clear(&path);
	return rc;
}

static int
read_folder(struct benches *b, const char *path, const struct bench_opts *o,
	    struct buf *skipped, struct err *e)
{
	size_t was = b->n, i, n;
	char **name;
	int rc = 0;

	if (list_folder(path, &name, &n))
		rc = err_sys(e, errno, "%s", path);
	for (i = 0; i < n; i++) {
		if (!rc)
			rc = read_entry(b, path, name[i], o, skipped, e);
		free(name[i]);
	}
	free(name);
	if (!rc && b->n == was && !was)
		rc = err_set(e, "%s: no benchmark in this folder (names end "
			     "in .jsonl, .json or .txt, with or without .zst "
			     "or .gz)", path);
	return rc;
}

int
benches_read(struct benches *b, const char *path, const struct bench_opts *o,
	     struct buf *skipped, struct err *e)
{
	struct stat s;

	if (!strcmp(path, "-"))
		return read_file(b, path, o, e);
	if (stat(path, &s))
		return err_sys(e, errno, "%s", path);
	if (S_ISDIR(s.st_mode))
		return read_folder(b, path, o, skipped, e);
	return read_once(b, path, &s, o, e);
}

void
benches_clear(struct benches *b)
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
bench_id(const struct benches *b, const struct bench_example *x,
	 struct buf *tmp)
{
	if (x->idn)
		return (struct span){b->ids.p + x->id, x->idn};
	buf_reset(tmp);
	buf_printf(tmp, "%s:%llu", b->v[x->of].name,
		   (unsigned long long)x->line);
	return buf_span(tmp);
}

static int
by_size(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

unsigned
bench_auto_n(size_t *lengths, size_t n)
{
	size_t at;

	if (!n)
		return 13;
	qsort(lengths, n, sizeof(*lengths), by_size);
	at = lengths[(n + 19) / 20 - 1];
	return at < 8 ? 8 : at > 13 ? 13 : (unsigned)at;
}
