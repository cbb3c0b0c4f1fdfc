/*
 * outdir.c - see outdir.h
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"
#include "stream/outdir_priv.h"

/* ---- the start ---- */

static int
make_dirs(struct outdir *d, const char *dir, struct err *e)
{
	char *s = xstrdup(dir), *q = s;
	struct stat st;
	int r = 0;

	while (r == 0 && (q = strchr(q + 1, '/'))) {
		*q = 0;
		if (mkdir(s, 0777) < 0 && errno != EEXIST)
			r = err_sys(e, errno, "%s: cannot make folder", s);
		*q = '/';
	}
	if (r == 0 && mkdir(s, 0777) == 0)
		d->made = 1;
	else if (r == 0 && errno != EEXIST)
		r = err_sys(e, errno, "%s: cannot make folder", s);
	else if (r == 0 && (stat(s, &st) < 0 || !S_ISDIR(st.st_mode)))
		r = err_set(e, "%s: not a folder", s);
	free(s);
	return r;
}

/* Is it the working directory, or above it? */
static int
holds_cwd(const char *target)
{
	char cwd[PATH_MAX];
	size_t n = strlen(target);

	return !getcwd(cwd, sizeof cwd) || !target[1] ||
	       (!strncmp(cwd, target, n) && (!cwd[n] || cwd[n] == '/'));
}

/*
 * May a file move between the two?  Not into another mount, even if that shows
 * the same file system.  Older kernels do not tell mounts apart.
 */
static int
same_mount(const char *a, const char *b)
{
	struct statx x = {0}, y = {0};

	return statx(AT_FDCWD, a, 0, STATX_MNT_ID, &x) == 0 &&
	       statx(AT_FDCWD, b, 0, STATX_MNT_ID, &y) == 0 &&
	       x.stx_dev_major == y.stx_dev_major &&
	       x.stx_dev_minor == y.stx_dev_minor &&
	       x.stx_mnt_id == y.stx_mnt_id;
}

/*
 * One process at a time: a lock on the target, and again on the folder that
 * takes its place, which is locked as a stage.  A file system without locks has
 * none here either.
 */
static int
lock_target(struct outdir *d, struct err *e)
{
	struct stat a, b;

	for (;;) {
		d->lock = open(d->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (d->lock < 0)	/* told when a file is written */
			return 0;
		if (flock(d->lock, LOCK_EX | LOCK_NB) < 0 &&
		    errno == EWOULDBLOCK)
			return err_set(e, "%s: another process is writing a "
				       "set of files to this folder", d->label);
		if (fstat(d->lock, &a) < 0 || stat(d->target, &b) < 0 ||
		    (a.st_ino == b.st_ino && a.st_dev == b.st_dev))
			return 0;
		close(d->lock);		/* it was replaced just now */
	}
}

static int
stage_open(struct outdir *d, struct err *e)
{
	const char *base = path_base(d->target);

	/* An exchange does not ask whether the old folder may be written. */
	if (faccessat(AT_FDCWD, d->target, W_OK | X_OK, AT_EACCESS) < 0)
		return err_sys(e, errno, "%s: cannot write to this folder",
			       d->label);
	stage_remove_dead(d->target, "");
	d->beside = !holds_cwd(d->target) && same_mount(d->target, d->parent);
	if (d->beside) {
		stage_remove_dead(d->parent, base);
		if (stage_make(d, d->parent, base) == 0)
			return 0;
		if (d->fd >= 0 || (errno != EACCES && errno != EROFS &&
				   errno != EPERM && errno != ENAMETOOLONG))
			return err_sys(e, errno, "%s: cannot make a folder "
				       "beside it", d->label);
		d->beside = 0;
	}
	if (stage_make(d, d->target, "") < 0)
		return err_sys(e, errno, "%s: cannot make a folder in it",
			       d->label);
	return 0;
}

struct outdir *
outdir_open(const char *dir, outdir_is_old *is_old, void *ctx, struct err *e)
{
	struct outdir *d = xcalloc(1, sizeof *d);
	char real[PATH_MAX];
	size_t n = strlen(dir);

	while (n > 1 && dir[n - 1] == '/')
		n--;
	d->label = xmemdup0(dir, n);
	d->fd = d->live = d->lock = -1;
	d->is_old = is_old;
	d->ctx = ctx;
	if (make_dirs(d, d->label, e) < 0)
		goto bad;
	if (!realpath(d->label, real)) {
		err_sys(e, errno, "%s", d->label);
		goto bad;
	}
	d->target = xstrdup(real);
	n = (size_t)(path_base(real) - real);
	d->parent = xmemdup0(real, n > 1 ? n - 1 : 1);
	if (stage_taken(d))
		err_set(e, "%s: two sets of files to one folder", d->label);
	else if (lock_target(d, e) == 0 && stage_open(d, e) == 0)
		return d;
bad:
	outdir_abort(d);
	return NULL;
}

const char *
outdir_name(const struct outdir *d)
{
	return d->label;
}

struct output *
outdir_file(struct outdir *d, const char *name, struct err *e)
{
	char *path = path_join(d->stage, name);
	char *label = path_join(d->label, name);
	struct output *o = output_open_new(path, label, e);

	free(label);
	free(path);
	return o;
}

/*
 * The first fsync of many files commits what the file system knows of all of
 * them, so that the others cost little.
 */
static int
sync_files(struct outdir *d, struct err *e)
{
	int fd, bad;

	while (d->nunsynced) {
		fd = d->unsynced[--d->nunsynced];
		bad = !e->set && fsync(fd) < 0 ? errno : 0;
		if (close(fd) < 0 && !bad)
			bad = errno;
		if (bad)
			err_sys(e, bad, "%s: fsync of a file in it", d->label);
	}
	return e->set ? -1 : 0;
}

int
outdir_done(struct outdir *d, struct output *o, struct err *e)
{
	int fd = output_detach(o, e);

	if (fd < 0)
		return -1;
	d->unsynced[d->nunsynced++] = fd;
	return d->nunsynced < OUTDIR_UNSYNCED ? 0 : sync_files(d, e);
}

/* ---- the commit ---- */

static int
sync_path(const char *path, const char *label, struct err *e)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int bad = fd < 0 ? 0 : fsync(fd), why = errno;

	if (fd >= 0)
		close(fd);
	/* Some file systems cannot, or we may not read it: no fault of ours. */
	if (bad && why != EINVAL && why != EROFS)
		return err_sys(e, why, "%s: fsync of its folder", label);
	return 0;
}

/* Has the folder more to it than its files, which a new one would lack? */
static int
is_special(const struct outdir *d, const struct stat *old)
{
	char names[1024];
	ssize_t n = listxattr(d->target, names, sizeof names);
	struct stat new;

	if (n < 0 && errno != ENOTSUP)
		return 1;
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1)
		if (strncmp(names + i, "security.", 9))
			return 1;
	if (fstat(d->fd, &new) < 0)
		return 1;
	if ((new.st_uid != old->st_uid || new.st_gid != old->st_gid) &&
	    fchown(d->fd, old->st_uid, old->st_gid) < 0)
		return 1;
	return fchmod(d->fd, old->st_mode & 07777) < 0;
}

/* The mark of an unfinished replacement is not carried over either. */
static int
stays_behind(const struct outdir *d, const char *name)
{
	return !strcmp(name, OUTDIR_UNFINISHED) || d->is_old(d->ctx, name);
}

/*
 * Files that are not part of the old set get a name in the new folder, too.
 * Folders, whatever their names, cannot.
 */
static int
carry_over(const struct outdir *d, DIR *old)
{
	struct dirent *f;

	while (errno = 0, (f = readdir(old))) {
		if (!strcmp(f->d_name, ".") || !strcmp(f->d_name, ".."))
			continue;
		if (f->d_type == DT_DIR)
			return -1;
		if (stays_behind(d, f->d_name))
			continue;
		if (linkat(dirfd(old), f->d_name, d->fd, f->d_name, 0) < 0 &&
		    errno != EEXIST && errno != ENOENT)
			return -1;
	}
	return errno ? -1 : 0;
}

/*
 * After the exchange: whatever came into the old folder in the meantime moves
 * to the new one, the rest is removed.
 */
static void
retire(const struct outdir *d, DIR *old)
{
	struct dirent *f;
	struct stat a, b;

	rewinddir(old);
	while ((f = readdir(old))) {
		if (!strcmp(f->d_name, ".") || !strcmp(f->d_name, ".."))
			continue;
		if (stays_behind(d, f->d_name) ||
		    (fstatat(dirfd(old), f->d_name, &a,
			     AT_SYMLINK_NOFOLLOW) == 0 &&
		     fstatat(d->fd, f->d_name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
		     a.st_ino == b.st_ino && a.st_dev == b.st_dev))
			unlinkat(dirfd(old), f->d_name, 0);
		else
			renameat2(dirfd(old), f->d_name, d->fd, f->d_name,
				  RENAME_NOREPLACE);
	}
	rmdir(d->stage);
}

/* 1: done; 0: these two folders cannot change places; -1: error. */
static int
exchange(struct outdir *d, struct err *e)
{
	DIR *old = d->beside ? opendir(d->target) : NULL;
	struct stat st;
	int r = 0;

	if (!old || fstat(dirfd(old), &st) < 0 || is_special(d, &st) ||
	    carry_over(d, old) < 0)
		goto out;
	/* Nobody takes it for left by a dead process: d->lock is on it. */
	r = sync_path(d->stage, d->label, e);
	if (r < 0 || renameat2(AT_FDCWD, d->stage, AT_FDCWD, d->target,
			       RENAME_EXCHANGE) < 0)
		goto out;
	stage_keep(d);
	r = sync_path(d->parent, d->label, e) < 0 ? -1 : 1;
	retire(d, old);
out:
	if (old)
		closedir(old);
	return r;
}

static int
mark(struct outdir *d, struct err *e)
{
	static const char text[] = "The files of this folder were being "
		"replaced when the program was killed.\nRun it again.\n";
	char *path = path_join(d->target, OUTDIR_UNFINISHED);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int bad = fd < 0 ? errno != EEXIST :
		  write_all(fd, text, sizeof text - 1) < 0 || fsync(fd) < 0;

	if (bad)
		err_sys(e, errno, "%s", path);
	d->marked = fd >= 0;
	if (fd >= 0)
		close(fd);
	free(path);
	return bad ? -1 : sync_path(d->target, d->label, e);
}

static int
unmark(const struct outdir *d, struct err *e)
{
	char *path = path_join(d->target, OUTDIR_UNFINISHED);

	if (unlink(path) < 0 && errno != ENOENT)
		err_sys(e, errno, "%s", path);
	free(path);
	return e->set ? -1 : sync_path(d->target, d->label, e);
}

/* Nothing was replaced: the mark goes, unless a killed process has left it. */
static void
take_back(struct outdir *d, struct err *e)
{
	if (d->marked)
		unmark(d, e);
	d->marked = 0;
}

struct names {
	char **v;
	size_t n, cap;
};

/* Names of a folder that `pick` chooses; "." and ".." never. */
static int
list(const struct outdir *d, const char *dir,
     int (*pick)(const struct outdir *, const char *), struct names *l,
     struct err *e)
{
	DIR *h = opendir(dir);
	struct dirent *f;

	while (h && (errno = 0, f = readdir(h))) {
		if (!strcmp(f->d_name, ".") || !strcmp(f->d_name, "..") ||
		    !pick(d, f->d_name))
			continue;
		GROW(l->v, l->cap, l->n + 1);
		l->v[l->n++] = xstrdup(f->d_name);
	}
	if (!h || errno)
		err_sys(e, errno, "%s: cannot read folder", d->label);
	if (h)
		closedir(h);
	return e->set ? -1 : 0;
}

static void
names_clear(struct names *l)
{
	while (l->n)
		free(l->v[--l->n]);
	free(l->v);
}

static int
is_any(const struct outdir *d, const char *name)
{
	(void)d;
	(void)name;
	return 1;
}

/* An older file that no new one replaces. */
static int
is_extra(const struct outdir *d, const char *name)
{
	return d->is_old(d->ctx, name) &&
	       faccessat(d->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

/* No file can take the place of a folder. */
static int
check_folders(const struct outdir *d, int to, const struct names *l,
	      struct err *e)
{
	struct stat st;

	for (size_t i = 0; i < l->n && !e->set; i++)
		if (fstatat(to, l->v[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(st.st_mode))
			err_set(e, "%s/%s: is a folder, and a file of a set "
				"belongs there: remove it", d->label, l->v[i]);
	return e->set ? -1 : 0;
}

/*
 * Rename the new files; then older ones that nothing replaces go.  *moved is
 * set if something was.
 */
static int
move_all(struct outdir *d, int *moved, struct err *e)
{
	struct names new = {0}, extra = {0};
	int to = open(d->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (to < 0)
		err_sys(e, errno, "%s: cannot open folder", d->label);
	else if (list(d, d->target, is_extra, &extra, e) == 0)
		list(d, d->stage, is_any, &new, e);
	if (!e->set && check_folders(d, to, &new, e) == 0)
		check_folders(d, to, &extra, e);
	for (size_t i = 0; i < new.n && !e->set; i++)
		if (renameat(d->fd, new.v[i], to, new.v[i]) < 0)
			err_sys(e, errno, "%s/%s: rename", d->label,
				new.v[i]);
		else
			*moved = 1;
	for (size_t i = 0; i < extra.n && !e->set; i++)
		if (unlinkat(to, extra.v[i], 0) < 0 && errno != ENOENT)
			err_sys(e, errno, "%s/%s: cannot remove the older "
				"file", d->label, extra.v[i]);
	names_clear(&new);
	names_clear(&extra);
	if (to >= 0)
		close(to);
	return e->set ? -1 : 0;
}

static int
replace_files(struct outdir *d, struct err *e)
{
	int moved = 0;

	if (mark(d, e) < 0 || move_all(d, &moved, e) < 0) {
		if (!moved)
			take_back(d, e);
		return -1;
	}
	if (sync_path(d->target, d->label, e) < 0)
		return -1;
	if (rmdir(d->stage) < 0)
		return err_sys(e, errno, "%s", d->stage);
	stage_keep(d);
	return unmark(d, e);
}

/* Links of files that are not part of the set, after a failed exchange. */
static int
drop_links(const struct outdir *d, struct err *e)
{
	struct names l = {0};
	int r = list(d, d->target, is_any, &l, e);

	for (size_t i = 0; i < l.n; i++)
		if (!stays_behind(d, l.v[i]))
			unlinkat(d->fd, l.v[i], 0);
	names_clear(&l);
	return r;
}

int
outdir_commit_all(struct outdir **d, size_t n, struct err *e)
{
	size_t appeared = 0;
	int done;

	for (size_t i = 0; i < n; i++)
		if (sync_files(d[i], e) == 0)
			sync_path(d[i]->stage, d[i]->label, e);
	/* A kill between two sets leaves new ones beside marked older ones. */
	for (size_t i = 1; i < n && !e->set; i++)
		mark(d[i], e);
	for (size_t i = 0; i < n && !e->set; i++) {
		done = exchange(d[i], e);
		if (done == 0 && drop_links(d[i], e) == 0)
			done = replace_files(d[i], e) == 0;
		appeared += done == 1;
		d[i]->made &= done != 1;
	}
	for (size_t i = 1; i < n && !appeared; i++)
		take_back(d[i], e);
	for (size_t i = 0; i < n; i++)
		outdir_abort(d[i]);
	return e->set ? -1 : 0;
}

void
outdir_abort(struct outdir *d)
{
	if (!d)
		return;
	while (d->nunsynced)
		close(d->unsynced[--d->nunsynced]);
	stage_remove(d);
	if (d->made)
		rmdir(d->label);	/* only if nothing is in it */
	if (d->fd >= 0)
		close(d->fd);
	if (d->lock >= 0)
		close(d->lock);
	free(d->label);
	free(d->target);
	free(d->parent);
	free(d->stage);
	free(d);
}

int
outdir_check(const char *dir, struct err *e)
{
	char *path = path_join(dir, OUTDIR_UNFINISHED);
	int bad = path_exists(path);

	free(path);
	return !bad ? 0 : err_set(e, "%s: a program was killed while it "
				  "replaced these files: run it again, or "
				  "remove %s if they are the ones you want",
				  dir, OUTDIR_UNFINISHED);
}
