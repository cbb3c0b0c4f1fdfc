/*
 * files.c - the files of an input: operands, folders, lists of names
 *
 * A file of a folder is opened and its first bytes are read.  What cannot be
 * read, such as a truncated .zst, and what is named as JSON Lines but is not,
 * is not skipped, so that it is an error later and not data that is missing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/decompress.h"
#include "stream/files.h"
#include "stream/input.h"
#include "stream/sniff.h"

enum { HEAD = 4096, WARNINGS = 10 };

static void
add(struct files *f, char *name)
{
	GROW(f->v, f->cap, f->n + 1);
	f->v[f->n++] = name;
}

void
files_clear(struct files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free((char *)f->v[i]);
	free(f->v);
	*f = (struct files){0};
}

/* The first bytes of a file, decompressed; -1 if it cannot be read. */
static ptrdiff_t
read_head(const char *path, char *p)
{
	_Atomic uint64_t done = 0;
	struct err ignore = {0};
	struct decompress *s = decompress_open(path, &done, &ignore);
	ptrdiff_t n = 0, k = s ? 1 : -1;

	while (k > 0 && n < HEAD) {
		k = decompress_read(s, p + n, (size_t)(HEAD - n), &ignore);
		n += k > 0 ? k : 0;
	}
	decompress_close(s);
	return k < 0 ? -1 : n;
}

/* What the file is that is not JSON Lines; NULL if it may be. */
static const char *
other_kind(const char *path)
{
	char head[HEAD];
	ptrdiff_t n = read_head(path, head);
	const char *what, *p = head, *lf;

	if (n <= 0)
		return NULL;
	what = sniff_binary(head, (size_t)n);
	if (what)
		return what;
	if (n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		p += 3;
	while (p < head + n && strchr(" \t\r\n", *p) && *p)
		p++;
	if (p == head + n)
		return NULL;
	lf = memchr(p, '\n', (size_t)(head + n - p));
	if (!lf && *p == '{')	/* a line of more than HEAD bytes */
		return NULL;
	lf = lf ? lf : head + n;
	return sniff_line((struct span){ p, (size_t)(lf - p) }, "");
}

static int
visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void
skip(const char *path, const char *why, size_t *skipped)
{
	if ((*skipped)++ < WARNINGS)
		warn("%s: skipped, %s", path, why);
}

static void
add_entry(struct files *f, char *path, size_t *skipped)
{
	const char *what;
	struct stat st;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		skip(path, "a folder (name it as well to have it read)",
		     skipped);
	else if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		skip(path, "not a regular file", skipped);
	else if (!strstr(path_base(path), ".jsonl") &&
		 (what = other_kind(path)))
		skip(path, what, skipped);
	else {
		add(f, path);
		return;
	}
	free(path);
}

static int
byte_order(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int
add_folder(struct files *f, const char *path, struct err *e)
{
	size_t before = f->n, skipped = 0;
	struct dirent **d;
	int n = scandir(path, &d, visible, byte_order);

	if (n < 0)
		return err_sys(e, errno, "%s", path);
	for (int i = 0; i < n; i++) {
		add_entry(f, path_join(path, d[i]->d_name), &skipped);
		free(d[i]);
	}
	free(d);
	if (skipped > WARNINGS)
		warn("%s: %zu more files skipped", path, skipped - WARNINGS);
	if (f->n == before)
		return err_set(e, "%s: no documents in this folder", path);
	return 0;
}

static int
add_name(struct files *f, const char *name, size_t n, struct err *e)
{
	char *path = xmemdup0(name, n);
	int bad = 0;

	if (path_is_std(path) || !path_is_dir(path)) {
		add(f, path);
		return 0;
	}
	bad = add_folder(f, path, e);
	free(path);
	return bad;
}

static int
add_list(struct files *f, const char *list, struct err *e)
{
	const char *what = path_is_std(list) ? "<stdin>" : list, *at, *end;
	size_t n, len, before = f->n;
	int bad = 0, sep;
	char *p;

	for (size_t i = 0; i < f->n; i++)
		if (path_is_std(list) && path_is_std(f->v[i]))
			return err_set(e, "<stdin>: cannot be a file and the "
				       "list of files");
	if (input_slurp(list, &p, &n, e) < 0)
		return -1;
	sep = memchr(p, '\0', n) ? '\0' : '\n';
	for (const char *q = p; q < p + n && !bad; q = end + 1) {
		at = q;
		end = memchr(at, sep, (size_t)(p + n - at));
		if (!end)
			end = p + n;
		len = (size_t)(end - at);
		len -= sep == '\n' && len && at[len - 1] == '\r';
		if (len)
			bad = add_name(f, at, len, e);
	}
	free(p);
	if (!bad && f->n == before)
		return err_set(e, "%s: no file names", what);
	return bad;
}

int
files_add(struct files *f, const char *const *operands, size_t n,
	  const char *list, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (add_name(f, operands[i], strlen(operands[i]), e))
			return -1;
	return list ? add_list(f, list, e) : 0;
}
