/*
 * again.c - documents that are read twice
 *
 * Blocks of the first reading are whole lines of one file, in order, so a
 * pipe's blocks behind one another are the pipe.  The file that keeps them is
 * opened by its number in /proc/self/fd, since it has no name.
 */
#include "record/again.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "base/mem.h"

/* One input; fd -1: a file that can be opened again. */
struct source {
	const char *path;
	int fd;
	ZSTD_CStream *z;
	char again[64];
};

struct again {
	struct source *v;
	size_t n;
	const char **paths;
	char *out;
	size_t outcap;
};

static int
temporary(struct err *e)
{
	const char *dir = getenv("TMPDIR");
	char name[4096];
	int fd;

	if (!dir || !*dir)
		dir = "/tmp";
	if ((size_t)snprintf(name, sizeof(name), "%s/assay-XXXXXX", dir) >=
	    sizeof(name))
		return err_set(e, "%s: the name is too long", dir);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, "%s", name);
	unlink(name);
	return fd;
}

static int
is_file(const char *path)
{
	struct stat s;

	/* what cannot be asked, the reader will tell */
	return strcmp(path, "-") && (stat(path, &s) || S_ISREG(s.st_mode));
}

static int
put_aside(struct source *s, struct err *e)
{
	s->fd = temporary(e);
	if (s->fd < 0)
		return -1;
	s->z = ZSTD_createCStream();
	if (!s->z || ZSTD_isError(ZSTD_initCStream(s->z, 1)))
		return err_set(e, "zstd: cannot compress");
	snprintf(s->again, sizeof(s->again), "/proc/self/fd/%d", s->fd);
	return 0;
}

struct again *
again_new(const char *const *paths, size_t n, struct err *e)
{
	static const char *const in[] = {"-"};
	struct again *a = xcalloc(1, sizeof(*a));
	size_t i;

	if (!n) {
		paths = in;
		n = 1;
	}
	a->n = n;
	a->v = xcalloc(n, sizeof(*a->v));
	a->paths = xcalloc(n, sizeof(*a->paths));
	a->outcap = ZSTD_CStreamOutSize();
	a->out = xmalloc(a->outcap);
	for (i = 0; i < n; i++) {
		a->v[i].path = a->paths[i] = paths[i];
		a->v[i].fd = -1;
	}
	for (i = 0; i < n; i++) {
		if (is_file(paths[i]))
			continue;
		if (put_aside(&a->v[i], e)) {
			again_free(a);
			return NULL;
		}
		a->paths[i] = a->v[i].again;
	}
	return a;
}

void
again_free(struct again *a)
{
	size_t i;

	if (!a)
		return;
	for (i = 0; i < a->n; i++) {
		ZSTD_freeCStream(a->v[i].z);
		if (a->v[i].fd >= 0)
			close(a->v[i].fd);
	}
	free(a->v);
	free(a->paths);
	free(a->out);
	free(a);
}

static int
write_whole(int fd, const char *p, size_t n, struct err *e)
{
	ssize_t k;

	for (; n; p += k, n -= (size_t)k) {
		k = write(fd, p, n);
		if (k >= 0)
			continue;
		if (errno != EINTR)
			return err_sys(e, errno, "a temporary file in "
				       "$TMPDIR");
		k = 0;
	}
	return 0;
}

/* Compress what `in` holds; end: and finish the stream. */
static int
compress(struct again *a, struct source *s, ZSTD_inBuffer *in, int end,
	 struct err *e)
{
	ZSTD_outBuffer out;
	size_t left;

	do {
		out = (ZSTD_outBuffer){a->out, a->outcap, 0};
		left = ZSTD_compressStream2(s->z, &out, in, end ? ZSTD_e_end :
					    ZSTD_e_continue);
		if (ZSTD_isError(left))
			return err_set(e, "zstd: %s", ZSTD_getErrorName(left));
		if (write_whole(s->fd, a->out, out.pos, e))
			return -1;
	} while (end ? left : in->pos < in->size);
	return 0;
}

int
again_put(struct again *a, const struct doc_batch *b, struct err *e)
{
	struct source *s = &a->v[b->chunk.file];
	ZSTD_inBuffer in = {b->chunk.p, b->chunk.n, 0};

	return s->fd < 0 ? 0 : compress(a, s, &in, 0, e);
}

int
again_paths(struct again *a, const char *const **paths, size_t *n,
	    struct err *e)
{
	ZSTD_inBuffer in = {NULL, 0, 0};
	size_t i;

	for (i = 0; i < a->n; i++)
		if (a->v[i].fd >= 0 && compress(a, &a->v[i], &in, 1, e))
			return -1;
	*paths = a->paths;
	*n = a->n;
	return 0;
}

void
again_name(const struct again *a, struct doc_batch *b)
{
	const struct source *s = &a->v[b->chunk.file];
	size_t i;

	if (s->fd < 0)
		return;
	for (i = 0; i < b->n; i++)
		b->v[i].file = strcmp(s->path, "-") ? s->path : "<stdin>";
}
