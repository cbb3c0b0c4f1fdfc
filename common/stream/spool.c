/*
 * spool.c - temporary bytes, in memory or in an unnamed file
 *
 * The buffer holds everything until it would exceed its limit.  What it holds
 * then stays there if that is much more than a write buffer, and the rest goes
 * to the file, through a write buffer that is flushed when full and before a
 * read of bytes that are still in it.  An offset in the file is that of the
 * spool: where the start stays in memory, the file begins with a hole.
 */
#include "stream/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/path.h"

enum {
	WRITE_BUFFER = 1 << 20, DIRECT = 1 << 15,
	KEPT = 16 * WRITE_BUFFER	/* least to stay */
};

struct spool {
	struct buf head;	/* the first bytes, which stay in memory */
	struct buf buf;		/* bytes from `flushed` on */
	size_t mem;
	int fd;			/* -1: all in memory, in `head` */
	uint64_t flushed;	/* bytes in `head` and the file */
	const char *dir;
	void *map;		/* spool_all() */
	size_t mapped;
};

static const char *
temporary_dir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/tmp";
}

int
spool_room(uint64_t bytes, const char *what, struct err *e)
{
	const char *dir = temporary_dir();
	struct statvfs v;
	uint64_t room;

	/* where that fails, creating a file reports what is wrong */
	if (!bytes || statvfs(dir, &v) < 0)
		return 0;
	room = (uint64_t)v.f_bavail * v.f_frsize;
	if (room < bytes)
		return err_set(e, "%s: %s may need %llu bytes, %llu are free "
			       "(TMPDIR selects another folder)", dir, what,
			       (unsigned long long)bytes,
			       (unsigned long long)room);
	return 0;
}

struct spool *
spool_new(size_t mem)
{
	struct spool *s = xcalloc(1, sizeof(*s));

	s->dir = temporary_dir();
	s->mem = mem;
	s->fd = -1;
	return s;
}

void
spool_free(struct spool *s)
{
	if (!s)
		return;
	if (s->map)
		munmap(s->map, s->mapped);
	if (s->fd >= 0)
		close(s->fd);
	buf_clear(&s->head);
	buf_clear(&s->buf);
	free(s);
}

static int
spool_write(struct spool *s, const void *p, size_t n, struct err *e)
{
	if (write_all(s->fd, p, n) < 0)
		return err_sys(e, errno, "temporary file in %s: offset %llu: "
			       "write", s->dir,
			       (unsigned long long)s->flushed);
	s->flushed += n;
	return 0;
}

static int
spool_flush(struct spool *s, struct err *e)
{
	int r = spool_write(s, s->buf.p, s->buf.n, e);

	buf_reset(&s->buf);
	return r;
}

/* Never linked, if the file system supports that. */
static int
unnamed_file(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *path;

	if (fd >= 0)
		return fd;
	path = path_join(dir, "assay-XXXXXX");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

/* From now on appended bytes go to a file. */
static int
spool_to_disk(struct spool *s, struct err *e)
{
	s->fd = unnamed_file(s->dir);
	if (s->fd < 0)
		return err_sys(e, errno, "%s: cannot create a temporary "
			       "file (TMPDIR selects another folder)", s->dir);
	if (s->head.n < KEPT) {
		s->flushed = 0;
		if (spool_write(s, s->head.p, s->head.n, e))
			return -1;
		buf_clear(&s->head);
	} else if (lseek(s->fd, (off_t)s->flushed, SEEK_SET) < 0) {
		return err_sys(e, errno, "temporary file in %s: seek", s->dir);
	}
	return 0;
}

int
spool_append(struct spool *s, const void *p, size_t n, struct err *e)
{
	if (s->fd < 0 && n <= s->mem - s->head.n) {
		buf_put(&s->head, p, n);
		s->flushed += n;
		return 0;
	}
	if (s->fd < 0 && spool_to_disk(s, e))
		return -1;
	if (s->buf.n + n > WRITE_BUFFER && spool_flush(s, e))
		return -1;
	if (n >= DIRECT) {
		if (spool_flush(s, e))
			return -1;
		return spool_write(s, p, n, e);
	}
	buf_put(&s->buf, p, n);
	return 0;
}

const void *
spool_view(const struct spool *s, uint64_t off, size_t n)
{
	if (off > s->head.n || n > s->head.n - off)
		return NULL;
	return s->head.p + off;
}

const void *
spool_all(struct spool *s, struct err *e)
{
	uint64_t n = spool_size(s);
	void *p;

	if (s->fd < 0)
		return buf_reserve(&s->head, 1) - s->head.n;
	if (spool_flush(s, e))
		return NULL;
	if (lseek(s->fd, 0, SEEK_SET) < 0 ||
	    write_all(s->fd, s->head.p, s->head.n) < 0) {
		err_sys(e, errno, "temporary file in %s: write", s->dir);
		return NULL;
	}
	p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, s->fd, 0);
	if (p == MAP_FAILED) {
		err_sys(e, errno, "temporary file in %s: cannot map %llu bytes",
			s->dir, (unsigned long long)n);
		return NULL;
	}
	buf_clear(&s->head);
	s->map = p;
	s->mapped = n;
	return p;
}

/* The bytes [off, off + n) that are in the file. */
static int
read_file(struct spool *s, uint64_t off, char *p, size_t n, struct err *e)
{
	ptrdiff_t got = pread_all(s->fd, p, n, off);

	if (got < 0 || (size_t)got < n)
		return err_sys(e, got < 0 ? errno : EIO, "temporary file in "
			       "%s: offset %llu: read", s->dir,
			       (unsigned long long)off);
	return 0;
}

int
spool_read(struct spool *s, uint64_t off, void *to, size_t n, struct err *e)
{
	char *p = to;
	size_t k;

	if (off > spool_size(s) || n > spool_size(s) - off)
		return err_set(e, "temporary file: offset %llu: read of %zu "
			       "bytes past its end at %llu",
			       (unsigned long long)off, n,
			       (unsigned long long)spool_size(s));
	if (off < s->head.n) {
		k = n < s->head.n - off ? n : (size_t)(s->head.n - off);
		memcpy(p, s->head.p + off, k);
		off += k;
		p += k;
		n -= k;
	}
	if (!n)
		return 0;
	if (off >= s->flushed) {
		memcpy(p, s->buf.p + (off - s->flushed), n);
		return 0;
	}
	if (off + n > s->flushed && spool_flush(s, e))
		return -1;
	return read_file(s, off, p, n, e);
}

uint64_t
spool_size(const struct spool *s)
{
	return s->flushed + s->buf.n;
}

int
spool_on_disk(const struct spool *s)
{
	return s->fd >= 0;
}
