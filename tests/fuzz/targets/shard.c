/*
 * Any bytes as a shard in every format that reads one file: an error or a
 * stream whose documents and windows can all be asked for, never a crash.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/shard.h"
#include "tests/fuzz/target.h"

/* 2 MiB at most are walked, so that no input takes long. */
static void
walk(struct shards *s)
{
	const struct shard_info *i = shards_info(s);
	uint32_t T = i->windows ? i->seq_len : 7, *ids, *seg;
	struct shard_doc d;
	struct err e = {0};
	struct buf tmp = {0};
	uint64_t k, windows;
	uint8_t *mask;

	shards_verify(s, &e);
	for (k = 0; k < i->pieces && k < 1000; k++) {
		e.set = 0;
		if (shards_doc(s, k, &d, &e) == 0)
			shards_doc_id(&d, &tmp);
	}
	for (k = 0; k < i->tokens && k < 1000; k++) {
		e.set = 0;
		shards_doc_at(s, k, &e);
	}
	windows = shards_windows(s, T);
	if (windows && T < 1 << 20) {
		ids = xreallocarray(NULL, T, 8);
		seg = xreallocarray(NULL, T, 4);
		mask = xmalloc(T);
		for (k = 0; k < windows && k * T < 1 << 20; k++) {
			e.set = 0;
			shards_window(s, T, k, 1, ids, ids + T, mask, seg, &e);
		}
		free(ids);
		free(seg);
		free(mask);
	}
	buf_clear(&tmp);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const enum shard_format f[] = {SHARD_AUTO, SHARD_ASSAY,
		SHARD_LLMC, SHARD_NANOGPT, SHARD_NPY};
	struct shard_hint h;
	struct shards *s;
	struct err e;
	size_t i;
	void *copy = xaligned(n + 8);

	if (n)
		memcpy(copy, p, n);
	for (i = 0; i < sizeof(f) / sizeof(*f); i++) {
		memset(&e, 0, sizeof(e));
		shard_hint_init(&h);
		h.format = f[i];
		h.eos = 3;
		if ((s = shards_open_mem(copy, n, "<fuzz>", &h, &e)))
			walk(s);
		shards_close(s);
	}
	free(copy);
	return 0;
}
