/*
 * shard_open.c - from paths to a stream: folders, detection of formats
 *
 * A folder means its shards in the order of their names, numbers in these by
 * value; other files in it are ignored.  The format of a file is what its
 * first bytes or its index say, never its name alone.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "record/shard_priv.h"
#include "stream/outdir.h"

const char *const shard_format_names[] = {
	"auto", "assay", "llmc", "nanogpt", "megatron", "datatrove", "npy",
	"jsonl", NULL
};

/* jsonl is only written: it comes last, so that the numbers of both agree. */
const char *const shard_read_names[] = {
	"auto", "assay", "llmc", "nanogpt", "megatron", "datatrove", "npy",
	NULL
};

const char *const shard_write_names[] = {
	"assay", "llmc", "nanogpt", "megatron", "datatrove", "npy", "jsonl",
	NULL
};

const enum shard_format shard_write_formats[] = {
	SHARD_ASSAY, SHARD_LLMC, SHARD_NANOGPT, SHARD_MEGATRON,
	SHARD_DATATROVE, SHARD_NPY, SHARD_JSONL
};

const char *const shard_id_bytes_names[] = {"auto", "2", "4", NULL};

/* Suffix of the files of a format; NULL: not read. */
static const char *const suffix[] = {
	NULL, ".tok", ".bin", ".bin", ".bin", ".ds", ".npy", NULL
};

void
shard_hint_init(struct shard_hint *h)
{
	memset(h, 0, sizeof(*h));
	h->bos = h->eos = -1;
}

/* ---- which files, which format ---- */
struct list {
	char **v;
	size_t n, cap;
};

static void
list_add(struct list *l, char *name)
{
	GROW(l->v, l->cap, l->n + 1);
	l->v[l->n++] = name;
}

static void
list_clear(struct list *l)
{
	while (l->n)
		free(l->v[--l->n]);
	free(l->v);
}

/* shard_2 is before shard_10. */
static int
by_number(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static void
sort(struct list *l, const char *dir)
{
	size_t i;

	if (!l->n)
		return;
	qsort(l->v, l->n, sizeof(*l->v), by_number);
	for (i = 1; i < l->n && strcmp(l->v[i - 1], l->v[i]) < 0; i++)
		;
	if (i < l->n)
		warn("%s: its shards are read in the order of their numbers, "
		     "%s before %s, not in that of their bytes", dir,
		     path_base(l->v[i - 1]), path_base(l->v[i]));
}

/* A Megatron X.bin is known by the X.idx beside it. */
static int
has_idx(const char *path)
{
	char *idx = shard_beside(path, ".bin", ".idx");
	int r = shard_ends_with(path, ".bin") && path_exists(idx);

	free(idx);
	return r;
}

/* Files that belong to a shard, which *.bin* and the like also match. */
static int
companion(const char *path)
{
	static const char *const end[] = {".idx", ".index", ".metadata",
		".csv.gz", ".loss"};
	size_t i;

	for (i = 0; i < sizeof(end) / sizeof(*end); i++)
		if (shard_ends_with(path, end[i]))
			return 1;
	return 0;
}

/* All shards of a folder, of one format by their suffix. */
static int
folder_list(const char *dir, enum shard_format f, struct list *l,
	    struct err *e)
{
	static const char *const known[] = {".tok", ".bin", ".ds", ".npy"};
	size_t count[4] = {0}, kinds = 0, i, n = 0, pick = 0;
	struct dirent *d;
	DIR *h = opendir(dir);

	if (!h)
		return err_sys(e, errno, "%s: cannot open folder", dir);
	errno = 0;
	while ((d = readdir(h))) {
		for (i = 0; i < 4; i++)
			if (d->d_name[0] != '.' &&
			    shard_ends_with(d->d_name, known[i])) {
				list_add(l, path_join(dir, d->d_name));
				count[i]++;
			}
		errno = 0;
	}
	if (errno)
		err_sys(e, errno, "%s: cannot read folder", dir);
	closedir(h);
	for (i = 0; i < 4; i++)
		if (f == SHARD_AUTO ? count[i] > 0 :
		    strcmp(known[i], suffix[f]) == 0 && count[i] > 0) {
			kinds++;
			pick = i;
		}
	if (!e->set && kinds == 0)
		err_set(e, "%s: no shards in this folder (%s)", dir,
			f == SHARD_AUTO ? "*.tok *.bin *.ds *.npy" :
			suffix[f]);
	if (!e->set && kinds > 1)
		err_set(e, "%s: shards of several formats: name the one to "
			"read", dir);
	for (i = 0; i < l->n; i++)
		if (shard_ends_with(l->v[i], known[pick]))
			l->v[n++] = l->v[i];
		else
			free(l->v[i]);
	l->n = n;
	sort(l, dir);
	return e->set ? -1 : 0;
}

/* Format of one mapped file, or SHARD_AUTO with a message. */
static enum shard_format
detect(const struct shard_map *m, struct err *e)
{
	enum shard_format f = shard_sniff(m->p, m->n);
	const unsigned char *b = m->p;

	if (f == SHARD_MEGATRON) {
		err_set(e, "%s: the index of a Megatron shard: name its .bin",
			m->name);
		return SHARD_AUTO;
	}
	if (f)
		return f;
	if (has_idx(m->name))
		return SHARD_MEGATRON;
	if (m->n == 0)
		err_set(e, "%s: empty: not a shard", m->name);
	else if (m->n >= 4 && (memcmp(b, "\x28\xb5\x2f\xfd", 4) == 0 ||
		 memcmp(b, "\x1f\x8b", 2) == 0))
		err_set(e, "%s: compressed: decompress it first, or read it "
			"from a pipe (zstd -dc, gzip -dc)", m->name);
	else if (shard_ends_with(m->name, ".tok"))
		err_set(e, "%s: offset 0: not the header of a shard", m->name);
	else
		err_set(e, "%s: no magic number: name its format "
			"(nanogpt, datatrove or npy)",
			m->name);
	return SHARD_AUTO;
}

static int
open_map(struct shards *s, size_t k, struct err *e)
{
	struct shard_map m = s->map[k];		/* the array may move */
	enum shard_format f = s->hint.format ? s->hint.format : detect(&m, e);

	if (f == SHARD_AUTO)
		return -1;
	if (s->info.format && s->info.format != f)
		return err_set(e, "%s: format %s after %s: not one stream",
			       m.name, shard_format_names[f],
			       shard_format_names[s->info.format]);
	s->info.format = f;
	if (f != SHARD_ASSAY)
		return shard_foreign_open(s, k, e);
	if (m.n == 0)
		return err_set(e, "%s: empty: not a shard", m.name);
	return shard_native_open(s, &m, e);
}

static int
open_file(struct shards *s, const char *path, size_t folder, struct err *e)
{
	ptrdiff_t k = shard_map_file(s, path, e);

	if (k < 0)
		return -1;
	s->map[k].folder = folder;
	return open_map(s, (size_t)k, e);
}

static int
open_folder(struct shards *s, const char *dir, size_t number, struct err *e)
{
	struct list l = {0};
	size_t i, from = s->nparts;
	int r = outdir_check(dir, e) < 0 ||
		folder_list(dir, s->hint.format, &l, e) < 0 ? -1 : 0;

	for (i = 0; r == 0 && i < l.n; i++)
		r = open_file(s, l.v[i], number, e);
	list_clear(&l);
	if (r == 0 && s->info.format == SHARD_ASSAY)
		r = shard_native_chain(s, from, s->nparts, dir, e);
	return r;
}

/* Parts into one stream: first tokens, first documents, common values. */
static int
join(struct shards *s, struct err *e)
{
	struct shard_info *o = &s->info;
	size_t i;

	if ((o->format == SHARD_ASSAY ? shard_native_join :
	     shard_foreign_join)(s, e) < 0)
		return -1;
	for (i = 0; i < s->nparts; i++) {
		struct part *p = &s->part[i];

		p->first = o->tokens;
		p->first_doc = o->pieces;
		if (p->tokens >> 62 || p->docs >> 62)
			return err_set(e, "%s: impossible counts", p->name);
		o->tokens += p->tokens;
		o->pieces += p->docs;
	}
	return 0;
}

static struct shards *
shards_new(const struct shard_hint *h)
{
	struct shards *s = xcalloc(1, sizeof(*s));

	s->hint = *h;
	s->info.bos = s->info.eos = s->info.pad = -1;
	return s;
}

static struct shards *
finish(struct shards *s, int r, struct err *e)
{
	if (r == 0)
		r = join(s, e);
	if (r == 0)
		return s;
	shards_close(s);
	return NULL;
}

struct shards *
shards_open_hint(const char *const *paths, size_t n, const struct shard_hint *h,
		 struct err *e)
{
	struct shards *s = shards_new(h);
	size_t i, folders = 0;
	int r = 0;

	if (h->format == SHARD_JSONL)
		r = err_set(e, "%s: format jsonl cannot be read",
			    n ? paths[0] : "<stdin>");
	else if (n == 0)
		r = open_file(s, NULL, 0, e);
	for (i = 0; r == 0 && i < n; i++) {
		if (strcmp(paths[i], "-") == 0)
			r = open_file(s, NULL, 0, e);
		else if (path_is_dir(paths[i]))
			r = open_folder(s, paths[i], ++folders, e);
		else if (!companion(paths[i]) || n == 1)
			r = open_file(s, paths[i], 0, e);
	}
	if (r == 0 && s->nparts == 0)
		r = err_set(e, "%s: not a shard, but a file that belongs to "
			    "one", paths[0]);
	return finish(s, r, e);
}

struct shards *
shards_open(const char *const *paths, size_t n, enum shard_format f,
	    struct err *e)
{
	struct shard_hint h;

	shard_hint_init(&h);
	h.format = f;
	return shards_open_hint(paths, n, &h, e);
}

struct shards *
shards_open_mem(const void *p, size_t n, const char *name,
		const struct shard_hint *h, struct err *e)
{
	struct shards *s = shards_new(h);
	struct shard_map *m = shard_map_add(s, name);

	m->p = (void *)(uintptr_t)p;
	m->n = n;
	return finish(s, open_map(s, 0, e), e);
}

void
shards_close(struct shards *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->nparts; i++) {
		free(s->part[i].checked);
		free(s->part[i].own_ends);
		free(s->part[i].id_text);
		free(s->part[i].id_end);
	}
	for (i = 0; i < s->nmaps; i++)
		shard_map_clear(&s->map[i]);
	free(s->part);
	free(s->map);
	free(s);
}
