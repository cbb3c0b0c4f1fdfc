/*
 * benchmark.c - benchmarks: files, names and ids
 *
 * A file is read whole: benchmarks are small beside what they are compared
 * with.  What it is called decides its form where the name says it, since a
 * text may begin with a bracket; else the first bytes do.
 */
#include "contam/benchmark.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/input.h"
#include "base/mem.h"
#include "contam/benchmark_priv.h"

enum { FIELDS = 63 };

const char *const bench_others[] = {
	[BENCH_TAR] = "a tar archive: unpack it first (tar xf)",
	[BENCH_ZIP] = "a zip archive: unpack it first (unzip)",
	[BENCH_BZIP2] = "bzip2 is not read: unpack it first (bunzip2)",
	[BENCH_XZ] = "xz is not read: unpack it first (unxz)",
	[BENCH_PARQUET] = "Parquet is not read: write it as JSON Lines first",
	[BENCH_ARROW] = "Arrow is not read: write it as JSON Lines first",
	[BENCH_CSV] = "tables are not read: write it as JSON Lines first",
	[BENCH_UTF16] = "UTF-16 is not read: make it UTF-8 first (iconv)",
};

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

char *
bench_name(const char *path, int *form)
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
	static const struct {
		size_t at, n;
		const char *magic;
		enum bench_other what;
	} t[] = {
		{257, 5, "ustar", BENCH_TAR}, {0, 3, "BZh", BENCH_BZIP2},
		{0, 6, "\xfd" "7zXZ", BENCH_XZ}, {0, 4, "PK\3\4", BENCH_ZIP},
		{0, 4, "PAR1", BENCH_PARQUET}, {0, 6, "ARROW1", BENCH_ARROW},
		{0, 2, "\xff\xfe", BENCH_UTF16},
		{0, 2, "\xfe\xff", BENCH_UTF16},
	};
	size_t i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (n >= t[i].at + t[i].n &&
		    !memcmp(p + t[i].at, t[i].magic, t[i].n))
			return bench_others[t[i].what];
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

/* What is wrong with a benchmark in which no example has a text. */
static void
say_not_found(const struct bench_reading *r, struct buf *out)
{
	buf_printf(out, "%s: no example has ", r->path);
	if (r->o->fields)
		buf_printf(out, "a field of --bench-fields %s", r->o->fields);
	else
		buf_puts(out, "a string in it");
}

/* notes: where that is no error but to be told; found gets 0. */
static int
check_found(struct bench_reading *r, struct buf *notes)
{
	struct buf b = {0};

	r->b->v[r->of].found = r->found;
	if (!r->b->v[r->of].n)
		return err_set(r->e, "%s: no examples in it", r->path);
	if (r->found)
		return 0;
	say_not_found(r, notes ? notes : &b);
	if (notes) {
		buf_puts(notes, ": all of them are short\n");
		return 0;
	}
	err_set(r->e, "%.*s", (int)b.n, b.p);
	buf_clear(&b);
	return -1;
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
read_data(struct bench_reading *r, int form, const char *p, size_t n,
	  struct buf *notes)
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
	return rc ? rc : check_found(r, notes);
}

static int
read_file(struct benches *b, const char *path, const struct bench_opts *o,
	  struct buf *notes, struct err *e)
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
	v->name = bench_name(path, &form);
	v->path = xstrdup(path);
	v->first = b->nex;
	rc = read_data(&r, form, data, n, notes);
	if (o->keep)
		b->v[r.of].data = data;
	else
		free(data);
	return rc;
}

int
bench_read_file(struct benches *b, const char *path, const struct stat *s,
		const struct bench_opts *o, struct buf *notes, struct err *e)
{
	size_t i, was = b->n;
	int rc;

	for (i = 0; S_ISREG(s->st_mode) && i < was; i++)
		if (b->v[i].ino == s->st_ino && b->v[i].dev == s->st_dev)
			return 0;
	rc = read_file(b, path, o, notes, e);
	if (b->n > was && S_ISREG(s->st_mode)) {
		b->v[was].dev = s->st_dev;
		b->v[was].ino = s->st_ino;
	}
	return rc;
}

int
benches_read(struct benches *b, const char *path, const struct bench_opts *o,
	     struct buf *notes, struct err *e)
{
	struct stat s;

	if (!strcmp(path, "-"))
		return read_file(b, path, o, NULL, e);
	if (stat(path, &s))
		return err_sys(e, errno, "%s", path);
	if (S_ISDIR(s.st_mode))
		return bench_read_folder(b, path, o, notes, e);
	return bench_read_file(b, path, &s, o, NULL, e);
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
