/*
 * output.c - outputs that appear whole or not at all
 *
 * A target that is a regular file, or does not exist, is written as a temporary
 * file in its folder (tempfile.h), after links are followed.  Bytes are
 * gathered in buf, which is compressed or written when it is full, so that the
 * file does not depend on how the calls divide its bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "stream/compress.h"
#include "stream/output.h"
#include "stream/tempfile.h"

/* KEPT_LOCKED: files of a set that take a descriptor until the rename. */
enum { OUT_SIZE = 256 << 10, MAX_LINKS = 40, KEPT_LOCKED = 16 };

struct output {
	int fd;
	int lock;		/* another descriptor of the temporary file */
	int whole;		/* a new file, under its own name at once */
	const char *label;	/* in messages */
	char *path;		/* as given, or NULL: stdout */
	char *target;		/* links followed; NULL: written in place */
	struct tempfile *temp;	/* goes with target */
	char *buf;
	size_t n;		/* bytes waiting in buf */
	struct compress *compress;
};

/* Follow links, even to a file that does not exist.  NULL: error. */
static char *
follow_links(const char *path, struct err *e)
{
	char *at = xstrdup(path), to[PATH_MAX], *slash, *next;
	ssize_t n;
	int dir;

	for (int i = 0; i < MAX_LINKS; i++) {
		n = readlink(at, to, sizeof to - 1);
		if (n < 0)
			return at;
		to[n] = 0;
		slash = strrchr(at, '/');
		dir = slash && to[0] != '/' ? (int)(slash - at) + 1 : 0;
		next = xstrf("%.*s%s", dir, at, to);
		free(at);
		at = next;
	}
	free(at);
	err_sys(e, ELOOP, "%s", path);
	return NULL;
}

static int
output_open_temp(struct output *o, const struct stat *old, struct err *e)
{
	o->temp = tempfile_new(o->target, o->label, &o->fd, e);
	if (!o->temp)
		return -1;
	/* A file that is replaced keeps its permissions. */
	if (old && fchmod(o->fd, old->st_mode & 07777) < 0)
		return err_sys(e, errno, "%s", o->label);
	return 0;
}

static int
output_open_named(struct output *o, struct err *e)
{
	struct stat st;
	int there;

	/* This name means the descriptor, not what it leads to. */
	if (!strcmp(o->path, "/dev/stdout")) {
		o->fd = STDOUT_FILENO;
		return 0;
	}
	if (o->path[0] && o->path[strlen(o->path) - 1] == '/')
		return err_sys(e, EISDIR, "%s", o->label);
	there = stat(o->path, &st) == 0;
	if (!there && errno != ENOENT)
		return err_sys(e, errno, "%s", o->label);
	if (there && S_ISDIR(st.st_mode))
		return err_set(e, "%s: is a folder: name a file in it",
			       o->label);
	if (there && (!S_ISREG(st.st_mode) ||
		      !strncmp(o->path, "/dev/fd/", 8))) {
		o->fd = open(o->path, O_WRONLY | O_CLOEXEC);
		return o->fd < 0 ? err_sys(e, errno, "%s", o->label) : 0;
	}
	o->target = follow_links(o->path, e);
	if (!o->target)
		return -1;
	return output_open_temp(o, there ? &st : NULL, e);
}

struct output *
output_open(const char *path, struct err *e)
{
	struct output *o = xcalloc(1, sizeof *o);

	o->fd = STDOUT_FILENO;
	o->lock = -1;
	o->label = "<stdout>";
	if (!path_is_std(path)) {
		o->path = xstrdup(path);
		o->label = o->path;
		o->fd = -1;
	}
	o->buf = xmalloc(OUT_SIZE);
	if (!o->path || (compress_open(o->path, &o->compress, e) == 0 &&
			 output_open_named(o, e) == 0))
		return o;
	output_abort(o);
	return NULL;
}

struct output *
output_open_new(const char *path, const char *label, struct err *e)
{
	struct output *o = xcalloc(1, sizeof *o);

	o->lock = o->fd = -1;
	o->whole = 1;
	o->path = xstrdup(label);
	o->label = o->path;
	o->buf = xmalloc(OUT_SIZE);
	if (compress_open(label, &o->compress, e) == 0) {
		o->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			     0666);
		if (o->fd >= 0)
			return o;
		err_sys(e, errno, "%s", label);
	}
	output_abort(o);
	return NULL;
}

static int
output_out(struct output *o, const void *p, size_t n, enum compress_end end,
	   struct err *e)
{
	if (o->compress)
		return compress_write(o->compress, p, n, end, o->fd, o->label,
				      e);
	if (write_all(o->fd, p, n) < 0)
		return err_sys(e, errno, "%s", o->label);
	return 0;
}

static int
output_empty_buf(struct output *o, enum compress_end end, struct err *e)
{
	size_t n = o->n;

	o->n = 0;
	return output_out(o, o->buf, n, end, e);
}

int
output_write(struct output *o, const void *p, size_t n, struct err *e)
{
	const char *at = p;
	size_t k;

	while (n > OUT_SIZE - o->n) {
		k = OUT_SIZE - o->n;
		memcpy(o->buf + o->n, at, k);
		o->n = OUT_SIZE;
		at += k;
		n -= k;
		if (output_empty_buf(o, COMPRESS_MORE, e) < 0)
			return -1;
		/* Nothing is gained by a copy of whole buffers. */
		k = n - n % OUT_SIZE;
		if (k && !o->compress) {
			if (output_out(o, at, k, COMPRESS_MORE, e) < 0)
				return -1;
			at += k;
			n -= k;
		}
	}
	if (n)
		memcpy(o->buf + o->n, at, n);
	o->n += n;
	return 0;
}

int
output_put(struct output *o, struct buf *b, struct err *e)
{
	int r = output_write(o, b->p, b->n, e);

	buf_reset(b);
	return r;
}

int
output_pwrite(struct output *o, const void *p, size_t n, uint64_t off,
	      struct err *e)
{
	if ((!o->temp && !o->whole) || o->compress)
		return err_set(e, "%s: cannot overwrite a part of a pipe, "
			       "device or compressed file", o->label);
	if (output_empty_buf(o, COMPRESS_MORE, e) < 0)
		return -1;
	if (pwrite_all(o->fd, p, n, off) < 0)
		return err_sys(e, errno, "%s", o->label);
	return 0;
}

int
output_flush(struct output *o, struct err *e)
{
	return output_empty_buf(o, COMPRESS_FLUSH, e);
}

/* After this only the rename can fail; with keep, the file stays locked. */
static int
finish(struct output *o, int keep, struct err *e)
{
	int fd;

	if (o->fd < 0)
		return 0;
	if (output_empty_buf(o, COMPRESS_END, e) < 0)
		return -1;
	if (o->temp && fsync(o->fd) < 0)
		return err_sys(e, errno, "%s: fsync", o->label);
	if (o->temp && keep)
		o->lock = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
	if (o->temp && o->lock < 0)
		tempfile_park(o->temp);
	/* A late error shows at close; stdout stays open, its copy does not. */
	fd = o->fd == STDOUT_FILENO ? dup(STDOUT_FILENO) : o->fd;
	if (o->fd != STDOUT_FILENO)
		o->fd = -1;
	if (fd < 0 || close(fd) < 0)
		return err_sys(e, errno, "%s", o->label);
	free(o->buf);
	o->buf = NULL;
	compress_close(o->compress);
	o->compress = NULL;
	return 0;
}

int
output_detach(struct output *o, struct err *e)
{
	int fd = -1;

	if (output_empty_buf(o, COMPRESS_END, e) == 0) {
		fd = o->fd;
		o->fd = -1;
	}
	output_abort(o);
	return fd;
}

int
output_finish(struct output *o, struct err *e)
{
	return finish(o, 0, e);
}

static size_t
folder_length(const struct output *o)
{
	return (size_t)(path_base(o->target) - o->target);
}

/* The entry of the new name to the device, too. */
static int
sync_folder(const struct output *o, struct err *e)
{
	size_t n = folder_length(o);
	char *dir = n ? xmemdup0(o->target, n) : xstrdup(".");
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int bad = fd < 0 ? 0 : fsync(fd), why = errno;

	free(dir);
	if (fd >= 0)
		close(fd);
	/* Some file systems cannot, or we may not read it: no fault of ours. */
	if (bad && why != EINVAL && why != EROFS)
		return err_sys(e, why, "%s: fsync of its folder", o->label);
	return 0;
}

static int
same_folder(const struct output *a, const struct output *b)
{
	size_t n = folder_length(a);

	return b->target && n == folder_length(b) &&
	       !memcmp(a->target, b->target, n);
}

void
output_abort(struct output *o)
{
	if (!o)
		return;
	if (o->temp)
		tempfile_remove(o->temp);
	if (o->fd >= 0 && o->fd != STDOUT_FILENO)
		close(o->fd);
	if (o->lock >= 0)
		close(o->lock);
	compress_close(o->compress);
	free(o->buf);
	free(o->target);
	free(o->path);
	free(o);
}

int
output_commit(struct output *o, struct err *e)
{
	return output_commit_all(&o, 1, e);
}

int
output_commit_all(struct output **o, size_t n, struct err *e)
{
	size_t last = n;	/* that was renamed */
	int bad = 0;

	for (size_t i = 0; i < n && !bad; i++)
		bad = finish(o[i], n <= KEPT_LOCKED, e);
	for (size_t i = 0; i < n && !bad; i++) {
		if (!o[i]->temp)
			continue;
		if (last < n && !same_folder(o[i], o[last]))
			bad = sync_folder(o[last], e);
		if (bad || (bad = tempfile_rename(o[i]->temp, o[i]->label, e)))
			break;
		o[i]->temp = NULL;
		last = i;
	}
	if (!bad && last < n)
		bad = sync_folder(o[last], e);
	for (size_t i = 0; i < n; i++)
		output_abort(o[i]);
	return bad;
}
