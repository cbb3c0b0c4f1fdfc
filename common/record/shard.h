/*
 * shard.h - token ids with document bounds, in a file or a pipe (shard.5)
 *
 * One reader for every format: native .tok (file or pipe, several
 * concatenated are one), llm.c .bin, nanoGPT u16, Megatron .bin/.idx,
 * datatrove .ds + .index, OLMo .npy + csv.  A struct shards is the token
 * stream of all its files: documents behind one another, each with its BOS
 * and EOS as stored.  Windows are defined on that stream.
 */
#ifndef ASSAY_SHARD_H
#define ASSAY_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/output.h"

enum shard_format {
	SHARD_AUTO, SHARD_ASSAY, SHARD_LLMC, SHARD_NANOGPT, SHARD_MEGATRON,
	SHARD_DATATROVE, SHARD_NPY, SHARD_JSONL	/* JSONL: written, not read */
};

enum shard_policy { POLICY_CONCAT, POLICY_BEST_FIT, POLICY_PAD };

/* What a native shard says of itself; elsewhere unknown parts are -1 or 0. */
struct shard_info {
	uint32_t vocab;		/* ids are below it; 0: unknown */
	uint32_t width;		/* 2 or 4 bytes an id */
	int64_t bos, eos;	/* id or -1 */
	int64_t pad;		/* id of padding or -1 */
	int has_bos, has_eos;	/* put around each document? */
	uint64_t fingerprint;	/* of the tokenizer; 0: unknown */
	uint32_t seq_len;	/* windows were cut for it; 0: none */
	int policy;		/* enum shard_policy */
	int windows;		/* 1: the stream is windows of seq_len + 1 tokens
				   (best-fit, pad, or pack --shuffle) */
	uint64_t tokens, docs;
	uint64_t hash;		/* of the content: identity in checkpoints */
};

/* ---- reading ---- */
struct shards;
/*
 * paths: files or folders (a folder: all its shards in name order).  n == 0:
 * stdin (spooled to memory or an unlinked file in $TMPDIR).  Headers, sizes,
 * index are checked here; token checksums on the way (shards_verify() at once).
 */
struct shards *shards_open(const char *const *paths, size_t n,
			   enum shard_format f, struct err *e);
void shards_close(struct shards *s);
const struct shard_info *shards_info(const struct shards *s);
int shards_verify(struct shards *s, struct err *e);	/* every checksum and id */

/* ids[0..n) of the stream from token `at`; -1: past the end or corrupt. */
int shards_read(const struct shards *s, uint64_t at, size_t n, uint32_t *ids,
		struct err *e);

/* Document d covers [start, end) of the stream; id valid until close. */
struct shard_doc {
	uint64_t start, end;
	struct span id;		/* "FILE:#N" where the format has none */
};
int shards_doc(const struct shards *s, uint64_t d, struct shard_doc *out,
	       struct err *e);
/* The document that holds token `at` (binary search). */
uint64_t shards_doc_at(const struct shards *s, uint64_t at);

/*
 * Windows of T tokens and their T targets.  With policy concat window k is
 * tokens [k*T, k*T+T] of the stream, floor((tokens-1)/T) in all.  Shards cut
 * with best-fit or pad have their own windows of exactly seq_len + 1 tokens.
 */
uint64_t shards_windows(const struct shards *s, uint32_t T);
/* First token of window k, and how many of its T+1 tokens are real (not padding). */
uint64_t shards_window_at(const struct shards *s, uint32_t T, uint64_t k,
			  uint32_t *real);

/*
 * ids[T], targets[T], mask[T] (1: the target counts), seg[T]: number of the
 * document each position is in, counted from 0 in the window.  The mask is 0
 * where the target is the first token of another document (boundary label)
 * when doc_mask is set, and where it is padding.
 */
int shards_window(const struct shards *s, uint32_t T, uint64_t k, int doc_mask,
		  uint32_t *ids, uint32_t *targets, uint8_t *mask,
		  uint32_t *seg, struct err *e);

/* ---- writing ---- */
struct shard_writer;
/*
 * dir: a folder (made when missing; the new set replaces the old one at
 * commit), or NULL: stdout, native or jsonl only.  shard_tokens 0: one file.
 */
struct shard_writer *shard_writer_open(const char *dir, enum shard_format f,
				       const struct shard_info *info,
				       uint64_t shard_tokens, struct err *e);
/* One document, with its BOS/EOS as they are to stand. */
int shard_write_doc(struct shard_writer *w, struct span id,
		    const uint32_t *ids, size_t n, struct err *e);

/*
 * One window of a shard with info->windows set (native only): ids[0..real),
 * real <= seq_len + 1, which the writer fills up with info->pad.  parts say
 * in order which run of tokens comes from which document; their n sum to
 * real.  A document longer than a window is in several, each part behind the
 * first repeating the last token of the one before, so that every token but
 * the document's first is a target once.
 */
struct shard_part {
	struct span id;
	uint64_t at;		/* its first token is this one of its document */
	uint32_t n;
	int last;		/* the document ends with this part */
};
int shard_write_window(struct shard_writer *w, const uint32_t *ids, size_t real,
		       const struct shard_part *parts, size_t nparts,
		       struct err *e);

int shard_writer_commit(struct shard_writer *w, struct err *e);
void shard_writer_abort(struct shard_writer *w);

#endif
