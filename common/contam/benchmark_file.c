/*
 * benchmark_file.c - one file of a benchmark
 *
 * A file is read whole: benchmarks are small compared with the documents.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "contam/benchmark_priv.h"
#include "stream/input.h"
#include "stream/sniff.h"

#define TAR "a tar archive (unpack it with tar xf)"

/* Files that may hold a benchmark but are not read, by their names. */
static const struct {
	const char *ending, *advice;
} others[] = {
	{".tar", TAR}, {".tar.gz", TAR}, {".tgz", TAR}, {".tar.zst", TAR},
	{".tar.bz2", TAR}, {".tar.xz", TAR},
	{".zip", "a zip archive (unpack it with unzip)"},
	{".bz2", "bzip2 is not supported (decompress it with bunzip2)"},
	{".xz", "xz is not supported (decompress it with unxz)"},
	{".parquet", "Parquet is not supported (convert it to JSON Lines)"},
	{".arrow", "Arrow is not supported (convert it to JSON Lines)"},
	{".tsv", "TSV is not supported (convert it to JSON Lines)"},
};

/* The length of name without that ending; 0: it does not have it. */
static size_t
stem(const char *name, const char *ending)
{
	size_t n = strlen(name), k = strlen(ending);

	return n > k && !strcmp(name + n - k, ending) ? n - k : 0;
}

const char *
benchmark_skipped(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (stem(name, others[i].ending))
			return others[i].advice;
	return "its name does not end in .jsonl, .json, .csv or .txt";
}

static int
strip(char *name, const char *ending)
{
	size_t n = stem(name, ending);

	if (n)
		name[n] = 0;
	return n > 0;
}

char *
benchmark_name(const char *path, int *form)
{
	static const char *const endings[] = {
		[BENCHMARK_JSONL] = ".jsonl", [BENCHMARK_JSON] = ".json",
		[BENCHMARK_TEXT] = ".txt", [BENCHMARK_CSV] = ".csv",
	};
	const char *slash = strrchr(path, '/');
	char *name = xstrdup(slash && slash[1] ? slash + 1 : path);
	int i;

	if (!strip(name, ".zst"))
		strip(name, ".gz");
	*form = -1;
	for (i = BENCHMARK_JSONL; *form < 0 && i <= BENCHMARK_CSV; i++)
		if (strip(name, endings[i]))
			*form = i;
	return name;
}

/* A benchmark in which no example has a text: an error, or a note. */
static int
check_found(const struct benchmark_parser *r, struct buf *notes)
{
	const struct benchmark *v = &r->b->v[r->of];
	const char *fields = r->o->fields;
	struct buf b = {0};

	if (!v->n)
		return err_set(r->e, "%s: no examples", r->path);
	if (r->found)
		return 0;
	buf_printf(&b, "%s: no example has a string%s%s", r->path,
		   fields ? " in the fields " :
		   *v->seen ? " of prose: name the fields to use" : "",
		   fields ? fields : "");
	if (!notes)
		benchmark_put_seen(v, &b);
	if (notes)
		buf_printf(notes, "%.*s: all of them are short\n", (int)b.n,
			   b.p);
	else
		err_set(r->e, "%.*s", (int)b.n, b.p);
	buf_clear(&b);
	return notes ? 0 : -1;
}

/* The lines that put() writes, as a string. */
static char *
field_lines(const struct fields *f,
	    void (*put)(const struct fields *f, struct buf *out))
{
	struct buf b = {0};
	char *s;

	put(f, &b);
	buf_putc(&b, 0);
	s = xstrdup(b.p);
	buf_clear(&b);
	return s;
}

int
benchmark_read_file(struct benchmarks *b, const char *path,
		    const struct stat *s, const struct benchmark_opts *o,
		    struct buf *notes, struct err *e)
{
	struct benchmark_parser r = {.b = b, .o = o, .path = path, .e = e,
				     .of = (uint32_t)b->n};
	int regular = s && S_ISREG(s->st_mode), form, rc;
	struct benchmark *v;
	const char *other;
	char *data;
	size_t i, n;

	for (i = 0; regular && i < b->n; i++)
		if (b->v[i].ino == s->st_ino && b->v[i].dev == s->st_dev)
			return 0;
	if (input_slurp(path, &data, &n, e))
		return -1;
	GROW(b->v, b->cap, b->n + 1);
	v = &b->v[b->n++];
	*v = (struct benchmark){.path = xstrdup(path), .first = b->nex};
	v->name = benchmark_name(path, &form);
	if (regular) {
		v->dev = s->st_dev;
		v->ino = s->st_ino;
	}
	other = sniff_binary(data, n);
	rc = other ? err_set(e, "%s: %s", path, other)
		   : benchmark_parse(&r, form, data, n);
	v = &b->v[r.of];
	v->found = r.found;
	v->used = field_lines(&r.fields, fields_put_used);
	v->seen = field_lines(&r.fields, fields_put_seen);
	b->fields_found |= r.fields.found;
	fields_clear(&r.fields);
	if (r.lines.n && o->keep) {
		v->data = r.lines.p;
		r.lines = (struct buf){0};
	} else if (o->keep) {
		v->data = data;
		data = NULL;
	}
	buf_clear(&r.lines);
	free(data);
	return rc ? rc : check_found(&r, notes);
}
