/*
 * tempfile.c - the file that an output is until it gets its name
 *
 * The name is ".NAME.assay-RANDOM.tmp", RANDOM 64 bits in hexadecimal.  A
 * process number would come again in another container.
 *
 * Who may remove a temporary file is decided by locks, never by age.  The
 * writer holds an flock() on it.  A writer that closes it before the rename,
 * because a set may have more files than a process may have descriptors, first
 * takes a shared open-file-description lock on the folder.  A process that
 * cleans a folder takes the lock of the file, checks that nobody holds one on
 * the folder, and unlinks the file.  A file may be found between its creation
 * and its lock: then it is locked by the one who cleans, or already unlinked,
 * and its creator takes another name.  Where the file system has no locks,
 * nothing is removed.
 *
 * The names are in a list whose nodes are reused but never freed, so that the
 * cleanup run by die() and signal handlers can walk it at any moment.  A node
 * is marked live once its name is complete and before the file is created, and
 * unmarked after the rename.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/tempfile.h"

/* TRIES: names that somebody else's cleaning may take away. */
enum { BUCKETS = 4096, NAME_KEPT = 200, RANDOM_DIGITS = 16, TRIES = 100 };

static const char mark[] = ".assay-", ending[] = ".tmp";

struct tempfile {
	struct tempfile *next;		/* in the list of all */
	struct tempfile *other;		/* in its bucket, or unused */
	atomic_int live;
	size_t cap;			/* of each name */
	uint32_t bucket;
	char *target;
	char path[];			/* then the target */
};

/* A folder that was cleaned. */
struct folder {
	struct folder *next;
	dev_t dev;
	ino_t ino;
	int fd;				/* holds the lock; -1: none */
};

static struct tempfile *_Atomic all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock: */
static struct tempfile *bucket[BUCKETS], *unused;
static struct folder *folders;

/* Runs in signal handlers. */
static void
remove_all(void)
{
	for (struct tempfile *t = atomic_load(&all); t; t = t->next)
		if (atomic_load(&t->live))
			unlink(t->path);
}

static uint64_t
random_bits(void)
{
	static atomic_uint calls;
	struct timespec now;
	uint64_t x;

	if (getrandom(&x, sizeof x, GRND_NONBLOCK) == (ssize_t)sizeof x)
		return x;
	clock_gettime(CLOCK_REALTIME, &now);
	x = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec << 8 ^
	    (uint64_t)getpid() << 40 ^ atomic_fetch_add(&calls, 1);
	return x * 0x9e3779b97f4a7c15u;
}

/* --- the folder --- */

/* The folder of a file; free() it. */
static char *
folder_of(const char *file)
{
	size_t n = (size_t)(path_base(file) - file);

	return n ? xmemdup0(file, n) : xstrdup(".");
}

/* Is it one of ours: ".NAME.assay-RANDOM.tmp"? */
static int
is_temporary(const char *name)
{
	size_t n = strlen(name), tail = sizeof mark - 1 + RANDOM_DIGITS +
		sizeof ending - 1;
	const char *p = name + n - tail;

	return n > tail + 1 && name[0] == '.' &&
	       !memcmp(p, mark, sizeof mark - 1) &&
	       strspn(p + sizeof mark - 1, "0123456789abcdef") ==
	       RANDOM_DIGITS &&
	       !strcmp(name + n - (sizeof ending - 1), ending);
}

/* Does any process hold closed files in this folder, or can we not know? */
static int
folder_is_held(int dir)
{
	struct flock l = { .l_type = F_WRLCK };

	return fcntl(dir, F_OFD_GETLK, &l) < 0 || l.l_type != F_UNLCK;
}

static void
remove_if_dead(int dir, const char *name)
{
	struct stat st, there;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
			O_CLOEXEC);

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0 && !folder_is_held(dir) &&
	    fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == there.st_dev && st.st_ino == there.st_ino)
		unlinkat(dir, name, 0);
	close(fd);
}

static void
folder_clean(int fd)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct dirent *f;

	if (!d && again >= 0)
		close(again);
	while (d && (f = readdir(d)))
		if (is_temporary(f->d_name))
			remove_if_dead(fd, f->d_name);
	if (d)
		closedir(d);
}

/*
 * The folder of file in the list, cleaned when it is first seen; with hold,
 * locked.  Faults are none of the caller's: then nothing is cleaned.
 */
static void
folder_enter(const char *file, int hold)
{
	char *name = folder_of(file);
	int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct flock l = { .l_type = F_RDLCK };
	struct folder *f;
	struct stat st;

	free(name);
	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return;
	}
	pthread_mutex_lock(&lock);
	for (f = folders; f; f = f->next)
		if (f->dev == st.st_dev && f->ino == st.st_ino)
			break;
	if (!f) {
		f = xcalloc(1, sizeof *f);
		*f = (struct folder){ folders, st.st_dev, st.st_ino, -1 };
		folders = f;
		folder_clean(fd);
	}
	if (hold && f->fd < 0 && fcntl(fd, F_OFD_SETLK, &l) == 0) {
		f->fd = fd;
		fd = -1;
	}
	pthread_mutex_unlock(&lock);
	if (fd >= 0)
		close(fd);
}

/* --- the file --- */

static uint32_t
bucket_of(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h % BUCKETS;
}

/* An unused node with room for two names of n bytes; lock held. */
static struct tempfile *
node_get(size_t n)
{
	struct tempfile *t = unused;

	if (t && t->cap >= n) {
		unused = t->other;
		return t;
	}
	n += 64;
	t = xcalloc(1, sizeof *t + 2 * n);
	t->cap = n;
	t->target = t->path + n;
	t->next = atomic_load(&all);
	atomic_store(&all, t);
	return t;
}

static void
node_put(struct tempfile *t)
{
	struct tempfile **at;

	atomic_store(&t->live, 0);
	pthread_mutex_lock(&lock);
	for (at = &bucket[t->bucket]; *at != t; at = &(*at)->other)
		;
	*at = t->other;
	t->other = unused;
	unused = t;
	pthread_mutex_unlock(&lock);
}

/* The node of a target that no other output of this process has. */
static struct tempfile *
node_new(const char *target, struct err *e)
{
	size_t n = strlen(target) + sizeof mark + RANDOM_DIGITS +
		sizeof ending + 1;
	uint32_t h = bucket_of(target);
	struct tempfile *t;

	pthread_mutex_lock(&lock);
	for (t = bucket[h]; t; t = t->other)
		if (!strcmp(t->target, target))
			break;
	if (t) {
		pthread_mutex_unlock(&lock);
		err_set(e, "%s: two outputs to one file", target);
		return NULL;
	}
	t = node_get(n);
	t->bucket = h;
	strcpy(t->target, target);
	t->other = bucket[h];
	bucket[h] = t;
	pthread_mutex_unlock(&lock);
	return t;
}

static void
node_name(struct tempfile *t)
{
	const char *base = path_base(t->target);

	snprintf(t->path, t->cap, "%.*s.%.*s%s%016llx%s",
		 (int)(base - t->target), t->target, NAME_KEPT, base, mark,
		 (unsigned long long)random_bits(), ending);
}

/*
 * Lock the new file: 1, or 0 if somebody who cleans the folder has found it
 * before.  Without locks on this file system nobody does.
 */
static int
file_lock(int fd)
{
	struct stat st;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno != EWOULDBLOCK;
	return fstat(fd, &st) < 0 || st.st_nlink > 0;
}

struct tempfile *
tempfile_new(const char *target, const char *label, int *fd, struct err *e)
{
	struct tempfile *t;
	int why = EEXIST;

	folder_enter(target, 0);
	t = node_new(target, e);
	if (!t)
		return NULL;
	err_at_exit(remove_all);
	for (int i = 0; i < TRIES && why == EEXIST; i++) {
		node_name(t);
		atomic_store(&t->live, 1);
		*fd = open(t->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
			   0666);
		if (*fd >= 0 && file_lock(*fd))
			return t;
		why = *fd < 0 ? errno : EEXIST;
		atomic_store(&t->live, 0);
		if (*fd >= 0) {
			unlink(t->path);
			close(*fd);
		}
	}
	*fd = -1;
	node_put(t);
	if (why == ENOENT || why == ENOTDIR)	/* the folder, then */
		err_sys(e, why, "%s", label);
	else
		err_sys(e, why, "%s: cannot create a temporary file in its "
			"folder", label);
	return NULL;
}

void
tempfile_park(struct tempfile *t)
{
	folder_enter(t->target, 1);
}

int
tempfile_rename(struct tempfile *t, const char *label, struct err *e)
{
	if (rename(t->path, t->target) < 0)
		return err_sys(e, errno, "%s: rename", label);
	node_put(t);
	return 0;
}

void
tempfile_remove(struct tempfile *t)
{
	unlink(t->path);
	node_put(t);
}
