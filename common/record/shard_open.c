/*
 * shard_open.c - from paths to a stream: folders, detection, mapping, pipes
 *
 * A folder stands for its shards in the order of their names; what else lies
 * in it is ignored.  Regular files are mapped; a pipe is read to its end,
 * into memory up to SPOOL_MEMORY and from there on into an unlinked file in
 * $TMPDIR, which is then mapped too.  The format of a file is what its first
 * bytes or its index say, never its name alone.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/spool.h"
#include "record/shard_priv.h"

enum { SPOOL_MEMORY = 64 << 20, READ = 1 << 20 };

const char *const shard_format_names[] = {
	"auto", "assay", "llmc", "nanogpt", "megatron", "datatrove", "npy",
	"jsonl", NULL
};

/* The last one is written and not read. */
const char *const shard_read_names[] = {
	"auto", "assay", "llmc", "nanogpt", "megatron", "datatrove", "npy",
	NULL
};

/* What the files of a format end in; NULL: not read. */
static const char *const suffix[] = {
	NULL, ".tok", ".bin", ".bin", ".bin", ".ds", ".npy", NULL
};

void
shard_hint_init(struct shard_hint *h)
{
	memset(h, 0, sizeof(*h));
	h->bos = h->eos = -1;
}

struct part *
shards_add_part(struct shards *s)
{
	GROW(s->part, s->cap, s->nparts + 1);
	memset(&s->part[s->nparts], 0, sizeof(*s->part));
	return &s->part[s->nparts++];
}

static struct shard_map *
add_map(struct shards *s, const char *name)
{
	struct shard_map *m;

	GROW(s->map, s->map_cap, s->nmaps + 1);
	m = &s->map[s->nmaps++];
	memset(m, 0, sizeof(*m));
	m->name = xstrdup(name);
	return m;
}

static int
map_fd(struct shard_map *m, int fd, size_t n, struct err *e)
{
	m->n = n;
	if (n == 0)
		return 0;
	m->p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (m->p == MAP_FAILED) {
		m->p = NULL;
		return err_sys(e, errno, "%s: cannot map %zu bytes", m->name, n);
	}
	m->how = MAP_MAPPED;
	return 0;
}

/* A pipe to its end. */
static int
spool_fd(struct shard_map *m, int fd, struct err *e)
{
	char *p = xmalloc(READ);
	ssize_t k;

	m->spool = spool_new(SPOOL_MEMORY);
	while ((k = read(fd, p, READ)) != 0) {
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			err_sys(e, errno, "%s: cannot read", m->name);
		else
			spool_append(m->spool, p, (size_t)k, e);
		if (e->set)
			break;
	}
	free(p);
	if (e->set || !(m->p = (void *)spool_all(m->spool, e)))
		return -1;
	m->n = spool_size(m->spool);
	return 0;
}

ptrdiff_t
shards_map(struct shards *s, const char *path, struct err *e)
{
	struct shard_map *m = add_map(s, path ? path : "<stdin>");
	int fd = STDIN_FILENO, r;
	struct stat st;

	if (path && (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return err_sys(e, errno, "%s: cannot open", path);
	if (fstat(fd, &st) < 0)
		r = err_sys(e, errno, "%s: cannot stat", m->name);
	else if (S_ISDIR(st.st_mode))
		r = err_sys(e, EISDIR, "%s: cannot read", m->name);
	else if (S_ISREG(st.st_mode) && (path || lseek(fd, 0, SEEK_CUR) == 0))
		r = map_fd(m, fd, (size_t)st.st_size, e);
	else
		r = spool_fd(m, fd, e);
	if (path)
		close(fd);
	return r < 0 ? -1 : m - s->map;
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

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n > k && strcmp(s + n - k, end) == 0;
}

/* X.bin of Megatron is told by its X.idx. */
static int
has_idx(const char *path)
{
	char *idx = xstrdup(path);
	size_t n = strlen(path);
	int r = 0;

	if (ends_with(path, ".bin")) {
		strcpy(idx + n - 4, ".idx");
		r = access(idx, F_OK) == 0;
	}
	free(idx);
	return r;
}

/* Files that only belong to a shard: a shell lists them with it. */
static int
companion(const char *path)
{
	static const char *const end[] = {".idx", ".index", ".metadata",
		".csv.gz", ".loss"};
	size_t i;

	for (i = 0; i < sizeof(end) / sizeof(*end); i++)
		if (ends_with(path, end[i]))
			return 1;
	return 0;
}

/* All shards of a folder; the suffix decides which format is looked for. */
static int
folder_list(const char *dir, enum shard_format f, struct list *l,
	    struct err *e)
{
	static const char *const known[] = {".tok", ".bin", ".ds", ".npy"};
	size_t count[4] = {0}, kinds = 0, i, pick = 0;
	struct list all = {0};
	struct dirent *d;
	DIR *h = opendir(dir);

	if (!h)
		return err_sys(e, errno, "%s: cannot open folder", dir);
	errno = 0;
	while ((d = readdir(h))) {
		for (i = 0; i < 4; i++)
			if (d->d_name[0] != '.' &&
			    ends_with(d->d_name, known[i])) {
				list_add(&all, path_join(dir, d->d_name));
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
		err_set(e, "%s: shards of several formats, --shard-format says "
			"which", dir);
	for (i = 0; i < all.n; i++) {
		if (!e->set && ends_with(all.v[i], known[pick]))
			list_add(l, xstrdup(all.v[i]));
	}
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_name);
	list_clear(&all);
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
		err_set(e, "%s: empty: no shard", m->name);
	else if (m->n >= 4 && (memcmp(b, "\x28\xb5\x2f\xfd", 4) == 0 ||
		 memcmp(b, "\x1f\x8b", 2) == 0))
		err_set(e, "%s: compressed: unpack it first, or pipe it in from "
			"zstd -dc or gzip -dc", m->name);
	else if (ends_with(m->name, ".tok"))
		err_set(e, "%s: offset 0: not the header of a shard", m->name);
	else
		err_set(e, "%s: no magic number tells its format: "
			"--shard-format nanogpt, datatrove or npy must say",
			m->name);
	return SHARD_AUTO;
}

static int
open_file(struct shards *s, const char *path, size_t folder, struct err *e)
{
	ptrdiff_t k = shards_map(s, path, e);
	enum shard_format f;

	if (k < 0)
		return -1;
	s->map[k].folder = folder;
	f = s->hint.format ? s->hint.format : detect(&s->map[k], e);
	if (f == SHARD_AUTO)
		return -1;
	if (s->info.format && s->info.format != f)
		return err_set(e, "%s: format %s, but %s before it: not one "
			       "stream", s->map[k].name, shard_format_names[f],
			       shard_format_names[s->info.format]);
	s->info.format = f;
	if (f == SHARD_ASSAY) {
		struct shard_map m = s->map[k];

		if (m.n == 0)
			return err_set(e, "%s: empty: no shard", m.name);
		return native_open(s, &m, e);
	}
	return foreign_open(s, (size_t)k, e);
}

static int
open_folder(struct shards *s, const char *dir, size_t number, struct err *e)
{
	struct list l = {0};
	size_t i, from = s->nparts;
	int r;

	r = folder_list(dir, s->hint.format, &l, e);
	for (i = 0; r == 0 && i < l.n; i++)
		r = open_file(s, l.v[i], number, e);
	list_clear(&l);
	if (r == 0 && s->info.format == SHARD_ASSAY)
		r = native_chain(s, from, s->nparts, dir, e);
	return r;
}

/* Parts into one stream: first tokens, first documents, common facts. */
static int
join(struct shards *s, struct err *e)
{
	struct shard_info *o = &s->info;
	size_t i;

	if ((o->format == SHARD_ASSAY ? native_join : foreign_join)(s, e) < 0)
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
		r = err_set(e, "%s: --shard-format jsonl is written, not read",
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
		r = err_set(e, "%s: no shard, only what belongs to one",
			    paths[0]);
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
	struct shard_map *m = add_map(s, name);
	int r;

	m->p = (void *)(uintptr_t)p;
	m->n = n;
	s->info.format = h->format ? h->format : detect(m, e);
	if (!s->info.format)
		r = -1;
	else if (s->info.format == SHARD_ASSAY && n == 0)
		r = err_set(e, "%s: empty: no shard", name);
	else if (s->info.format == SHARD_ASSAY)
		r = native_open(s, m, e);
	else
		r = foreign_open(s, 0, e);
	return finish(s, r, e);
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
	for (i = 0; i < s->nmaps; i++) {
		if (s->map[i].how == MAP_MAPPED)
			munmap(s->map[i].p, s->map[i].n);
		spool_free(s->map[i].spool);
		free(s->map[i].name);
	}
	free(s->part);
	free(s->map);
	free(s);
}
