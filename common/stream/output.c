/*
 * output.c - outputs that appear whole or not at all
 *
 * A target that is a regular file, or does not exist, is written as
 * ".NAME.PID-N.tmp" in its folder, after links are followed.  The names of all
 * such files are in a list whose nodes are reused but never freed, so that the
 * cleanup run by die() and signal handlers can walk it at any moment.  A node
 * is marked live once its name is complete and before the file is created, and
 * unmarked after the rename.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "stream/output.h"

enum { OUT_SIZE = 256 << 10, MAX_LINKS = 40, ZSTD_LEVEL = 3 };

struct temp {
	struct temp *next;
	atomic_int live;
	char path[PATH_MAX], target[PATH_MAX];
};

struct output {
	int fd;
	const char *label;	/* in messages */
	char *path;		/* as given, or NULL: stdout */
	char *target;		/* links followed; NULL: written in place */
	struct temp *temp;	/* goes with target */
	char *buf;
	size_t n;		/* bytes waiting in buf */
	ZSTD_CCtx *zstd;
};

static struct temp *_Atomic temps;
static pthread_mutex_t temps_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t temps_made;

/* Runs in signal handlers. */
static void
temps_remove(void)
{
	for (struct temp *t = atomic_load(&temps); t; t = t->next)
		if (atomic_load(&t->live))
			unlink(t->path);
}

/* An unused node; lock held. */
static struct temp *
temp_get(void)
{
	struct temp *t;

	for (t = atomic_load(&temps); t; t = t->next)
		if (!t->path[0])
			return t;
	t = xcalloc(1, sizeof *t);
	t->next = atomic_load(&temps);
	atomic_store(&temps, t);
	return t;
}

static void
temp_put(struct temp *t)
{
	atomic_store(&t->live, 0);
	pthread_mutex_lock(&temps_lock);
	t->path[0] = 0;
	pthread_mutex_unlock(&temps_lock);
}

/* Is another output being written to this name?  Lock held. */
static int
target_taken(const char *target)
{
	for (struct temp *t = atomic_load(&temps); t; t = t->next)
		if (t->path[0] && !strcmp(t->target, target))
			return 1;
	return 0;
}

/* Name a temporary file next to target. */
static struct temp *
temp_new(const char *target, struct err *e)
{
	const char *base = path_base(target);
	struct temp *t;
	int n;

	pthread_mutex_lock(&temps_lock);
	if (target_taken(target)) {
		pthread_mutex_unlock(&temps_lock);
		err_set(e, "%s: two outputs to one file", target);
		return NULL;
	}
	t = temp_get();
	snprintf(t->target, sizeof t->target, "%s", target);
	n = snprintf(t->path, sizeof t->path, "%.*s.%.200s.%ld-%llu.tmp",
		     (int)(base - target), target, base, (long)getpid(),
		     (unsigned long long)temps_made++);
	if (n >= (int)sizeof t->path)
		t->path[0] = 0;
	pthread_mutex_unlock(&temps_lock);
	if (n >= (int)sizeof t->path) {
		err_sys(e, ENAMETOOLONG, "%s", target);
		return NULL;
	}
	err_at_exit(temps_remove);
	atomic_store(&t->live, 1);
	return t;
}

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
	o->temp = temp_new(o->target, e);
	if (!o->temp)
		return -1;
	o->fd = open(o->temp->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
		     0666);
	if (o->fd < 0) {
		err_sys(e, errno, "%s", o->label);
		temp_put(o->temp);
		o->temp = NULL;
		return -1;
	}
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
	there = stat(o->path, &st) == 0;
	if (!there && errno != ENOENT)
		return err_sys(e, errno, "%s", o->label);
	if (there && S_ISDIR(st.st_mode))
		return err_sys(e, EISDIR, "%s", o->label);
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

static int
output_open_zstd(struct output *o, struct err *e)
{
	size_t n = o->path ? strlen(o->path) : 0;

	if (n < 4 || strcmp(o->path + n - 4, ".zst"))
		return 0;
	o->zstd = ZSTD_createCCtx();
	if (!o->zstd)
		return err_set(e, "%s: out of memory", o->label);
	ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_checksumFlag, 1);
	return 0;
}

struct output *
output_open(const char *path, struct err *e)
{
	struct output *o = xcalloc(1, sizeof *o);

	o->fd = STDOUT_FILENO;
	o->label = "<stdout>";
	if (!path_is_std(path)) {
		o->path = xstrdup(path);
		o->label = o->path;
		o->fd = -1;
	}
	o->buf = xmalloc(OUT_SIZE);
	if ((!o->path || output_open_named(o, e) == 0) &&
	    output_open_zstd(o, e) == 0)
		return o;
	output_abort(o);
	return NULL;
}

static int
output_empty_buf(struct output *o, struct err *e)
{
	size_t n = o->n;

	o->n = 0;
	if (write_all(o->fd, o->buf, n) < 0)
		return err_sys(e, errno, "%s", o->label);
	return 0;
}

/* Compress p[0..n) through buf; with ZSTD_e_end, finish the frame. */
static int
output_compress(struct output *o, const void *p, size_t n,
		ZSTD_EndDirective end, struct err *e)
{
	ZSTD_inBuffer in = { p, n, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { o->buf, OUT_SIZE, o->n };

		left = ZSTD_compressStream2(o->zstd, &out, &in, end);
		if (ZSTD_isError(left))
			return err_set(e, "%s: zstd: %s", o->label,
				       ZSTD_getErrorName(left));
		o->n = out.pos;
		if (o->n == OUT_SIZE && output_empty_buf(o, e) < 0)
			return -1;
	} while (end == ZSTD_e_continue ? in.pos < in.size : left > 0);
	return 0;
}

int
output_write(struct output *o, const void *p, size_t n, struct err *e)
{
	if (o->zstd)
		return n ? output_compress(o, p, n, ZSTD_e_continue, e) : 0;
	if (n > OUT_SIZE - o->n && output_empty_buf(o, e) < 0)
		return -1;
	if (n >= OUT_SIZE && write_all(o->fd, p, n) < 0)
		return err_sys(e, errno, "%s", o->label);
	if (n && n < OUT_SIZE) {
		memcpy(o->buf + o->n, p, n);
		o->n += n;
	}
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
	if (!o->temp || o->zstd)
		return err_set(e, "%s: cannot overwrite a part of a pipe, "
			       "device or compressed file", o->label);
	if (output_empty_buf(o, e) < 0)
		return -1;
	if (pwrite_all(o->fd, p, n, off) < 0)
		return err_sys(e, errno, "%s", o->label);
	return 0;
}

int
output_flush(struct output *o, struct err *e)
{
	if (o->zstd && output_compress(o, NULL, 0, ZSTD_e_flush, e) < 0)
		return -1;
	return output_empty_buf(o, e);
}

/* After this only the rename can fail. */
int
output_finish(struct output *o, struct err *e)
{
	int fd;

	if (o->fd < 0)
		return 0;
	if ((o->zstd && output_compress(o, NULL, 0, ZSTD_e_end, e) < 0) ||
	    output_empty_buf(o, e) < 0)
		return -1;
	if (o->temp && fsync(o->fd) < 0)
		return err_sys(e, errno, "%s: fsync", o->label);
	/* A late error shows at close; stdout stays open, its copy does not. */
	fd = o->fd == STDOUT_FILENO ? dup(STDOUT_FILENO) : o->fd;
	if (o->fd != STDOUT_FILENO)
		o->fd = -1;
	if (fd < 0 || close(fd) < 0)
		return err_sys(e, errno, "%s", o->label);
	free(o->buf);
	o->buf = NULL;
	return 0;
}

/* The entry of the new name to the device, too. */
static int
sync_folder(const char *file, const char *label, struct err *e)
{
	const char *slash = strrchr(file, '/');
	char *dir = slash ? xmemdup0(file, (size_t)(slash - file) + 1)
			  : xstrdup(".");
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int bad = fd < 0 ? 0 : fsync(fd), why = errno;

	free(dir);
	if (fd >= 0)
		close(fd);
	/* Some file systems cannot, or we may not read it: no fault of ours. */
	if (bad && why != EINVAL && why != EROFS)
		return err_sys(e, why, "%s: fsync of its folder", label);
	return 0;
}

static int
output_rename(struct output *o, struct err *e)
{
	if (!o->temp)
		return 0;
	if (rename(o->temp->path, o->target) < 0)
		return err_sys(e, errno, "%s: rename", o->label);
	temp_put(o->temp);
	o->temp = NULL;
	return sync_folder(o->target, o->label, e);
}

void
output_abort(struct output *o)
{
	if (!o)
		return;
	if (o->fd >= 0 && o->fd != STDOUT_FILENO)
		close(o->fd);
	if (o->temp) {
		unlink(o->temp->path);
		temp_put(o->temp);
	}
	ZSTD_freeCCtx(o->zstd);
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
	int bad = 0;

	for (size_t i = 0; i < n && !bad; i++)
		bad = output_finish(o[i], e);
	for (size_t i = 0; i < n && !bad; i++)
		bad = output_rename(o[i], e);
	for (size_t i = 0; i < n; i++)
		output_abort(o[i]);
	return bad;
}
