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
	uint32_t seq_len;	/* pack's --seq-len: the window length to take
				   where nothing else is said; 0: none */
	int policy;		/* enum shard_policy */
	int windows;		/* 1: the stream is windows of seq_len + 1 tokens
				   (best-fit, pad, or pack --shuffle) */
	int shuffled;		/* windows are in the order of --shuffle ... */
	uint64_t shuffle_seed;	/* ... with this seed */
	/* The rest is filled by the reader; a writer ignores it. */
	enum shard_format format;
	uint64_t tokens;	/* of the stream, padding included */
	uint64_t padding;	/* of them */
	uint64_t docs;		/* documents; 0: no bounds known */
	uint64_t pieces;	/* records of shards_doc(): docs, unless windows
				   hold documents in several pieces */
	uint64_t hash;		/* of the content: identity in checkpoints.
				   Foreign files above 64 MiB: of samples */
};

/* What a caller knows of shards that do not say it themselves. */
struct shard_hint {
	enum shard_format format;	/* SHARD_AUTO: by magic, else refused */
	uint32_t width;		/* 2 or 4: bytes an id in raw files; 0: by
				   index, else 2, or 4 where vocab > 65536 */
	uint32_t vocab;		/* ids are below it; 0: unknown */
	int64_t bos, eos;	/* for bounds in files without an index: llm.c
				   puts bos (or else eos) in front of a document,
				   nanoGPT and OLMo eos behind; -1: unknown */
	int limit;		/* 1: an id >= vocab is an error where it is read */
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
/* The same with all that is known; shards_open() knows nothing else. */
struct shards *shards_open_hint(const char *const *paths, size_t n,
				const struct shard_hint *h, struct err *e);
/* One file in memory (8-byte aligned, kept until close), called name. */
struct shards *shards_open_mem(const void *p, size_t n, const char *name,
			       const struct shard_hint *h, struct err *e);
void shard_hint_init(struct shard_hint *h);
/* "auto", "assay", "llmc", ... in the order of the enum; NULL ends it. */
extern const char *const shard_format_names[];
/* Those of them that can be read. */
extern const char *const shard_read_names[];
void shards_close(struct shards *s);
const struct shard_info *shards_info(const struct shards *s);
/* Check every checksum, record and count, and ids if hint->limit is set. */
int shards_verify(const struct shards *s, struct err *e);

/*
 * ids[0..n) of the stream from token `at`; -1: past the end or corrupt.  The
 * first touch of a block checks its checksum.  Any thread may call it, and
 * all below, at the same time.
 */
int shards_read(const struct shards *s, uint64_t at, size_t n, uint32_t *ids,
		struct err *e);

/*
 * Record d of info->pieces covers [start, end) of the stream: a document, or
 * in stored windows a piece of one.  Empty documents have start == end.
 */
struct shard_doc {
	uint64_t start, end;
	uint64_t from;		/* its first token is this one of the document */
	int first, last;	/* the document begins, ends here */
	struct span id;		/* p NULL: the format has none; valid until close */
	const char *file;	/* and which document of that file, from 0 */
	uint64_t nth;
};
int shards_doc(const struct shards *s, uint64_t d, struct shard_doc *out,
	       struct err *e);
/* Its id, or "FILE:#N" built in tmp. */
struct span shards_doc_id(const struct shard_doc *d, struct buf *tmp);
/*
 * The last record that starts at or before token `at` (binary search).  It
 * holds `at` unless that is padding: then its end is at or before it.
 * UINT64_MAX: no bounds known, or an error in e.
 */
uint64_t shards_doc_at(const struct shards *s, uint64_t at, struct err *e);

/*
 * Windows of T tokens and their T targets.  With policy concat window k is
 * tokens [k*T, k*T+T] of the stream, floor((tokens-1)/T) in all.  Shards with
 * info->windows have their own of exactly seq_len + 1 tokens; then T must be
 * seq_len (shards_windows() is 0 otherwise, shards_window() says why).
 */
uint64_t shards_windows(const struct shards *s, uint32_t T);
/* First token of window k. */
uint64_t shards_window_at(const struct shards *s, uint32_t T, uint64_t k);

/*
 * ids[T], targets[T], mask[T] (1: the target counts), seg[T]: number of the
 * document each position is in, counted from 0 in the window.  The mask is 0
 * where the target is the first token of another document (boundary label)
 * when doc_mask is set, and where it is padding.  Padding has a segment number
 * of its own.  Without known bounds all is segment 0.  mask, seg may be NULL.
 */
int shards_window(const struct shards *s, uint32_t T, uint64_t k, int doc_mask,
		  uint32_t *ids, uint32_t *targets, uint8_t *mask,
		  uint32_t *seg, struct err *e);

/* ---- writing ---- */
struct shard_writer;
/*
 * dir: a folder (made when missing; the new set replaces the old one of that
 * format at commit, files of higher numbers included; until then the old one
 * is untouched), or NULL: stdout, native or jsonl only.  shard_tokens 0: one
 * file (llmc: 1e9, as its readers want less than 2^31).  A document never
 * straddles two files, except with llmc and nanogpt, whose files but the last
 * have exactly shard_tokens tokens.  info: vocab, bos, eos, pad, has_bos,
 * has_eos, fingerprint, seq_len, policy, windows, shuffled, shuffle_seed are
 * read; vocab must be known; width follows from it.  An id >= vocab is refused.
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

/* Frees w in any case, as abort does. */
int shard_writer_commit(struct shard_writer *w, struct err *e);
/*
 * Several sets, NULL ones left out: all bytes are on the device before the
 * first file appears, and no signal comes in between.
 */
int shard_writer_commit_all(struct shard_writer **w, size_t n, struct err *e);
void shard_writer_abort(struct shard_writer *w);

#endif
