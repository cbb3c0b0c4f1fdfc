/*
 * shard.h - token ids with document boundaries, in a file or pipe (shard.5)
 *
 * One reader for every format: native .tok (file or pipe, also several
 * concatenated), llm.c .bin, nanoGPT u16, Megatron .bin/.idx, datatrove .ds +
 * .index, OLMo .npy + csv.  A struct shards is the token stream of all its
 * files: document after document, each with its BOS and EOS as stored.
 * Windows are defined on that stream.
 */
#ifndef ASSAY_SHARD_H
#define ASSAY_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "stream/output.h"

enum shard_format {
	SHARD_AUTO, SHARD_ASSAY, SHARD_LLMC, SHARD_NANOGPT, SHARD_MEGATRON,
	SHARD_DATATROVE, SHARD_NPY, SHARD_JSONL	/* JSONL: written, not read */
};

enum shard_policy { POLICY_CONCAT, POLICY_BEST_FIT, POLICY_PAD };

/* Properties of a native shard; in other formats unknown ones are -1 or 0. */
struct shard_info {
	uint32_t vocab;		/* ids are below it; 0: unknown */
	uint32_t width;		/* 2 or 4 bytes per id */
	int64_t bos, eos;	/* id or -1 */
	int64_t pad;		/* id of padding or -1 */
	int has_bos, has_eos;	/* does each document have them? */
	uint64_t fingerprint;	/* of the tokenizer; 0: unknown */
	uint32_t seq_len;	/* pack's --seq-len, the default window length;
				   0: none */
	int policy;		/* enum shard_policy */
	int windows;		/* the stream is windows of seq_len + 1 tokens
				   (best-fit, pad, or pack --shuffle) */
	int shuffled;		/* windows are in the order of --shuffle ... */
	uint64_t shuffle_seed;	/* ... with this seed */
	/* Set by the reader; a writer ignores them. */
	enum shard_format format;
	uint64_t tokens;	/* of the stream, with padding */
	uint64_t padding;	/* of them */
	uint64_t docs;		/* documents; 0: boundaries unknown */
	uint64_t pieces;	/* records of shards_doc(): docs, unless windows
				   hold parts of documents */
	uint64_t hash;		/* of the content: identity in checkpoints.
				   Foreign files above 64 MiB: of samples */
};

/* What the caller knows about shards that lack it. */
struct shard_hint {
	enum shard_format format;	/* SHARD_AUTO: by magic, else refused */
	int id_bytes;		/* in raw files: 0: by index, else 2, or 4 if
				   vocab > 65536; 1: 2 bytes; 2: 4 bytes */
	uint32_t vocab;		/* ids are below it; 0: unknown */
	int64_t bos, eos;	/* for boundaries without an index: llm.c puts
				   bos (or else eos) before a document, nanoGPT
				   and OLMo eos after it; -1: unknown */
	int limit;		/* 1: an id >= vocab is an error when read */
};

/* ---- reading ---- */
struct shards;
/*
 * paths: files or folders (all shards of a folder in name order).  n == 0:
 * stdin (spooled to memory or an unlinked file in $TMPDIR).  Verifies headers,
 * sizes and index; token checksums are verified when a block is first read,
 * or all at once by shards_verify().
 */
struct shards *shards_open(const char *const *paths, size_t n,
			   enum shard_format f, struct err *e);
/* The same with everything that the caller knows. */
struct shards *shards_open_hint(const char *const *paths, size_t n,
				const struct shard_hint *h, struct err *e);
/* One file in memory (8-byte aligned, unchanged until close). */
struct shards *shards_open_mem(const void *p, size_t n, const char *name,
			       const struct shard_hint *h, struct err *e);
void shard_hint_init(struct shard_hint *h);
/* "auto", "assay", "llmc", ... in the order of the enum; NULL ends it. */
extern const char *const shard_format_names[];
/* Those that can be read. */
extern const char *const shard_read_names[];
/* Those that can be written, and which they are. */
extern const char *const shard_write_names[];
extern const enum shard_format shard_write_formats[];
/*
 * Options of programs that read shards, and attributes of both; format and
 * id_bytes are int.
 */
#define SHARD_ARGS(format, id_bytes, ...) \
	OPT_ENUM("shard-format", format, "NAME", shard_read_names, \
		 "Format of the shards; auto: by magic number", __VA_ARGS__), \
	OPT_ENUM("id-bytes", id_bytes, "N", shard_id_bytes_names, \
		 "Bytes per id in files that do not state it", __VA_ARGS__)
extern const char *const shard_id_bytes_names[];
void shards_close(struct shards *s);
const struct shard_info *shards_info(const struct shards *s);
/*
 * The number of files of a whose contents b has too, under any name; *first
 * gets the name of the first one.
 */
size_t shards_common(const struct shards *a, const struct shards *b,
		     const char **first);
/* Check every checksum, record and count, and ids if hint->limit is set. */
int shards_verify(const struct shards *s, struct err *e);
/*
 * Were training and validation shards written in one run of pack?  1: yes, or
 * one of the two does not say; 0: they were not.
 */
int shards_go_together(const struct shards *train, const struct shards *val);

/*
 * ids[0..n) of the stream from token `at`; -1: past the end or damaged.
 * Several threads may call it, and everything below, at the same time.
 */
int shards_read(const struct shards *s, uint64_t at, size_t n, uint32_t *ids,
		struct err *e);

/*
 * Record d of info->pieces is tokens [start, end) of the stream: a document,
 * or in stored windows a part of one.  Empty documents have start == end.
 */
struct shard_doc {
	uint64_t start, end;
	uint64_t from;		/* tokens of the document before it */
	int first, last;	/* the document begins, ends here */
	struct span id;		/* valid until close; p NULL: none */
	const char *file;	/* document number nth of this file */
	uint64_t nth;
};
int shards_doc(const struct shards *s, uint64_t d, struct shard_doc *out,
	       struct err *e);
/* Its id, or "FILE:#N" built in tmp. */
struct span shards_doc_id(const struct shard_doc *d, struct buf *tmp);
/*
 * The last record that starts at or before token `at` (binary search).  It
 * contains `at` unless that is padding.  UINT64_MAX: boundaries are unknown,
 * or an error in e.
 */
uint64_t shards_doc_at(const struct shards *s, uint64_t at, struct err *e);

/*
 * Windows of T tokens and their T targets.  With policy concat window k is
 * tokens [k*T, k*T+T] of the stream, floor((tokens-1)/T) in all.  Shards with
 * info->windows have stored ones of seq_len + 1 tokens; then T must be seq_len
 * (otherwise shards_windows() is 0 and shards_window() fails).
 */
uint64_t shards_windows(const struct shards *s, uint32_t T);
/* First token of window k. */
uint64_t shards_window_at(const struct shards *s, uint32_t T, uint64_t k);

/*
 * ids[T], targets[T], mask[T] (1: the target counts), seg[T]: the document of
 * each position, counted from 0 in the window.  The mask is 0 if the target is
 * padding, or, with doc_mask, the first token of another document.  Padding
 * has a segment number of its own.  If boundaries are unknown, all is segment
 * 0.  mask, seg may be NULL.
 */
int shards_window(const struct shards *s, uint32_t T, uint64_t k, int doc_mask,
		  uint32_t *ids, uint32_t *targets, uint8_t *mask,
		  uint32_t *seg, struct err *e);

/* ---- writing ---- */
struct shard_writer;
/*
 * dir: a folder, made if missing, or NULL: stdout, native or jsonl only.  At
 * commit the new set replaces an older one of that format (stream/outdir.h).
 * shard_tokens 0: one file (llmc: 1e9,
 * as its readers need less than 2^31).  A document never spans two files,
 * except with llmc and nanogpt, whose files except the last have exactly
 * shard_tokens tokens.  info: the members before `format`; vocab must be
 * known, width follows from it.  An id >= vocab is refused.
 */
struct shard_writer *shard_writer_open(const char *dir, enum shard_format f,
				       const struct shard_info *info,
				       uint64_t shard_tokens, struct err *e);
/* One document with its BOS and EOS. */
int shard_write_doc(struct shard_writer *w, struct span id,
		    const uint32_t *ids, size_t n, struct err *e);

/*
 * One window of a shard with info->windows set (native only): ids[0..real),
 * real <= seq_len + 1; the writer pads it with info->pad.  parts list in order
 * the documents of its tokens; their n sum to real.  A document longer than a
 * window is in several; each part but the first repeats the last token of the
 * one before, so that every token but the document's first is a target once.
 */
struct shard_part {
	struct span id;
	uint64_t at;		/* tokens of its document before it */
	uint32_t n;
	int last;		/* the document ends with this part */
};
int shard_write_window(struct shard_writer *w, const uint32_t *ids, size_t real,
		       const struct shard_part *parts, size_t nparts,
		       struct err *e);

/* Frees w in any case. */
int shard_writer_commit(struct shard_writer *w, struct err *e);
/*
 * All documents of two sets are written: give them a common identity, made
 * from the contents of both.  It is stored in the last file of a native set.
 */
int shard_writer_pair(struct shard_writer *a, struct shard_writer *b,
		      struct err *e);
/* 0: none */
uint64_t shard_writer_identity(const struct shard_writer *w);
/*
 * One or two sets: all bytes are on the device before the first set appears,
 * and signals are blocked in between.
 */
int shard_writer_commit_all(struct shard_writer **w, size_t n, struct err *e);
void shard_writer_abort(struct shard_writer *w);

#endif
