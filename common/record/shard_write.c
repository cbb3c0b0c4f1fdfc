/*
 * shard_write.c - a set of shard files, native or of another trainer
 *
 * All files of a set are written under temporary names; shard_writer_commit()
 * renames them one after the other with signals held back, then removes what
 * an older, longer set of the same kind left behind.  Lengths and bounds that
 * belong into an index go out beside the ids as they come (datatrove, csv,
 * NAME.index), or are kept where the layout wants all of them at once
 * (Megatron: 4 bytes a document and 8).
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "record/shard_priv.h"

enum { LLMC_TOKENS = 1000000000, LLMC_HEADER = 1024 };

/* Files of a format: ids, then what lies beside them. */
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
	struct output *ids, *side, *meta;	/* of the file now open */
	uint64_t tokens;		/* in it */
	uint64_t sequences;		/* in it (megatron) */
	struct tok_writer *tok;
	struct buf tmp, length, bound;
	z_stream z;
	int z_open;
};

static struct output *
add_file(struct shard_writer *w, const char *suffix, struct err *e)
{
	struct output *o;
	char *path = NULL;

	if (w->dir) {
		path = xmalloc(strlen(w->dir) + 40);
		sprintf(path, "%s/%05llu%s", w->dir,
			(unsigned long long)w->files, suffix);
	}
	o = output_open(path, e);
	free(path);
	if (!o)
		return NULL;
	GROW(w->out, w->cap, w->nout + 1);
	return w->out[w->nout++] = o;
}

static void
llmc_header(const struct shard_writer *w, unsigned char h[LLMC_HEADER])
{
	uint32_t v[3];

	v[0] = w->info.width == 2 ? 20240520 : 20240801;
	v[1] = w->info.width == 2 ? 1 : 7;
	v[2] = (uint32_t)w->tokens;
	memset(h, 0, LLMC_HEADER);
	memcpy(h, v, sizeof(v));
}

static int
gz_begin(struct shard_writer *w, struct err *e)
{
	memset(&w->z, 0, sizeof(w->z));
	if (deflateInit2(&w->z, 6, Z_DEFLATED, 15 + 16, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(e, "out of memory");
	w->z_open = 1;
	return 0;
}

static int
gz_put(struct shard_writer *w, const struct buf *b, int flush, struct err *e)
{
	unsigned char out[1 << 14];
	int r;

	w->z.next_in = (unsigned char *)b->p;
	w->z.avail_in = (unsigned)b->n;
	do {
		w->z.next_out = out;
		w->z.avail_out = sizeof(out);
		r = deflate(&w->z, flush);
		if (r == Z_STREAM_ERROR)
			return err_set(e, "zlib: cannot compress");
		if (output_write(w->side, out, sizeof(out) - w->z.avail_out,
				 e) < 0)
			return -1;
	} while (w->z.avail_out == 0);
	return 0;
}

static int
file_begin(struct shard_writer *w, struct err *e)
{
	unsigned char head[LLMC_HEADER] = {0};
	const char *const *k = kind[w->format];

	w->side = w->meta = NULL;
	if (!(w->ids = add_file(w, k[0], e)) ||
	    (k[1] && !(w->side = add_file(w, k[1], e))) ||
	    (k[2] && !(w->meta = add_file(w, k[2], e))))
		return -1;
	w->files++;
	w->tokens = w->sequences = 0;
	buf_reset(&w->length);
	buf_reset(&w->bound);
	switch (w->format) {
	case SHARD_ASSAY:
		return tok_begin(w->tok, w->ids, e);
	case SHARD_LLMC:		/* the count is put in at the end */
		return output_write(w->ids, head, LLMC_HEADER, e);
	case SHARD_MEGATRON:
		buf_put(&w->bound, &w->sequences, 8);
		return 0;
	case SHARD_NPY:
		return gz_begin(w, e);
	default:
		return 0;
	}
}

static int
megatron_index(struct shard_writer *w, struct err *e)
{
	uint64_t head[3] = {1, w->sequences, w->bound.n / 8}, at = 0;
	unsigned char code = w->info.width == 2 ? 8 : 4;
	uint64_t i, k, ptr[512];
	uint32_t n;

	if (output_write(w->side, "MMIDIDX\0\0", 9, e) < 0 ||
	    output_write(w->side, head, 8, e) < 0 ||
	    output_write(w->side, &code, 1, e) < 0 ||
	    output_write(w->side, head + 1, 16, e) < 0 ||
	    output_write(w->side, w->length.p, w->length.n, e) < 0)
		return -1;
	for (i = k = 0; i < w->sequences; i++) {
		ptr[k++] = at * w->info.width;
		memcpy(&n, w->length.p + i * 4, 4);
		at += n;
		if (k == 512 || i + 1 == w->sequences) {
			if (output_write(w->side, ptr, k * 8, e) < 0)
				return -1;
			k = 0;
		}
	}
	return output_write(w->side, w->bound.p, w->bound.n, e);
}

/* datatrove: tokenizer|bytes an id, count, the same for a person. */
static int
datatrove_metadata(struct shard_writer *w, struct err *e)
{
	static const char unit[] = " kMGT";
	double v = (double)w->tokens;
	size_t u = 0;

	for (; v >= 1000 && u < 4; u++)
		v /= 1000;
	buf_reset(&w->tmp);
	buf_printf(&w->tmp, "assay:%016llx|%u\n%llu\n",
		   (unsigned long long)w->info.fingerprint, w->info.width,
		   (unsigned long long)w->tokens);
	if (u)
		buf_printf(&w->tmp, "%.1f%c", v, unit[u]);
	else
		buf_printf(&w->tmp, "%.0f", v);
	return output_write(w->meta, w->tmp.p, w->tmp.n, e);
}

static int
file_end(struct shard_writer *w, int last, struct err *e)
{
	unsigned char head[LLMC_HEADER];

	switch (w->format) {
	case SHARD_ASSAY:
		return tok_end(w->tok, last, e);
	case SHARD_LLMC:
		llmc_header(w, head);
		return output_pwrite(w->ids, head, LLMC_HEADER, 0, e);
	case SHARD_MEGATRON:
		return megatron_index(w, e);
	case SHARD_DATATROVE:
		return datatrove_metadata(w, e);
	case SHARD_NPY:
		buf_reset(&w->tmp);
		if (gz_put(w, &w->tmp, Z_FINISH, e) < 0)
			return -1;
		deflateEnd(&w->z);
		w->z_open = 0;
		return 0;
	default:
		return 0;
	}
}

static int
rotate(struct shard_writer *w, struct err *e)
{
	if (file_end(w, 0, e) < 0 || output_finish(w->ids, e) < 0 ||
	    (w->side && output_finish(w->side, e) < 0) ||
	    (w->meta && output_finish(w->meta, e) < 0))
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
		return err_set(e, "%s: is no folder", s);
	return 0;
}

/* What the format cannot hold is said before anything is written. */
static int
refuse(const struct shard_writer *w, struct err *e)
{
	const char *name = shard_format_names[w->format];

	if (w->info.vocab == 0)
		return err_set(e, "the vocabulary size is unknown");
	if (!w->dir && w->format != SHARD_ASSAY && w->format != SHARD_JSONL)
		return err_set(e, "--shard-format %s is several files: it "
			       "needs a folder (-o DIR)", name);
	if (w->info.windows && w->format != SHARD_ASSAY)
		return err_set(e, "--shard-format %s holds documents, not "
			       "windows: best-fit, pad and shuffle need assay",
			       name);
	if (w->format == SHARD_LLMC && w->limit > INT32_MAX)
		return err_set(e, "--shard-format llmc: %llu tokens a shard, "
			       "its readers want less than 2^31",
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
		w->tok = tok_writer_new(&w->info);
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
	uint32_t most = 0;
	size_t i;

	for (i = 0; i < n; i++)
		most = ids[i] > most ? ids[i] : most;
	if (n == 0 || most < w->info.vocab)
		return 0;
	for (i = 0; ids[i] < w->info.vocab; i++)
		;
	return err_set(e, "document %.*s: token %zu is id %u, the vocabulary "
		       "has %u", (int)(id.n < 200 ? id.n : 200),
		       id.p ? id.p : "", i, ids[i], w->info.vocab);
}

static int
put_ids(struct shard_writer *w, const uint32_t *ids, size_t n, struct err *e)
{
	uint16_t v[4096];
	size_t i, m;

	w->tokens += n;
	if (w->info.width == 4)
		return output_write(w->ids, ids, n * 4, e);
	for (; n > 0; ids += m, n -= m) {
		m = n < 4096 ? n : 4096;
		for (i = 0; i < m; i++)
			v[i] = (uint16_t)ids[i];
		if (output_write(w->ids, v, m * 2, e) < 0)
			return -1;
	}
	return 0;
}

/* Fixed sizes: a document straddles files; its end stands in its last one. */
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
		if (put_ids(w, ids, m, e) < 0)
			return -1;
	}
	return output_write(w->side, &w->tokens, 8, e);
}

static int
megatron(struct shard_writer *w, const uint32_t *ids, size_t n, struct err *e)
{
	int32_t length = (int32_t)n;

	if (n > INT32_MAX)
		return err_set(e, "--shard-format megatron: a document of %zu "
			       "tokens, its index holds less than 2^31", n);
	if (n) {		/* an empty document has no sequence */
		buf_put(&w->length, &length, 4);
		w->sequences++;
	}
	buf_put(&w->bound, &w->sequences, 8);
	return put_ids(w, ids, n, e);
}

/* start,end,path,id */
static int
csv(struct shard_writer *w, struct span id, const uint32_t *ids, size_t n,
    struct err *e)
{
	uint64_t start = w->tokens;
	int quote = 0;
	size_t i;

	if (put_ids(w, ids, n, e) < 0)
		return -1;
	buf_reset(&w->tmp);
	buf_printf(&w->tmp, "%llu,%llu,,", (unsigned long long)start,
		   (unsigned long long)w->tokens);
	for (i = 0; i < id.n; i++)
		quote |= strchr(",\"\r\n", id.p[i]) != NULL;
	if (quote)
		buf_putc(&w->tmp, '"');
	for (i = 0; i < id.n; i++) {
		if (id.p[i] == '"')
			buf_putc(&w->tmp, '"');
		buf_putc(&w->tmp, id.p[i]);
	}
	buf_puts(&w->tmp, quote ? "\"\n" : "\n");
	return gz_put(w, &w->tmp, Z_NO_FLUSH, e);
}

static int
jsonl(struct shard_writer *w, struct span id, const uint32_t *ids, size_t n,
      struct err *e)
{
	size_t i;

	w->tokens += n;
	buf_reset(&w->tmp);
	buf_puts(&w->tmp, "{\"id\":");
	json_put_str(&w->tmp, id);
	buf_puts(&w->tmp, ",\"ids\":[");
	for (i = 0; i < n; i++) {
		if (i)
			buf_putc(&w->tmp, ',');
		json_put_uint(&w->tmp, ids[i]);
	}
	buf_puts(&w->tmp, "]}\n");
	return output_write(w->ids, w->tmp.p, w->tmp.n, e);
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
	switch (w->format) {
	case SHARD_ASSAY:
		w->tokens += n;
		return tok_doc(w->tok, id, ids, n, e);
	case SHARD_MEGATRON:
		return megatron(w, ids, n, e);
	case SHARD_DATATROVE:
		if (put_ids(w, ids, n, e) < 0)
			return -1;
		return output_write(w->side, &w->tokens, 8, e);
	case SHARD_NPY:
		return csv(w, id, ids, n, e);
	default:
		return jsonl(w, id, ids, n, e);
	}
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
	return tok_window(w->tok, ids, real, parts, nparts, e);
}

/* ---- the end ---- */
static void
release(struct shard_writer *w)
{
	if (w->z_open)
		deflateEnd(&w->z);
	tok_writer_free(w->tok);
	buf_clear(&w->tmp);
	buf_clear(&w->length);
	buf_clear(&w->bound);
	free(w->out);
	free(w->dir);
	free(w);
}

/* A numbered file that the new set has not, of the kind that it replaces? */
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

/* All bytes to the device: of what can fail, the renames are left. */
static int
finish(struct shard_writer *w, struct err *e)
{
	size_t i;

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
