/*
 * safetensors: any bytes as a file
 *
 * What is accepted lies wholly in the file, tensor behind tensor, and its
 * header, written again, is accepted as the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/safetensors.h"
#include "tests/fuzz/target.h"

static void
must(int ok)
{
	if (!ok)
		abort();
}

static void
put_file(int fd, const void *p, size_t n)
{
	must(ftruncate(fd, 0) == 0);
	must(pwrite(fd, p, n, 0) == (ssize_t)n);
}

/* Every number is read: a wrong bound is seen by the sanitizer. */
static void
read_all(const struct st *s)
{
	float x[64];
	size_t i;

	for (i = 0; i < s->n; i++) {
		const struct st_tensor *t = &s->v[i];
		struct err e = {0};
		uint64_t at, n;

		must(st_find(s, t->name) == t);
		must(t->bytes == t->n * st_dtype_size(t->dtype));
		for (at = 0; at < t->n; at += n) {
			n = t->n - at < 64 ? t->n - at : 64;
			if (st_f32(t, at, (size_t)n, x, &e) < 0)
				break;
		}
	}
}

static int
by_place(const void *a, const void *b)
{
	const struct st_tensor *x = a, *y = b;

	if (x->data != y->data)
		return x->data < y->data ? -1 : 1;
	return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static void
write_again(const struct st *s, int fd, const char *path)
{
	struct st_tensor *v = malloc((s->n + 1) * sizeof *v);
	struct buf b = {0};
	struct err e = {0};
	struct st *again;
	size_t i;

	must(v != NULL);
	memcpy(v, s->v, s->n * sizeof *v);
	qsort(v, s->n, sizeof *v, by_place);
	st_header(v, s->n, &b);
	for (i = 0; i < s->n; i++)
		buf_put(&b, v[i].data, v[i].bytes);
	put_file(fd, b.p, b.n);
	again = st_open(path, &e);
	must(again && again->n == s->n);
	for (i = 0; i < s->n; i++) {
		const struct st_tensor *t = st_find(again, v[i].name);

		must(t && t->dtype == v[i].dtype && t->ndim == v[i].ndim &&
		     t->bytes == v[i].bytes &&
		     !memcmp(t->data, v[i].data, t->bytes));
	}
	st_close(again);
	buf_clear(&b);
	free(v);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	struct err e = {0};
	struct st *s;
	int fd = memfd_create("safetensors", 0), other;

	must(fd >= 0);
	put_file(fd, data, size);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	s = st_open(path, &e);
	must(s || (e.set && strstr(e.msg, path)));
	if (s) {
		read_all(s);
		other = memfd_create("again", 0);
		must(other >= 0);
		snprintf(path, sizeof path, "/proc/self/fd/%d", other);
		write_again(s, other, path);
		close(other);
	}
	st_close(s);
	close(fd);
	return 0;
}
