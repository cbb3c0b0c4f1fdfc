/*
 * decompress.c - one file as decompressed bytes
 *
 * Compressed bytes pass through `raw`; plain bytes after the first block are
 * read straight into the caller's memory.  Decompression writes there too, so
 * no byte is copied twice.
 *
 * The file may end only between frames or members; `open` is set inside one.
 * zstd's decoder moves from frame to frame, and skips skippable ones, by
 * itself.  zlib stops after a member, which may be followed by more members,
 * by zeros up to the end of the file, or by nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "stream/decompress.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"

enum { RAW_SIZE = 256 << 10, WINDOW_LOG_MAX = 31, MAGIC_SIZE = 6 };

enum source_kind { SOURCE_PLAIN, SOURCE_ZSTD, SOURCE_GZIP };

struct decompress {
	int fd;
	const char *name;
	enum source_kind kind;
	int eof;		/* of the file */
	int open;		/* inside a frame or member */
	int padding;		/* gzip: only zeros may follow */
	unsigned char *raw;
	size_t pos, len;	/* unread part of raw */
	uint64_t read_off;	/* of the file, after raw[len) */
	uint64_t out_off;	/* of the decompressed data */
	_Atomic uint64_t *done;
	ZSTD_DCtx *zstd;
	z_stream gz;
};

const char *
decompress_label(const char *path)
{
	return path_is_std(path) ? "<stdin>" : path;
}

/* Set the message, with the offset in the file and in the decompressed data. */
static ptrdiff_t
fault(const struct decompress *s, struct err *e, const char *what)
{
	unsigned long long at = s->read_off - (s->len - s->pos);

	if (s->kind == SOURCE_PLAIN)
		return err_set(e, "%s: offset %llu: %s", s->name, at, what);
	return err_set(e, "%s: offset %llu: %s: %s (offset %llu of the "
		       "decompressed data)", s->name, at,
		       s->kind == SOURCE_ZSTD ? "zstd" : "gzip", what,
		       (unsigned long long)s->out_off);
}

static ptrdiff_t
raw_read(struct decompress *s, void *p, size_t n, struct err *e)
{
	ssize_t k;

	do
		k = read(s->fd, p, n);
	while (k < 0 && errno == EINTR);
	if (k < 0)
		return err_sys(e, errno, "%s: offset %llu", s->name,
			       (unsigned long long)s->read_off);
	s->eof = k == 0;
	s->read_off += (uint64_t)k;
	atomic_fetch_add_explicit(s->done, (uint64_t)k, memory_order_relaxed);
	return k;
}

/* Read until raw has unread bytes, or eof is set. */
static int
fill(struct decompress *s, struct err *e)
{
	ptrdiff_t k;

	if (s->pos < s->len || s->eof)
		return 0;
	s->pos = s->len = 0;
	k = raw_read(s, s->raw, RAW_SIZE, e);
	if (k < 0)
		return -1;
	s->len = (size_t)k;
	return 0;
}

static int
starts(const struct decompress *s, const char *magic, size_t n)
{
	return s->len >= n && !memcmp(s->raw, magic, n);
}

/* Does the whole file end within a magic number? */
static int
stops_in(const struct decompress *s, const char *magic, size_t n)
{
	return s->eof && s->len >= 2 && s->len < n &&
	       !memcmp(s->raw, magic, s->len);
}

/* An upload that failed leaves a file of 0 bytes: it is not a frame. */
static int
only_named(const struct decompress *s)
{
	return s->len == 0 && s->fd != STDIN_FILENO &&
	       (str_ends(s->name, ".zst") || str_ends(s->name, ".gz"));
}

static int
detect(struct decompress *s, struct err *e)
{
	static const char zstd[] = "\x28\xb5\x2f\xfd", gzip[] = "\x1f\x8b\x08";
	int skippable;
	ptrdiff_t k;

	while (s->len < MAGIC_SIZE && !s->eof) {
		k = raw_read(s, s->raw + s->len, RAW_SIZE - s->len, e);
		if (k < 0)
			return -1;
		s->len += (size_t)k;
	}
	if (only_named(s))
		return err_set(e, "%s: 0 bytes, not a compressed file",
			       s->name);
	if (stops_in(s, zstd, 4) || stops_in(s, gzip, 3))
		return err_set(e, "%s: offset %zu: truncated %s header",
			       s->name, s->len, s->raw[0] == 0x1f ? "gzip"
			       : "zstd");
	skippable = s->len >= 4 && (s->raw[0] & 0xf0) == 0x50 &&
		    !memcmp(s->raw + 1, "\x2a\x4d\x18", 3);
	if (skippable || starts(s, zstd, 4)) {
		s->kind = SOURCE_ZSTD;
		s->zstd = ZSTD_createDCtx();
		if (!s->zstd)
			return err_set(e, "%s: out of memory", s->name);
		ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax,
				       WINDOW_LOG_MAX);
	} else if (starts(s, gzip, 3)) {
		s->kind = SOURCE_GZIP;
		if (inflateInit2(&s->gz, 15 + 16) != Z_OK)
			return err_set(e, "%s: out of memory", s->name);
		s->open = 1;
	}
	return 0;
}

struct decompress *
decompress_open(const char *path, _Atomic uint64_t *done, struct err *e)
{
	struct decompress *s = xcalloc(1, sizeof *s);
	int in = path_is_std(path);

	s->name = decompress_label(path);
	s->done = done;
	s->fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0) {
		err_sys(e, errno, "%s", s->name);
		free(s);
		return NULL;
	}
	s->raw = xmalloc(RAW_SIZE);
	if (detect(s, e) == 0)
		return s;
	decompress_close(s);
	return NULL;
}

void
decompress_close(struct decompress *s)
{
	if (!s)
		return;
	ZSTD_freeDCtx(s->zstd);
	if (s->kind == SOURCE_GZIP)
		inflateEnd(&s->gz);
	if (s->fd != STDIN_FILENO)
		close(s->fd);
	free(s->raw);
	free(s);
}

static ptrdiff_t
read_plain(struct decompress *s, void *p, size_t n, struct err *e)
{
	size_t have = s->len - s->pos;

	if (have) {
		n = n < have ? n : have;
		memcpy(p, s->raw + s->pos, n);
		s->pos += n;
		return (ptrdiff_t)n;
	}
	return s->eof ? 0 : raw_read(s, p, n, e);
}

static ptrdiff_t
zstd_fault(struct decompress *s, size_t code, struct err *e)
{
	ZSTD_ErrorCode why = ZSTD_getErrorCode(code);

	return fault(s, e, why == ZSTD_error_prefix_unknown
		     ? "bytes after the last frame are not a frame"
		     : why == ZSTD_error_checksum_wrong
		     ? "wrong checksum, the data is damaged"
		     : ZSTD_getErrorName(code));
}

static ptrdiff_t
read_zstd(struct decompress *s, void *p, size_t n, struct err *e)
{
	ZSTD_outBuffer out = { p, n, 0 };

	while (out.pos < n) {
		size_t was = out.pos, code;
		ZSTD_inBuffer in;

		if (fill(s, e) < 0)
			return -1;
		if (s->pos == s->len && !s->open)
			break;
		in = (ZSTD_inBuffer){ s->raw + s->pos, s->len - s->pos, 0 };
		code = ZSTD_decompressStream(s->zstd, &out, &in);
		s->pos += in.pos;
		s->out_off += out.pos - was;
		if (ZSTD_isError(code))
			return zstd_fault(s, code, e);
		s->open = code != 0;
		if (s->open && !in.size && out.pos == was)
			return fault(s, e, "truncated frame");
	}
	return (ptrdiff_t)out.pos;
}

/* Between two members: 1 if another one begins, 0 at the end, -1 error. */
static int
next_member(struct decompress *s, struct err *e)
{
	for (;;) {
		if (fill(s, e) < 0)
			return -1;
		if (s->pos == s->len)
			return 0;
		if (s->raw[s->pos])
			break;
		s->padding = 1;
		s->pos++;
	}
	if (s->padding || s->raw[s->pos] != 0x1f)
		return (int)fault(s, e, "bytes after the last member are not a "
				  "member");
	inflateReset(&s->gz);
	s->open = 1;
	return 1;
}

static ptrdiff_t
read_gzip(struct decompress *s, void *p, size_t n, struct err *e)
{
	/* zlib counts in 32 bits */
	size_t all = n < 1u << 30 ? n : 1u << 30, left = all;
	int code, more;

	while (left) {
		if (!s->open) {
			more = next_member(s, e);
			if (more < 0)
				return -1;
			if (!more)
				break;
		}
		if (fill(s, e) < 0)
			return -1;
		s->gz.next_in = s->raw + s->pos;
		s->gz.avail_in = (uInt)(s->len - s->pos);
		s->gz.next_out = (Bytef *)p + (all - left);
		s->gz.avail_out = (uInt)left;
		code = inflate(&s->gz, Z_NO_FLUSH);
		s->pos = s->len - s->gz.avail_in;
		s->out_off += left - s->gz.avail_out;
		left = s->gz.avail_out;
		if (code == Z_STREAM_END)
			s->open = 0;
		else if (code != Z_OK)
			return fault(s, e, code == Z_BUF_ERROR
				     ? "truncated member" : s->gz.msg
				     ? s->gz.msg : "damaged data");
	}
	return (ptrdiff_t)(all - left);
}

ptrdiff_t
decompress_read(struct decompress *s, void *p, size_t n, struct err *e)
{
	if (s->kind == SOURCE_ZSTD)
		return read_zstd(s, p, n, e);
	if (s->kind == SOURCE_GZIP)
		return read_gzip(s, p, n, e);
	return read_plain(s, p, n, e);
}
