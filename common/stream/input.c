/*
 * input.c - several files as one stream of lines or bytes
 *
 * A chunk is filled by decompress_read() up to about the size wanted and cut
 * after its last line end.  The remainder, part of one line, waits in `tail`
 * and opens the next chunk; no other bytes are copied.  A chunk without a line
 * end grows until it has one, so a line may have up to LINE_MAX_BYTES.
 *
 * All operands are checked when the stream is opened, so that a misspelt last
 * file is reported at once, not after hours.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "stream/decompress.h"
#include "stream/input.h"
#include "base/mem.h"
#include "base/path.h"
#include "stream/replay.h"
#include "stream/sniff.h"

#define LINE_MAX_BYTES (((size_t)4 << 30) - 4096)

/* What input_rewind() needs to know of a file. */
struct again {
	struct replay *keep;	/* NULL: a regular file */
	off_t size, start;	/* start: of stdin */
	dev_t dev;
	ino_t ino;
	struct timespec changed;
};

struct input {
	const char *const *paths;
	size_t npaths, cur;	/* cur: file that is open or next */
	struct decompress *src;
	struct again *again;	/* NULL: one pass */
	struct replay *from;	/* second pass: read instead of src */
	int pass;
	struct err early;	/* an operand that cannot be read */
	struct buf tail;
	uint64_t line, offset;	/* of the tail */
	int at_end;		/* the file is read, tail is empty */
	int at_once;		/* return the lines that there are */
	_Atomic uint64_t done;
	uint64_t total;
};

static const char *const only_stdin[] = { "-" };

static int
path_stat(const char *path, struct stat *st)
{
	return path_is_std(path) ? fstat(STDIN_FILENO, st) : stat(path, st);
}

static void
input_look(struct input *in, const char *path, int *known)
{
	struct stat st;

	if (path_stat(path, &st)) {
		err_sys(&in->early, errno, "%s", decompress_label(path));
		return;
	}
	if (S_ISDIR(st.st_mode))
		err_set(&in->early, "%s: is a folder, not a file of lines",
			decompress_label(path));
	else if (!path_is_std(path) && access(path, R_OK))
		err_sys(&in->early, errno, "%s", path);
	if (S_ISREG(st.st_mode))
		in->total += (uint64_t)st.st_size;
	else
		*known = 0;
}

struct input *
input_open(const char *const *paths, size_t n)
{
	struct input *in = xcalloc(1, sizeof *in);
	int known = 1;

	in->paths = n ? paths : only_stdin;
	in->npaths = n ? n : 1;
	for (size_t i = 0; i < in->npaths; i++)
		input_look(in, in->paths[i], &known);
	if (!known)
		in->total = 0;
	return in;
}

void
input_at_once(struct input *in)
{
	in->at_once = 1;
}

void
input_close(struct input *in)
{
	if (!in)
		return;
	decompress_close(in->src);
	for (size_t i = 0; in->again && i < in->npaths; i++)
		replay_free(in->again[i].keep);
	free(in->again);
	buf_clear(&in->tail);
	free(in);
}

/* Open the current file if it is not open: 1, 0 if none is left, -1 error. */
static int
input_have(struct input *in, struct err *e)
{
	if (in->early.set)
		return err_set(e, "%s", in->early.msg);
	if (in->src || in->from)
		return 1;
	if (in->cur == in->npaths)
		return 0;
	if (in->pass && in->again[in->cur].keep) {
		in->from = in->again[in->cur].keep;
		if (replay_rewind(in->from, e))
			return -1;
	} else {
		in->src = decompress_open(in->paths[in->cur], &in->done, e);
		if (!in->src)
			return -1;
	}
	in->line = 1;
	in->offset = 0;
	in->at_end = 0;
	return 1;
}

static void
input_done_with(struct input *in)
{
	decompress_close(in->src);
	in->src = NULL;
	in->from = NULL;
	in->cur++;
}

/* --- a second pass --- */

void
input_keep(struct input *in)
{
	struct stat st;

	in->again = xcalloc(in->npaths, sizeof *in->again);
	for (size_t i = 0; i < in->npaths; i++) {
		struct again *a = &in->again[i];

		if (path_stat(in->paths[i], &st) || !S_ISREG(st.st_mode)) {
			a->keep = replay_new();
			continue;
		}
		a->size = st.st_size;
		a->dev = st.st_dev;
		a->ino = st.st_ino;
		a->changed = st.st_mtim;
		if (path_is_std(in->paths[i]))
			a->start = lseek(STDIN_FILENO, 0, SEEK_CUR);
	}
}

static int
same_file(const char *path, const struct again *a, struct err *e)
{
	struct stat st;

	if (path_stat(path, &st))
		return err_sys(e, errno, "%s", decompress_label(path));
	if (st.st_size != a->size ||
	    st.st_dev != a->dev || st.st_ino != a->ino ||
	    st.st_mtim.tv_sec != a->changed.tv_sec ||
	    st.st_mtim.tv_nsec != a->changed.tv_nsec)
		return err_set(e, "%s: changed while it was read",
			       decompress_label(path));
	return 0;
}

int
input_same(struct input *in, struct err *e)
{
	for (size_t i = 0; in->again && i < in->npaths; i++)
		if (!in->again[i].keep &&
		    same_file(in->paths[i], &in->again[i], e))
			return -1;
	return 0;
}

int
input_rewind(struct input *in, struct err *e)
{
	if (in->src || in->from)
		input_done_with(in);
	if (input_same(in, e))
		return -1;
	for (size_t i = 0; i < in->npaths; i++)
		if (!in->again[i].keep && path_is_std(in->paths[i]) &&
		    lseek(STDIN_FILENO, in->again[i].start, SEEK_SET) < 0)
			return err_sys(e, errno, "<stdin>");
	in->pass++;
	in->cur = 0;
	buf_reset(&in->tail);
	atomic_store(&in->done, 0);
	return 0;
}

/* More bytes of the current file, spooled if they are to be read again. */
static ptrdiff_t
input_bytes(struct input *in, void *p, size_t n, struct err *e)
{
	struct replay *keep;
	ptrdiff_t k;

	if (in->from)
		return replay_read(in->from, p, n, e);
	k = decompress_read(in->src, p, n, e);
	keep = in->again && !in->pass ? in->again[in->cur].keep : NULL;
	if (k > 0 && keep && replay_put(keep, p, (size_t)k, e))
		return -1;
	return k;
}

static void
chunk_grow(struct chunk *c, size_t size)
{
	if (size + INPUT_PADDING <= c->cap)
		return;
	c->cap = size + INPUT_PADDING;
	c->p = xrealloc(c->p, c->cap);
}

void
chunk_clear(struct chunk *c)
{
	free(c->p);
	*c = (struct chunk){0};
}

/* Read until c holds size bytes or the file ends; if lines are wanted at once,
 * until it holds one. */
static int
chunk_fill(struct input *in, struct chunk *c, size_t size, struct err *e)
{
	size_t seen = 0;
	ptrdiff_t k;

	chunk_grow(c, size);
	while (c->n < size) {
		if (in->at_once && memchr(c->p + seen, '\n', c->n - seen))
			return 0;
		k = input_bytes(in, c->p + c->n, size - c->n, e);
		if (k < 0)
			return -1;
		if (k == 0) {
			in->at_end = 1;
			return 0;
		}
		seen = c->n;
		c->n += (size_t)k;
	}
	return 0;
}

/* The byte counter is emptied before it can overflow: vectorizes well. */
static uint64_t
count_lines(const char *p, size_t n)
{
	uint64_t sum = 0;
	size_t i = 0;

	while (i < n) {
		size_t end = n - i < 4080 ? n : i + 4080;
		uint8_t lane[16] = {0};

		for (; i + 16 <= end; i += 16)
			for (int k = 0; k < 16; k++)
				lane[k] += p[i + (size_t)k] == '\n';
		for (; i < end; i++)
			sum += p[i] == '\n';
		for (int k = 0; k < 16; k++)
			sum += lane[k];
	}
	return sum;
}

/* The first block of a file: refuse what is not text, skip the BOM. */
static int
input_first_block(struct input *in, struct chunk *c, size_t size,
		  struct err *e)
{
	const char *what;

	if (chunk_fill(in, c, size < SNIFF_BYTES ? SNIFF_BYTES : size, e) < 0)
		return -1;
	what = sniff_binary(c->p, c->n);
	if (what)
		return err_set(e, "%s: offset 0: %s", c->name, what);
	if (c->n >= 3 && !memcmp(c->p, "\xef\xbb\xbf", 3)) {
		c->n -= 3;
		memmove(c->p, c->p + 3, c->n);
		in->offset = 3;
	}
	return 0;
}

/* Cut after the last line end at or after `from`; 0 if there is none. */
static int
chunk_cut(struct input *in, struct chunk *c, size_t from)
{
	const char *lf;

	if (in->at_end)
		return 1;
	lf = memrchr(c->p + from, '\n', c->n - from);
	if (!lf)
		return 0;
	buf_put(&in->tail, lf + 1, (size_t)(c->p + c->n - lf - 1));
	c->n = (size_t)(lf + 1 - c->p);
	return 1;
}

/* Whole lines of the current file into c; c->n is 0 at its end. */
static int
input_block(struct input *in, struct chunk *c, size_t want, struct err *e)
{
	size_t size, from = 0;

	c->n = in->tail.n;
	size = want > 2 * c->n ? want : 2 * c->n;
	chunk_grow(c, size);
	if (c->n)
		memcpy(c->p, in->tail.p, c->n);
	buf_reset(&in->tail);
	if (in->at_end)
		return 0;
	if (in->offset == 0 && c->n == 0 &&
	    input_first_block(in, c, size, e) < 0)
		return -1;
	for (;;) {
		if (chunk_fill(in, c, size, e) < 0)
			return -1;
		if (chunk_cut(in, c, from))
			return 0;
		from = c->n;
		if (c->n >= LINE_MAX_BYTES)
			return err_set(e, "%s:%llu: line longer than 4 GiB",
				       c->name,
				       (unsigned long long)in->line);
		size = 2 * size < LINE_MAX_BYTES ? 2 * size : LINE_MAX_BYTES;
	}
}

int
input_chunk(struct input *in, struct chunk *c, size_t want, struct err *e)
{
	int have;

	while ((have = input_have(in, e)) > 0) {
		c->name = decompress_label(in->paths[in->cur]);
		c->file = in->cur;
		c->line = in->line;
		if (input_block(in, c, want, e) < 0)
			return -1;
		if (!c->n) {
			input_done_with(in);
			continue;
		}
		c->offset = in->offset;
		in->offset += c->n;
		in->line += count_lines(c->p, c->n);
		memset(c->p + c->n, 0, INPUT_PADDING);
		return 1;
	}
	return have;
}

uint64_t
input_done(const struct input *in)
{
	return atomic_load_explicit(&in->done, memory_order_relaxed);
}

uint64_t
input_total(const struct input *in)
{
	return in->total;
}

int
input_slurp(const char *path, char **p, size_t *n, struct err *e)
{
	_Atomic uint64_t done = 0;
	struct decompress *s = decompress_open(path, &done, e);
	struct buf b = {0};
	ptrdiff_t k = s ? 1 : -1;

	while (k > 0) {
		size_t room = b.n < 1 << 16 ? 1 << 16 : b.n;

		k = decompress_read(s, buf_reserve(&b, room), room, e);
		b.n += k > 0 ? (size_t)k : 0;
	}
	decompress_close(s);
	if (k < 0) {
		buf_clear(&b);
		return -1;
	}
	memset(buf_reserve(&b, INPUT_PADDING), 0, INPUT_PADDING);
	*p = b.p;
	*n = b.n;
	return 0;
}
