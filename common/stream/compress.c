/*
 * compress.c - bytes into a zstd frame or a gzip member
 *
 * zstd: level 3 with a checksum of the contents.  gzip: level 6, no name and no
 * time in the header, so that equal bytes give equal files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "stream/compress.h"

enum { SIZE = 256 << 10, ZSTD_LEVEL = 3, GZIP_LEVEL = 6 };

struct compress {
	ZSTD_CCtx *zstd;	/* NULL: gzip */
	z_stream gz;
	char out[SIZE];
};

static int
refuse(const char *name, struct err *e)
{
	static const char *const no[] = {
		".bz2", ".xz", ".lz4", ".zip", ".parquet", ".lzma", ".7z",
		".br", ".Z", ".arrow", ".feather",
	};

	for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
		if (str_ends(name, no[i]))
			return err_set(e, "%s: cannot write %s files (.zst "
				       "and .gz are compressed, other names "
				       "are plain)", name, no[i]);
	return 0;
}

int
compress_open(const char *name, struct compress **c, struct err *e)
{
	int zstd = str_ends(name, ".zst"), bad;
	struct compress *x;

	*c = NULL;
	if (!zstd && !str_ends(name, ".gz"))
		return refuse(name, e);
	x = xcalloc(1, sizeof *x);
	if (zstd) {
		x->zstd = ZSTD_createCCtx();
		bad = !x->zstd;
	} else {	/* 31: a gzip header, the largest window */
		bad = deflateInit2(&x->gz, GZIP_LEVEL, Z_DEFLATED, 31, 8,
				   Z_DEFAULT_STRATEGY) != Z_OK;
	}
	if (bad) {
		free(x);
		return err_set(e, "%s: out of memory", name);
	}
	if (zstd) {
		ZSTD_CCtx_setParameter(x->zstd, ZSTD_c_compressionLevel,
				       ZSTD_LEVEL);
		ZSTD_CCtx_setParameter(x->zstd, ZSTD_c_checksumFlag, 1);
	}
	*c = x;
	return 0;
}

void
compress_close(struct compress *c)
{
	if (!c)
		return;
	if (c->zstd)
		ZSTD_freeCCtx(c->zstd);
	else
		deflateEnd(&c->gz);
	free(c);
}

/* One call of zstd: the bytes put in c->out, -1 on error; *done: all is out. */
static ptrdiff_t
step_zstd(struct compress *c, ZSTD_inBuffer *in, enum compress_end end,
	  int *done, const char *label, struct err *e)
{
	static const ZSTD_EndDirective how[] = {
		ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end
	};
	ZSTD_outBuffer out = { c->out, SIZE, 0 };
	size_t left = ZSTD_compressStream2(c->zstd, &out, in, how[end]);

	if (ZSTD_isError(left))
		return err_set(e, "%s: zstd: %s", label,
			       ZSTD_getErrorName(left));
	*done = end == COMPRESS_MORE ? in->pos == in->size : left == 0;
	return (ptrdiff_t)out.pos;
}

static ptrdiff_t
step_gzip(struct compress *c, ZSTD_inBuffer *in, enum compress_end end,
	  int *done, const char *label, struct err *e)
{
	static const int how[] = { Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH };
	int code;

	c->gz.next_in = (Bytef *)in->src + in->pos;
	c->gz.avail_in = (uInt)(in->size - in->pos);
	c->gz.next_out = (Bytef *)c->out;
	c->gz.avail_out = SIZE;
	code = deflate(&c->gz, how[end]);
	if (code == Z_STREAM_ERROR)
		return err_set(e, "%s: gzip: cannot compress", label);
	in->pos = in->size - c->gz.avail_in;
	*done = end == COMPRESS_END ? code == Z_STREAM_END :
		in->pos == in->size && c->gz.avail_out > 0;
	return SIZE - (ptrdiff_t)c->gz.avail_out;
}

int
compress_write(struct compress *c, const void *p, size_t n,
	       enum compress_end end, int fd, const char *label, struct err *e)
{
	ZSTD_inBuffer in = { p, n, 0 };
	int done = 0;
	ptrdiff_t k;

	while (!done) {
		k = c->zstd ? step_zstd(c, &in, end, &done, label, e) :
			step_gzip(c, &in, end, &done, label, e);
		if (k < 0)
			return -1;
		if (write_all(fd, c->out, (size_t)k) < 0)
			return err_sys(e, errno, "%s", label);
	}
	return 0;
}
