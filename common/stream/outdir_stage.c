/*
 * outdir_stage.c - see outdir_priv.h
 *
 * A list of the stages is walked by die() and signal handlers, which remove
 * them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/outdir_priv.h"

enum { MAX_LIVE = 16 };

/* Folders to remove when the process ends by itself. */
static struct {
	atomic_int on;
	char path[PATH_MAX];
} live[MAX_LIVE];

struct entry {				/* of getdents64() */
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

/* Remove a folder of files; runs in signal handlers. */
static void
remove_flat(const char *path)
{
	_Alignas(struct entry) char b[4096];
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), again = 1;
	long n;

	while (fd >= 0 && again) {	/* until a pass finds nothing */
		again = 0;
		lseek(fd, 0, SEEK_SET);
		while ((n = syscall(SYS_getdents64, fd, b, sizeof b)) > 0)
			for (long at = 0; at < n;) {
				struct entry *d = (void *)(b + at);

				at += d->len;
				again |= !unlinkat(fd, d->name, 0);
			}
	}
	if (fd >= 0)
		close(fd);
	rmdir(path);
}

static void
live_remove(void)
{
	for (int i = 0; i < MAX_LIVE; i++)
		if (atomic_load(&live[i].on))
			remove_flat(live[i].path);
}

static int
live_add(const char *path)
{
	err_at_exit(live_remove);
	for (int i = 0; i < MAX_LIVE; i++)
		if (!atomic_load(&live[i].on)) {
			snprintf(live[i].path, sizeof live[i].path, "%s",
				 path);
			atomic_store(&live[i].on, 1);
			return i;
		}
	return -1;
}

void
stage_keep(struct outdir *d)
{
	if (d->live >= 0)
		atomic_store(&live[d->live].on, 0);
	d->live = -1;
}

void
stage_remove(struct outdir *d)
{
	if (d->live >= 0)
		remove_flat(d->stage);
	stage_keep(d);
}

/* ".BASE.HEX.set": 16 digits. */
static int
is_stage(const char *name, const char *base)
{
	size_t k = strlen(base);

	if (*name++ != '.')
		return 0;
	if (k && (strncmp(name, base, k) || name[k++] != '.'))
		return 0;
	name += k;
	return strspn(name, "0123456789abcdef") == 16 &&
	       !strcmp(name + 16, ".set");
}

void
stage_remove_dead(const char *in, const char *base)
{
	DIR *h = opendir(in);
	struct dirent *f;
	char *path;
	int fd;

	while (h && (f = readdir(h))) {
		if (!is_stage(f->d_name, base))
			continue;
		path = path_join(in, f->d_name);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			  O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			remove_flat(path);
		if (fd >= 0)
			close(fd);
		free(path);
	}
	if (h)
		closedir(h);
}

int
stage_make(struct outdir *d, const char *in, const char *base)
{
	struct stat st;
	uint64_t x;

	for (;;) {
		if (getrandom(&x, sizeof x, 0) != sizeof x)
			return -1;
		free(d->stage);
		d->stage = xstrf("%s%s.%s%s%016llx.set", in,
				 in[1] ? "/" : "", base, *base ? "." : "",
				 (unsigned long long)x);
		if (strlen(d->stage) >= PATH_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		if (mkdir(d->stage, 0777) < 0) {
			if (errno == EEXIST)
				continue;
			return -1;
		}
		d->live = live_add(d->stage);
		d->fd = open(d->stage, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (d->fd < 0 && errno != ENOENT)
			return -1;
		/* Another process may have taken it for that of a dead one. */
		if (d->fd >= 0 && (flock(d->fd, LOCK_EX | LOCK_NB) == 0 ||
		     errno != EWOULDBLOCK) && stat(d->stage, &st) == 0)
			return 0;
		stage_keep(d);
		if (d->fd >= 0)
			close(d->fd);
		d->fd = -1;
	}
}

int
stage_taken(const struct outdir *d)
{
	size_t n = strlen(d->target);
	const char *base = path_base(d->target);

	for (int i = 0; i < MAX_LIVE; i++) {
		const char *p = live[i].path, *in = path_base(p);

		if (!atomic_load(&live[i].on))
			continue;
		if (!strncmp(p, d->target, n) && p + n + 1 == in &&
		    is_stage(in, ""))
			return 1;	/* in the target */
		if ((size_t)(in - p) == n - strlen(base) &&
		    !strncmp(p, d->target, (size_t)(in - p)) &&
		    is_stage(in, base))
			return 1;
	}
	return 0;
}
