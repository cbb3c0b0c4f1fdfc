/*
 * shard_write.c - a set of shard files, native or of another trainer
 *
 * All files of a set are written under temporary names; shard_writer_commit()
 * renames them one after the other with signals held back, then removes what
 * an older, longer set of the same kind has left.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/shard_priv.h"

enum { LLMC_TOKENS = 1000000000 };

/* Suffixes of a format: the ids, then the files beside them. */
static const char *const kind[][3] = {
	[SHARD_ASSAY] = {".tok"},
	[SHARD_LLMC] = {".bin", ".bin.index"},
	[SHARD_NANOGPT] = {".bin", ".bin.index"},
	[SHARD_MEGATRON] = {".bin", ".idx"},
	[SHARD_DATATROVE] = {".ds", ".ds.index", ".ds.metadata"},
	[SHARD_NPY] = {".npy", ".csv.gz"},
	[SHARD_JSONL] = {".jsonl"},
};

struct shard_writer {
	char *dir;			/* NULL: stdout */
	int made_dir;
	enum shard_format format;
	struct shard_info info;
	uint64_t limit;			/* tokens a file; 0: none */
	struct output **out;		/* every file of the set */
	size_t nout, cap;
	uint64_t files;			/* begun */
	struct output *open[3];		/* the file now open, as in kind[] */
	uint64_t tokens;		/* in it */
	struct shard_native_writer *native;	/* one of these two */
	struct shard_foreign_writer *foreign;
};

static struct output *
add_file(struct shard_writer *w, const char *suffix, struct err *e)
{
	struct output *o;
	char *path = NULL;

	if (w->dir)
		path = xstrf("%s/%05llu%s", w->dir,
			     (unsigned long long)w->files, suffix);
	o = output_open(path, e);
	free(path);
	if (!o)
		return NULL;
	GROW(w->out, w->cap, w->nout + 1);
	return w->out[w->nout++] = o;
}

static int
file_begin(struct shard_writer *w, struct err *e)
{
	const char *const *k = kind[w->format];
	int i;

	for (i = 0; i < 3 && k[i]; i++)
		if (!(w->open[i] = add_file(w, k[i], e)))
			return -1;
	w->files++;
	w->tokens = 0;
	return w->native ? shard_native_begin(w->native, w->open[0], e) :
		shard_foreign_begin(w->foreign, w->open, e);
}

static int
file_end(struct shard_writer *w, int last, struct err *e)
{
	return w->native ? shard_native_end(w->native, last, e) :
		shard_foreign_end(w->foreign, e);
}

static int
rotate(struct shard_writer *w, struct err *e)
{
	int i;

	if (file_end(w, 0, e) < 0)
		return -1;
	for (i = 0; i < 3 && w->open[i]; i++)
		if (output_finish(w->open[i], e) < 0)
			return -1;
	return file_begin(w, e);
}

static int
make_dirs(struct shard_writer *w, struct err *e)
{
	char *s = w->dir, *q = s;
	struct stat st;
	int r = 0;

	while (r == 0 && (q = strchr(q + 1, '/'))) {
		*q = 0;
		if (mkdir(s, 0777) < 0 && errno != EEXIST)
			r = err_sys(e, errno, "%s: cannot make folder", s);
		*q = '/';
	}
	if (r < 0)
		return -1;
	if (mkdir(s, 0777) == 0)
		w->made_dir = 1;
	else if (errno != EEXIST)
		return err_sys(e, errno, "%s: cannot make folder", s);
	else if (stat(s, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, "%s: not a folder", s);
	return 0;
}

/* Refuse what the format cannot hold before anything is written. */
static int
refuse(const struct shard_writer *w, struct err *e)
{
	const char *name = shard_format_names[w->format];

	if (w->info.vocab == 0)
		return err_set(e, "the vocabulary size is unknown");
	if (!w->dir && w->format != SHARD_ASSAY && w->format != SHARD_JSONL)
		return err_set(e, "--shard-format %s writes several files: "
			       "give a folder (-o DIR)", name);
	if (w->info.windows && w->format != SHARD_ASSAY)
		return err_set(e, "--shard-format %s has no windows: best-fit, "
			       "pad and shuffle need assay", name);
	if (w->format == SHARD_LLMC && w->limit > INT32_MAX)
		return err_set(e, "--shard-format llmc: %llu tokens per shard, "
			       "its readers need less than 2^31",
			       (unsigned long long)w->limit);
	if (w->format == SHARD_MEGATRON && w->info.vocab > INT32_MAX)
		return err_set(e, "--shard-format megatron: ids do not fit");
	return 0;
}

struct shard_writer *
shard_writer_open(const char *dir, enum shard_format f,
		  const struct shard_info *info, uint64_t shard_tokens,
		  struct err *e)
{
	struct shard_writer *w = xcalloc(1, sizeof(*w));
	size_t n;

	w->format = f ? f : SHARD_ASSAY;
	w->info = *info;
	w->info.width = info->vocab <= 65536 ? 2 : 4;
	if (w->format == SHARD_MEGATRON)	/* its own rule */
		w->info.width = info->vocab < 65500 ? 2 : 4;
	if (dir && strcmp(dir, "-") != 0) {
		w->dir = xstrdup(dir);
		for (n = strlen(dir); n > 1 && w->dir[n - 1] == '/'; n--)
			w->dir[n - 1] = 0;
		w->limit = shard_tokens ? shard_tokens :
			   w->format == SHARD_LLMC ? LLMC_TOKENS : 0;
	}
	if (refuse(w, e) < 0 || (w->dir && make_dirs(w, e) < 0))
		goto bad;
	if (w->format == SHARD_ASSAY)
		w->native = shard_native_writer_new(&w->info);
	else
		w->foreign = shard_foreign_writer_new(w->format, &w->info);
	if (file_begin(w, e) == 0)
		return w;
bad:
	shard_writer_abort(w);
	return NULL;
}

static int
ids_fit(const struct shard_writer *w, struct span id, const uint32_t *ids,
	size_t n, struct err *e)
{
	size_t i = shard_beyond(ids, n, w->info.vocab);

	if (i == n)
		return 0;
	return err_set(e, "document %.*s: token %zu is id %u, the vocabulary "
		       "has %u", (int)(id.n < 200 ? id.n : 200),
		       id.p ? id.p : "", i, ids[i], w->info.vocab);
}

/* Files of exactly `limit` tokens: a document may straddle them. */
static int
straddle(struct shard_writer *w, const uint32_t *ids, size_t n, struct err *e)
{
	size_t m;

	for (; n > 0; ids += m, n -= m) {
		if (w->limit && w->tokens == w->limit && rotate(w, e) < 0)
			return -1;
		m = n;
		if (w->limit && m > w->limit - w->tokens)
			m = (size_t)(w->limit - w->tokens);
		if (shard_foreign_ids(w->foreign, ids, m, e) < 0)
			return -1;
		w->tokens += m;
	}
	return shard_foreign_bound(w->foreign, e);
}

int
shard_write_doc(struct shard_writer *w, struct span id, const uint32_t *ids,
		size_t n, struct err *e)
{
	if (ids_fit(w, id, ids, n, e) < 0)
		return -1;
	if (w->format == SHARD_LLMC || w->format == SHARD_NANOGPT)
		return straddle(w, ids, n, e);
	if (w->limit && w->tokens && (w->tokens >= w->limit ||
	    n > w->limit - w->tokens) && rotate(w, e) < 0)
		return -1;
	w->tokens += n;
	return w->native ? shard_native_doc_put(w->native, id, ids, n, e) :
		shard_foreign_doc(w->foreign, id, ids, n, e);
}

int
shard_write_window(struct shard_writer *w, const uint32_t *ids, size_t real,
		   const struct shard_part *parts, size_t nparts,
		   struct err *e)
{
	size_t all = (size_t)w->info.seq_len + 1;

	if (ids_fit(w, nparts ? parts[0].id : (struct span){NULL, 0}, ids,
		    real, e) < 0)
		return -1;
	if (w->limit && w->tokens && w->tokens + all > w->limit &&
	    rotate(w, e) < 0)
		return -1;
	w->tokens += all;
	return shard_native_window(w->native, ids, real, parts, nparts, e);
}

/* ---- the end ---- */
static void
release(struct shard_writer *w)
{
	shard_native_writer_free(w->native);
	shard_foreign_writer_free(w->foreign);
	free(w->out);
	free(w->dir);
	free(w);
}

/* Is it a numbered file of the set that is replaced, and not of the new one? */
static int
stale(const struct shard_writer *w, const char *name)
{
	char *end, want[64];
	unsigned long long n;
	int f, i;

	if (name[0] < '0' || name[0] > '9')
		return 0;
	n = strtoull(name, &end, 10);
	for (f = SHARD_ASSAY; f <= SHARD_JSONL; f++) {
		if (strcmp(kind[f][0], kind[w->format][0]) != 0)
			continue;
		for (i = 0; i < 3 && kind[f][i]; i++) {
			snprintf(want, sizeof(want), "%05llu%s", n, kind[f][i]);
			if (strcmp(want, name) != 0)
				continue;
			if (n >= w->files)
				return 1;
			for (i = 0; i < 3 && kind[w->format][i]; i++)
				if (strcmp(end, kind[w->format][i]) == 0)
					return 0;
			return 1;
		}
	}
	return 0;
}

static int
remove_stale(const struct shard_writer *w, struct err *e)
{
	DIR *d = opendir(w->dir);
	struct dirent *f;
	int r = 0;

	if (!d)
		return err_sys(e, errno, "%s: cannot open folder", w->dir);
	while (r == 0 && (f = readdir(d)))
		if (stale(w, f->d_name) &&
		    unlinkat(dirfd(d), f->d_name, 0) < 0 && errno != ENOENT)
			r = err_sys(e, errno, "%s/%s: cannot remove the older "
				    "shard", w->dir, f->d_name);
	closedir(d);
	return r;
}

/* All bytes to the device; after that only the renames can fail. */
static int
finish(struct shard_writer *w, struct err *e)
{
	size_t i;

	/* Their readers take a file without ids for a damaged one. */
	if ((w->format == SHARD_LLMC || w->format == SHARD_NANOGPT) &&
	    w->files == 1 && !w->tokens)
		return err_set(e, "%s: no tokens: %s has no empty shards",
			       w->dir, shard_format_names[w->format]);
	if (file_end(w, 1, e) < 0)
		return -1;
	for (i = 0; i < w->nout; i++)
		if (output_finish(w->out[i], e) < 0)
			return -1;
	return 0;
}

static int
appear(struct shard_writer *w, struct err *e)
{
	int r = output_commit_all(w->out, w->nout, e);

	if (r == 0 && w->dir)
		r = remove_stale(w, e);
	if (r < 0 && w->made_dir)
		rmdir(w->dir);		/* only if nothing is in it */
	release(w);
	return r;
}

int
shard_writer_commit_all(struct shard_writer **w, size_t n, struct err *e)
{
	sigset_t hold, old;
	size_t i;
	int r = 0;

	for (i = 0; i < n && r == 0; i++)
		if (w[i])
			r = finish(w[i], e);
	sigemptyset(&hold);
	sigaddset(&hold, SIGINT);
	sigaddset(&hold, SIGTERM);
	sigaddset(&hold, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &hold, &old);
	for (i = 0; i < n; i++) {
		if (r < 0)
			shard_writer_abort(w[i]);
		else if (w[i])
			r = appear(w[i], e);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

int
shard_writer_commit(struct shard_writer *w, struct err *e)
{
	return shard_writer_commit_all(&w, 1, e);
}

void
shard_writer_abort(struct shard_writer *w)
{
	size_t i;

	if (!w)
		return;
	for (i = 0; i < w->nout; i++)
		output_abort(w->out[i]);
	if (w->made_dir)
		rmdir(w->dir);
	release(w);
}
