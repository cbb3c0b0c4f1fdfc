/*
 * replay.c - a stream kept to be read again
 *
 * One zstd frame with a checksum, so that a disk error is never taken for text.
 */
#include "stream/replay.h"

#include <stdint.h>
#include <stdlib.h>

#include <zstd.h>

#include "base/mem.h"
#include "stream/spool.h"

enum { IN_MEMORY = 16 << 20, OUT = 256 << 10 };

struct replay {
	struct spool *spool;
	ZSTD_CCtx *pack;	/* NULL: ended */
	ZSTD_DCtx *unpack;
	char *buf;		/* OUT bytes */
	uint64_t at;		/* of the spool, next to read */
	size_t pos, len;	/* unread part of buf */
	int done;		/* the frame has ended */
};

struct replay *
replay_new(void)
{
	struct replay *k = xcalloc(1, sizeof(*k));

	k->spool = spool_new(IN_MEMORY);
	k->buf = xmalloc(OUT);
	k->pack = ZSTD_createCCtx();
	if (!k->pack)
		die("out of memory");
	ZSTD_CCtx_setParameter(k->pack, ZSTD_c_compressionLevel, 1);
	ZSTD_CCtx_setParameter(k->pack, ZSTD_c_checksumFlag, 1);
	return k;
}

void
replay_free(struct replay *k)
{
	if (!k)
		return;
	spool_free(k->spool);
	ZSTD_freeCCtx(k->pack);
	ZSTD_freeDCtx(k->unpack);
	free(k->buf);
	free(k);
}

static int
replay_pack(struct replay *k, const void *p, size_t n, ZSTD_EndDirective how,
	  struct err *e)
{
	ZSTD_inBuffer in = {p, n, 0};
	size_t left;

	do {
		ZSTD_outBuffer out = {k->buf, OUT, 0};

		left = ZSTD_compressStream2(k->pack, &out, &in, how);
		if (ZSTD_isError(left))
			return err_set(e, "temporary file: zstd: %s",
				       ZSTD_getErrorName(left));
		if (out.pos && spool_append(k->spool, k->buf, out.pos, e))
			return -1;
	} while (in.pos < in.size || (how == ZSTD_e_end && left));
	return 0;
}

int
replay_put(struct replay *k, const void *p, size_t n, struct err *e)
{
	return replay_pack(k, p, n, ZSTD_e_continue, e);
}

int
replay_rewind(struct replay *k, struct err *e)
{
	if (k->pack && replay_pack(k, NULL, 0, ZSTD_e_end, e))
		return -1;
	ZSTD_freeCCtx(k->pack);
	k->pack = NULL;
	if (!k->unpack && !(k->unpack = ZSTD_createDCtx()))
		return err_set(e, "out of memory");
	ZSTD_DCtx_reset(k->unpack, ZSTD_reset_session_only);
	k->at = 0;
	k->pos = k->len = 0;
	k->done = 0;
	return 0;
}

static int
replay_fill(struct replay *k, struct err *e)
{
	uint64_t left = spool_size(k->spool) - k->at;

	if (k->pos < k->len)
		return 0;
	k->pos = 0;
	k->len = left < OUT ? (size_t)left : OUT;
	if (k->len == 0)
		return err_set(e, "temporary file: shorter than written");
	if (spool_read(k->spool, k->at, k->buf, k->len, e))
		return -1;
	k->at += k->len;
	return 0;
}

ptrdiff_t
replay_read(struct replay *k, void *p, size_t n, struct err *e)
{
	ZSTD_outBuffer out = {p, n, 0};

	while (out.pos == 0 && !k->done) {
		ZSTD_inBuffer in;
		size_t code;

		if (replay_fill(k, e))
			return -1;
		in = (ZSTD_inBuffer){k->buf + k->pos, k->len - k->pos, 0};
		code = ZSTD_decompressStream(k->unpack, &out, &in);
		k->pos += in.pos;
		if (ZSTD_isError(code))
			return err_set(e, "temporary file: zstd: %s",
				       ZSTD_getErrorName(code));
		k->done = code == 0;
	}
	return (ptrdiff_t)out.pos;
}
