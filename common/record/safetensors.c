/*
 * safetensors.c - see safetensors.h
 *
 * A file is mapped and its header parsed into nodes; every rule is checked by
 * sorting the tensors by begin and walking them: each must start where the
 * last one ended, and the last must end with the file.  That one walk finds
 * overlaps, holes, truncation and trailing bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "stream/json.h"
#include "record/safetensors.h"

static const struct {
	const char *name;
	size_t size;
} dtypes[ST_NDTYPES] = {
	[ST_F32] = {"F32", 4}, [ST_BF16] = {"BF16", 2}, [ST_F16] = {"F16", 2},
	[ST_F64] = {"F64", 8}, [ST_I64] = {"I64", 8}, [ST_I32] = {"I32", 4},
	[ST_I16] = {"I16", 2}, [ST_I8] = {"I8", 1}, [ST_U64] = {"U64", 8},
	[ST_U32] = {"U32", 4}, [ST_U16] = {"U16", 2}, [ST_U8] = {"U8", 1},
	[ST_BOOL] = {"BOOL", 1}, [ST_F8_E4M3] = {"F8_E4M3", 1},
	[ST_F8_E5M2] = {"F8_E5M2", 1},
};

struct map {
	char *p;
	size_t n;
	char *path;
};

struct priv {
	struct map *maps;
	size_t nmaps;
};

const char *
st_dtype_name(enum st_dtype d)
{
	return dtypes[d].name;
}

size_t
st_dtype_size(enum st_dtype d)
{
	return dtypes[d].size;
}

static int
map_file(struct map *m, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = -1;
	struct stat st;

	if (fd < 0)
		return err_sys(e, errno, "%s: cannot open", path);
	if (fstat(fd, &st) < 0) {
		err_sys(e, errno, "%s: cannot stat", path);
	} else if (!S_ISREG(st.st_mode)) {
		err_set(e, "%s: not a regular file", path);
	} else if (st.st_size < 10) {
		err_set(e, "%s: %jd bytes, a safetensors file has at least 10",
			path, (intmax_t)st.st_size);
	} else {
		m->n = (size_t)st.st_size;
		m->p = mmap(NULL, m->n, PROT_READ, MAP_PRIVATE, fd, 0);
		if (m->p == MAP_FAILED)
			err_sys(e, errno, "%s: cannot map", path);
		else
			rc = 0;
	}
	if (rc == 0)
		m->path = xstrdup(path);
	close(fd);
	return rc;
}

static int
parse_shape(struct st_tensor *t, const struct json *j, struct err *e)
{
	const struct json *shape = json_get(j, "shape");
	size_t i;

	if (!shape || shape->type != JSON_ARRAY || shape->n > ST_MAX_DIMS)
		return err_set(e, "%s: tensor %s: shape is missing, not a list,"
			       " or longer than %d", t->file, t->name,
			       ST_MAX_DIMS);
	t->ndim = (int)shape->n;
	t->n = 1;
	for (i = 0; i < shape->n; i++) {
		const struct json *d = &shape->kids[i];

		if (!d->is_int || d->i < 0)
			return err_set(e, "%s: tensor %s: dimension %zu is not"
				       " a count", t->file, t->name, i);
		t->shape[i] = (uint64_t)d->i;
		if (__builtin_mul_overflow(t->n, t->shape[i], &t->n))
			return err_set(e, "%s: tensor %s: shape overflows",
				       t->file, t->name);
	}
	if (__builtin_mul_overflow(t->n, dtypes[t->dtype].size, &t->bytes))
		return err_set(e, "%s: tensor %s: size overflows", t->file,
			       t->name);
	return 0;
}

static int
parse_dtype(struct st_tensor *t, const struct json *j, struct err *e)
{
	const struct json *d = json_get(j, "dtype");
	int i;

	if (!d || d->type != JSON_STRING)
		return err_set(e, "%s: tensor %s: no dtype", t->file, t->name);
	for (i = 0; i < ST_NDTYPES; i++)
		if (span_eq(d->str, span_str(dtypes[i].name))) {
			t->dtype = (enum st_dtype)i;
			return 0;
		}
	return err_set(e, "%s: tensor %s: unknown dtype \"%.*s\"", t->file,
		       t->name, (int)(d->str.n > 40 ? 40 : d->str.n),
		       d->str.p);
}

/* data is relative to the data section here; its end comes from bytes. */
static int
parse_tensor(struct st_tensor *t, const struct json *j, const char *data,
	     size_t ndata, struct err *e)
{
	const struct json *off = json_get(j, "data_offsets");
	uint64_t b, end;

	if (parse_dtype(t, j, e) < 0 || parse_shape(t, j, e) < 0)
		return -1;
	if (!off || off->type != JSON_ARRAY || off->n != 2 ||
	    !off->kids[0].is_int || !off->kids[1].is_int ||
	    off->kids[0].i < 0 || off->kids[1].i < off->kids[0].i)
		return err_set(e, "%s: tensor %s: data_offsets are not"
			       " [begin, end]", t->file, t->name);
	b = (uint64_t)off->kids[0].i;
	end = (uint64_t)off->kids[1].i;
	if (end - b != t->bytes)
		return err_set(e, "%s: tensor %s: data_offsets span %" PRIu64
			       " bytes, shape and dtype need %" PRIu64, t->file,
			       t->name, end - b, t->bytes);
	if (end > ndata)
		return err_set(e, "%s: tensor %s: ends at offset %" PRIu64
			       " of the data, which has %zu bytes (truncated?)",
			       t->file, t->name, end, ndata);
	t->data = data + b;
	return 0;
}

static int
by_data(const void *x, const void *y)
{
	const struct st_tensor *a = x, *b = y;

	if (a->data != b->data)
		return a->data < b->data ? -1 : 1;
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int
by_name(const void *x, const void *y)
{
	return strcmp(((const struct st_tensor *)x)->name,
		      ((const struct st_tensor *)y)->name);
}

/* Sort by name; the second of two with one name, NULL: all differ. */
static const struct st_tensor *
sort_names(struct st_tensor *v, size_t n)
{
	size_t i;

	if (n)
		qsort(v, n, sizeof *v, by_name);
	for (i = 1; i < n; i++)
		if (!strcmp(v[i - 1].name, v[i].name))
			return &v[i];
	return NULL;
}

static int
check_layout(struct st_tensor *v, size_t n, const struct map *m,
	     const char *data, struct err *e)
{
	const char *at = data;
	size_t i;

	if (n)
		qsort(v, n, sizeof *v, by_data);
	for (i = 0; i < n; i++) {
		if (v[i].data != at)
			return err_set(e, "%s: offset %zu: tensor %s %s",
				       m->path, (size_t)(v[i].data - m->p),
				       v[i].name, v[i].data < at ?
				       "overlaps the one before it" :
				       "leaves a hole before it");
		at += v[i].bytes;
	}
	if (at != m->p + m->n)
		return err_set(e, "%s: offset %zu: %zu bytes after the last"
			       " tensor", m->path, (size_t)(at - m->p),
			       (size_t)(m->p + m->n - at));
	return 0;
}

static int
parse_members(struct st *s, const struct json *root, const struct map *m,
	      size_t nhead, struct err *e)
{
	const char *data = m->p + 8 + nhead;
	const struct st_tensor *twice;
	size_t i, first = s->n;

	s->v = xreallocarray(s->v, s->n + root->n + 1, sizeof *s->v);
	for (i = 0; i < root->n; i++) {
		const struct json *j = &root->kids[i];
		struct st_tensor *t;

		if (span_eq(j->key, span_str("__metadata__")))
			continue;
		if (memchr(j->key.p, 0, j->key.n))
			return err_set(e, "%s: a tensor name contains NUL",
				       m->path);
		t = &s->v[s->n++];
		memset(t, 0, sizeof *t);
		t->name = xmemdup0(j->key.p, j->key.n);
		t->file = m->path;
		if (j->type != JSON_OBJECT)
			return err_set(e, "%s: tensor %s: not an object",
				       m->path, t->name);
		if (parse_tensor(t, j, data, m->n - 8 - nhead, e) < 0)
			return -1;
	}
	twice = sort_names(s->v + first, s->n - first);
	if (twice)
		return err_set(e, "%s: offset 8: tensor %s occurs twice in the"
			       " header", m->path, twice->name);
	return check_layout(s->v + first, s->n - first, m, data, e);
}

static int
parse_file(struct st *s, const struct map *m, struct err *e)
{
	struct json *root;
	uint64_t nhead = 0;
	size_t i;
	int rc;

	for (i = 0; i < 8; i++)
		nhead |= (uint64_t)(unsigned char)m->p[i] << (8 * i);
	if (nhead < 2 || nhead > ST_MAX_HEADER || nhead > m->n - 8)
		return err_set(e, "%s: offset 0: header of %" PRIu64 " bytes,"
			       " expected 2 to %zu (not a safetensors file, or"
			       " truncated)", m->path, nhead,
			       m->n - 8 < ST_MAX_HEADER ? m->n - 8 :
			       (size_t)ST_MAX_HEADER);
	if (m->p[8] != '{')
		return err_set(e, "%s: offset 8: header does not start with"
			       " '{'", m->path);
	root = json_parse(m->p + 8, nhead, m->path, e);
	if (!root)
		return -1;
	if (root->type != JSON_OBJECT)
		rc = err_set(e, "%s: offset 8: header is not an object",
			     m->path);
	else
		rc = parse_members(s, root, m, nhead, e);
	json_free(root);
	return rc;
}

static int
add_file(struct st *s, const char *path, struct err *e)
{
	struct priv *p = s->priv;
	struct map *m;

	p->maps = xreallocarray(p->maps, p->nmaps + 1, sizeof *p->maps);
	m = &p->maps[p->nmaps];
	memset(m, 0, sizeof *m);
	if (map_file(m, path, e) < 0)
		return -1;
	p->nmaps++;
	return parse_file(s, m, e);
}

/* After the last file. */
static int
sort_all(struct st *s, const char *path, struct err *e)
{
	const struct st_tensor *t = sort_names(s->v, s->n);

	return !t ? 0 : err_set(e, "%s: tensor %s is in %s and in %s", path,
				t->name, t[-1].file, t->file);
}

/* Every tensor of the map must be in the file it names, and no other. */
static int
check_index(const struct st *s, const struct json *map, const char *index,
	    struct err *e)
{
	size_t i;

	for (i = 0; i < map->n; i++) {
		char *name = xmemdup0(map->kids[i].key.p, map->kids[i].key.n);
		const struct st_tensor *t = st_find(s, name);
		const char *base = t ? strrchr(t->file, '/') + 1 : NULL;
		int ok = t && span_eq(map->kids[i].str, span_str(base));

		if (!ok)
			err_set(e, "%s: tensor %s is not in %.*s", index, name,
				(int)map->kids[i].str.n, map->kids[i].str.p);
		free(name);
		if (!ok)
			return -1;
	}
	if (map->n != s->n)
		return err_set(e, "%s: lists %zu tensors, the files have %zu",
			       index, map->n, s->n);
	return 0;
}

static int
add_index_files(struct st *s, const char *dir, const struct json *map,
		const char *index, struct err *e)
{
	size_t i, k;

	for (i = 0; i < map->n; i++) {
		const struct json *j = &map->kids[i];

		if (j->type != JSON_STRING || !j->str.n ||
		    memchr(j->str.p, '/', j->str.n) ||
		    memchr(j->str.p, 0, j->str.n))
			return err_set(e, "%s: weight_map: tensor %.*s does not"
				       " name a file of the folder", index,
				       (int)j->key.n, j->key.p);
		for (k = 0; k < i; k++)
			if (span_eq(map->kids[k].str, j->str))
				break;
		if (k == i) {
			char *path = xstrf("%s/%.*s", dir, (int)j->str.n,
					   j->str.p);
			int rc = add_file(s, path, e);

			free(path);
			if (rc < 0)
				return -1;
		}
	}
	return 0;
}

static int
open_index(struct st *s, const char *dir, const char *index, struct err *e)
{
	struct json *root = json_load(index, e);
	const struct json *map = json_get(root, "weight_map");
	int rc = -1;

	if (!root)
		return -1;
	if (!map || map->type != JSON_OBJECT)
		err_set(e, "%s: no weight_map", index);
	else if (add_index_files(s, dir, map, index, e) == 0 &&
		 sort_all(s, dir, e) == 0)
		rc = check_index(s, map, index, e);
	json_free(root);
	return rc;
}

static int
open_dir(struct st *s, const char *dir, struct err *e)
{
	char *one = xstrf("%s/model.safetensors", dir);
	char *index = xstrf("%s/model.safetensors.index.json", dir);
	int rc;

	if (access(one, F_OK) == 0) {
		rc = add_file(s, one, e);
		if (rc == 0)
			rc = sort_all(s, one, e);
	} else if (access(index, F_OK) == 0)
		rc = open_index(s, dir, index, e);
	else
		rc = err_set(e, "%s: neither model.safetensors nor"
			     " model.safetensors.index.json", dir);
	free(one);
	free(index);
	return rc;
}

struct st *
st_open(const char *path, struct err *e)
{
	struct st *s = xcalloc(1, sizeof *s);
	struct stat st;
	int rc;

	s->priv = xcalloc(1, sizeof(struct priv));
	if (stat(path, &st) < 0)
		rc = err_sys(e, errno, "%s: cannot open", path);
	else if (S_ISDIR(st.st_mode))
		rc = open_dir(s, path, e);
	else {
		rc = add_file(s, path, e);
		if (rc == 0)
			rc = sort_all(s, path, e);
	}
	if (rc < 0) {
		st_close(s);
		return NULL;
	}
	return s;
}

void
st_close(struct st *s)
{
	struct priv *p;
	size_t i;

	if (!s)
		return;
	p = s->priv;
	for (i = 0; i < s->n; i++)
		free((char *)(uintptr_t)s->v[i].name);
	for (i = 0; i < p->nmaps; i++) {
		munmap(p->maps[i].p, p->maps[i].n);
		free(p->maps[i].path);
	}
	free(p->maps);
	free(p);
	free(s->v);
	free(s);
}

int
st_matrices_are(const struct st *s, enum st_dtype d)
{
	size_t i;

	for (i = 0; i < s->n; i++)
		if (s->v[i].ndim == 2 && s->v[i].dtype != d)
			return 0;
	return 1;
}

const struct st_tensor *
st_find(const struct st *s, const char *name)
{
	struct st_tensor key = {.name = name};

	if (!s->n)
		return NULL;
	return bsearch(&key, s->v, s->n, sizeof *s->v, by_name);
}

static float
bits_f32(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof f);
	return f;
}

static float
half_f32(uint16_t h)
{
	uint32_t sign = (uint32_t)(h & 0x8000) << 16;
	uint32_t exp = h >> 10 & 31, man = h & 1023;

	if (exp == 31)
		return bits_f32(sign | 0x7f800000 | man << 13);
	if (exp)
		return bits_f32(sign | (exp + 112) << 23 | man << 13);
	return (sign ? -1.0f : 1.0f) * ldexpf((float)man, -24);
}

static uint16_t
le16(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint16_t)(u[0] | u[1] << 8);
}

int
st_f32(const struct st_tensor *t, uint64_t at, size_t n, float *out,
       struct err *e)
{
	const char *p = t->data + at * dtypes[t->dtype].size;
	size_t i;

	switch (t->dtype) {
	case ST_F32:
		memcpy(out, p, n * 4);
		return 0;
	case ST_BF16:
		for (i = 0; i < n; i++)
			out[i] = bits_f32((uint32_t)le16(p + 2 * i) << 16);
		return 0;
	case ST_F16:
		for (i = 0; i < n; i++)
			out[i] = half_f32(le16(p + 2 * i));
		return 0;
	case ST_F64:
		for (i = 0; i < n; i++) {
			double d;

			memcpy(&d, p + 8 * i, sizeof d);
			out[i] = (float)d;
		}
		return 0;
	default:
		return err_set(e, "%s: tensor %s: dtype %s, expected F32, BF16,"
			       " F16 or F64", t->file, t->name,
			       dtypes[t->dtype].name);
	}
}

void
st_drop(const struct st_tensor *t, uint64_t at, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	size_t size = dtypes[t->dtype].size;
	uintptr_t from = (uintptr_t)t->data + at * size, to = from + n * size;

	/* A page of which a part is still to be read is kept or read again. */
	from -= from % page;
	to -= to % page;
	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
}

void
st_describe(struct st_tensor *t, const char *name, enum st_dtype d,
	    uint64_t rows, uint64_t cols)
{
	memset(t, 0, sizeof *t);
	t->name = name;
	t->dtype = d;
	t->ndim = cols ? 2 : 1;
	t->shape[0] = rows;
	t->shape[1] = cols;
	t->n = rows * (cols ? cols : 1);
	t->bytes = t->n * dtypes[d].size;
}

void
st_header(const struct st_tensor *v, size_t n, struct buf *out)
{
	uint64_t at = 0, len;
	size_t start = out->n, i;
	int d;

	buf_put(out, "\0\0\0\0\0\0\0\0", 8);
	buf_puts(out, "{\"__metadata__\":{\"format\":\"pt\"}");
	for (i = 0; i < n; i++) {
		buf_putc(out, ',');
		json_put_str(out, span_str(v[i].name));
		buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[",
			   dtypes[v[i].dtype].name);
		for (d = 0; d < v[i].ndim; d++)
			buf_printf(out, "%s%" PRIu64, d ? "," : "",
				   v[i].shape[d]);
		buf_printf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
			   at, at + v[i].bytes);
		at += v[i].bytes;
	}
	buf_putc(out, '}');
	while ((out->n - start) % ST_ALIGN)
		buf_putc(out, ' ');
	len = out->n - start - 8;
	for (i = 0; i < 8; i++)
		out->p[start + i] = (char)(len >> (8 * i));
}
