/*
 * ckpt.c - checkpoint folders that appear complete or not at all
 *
 * The order of the system calls matters: data and manifest reach the disk
 * (fsync) before the rename makes them visible, and the rename reaches it
 * (fsync of run/) before the commit returns.  So neither a crash nor a full
 * disk leaves an incomplete folder with the final name.  The manifest detects
 * bits that flip later.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "stream/json.h"
#include "record/ckpt.h"

enum { MAX_FILES = 1024, CHUNK = 1 << 20 };

struct entry {
	char *name;
	uint64_t bytes, hash;
};

struct ckpt_writer {
	char *run, *tmp, *dir;
	struct entry file[MAX_FILES];
	size_t nfiles;
	int fd;			/* of the open file or -1 */
	XXH3_state_t *hash;
};

/* What ckpt_cleanup() removes: private to this file. */
static struct {
	char *volatile dir;
	char *volatile path[MAX_FILES + 1];
	volatile int n;
	char *old;		/* dir of the one before */
} on_disk;

void
ckpt_cleanup(void)
{
	int i;

	if (!on_disk.dir)
		return;
	for (i = 0; i < on_disk.n; i++)
		unlink(on_disk.path[i]);
	rmdir(on_disk.dir);
}

/* The next writer frees the names: die() in another thread may read them. */
static void
forget_disk(void)
{
	on_disk.old = on_disk.dir;
	on_disk.dir = NULL;
}

static void
free_names(void)
{
	while (on_disk.n > 0)
		free(on_disk.path[--on_disk.n]);
	free(on_disk.old);
	on_disk.old = NULL;
}

static void
writer_free(struct ckpt_writer *w)
{
	size_t i;

	if (w->fd >= 0)
		close(w->fd);
	for (i = 0; i < w->nfiles; i++)
		free(w->file[i].name);
	XXH3_freeState(w->hash);
	free(w->run);
	free(w->tmp);
	free(w->dir);
	free(w);
}

static int
fsync_dir(const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = 0;

	if (fd < 0)
		return err_sys(e, errno, "%s: cannot open", path);
	if (fsync(fd) < 0 && errno != EINVAL)
		rc = err_sys(e, errno, "%s: cannot sync", path);
	close(fd);
	return rc;
}

int
ckpt_room(const char *run, uint64_t bytes, struct err *e)
{
	struct statvfs v;
	uint64_t free_bytes;

	if (statvfs(run, &v) < 0)
		return err_sys(e, errno, "%s: cannot get free space", run);
	free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	if (free_bytes < bytes)
		return err_set(e, "%s: a checkpoint needs %" PRIu64 " bytes,"
			       " %" PRIu64 " are free", run, bytes, free_bytes);
	return 0;
}

struct ckpt_writer *
ckpt_begin(const char *run, uint64_t step, uint64_t bytes, struct err *e)
{
	static int registered;
	struct ckpt_writer *w;

	if (ckpt_room(run, bytes, e) < 0)
		return NULL;
	if (!registered++)
		err_at_exit(ckpt_cleanup);
	w = xcalloc(1, sizeof *w);
	w->fd = -1;
	w->hash = XXH3_createState();
	if (!w->hash)
		xmalloc(SIZE_MAX);
	w->run = xstrdup(run);
	w->dir = xstrf("%s/step-%08" PRIu64, run, step);
	w->tmp = xstrf("%s/.step-%08" PRIu64 ".%ld.tmp", run, step,
		      (long)getpid());
	if (mkdir(w->tmp, 0777) < 0) {
		err_sys(e, errno, "%s: cannot create", w->tmp);
		writer_free(w);
		return NULL;
	}
	free_names();
	on_disk.dir = xstrdup(w->tmp);
	return w;
}

int
ckpt_open(struct ckpt_writer *w, const char *name, struct err *e)
{
	char *path;

	if (w->nfiles == MAX_FILES)
		return err_set(e, "%s: more than %d files", w->dir, MAX_FILES);
	path = xstrf("%s/%s", w->tmp, name);
	on_disk.path[on_disk.n] = path;
	on_disk.n++;
	w->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (w->fd < 0)
		return err_sys(e, errno, "%s: cannot create", path);
	w->file[w->nfiles].name = xstrdup(name);
	w->file[w->nfiles].bytes = 0;
	w->nfiles++;
	XXH3_64bits_reset(w->hash);
	return 0;
}

int
ckpt_write(struct ckpt_writer *w, const void *p, size_t n, struct err *e)
{
	struct entry *f = &w->file[w->nfiles - 1];

	XXH3_64bits_update(w->hash, p, n);
	f->bytes += n;
	if (write_all(w->fd, p, n) < 0)
		return err_sys(e, errno, "%s/%s: cannot write", w->tmp,
			       f->name);
	return 0;
}

int
ckpt_close(struct ckpt_writer *w, struct err *e)
{
	struct entry *f = &w->file[w->nfiles - 1];
	int rc = 0;

	f->hash = XXH3_64bits_digest(w->hash);
	if (fsync(w->fd) < 0)
		rc = err_sys(e, errno, "%s/%s: cannot sync", w->tmp, f->name);
	if (close(w->fd) < 0 && rc == 0)
		rc = err_sys(e, errno, "%s/%s: cannot close", w->tmp, f->name);
	w->fd = -1;
	return rc;
}

int
ckpt_put(struct ckpt_writer *w, const char *name, struct span bytes,
	 struct err *e)
{
	if (ckpt_open(w, name, e) < 0 ||
	    ckpt_write(w, bytes.p, bytes.n, e) < 0)
		return -1;
	return ckpt_close(w, e);
}

static int
put_manifest(struct ckpt_writer *w, struct err *e)
{
	struct buf b = {0};
	size_t i;
	int rc;

	buf_puts(&b, "{\"files\":{");
	for (i = 0; i < w->nfiles; i++) {
		buf_puts(&b, i ? ",\n  " : "\n  ");
		json_put_str(&b, span_str(w->file[i].name));
		buf_printf(&b, ":{\"bytes\":%" PRIu64 ",\"xxh3\":\"%016" PRIx64
			   "\"}", w->file[i].bytes, w->file[i].hash);
	}
	buf_puts(&b, "\n}}\n");
	rc = ckpt_put(w, "manifest.json", buf_span(&b), e);
	buf_clear(&b);
	return rc;
}

static int
is_dir(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A folder with all that is in it: people put theirs beside the weights. */
static int
remove_dir(const char *dir, struct err *e)
{
	DIR *d = opendir(dir);
	const struct dirent *de;
	int rc = 0;

	if (!d)
		return err_sys(e, errno, "%s: cannot open", dir);
	while ((de = readdir(d)) != NULL) {
		char *path;

		if (!strcmp(de->d_name, ".") || !strcmp(de->d_name, ".."))
			continue;
		path = xstrf("%s/%s", dir, de->d_name);
		if (unlink(path) < 0) {
			int why = errno;

			if ((why == EISDIR || why == EPERM) && is_dir(path))
				rc = remove_dir(path, e) < 0 ? -1 : rc;
			else
				rc = err_sys(e, why, "%s: cannot remove", path);
		}
		free(path);
	}
	closedir(d);
	if (rc == 0 && rmdir(dir) < 0)
		rc = err_sys(e, errno, "%s: cannot remove", dir);
	return rc;
}

/* rename() of a folder over a full one fails: put the old one aside first. */
static int
make_visible(struct ckpt_writer *w, struct err *e)
{
	char *old = NULL;
	int rc = 0;

	if (access(w->dir, F_OK) == 0) {
		old = xstrf("%s.old.tmp", w->tmp);
		if (rename(w->dir, old) < 0) {
			free(old);
			return err_sys(e, errno, "%s: cannot move away",
				       w->dir);
		}
	}
	if (rename(w->tmp, w->dir) < 0) {
		rc = err_sys(e, errno, "%s: cannot rename to %s", w->tmp,
			     w->dir);
		if (old && rename(old, w->dir) < 0)
			rc = -1;
	} else if (old)
		rc = remove_dir(old, e);
	free(old);
	return rc;
}

int
ckpt_link(const char *run, const char *dir, struct err *e)
{
	char *tmp = xstrf("%s/.latest.%ld.tmp", run, (long)getpid());
	char *link = xstrf("%s/latest", run);
	int rc = 0;

	unlink(tmp);
	if (symlink(strrchr(dir, '/') + 1, tmp) < 0)
		rc = err_sys(e, errno, "%s: cannot link", tmp);
	else if (rename(tmp, link) < 0) {
		rc = err_sys(e, errno, "%s: cannot replace", link);
		unlink(tmp);
	}
	free(tmp);
	free(link);
	return rc;
}

int
ckpt_commit(struct ckpt_writer *w, struct err *e)
{
	int rc;

	if (put_manifest(w, e) < 0 || fsync_dir(w->tmp, e) < 0 ||
	    make_visible(w, e) < 0) {
		ckpt_abort(w);
		return -1;
	}
	forget_disk();
	rc = fsync_dir(w->run, e) < 0 || ckpt_link(w->run, w->dir, e) < 0 ||
		fsync_dir(w->run, e) < 0 ? -1 : 0;
	writer_free(w);
	return rc;
}

void
ckpt_abort(struct ckpt_writer *w)
{
	if (!w)
		return;
	ckpt_cleanup();
	forget_disk();
	writer_free(w);
}

/* ---- reading ---- */

static int
hash_file(const char *path, uint64_t *bytes, uint64_t *hash, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	XXH3_state_t h;
	ptrdiff_t k;
	char *buf;

	if (fd < 0)
		return err_sys(e, errno, "%s: cannot open", path);
	XXH3_64bits_reset(&h);
	buf = xmalloc(CHUNK);
	for (*bytes = 0; (k = pread_all(fd, buf, CHUNK, *bytes)) > 0;
	     *bytes += (uint64_t)k)
		XXH3_64bits_update(&h, buf, (size_t)k);
	if (k < 0)
		rc = err_sys(e, errno, "%s: cannot read", path);
	*hash = XXH3_64bits_digest(&h);
	free(buf);
	close(fd);
	return rc;
}

static int
verify_entry(const char *dir, const struct json *j, struct err *e)
{
	const struct json *n = json_get(j, "bytes"), *x = json_get(j, "xxh3");
	uint64_t bytes = 0, hash = 0;
	char *path, want[32];
	int rc;

	if (!n || !n->is_int || n->i < 0 || !x || x->type != JSON_STRING ||
	    x->str.n != 16 || memchr(j->key.p, '/', j->key.n) ||
	    memchr(j->key.p, 0, j->key.n))
		return err_set(e, "%s/manifest.json: entry %.*s is malformed",
			       dir, (int)j->key.n, j->key.p);
	path = xstrf("%s/%.*s", dir, (int)j->key.n, j->key.p);
	rc = hash_file(path, &bytes, &hash, e);
	if (rc == 0 && bytes != (uint64_t)n->i)
		rc = err_set(e, "%s: %" PRIu64 " bytes, the manifest says %"
			     PRId64, path, bytes, n->i);
	snprintf(want, sizeof want, "%016" PRIx64, hash);
	if (rc == 0 && memcmp(want, x->str.p, 16))
		rc = err_set(e, "%s: XXH3 %s, the manifest says %.16s", path,
			     want, x->str.p);
	free(path);
	return rc;
}

int
ckpt_verify(const char *dir, struct err *e)
{
	char *path = xstrf("%s/manifest.json", dir);
	struct json *root = json_load(path, e);
	const struct json *files = json_get(root, "files");
	size_t i;
	int rc = root ? 0 : -1;

	if (root && (!files || files->type != JSON_OBJECT || !files->n))
		rc = err_set(e, "%s: no files", path);
	for (i = 0; rc == 0 && i < files->n; i++)
		rc = verify_entry(dir, &files->kids[i], e);
	json_free(root);
	free(path);
	return rc;
}

int64_t
ckpt_step(const char *dir)
{
	const char *name = strrchr(dir, '/');
	char *end;
	long long v;

	name = name ? name + 1 : dir;
	if (strncmp(name, "step-", 5) || name[5] < '0' || name[5] > '9')
		return -1;
	errno = 0;
	v = strtoll(name + 5, &end, 10);
	return *end || errno ? -1 : v;
}

static int
newest_first(const void *a, const void *b)
{
	int64_t x = ckpt_step(*(char *const *)a);
	int64_t y = ckpt_step(*(char *const *)b);

	return (x < y) - (x > y);
}

struct names {
	char **v;
	size_t n;
};

static void
names_clear(struct names *l)
{
	while (l->n)
		free(l->v[--l->n]);
	free(l->v);
	l->v = NULL;
}

static int
list_steps(const char *run, struct names *l, struct err *e)
{
	DIR *d = opendir(run);
	const struct dirent *de;

	if (!d)
		return err_sys(e, errno, "%s: cannot open", run);
	while ((de = readdir(d)) != NULL) {
		if (ckpt_step(de->d_name) < 0)
			continue;
		l->v = xreallocarray(l->v, l->n + 1, sizeof *l->v);
		l->v[l->n++] = xstrf("%s/%s", run, de->d_name);
	}
	closedir(d);
	if (l->n)
		qsort(l->v, l->n, sizeof *l->v, newest_first);
	return 0;
}

int64_t
ckpt_count(const char *run, struct err *e)
{
	struct names l = {0};
	int64_t n;

	if (list_steps(run, &l, e) < 0)
		return -1;
	n = (int64_t)l.n;
	names_clear(&l);
	return n;
}

char *
ckpt_newest(const char *run, void (*note)(void *, const char *), void *ctx,
	    struct err *e)
{
	struct names l = {0};
	char *found = NULL;
	size_t i;

	if (list_steps(run, &l, e) < 0)
		return NULL;
	for (i = 0; i < l.n && !found; i++) {
		struct err why = {0};

		if (ckpt_verify(l.v[i], &why) == 0)
			found = xstrdup(l.v[i]);
		else if (note)
			note(ctx, why.msg);
	}
	if (!found)
		err_set(e, "%s: no valid checkpoint among %zu", run, l.n);
	names_clear(&l);
	return found;
}

int
ckpt_prune(const char *run, size_t keep, uint64_t step, struct err *e)
{
	struct names l = {0};
	size_t i = 0;
	int rc = 0;

	if (!keep)
		return 0;
	if (list_steps(run, &l, e) < 0)
		return -1;
	while (i < l.n && (uint64_t)ckpt_step(l.v[i]) > step)
		i++;
	for (i += keep; i < l.n && rc == 0; i++) {
		/* out of sight first, so that no half removed one is seen */
		char *tmp = xstrf("%s/.%s.prune.tmp", run,
				 strrchr(l.v[i], '/') + 1);

		if (rename(l.v[i], tmp) < 0)
			rc = err_sys(e, errno, "%s: cannot remove", l.v[i]);
		else
			rc = remove_dir(tmp, e);
		free(tmp);
	}
	names_clear(&l);
	return rc;
}

/* Of a checkpoint, of latest, of a config.json that was being written. */
static int
is_temporary(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && !strcmp(name + n - 4, ".tmp") &&
		(!strncmp(name, ".step-", 6) ||
		 !strncmp(name, ".latest.", 8) ||
		 !strncmp(name, ".config.json.", 13));
}

int
ckpt_sweep(const char *run, struct err *e)
{
	DIR *d = opendir(run);
	const struct dirent *de;
	int rc = 0;

	if (!d)
		return err_sys(e, errno, "%s: cannot open", run);
	while (rc == 0 && (de = readdir(d)) != NULL) {
		char *path;

		if (!is_temporary(de->d_name))
			continue;
		path = xstrf("%s/%s", run, de->d_name);
		if (de->d_name[1] == 's')
			rc = remove_dir(path, e);
		else if (unlink(path) < 0)
			rc = err_sys(e, errno, "%s: cannot remove", path);
		free(path);
	}
	closedir(d);
	return rc;
}

static int
has_file(const char *dir, const char *name)
{
	char *path = path_join(dir, name);
	int rc = access(path, F_OK) == 0;

	free(path);
	return rc;
}

char *
ckpt_model(const char *dir)
{
	char target[300] = "", *latest;

	if (!has_file(dir, "latest/config.json") ||
	    has_file(dir, "model.safetensors") ||
	    has_file(dir, "model.safetensors.index.json"))
		return xstrdup(dir);
	latest = path_join(dir, "latest");
	if (readlink(latest, target, sizeof target - 1) <= 0 ||
	    strchr(target, '/'))
		return latest;
	free(latest);
	return path_join(dir, target);
}
