/*
 * shard_write.c - a set of shard files, native or of another trainer
 *
 * The files of a set replace those of an older one together (outdir.h).
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/shard_priv.h"
#include "stream/outdir.h"

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
	struct outdir *dir;		/* NULL: stdout */
	enum shard_format format;
	struct shard_info info;
	uint64_t limit;			/* tokens a file; 0: none */
	uint64_t files;			/* begun */
	uint64_t pair;			/* identity of this set and another */
	struct output *open[3];		/* the file now open, as in kind[] */
	uint64_t tokens;		/* in it */
	struct shard_native_writer *native;	/* one of these two */
	struct shard_foreign_writer *foreign;
};

static struct output *
add_file(struct shard_writer *w, const char *suffix, struct err *e)
{
	char name[64];

	if (!w->dir)
		return output_open(NULL, e);
	snprintf(name, sizeof(name), "%05llu%s", (unsigned long long)w->files,
		 suffix);
	return outdir_file(w->dir, name, e);
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
	int i, r;

	/* Their readers take a file without ids for a damaged one. */
	if ((w->format == SHARD_LLMC || w->format == SHARD_NANOGPT) &&
	    w->files == 1 && !w->tokens)
		return err_set(e, "%s: no tokens: %s has no empty shards",
			       outdir_name(w->dir),
			       shard_format_names[w->format]);
	r = w->native ?
		shard_native_end(w->native, last, w->pair, e) :
		shard_foreign_end(w->foreign, e);

	for (i = 0; i < 3 && r == 0 && w->open[i]; i++) {
		r = w->dir ? outdir_done(w->dir, w->open[i], e) :
			output_commit(w->open[i], e);
		w->open[i] = NULL;
	}
	return r;
}

static int
rotate(struct shard_writer *w, struct err *e)
{
	return file_end(w, 0, e) < 0 ? -1 : file_begin(w, e);
}

/*
 * Is it a numbered file of a set that the new one replaces: one of a format
 * whose ids are in files of the same suffix?
 */
static int
is_old(void *ctx, const char *name)
{
	const struct shard_writer *w = ctx;
	char want[64];
	unsigned long long n;
	int f, i;

	if (name[0] < '0' || name[0] > '9')
		return 0;
	n = strtoull(name, NULL, 10);
	for (f = SHARD_ASSAY; f <= SHARD_JSONL; f++) {
		if (strcmp(kind[f][0], kind[w->format][0]) != 0)
			continue;
		for (i = 0; i < 3 && kind[f][i]; i++) {
			snprintf(want, sizeof(want), "%05llu%s", n, kind[f][i]);
			if (strcmp(want, name) == 0)
				return 1;
		}
	}
	return 0;
}

/* Refuse what the format cannot hold before anything is written. */
static int
refuse(const struct shard_writer *w, int named, struct err *e)
{
	const char *name = shard_format_names[w->format];

	if (w->info.vocab == 0)
		return err_set(e, "the vocabulary size is unknown");
	if (!named && w->format != SHARD_ASSAY && w->format != SHARD_JSONL)
		return err_set(e, "format %s writes several files: "
			       "give a folder (-o DIR)", name);
	if (w->info.windows && w->format != SHARD_ASSAY)
		return err_set(e, "format %s has no windows: best-fit, "
			       "pad and shuffle need assay", name);
	if (w->format == SHARD_LLMC && w->limit > INT32_MAX)
		return err_set(e, "format llmc: %llu tokens per shard, "
			       "its readers need less than 2^31",
			       (unsigned long long)w->limit);
	if (w->format == SHARD_MEGATRON && w->info.vocab > INT32_MAX)
		return err_set(e, "format megatron: ids do not fit");
	return 0;
}

struct shard_writer *
shard_writer_open(const char *dir, enum shard_format f,
		  const struct shard_info *info, uint64_t shard_tokens,
		  struct err *e)
{
	struct shard_writer *w = xcalloc(1, sizeof(*w));
	int named = dir && strcmp(dir, "-") != 0;

	w->format = f ? f : SHARD_ASSAY;
	w->info = *info;
	w->info.width = info->vocab <= 65536 ? 2 : 4;
	if (w->format == SHARD_MEGATRON)	/* its own rule */
		w->info.width = info->vocab < 65500 ? 2 : 4;
	if (named)
		w->limit = shard_tokens ? shard_tokens :
			   w->format == SHARD_LLMC ? LLMC_TOKENS : 0;
	if (refuse(w, named, e) < 0 ||
	    (named && !(w->dir = outdir_open(dir, is_old, w, e))))
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
	free(w);
}

int
shard_writer_pair(struct shard_writer *a, struct shard_writer *b,
		  struct err *e)
{
	uint64_t each[2] = {0, 0};

	if ((a->native && shard_native_digest(a->native, &each[0], e) < 0) ||
	    (b->native && shard_native_digest(b->native, &each[1], e) < 0))
		return -1;
	a->pair = b->pair = XXH3_64bits(each, sizeof(each)) | 1;
	return 0;
}

uint64_t
shard_writer_identity(const struct shard_writer *w)
{
	return w->native ? w->pair : 0;
}

int
shard_writer_commit_all(struct shard_writer **w, size_t n, struct err *e)
{
	struct outdir *dir[2];
	sigset_t hold, old;
	size_t i, dirs = 0;

	for (i = 0; i < n && !e->set; i++)
		file_end(w[i], 1, e);
	sigemptyset(&hold);
	sigaddset(&hold, SIGINT);
	sigaddset(&hold, SIGTERM);
	sigaddset(&hold, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &hold, &old);
	for (i = 0; i < n && !e->set; i++)
		if (w[i]->dir) {
			dir[dirs++] = w[i]->dir;
			w[i]->dir = NULL;
		}
	if (dirs)
		outdir_commit_all(dir, dirs, e);
	for (i = 0; i < n; i++)
		shard_writer_abort(w[i]);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return e->set ? -1 : 0;
}

int
shard_writer_commit(struct shard_writer *w, struct err *e)
{
	return shard_writer_commit_all(&w, 1, e);
}

void
shard_writer_abort(struct shard_writer *w)
{
	int i;

	if (!w)
		return;
	for (i = 0; i < 3; i++)
		output_abort(w->open[i]);
	outdir_abort(w->dir);
	release(w);
}
