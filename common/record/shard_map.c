/*
 * shard_map.c - bytes of shard files: mapped, or a pipe spooled
 *
 * Regular files are mapped.  A pipe is read to its end, into memory up to
 * SPOOL_MEMORY and past that into an unlinked file in $TMPDIR, which is then
 * mapped too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/shard_priv.h"
#include "stream/spool.h"

enum { SPOOL_MEMORY = 64 << 20, READ = 1 << 20 };

struct part *
shard_part_add(struct shards *s)
{
	GROW(s->part, s->cap, s->nparts + 1);
	memset(&s->part[s->nparts], 0, sizeof(*s->part));
	return &s->part[s->nparts++];
}

struct shard_map *
shard_map_add(struct shards *s, const char *name)
{
	struct shard_map *m;

	GROW(s->map, s->map_cap, s->nmaps + 1);
	m = &s->map[s->nmaps++];
	memset(m, 0, sizeof(*m));
	m->name = xstrdup(name);
	return m;
}

static int
map_fd(struct shard_map *m, int fd, size_t n, struct err *e)
{
	m->n = n;
	if (n == 0)
		return 0;
	m->p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
	if (m->p == MAP_FAILED) {
		m->p = NULL;
		return err_sys(e, errno, "%s: cannot map %zu bytes", m->name,
			       n);
	}
	m->how = MAP_MAPPED;
	return 0;
}

/* A pipe to its end. */
static int
spool_fd(struct shard_map *m, int fd, struct err *e)
{
	char *p = xmalloc(READ);
	ssize_t k;

	m->spool = spool_new(SPOOL_MEMORY);
	while ((k = read(fd, p, READ)) != 0) {
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			err_sys(e, errno, "%s: cannot read", m->name);
		else
			spool_append(m->spool, p, (size_t)k, e);
		if (e->set)
			break;
	}
	free(p);
	if (e->set || !(m->p = (void *)spool_all(m->spool, e)))
		return -1;
	m->n = spool_size(m->spool);
	return 0;
}

ptrdiff_t
shard_map_file(struct shards *s, const char *path, struct err *e)
{
	struct shard_map *m = shard_map_add(s, path ? path : "<stdin>");
	int fd = STDIN_FILENO, r;
	struct stat st;

	if (path && (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		return err_sys(e, errno, "%s: cannot open", path);
	if (fstat(fd, &st) < 0)
		r = err_sys(e, errno, "%s: cannot stat", m->name);
	else if (S_ISDIR(st.st_mode))
		r = err_sys(e, EISDIR, "%s: cannot read", m->name);
	else if (S_ISREG(st.st_mode) && (path || lseek(fd, 0, SEEK_CUR) == 0))
		r = map_fd(m, fd, (size_t)st.st_size, e);
	else
		r = spool_fd(m, fd, e);
	if (path)
		close(fd);
	return r < 0 ? -1 : m - s->map;
}

void
shard_map_clear(struct shard_map *m)
{
	if (m->how == MAP_MAPPED)
		munmap(m->p, m->n);
	spool_free(m->spool);
	free(m->name);
}
