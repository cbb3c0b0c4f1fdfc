/*
 * shard_priv.h - what the files of the shard module share
 *
 *	shard.c			the stream: tokens, documents, windows
 *	shard_open.c		paths, folders, detection of formats
 *	shard_map.c		mapped files, spooled pipes
 *	shard_native.c		.tok, read and checked (layout below, shard.5)
 *	shard_foreign.c		other formats: boundaries without an index
 *	shard_raw.c		llm.c, nanoGPT, datatrove, npy
 *	shard_megatron.c	Megatron
 *	shard_write.c		a set of files, whole or not at all
 *	shard_native_write.c	writer of .tok
 *	shard_foreign_write.c	writer of the other formats
 *
 * A stream is a sequence of parts.  A part is one segment of a .tok file (the
 * output of one writer; a file may hold several) or one foreign file.
 */
#ifndef ASSAY_SHARD_PRIV_H
#define ASSAY_SHARD_PRIV_H

#include "record/shard.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "shards are mapped as they are: a little-endian machine is needed"
#endif

/* ---- layout of a segment: header, blocks, tail, index, foot ---- */
#define TOK_MAGIC	"assaytok"
#define TOK_END		"assayend"
enum {
	TOK_VERSION = 1,
	TOK_BLOCK = 0x4b4c4221,		/* "!BLK" */
	TOK_TAIL = 0x4c415421,		/* "!TAL" */
	TOK_HAS_BOS = 1, TOK_HAS_EOS = 2, TOK_WINDOWS = 4, TOK_SHUFFLED = 8,
	TOK_FLAGS = 15,
	TOK_LAST = 1,			/* tail: last file of its set */
	TOK_PAIR = 2,			/* the index is followed by the
					   identity of a pair of sets */
	TOK_TAIL_FLAGS = 3,
	TOK_BLOCK_TOKENS = 65536,
	TOK_BLOCK_MAX = 1 << 24,	/* what a reader accepts */
	TOK_BLOCK_RECORDS = 65536,	/* a writer closes a block with more */
	TOK_BLOCK_IDS = 1 << 22,	/* or with more bytes of ids */
	TOK_ID_MAX = 1 << 20
};
#define TOK_MORE	(1ULL << 63)	/* in from: the document continues */

struct tok_header {			/* 128 bytes */
	char magic[8];
	uint32_t version, bytes;
	uint32_t vocab, width;
	uint64_t fingerprint;
	int64_t bos, eos, pad;
	uint32_t flags, policy;
	uint32_t seq_len, block_tokens;
	uint64_t shuffle_seed;
	uint64_t number;		/* of this file in its set, from 0 */
	uint64_t prev;			/* check of the foot before; 0: first */
	uint64_t zero[3];
	uint64_t check;			/* XXH3-64 of all before */
};

struct tok_block {			/* 48 bytes, then the body */
	uint32_t magic, tokens, records, id_bytes;
	uint64_t first_token, first_record;
	uint64_t body;			/* XXH3-64 of the body */
	uint64_t check;			/* XXH3-64 of all before */
};

struct tok_record {			/* 24 bytes */
	uint32_t start;			/* in the block */
	uint32_t id_end;		/* in the ids of the block */
	uint64_t tokens;		/* may continue in later blocks */
	uint64_t from;			/* tokens before it; TOK_MORE */
};

struct tok_tail {			/* 64 bytes, then blocks x tok_index */
	uint32_t magic, flags;
	uint64_t blocks, tokens, records, docs, padding;
	uint64_t content;		/* XXH3-64 of the blocks' body checks */
	uint64_t header;		/* check of the header */
};

struct tok_index {			/* 24 bytes */
	uint64_t offset;		/* of the block in the segment */
	uint64_t first_token, first_record;
};

struct tok_foot {			/* 32 bytes, the last of the segment */
	uint64_t tail;			/* bytes from the tail to the end */
	uint64_t segment;		/* bytes from the header to the end */
	uint64_t check;			/* XXH3-64 from the tail to here */
	char magic[8];
};

static inline size_t
pad8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* ---- the reader ---- */
struct part {
	const char *name;
	enum shard_format format;
	uint32_t width;
	uint64_t first, tokens;		/* in the stream */
	uint64_t first_doc, docs;	/* records */
	uint64_t nth;			/* records before it in its file */
	/* native */
	const unsigned char *base;	/* the segment */
	uint64_t offset;		/* of it in its file */
	const struct tok_header *head;
	const struct tok_tail *tail;
	const struct tok_index *index;
	const struct tok_foot *foot;
	uint64_t blocks_n;
	uint64_t pair;			/* 0: none */
	unsigned char *checked;		/* [blocks_n] 1: verified */
	/* foreign */
	const unsigned char *tok;
	uint64_t tok_offset;		/* of tok in its file */
	const uint64_t *ends;		/* [docs] from the part's first token */
	uint64_t *own_ends;		/* ends, when allocated here */
	int bounds;			/* ends are known */
	uint64_t carry;			/* tokens of its first document in the
					   parts before */
	char *id_text;			/* csv: all document ids ... */
	uint64_t *id_end;		/* [docs] ... and their ends */
	uint64_t hash;
};

struct shard_map {
	char *name;
	void *p;
	size_t n;
	enum { MAP_BORROWED, MAP_MAPPED } how;
	struct spool *spool;		/* owns p of a pipe, else NULL */
	size_t folder;			/* 1 + number of the folder, 0: none */
};

struct shards {
	struct shard_info info;
	struct shard_hint hint;
	struct part *part;
	size_t nparts, cap;
	struct shard_map *map;
	size_t nmaps, map_cap;
};

/* ---- shard_map.c ---- */
struct part *shard_part_add(struct shards *s);		/* zeroed */
struct shard_map *shard_map_add(struct shards *s, const char *name);
/*
 * Map or read a file; NULL: stdin.  Returns its number in map or -1.  Like
 * shard_map_add() it may move the array.
 */
ptrdiff_t shard_map_file(struct shards *s, const char *path, struct err *e);
void shard_map_clear(struct shard_map *m);

/* ---- shard_native.c ---- */
int shard_native_open(struct shards *s, const struct shard_map *m,
		      struct err *e);
int shard_native_join(struct shards *s, struct err *e);	/* parts must agree */
int shard_native_chain(const struct shards *s, size_t from, size_t to,
		       const char *folder, struct err *e);
int shard_native_read(const struct part *p, uint64_t at, size_t n,
		      uint32_t *ids, struct err *e);
int shard_native_doc(const struct part *p, uint64_t d, struct shard_doc *out,
		     struct err *e);
/* Last record starting at or before `at`, from 0; UINT64_MAX: none. */
uint64_t shard_native_doc_at(const struct part *p, uint64_t at,
			     struct err *e);
int shard_native_verify(const struct part *p, struct err *e);

/* ---- shard_foreign.c ---- */
int shard_foreign_open(struct shards *s, size_t map, struct err *e);
int shard_foreign_join(struct shards *s, struct err *e);

/* ---- shard_raw.c, shard_megatron.c: m must not be in s->map ---- */
int shard_raw_open(struct shards *s, struct part *p,
		   const struct shard_map *m, struct err *e);
int shard_megatron_open(struct shards *s, struct part *p,
			const struct shard_map *m, struct err *e);
int shard_ends_with(const char *path, const char *end);
/* path with its ending `end`, if it has that, replaced by `other`; free(). */
char *shard_beside(const char *path, const char *end, const char *other);

static inline uint64_t
shard_get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static inline uint32_t
shard_get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

/* n ids of `width` bytes to 4 bytes; from need not be aligned. */
static inline void
shard_widen(uint32_t *to, const void *from, uint32_t width, size_t n)
{
	uint16_t v;
	size_t i;

	if (width == 4) {
		memcpy(to, from, n * 4);
		return;
	}
	for (i = 0; i < n; i++) {
		memcpy(&v, (const char *)from + 2 * i, 2);
		to[i] = v;
	}
}

/* The first of n ids that is outside the vocabulary; n: none. */
static inline size_t
shard_beyond(const uint32_t *ids, size_t n, uint32_t vocab)
{
	uint32_t most = 0;
	size_t i;

	for (i = 0; i < n; i++)
		most = ids[i] > most ? ids[i] : most;
	if (n == 0 || most < vocab)
		return n;
	for (i = 0; ids[i] < vocab; i++)
		;
	return i;
}

enum { LLMC_MAGIC16 = 20240520, LLMC_MAGIC32 = 20240801 };

/* The format that the first bytes of a file name; SHARD_AUTO: none. */
static inline enum shard_format
shard_sniff(const void *p, size_t n)
{
	const unsigned char *b = (const unsigned char *)p;

	if (n >= 8 && memcmp(b, TOK_MAGIC, 8) == 0)
		return SHARD_ASSAY;
	if (n >= 8 && ((shard_get32(b) == LLMC_MAGIC16 &&
			shard_get32(b + 4) == 1) ||
		       (shard_get32(b) == LLMC_MAGIC32 &&
			shard_get32(b + 4) == 7)))
		return SHARD_LLMC;
	if (n >= 9 && memcmp(b, "MMIDIDX\0\0", 9) == 0)
		return SHARD_MEGATRON;
	return SHARD_AUTO;
}

/* ---- shard_native_write.c: segments of .tok ---- */
struct shard_native_writer;
struct shard_native_writer *
shard_native_writer_new(const struct shard_info *info);
void shard_native_writer_free(struct shard_native_writer *w);
int shard_native_begin(struct shard_native_writer *w, struct output *o,
		       struct err *e);
int shard_native_doc_put(struct shard_native_writer *w, struct span id,
			 const uint32_t *ids, size_t n, struct err *e);
int shard_native_window(struct shard_native_writer *w, const uint32_t *ids,
			size_t real, const struct shard_part *parts,
			size_t nparts, struct err *e);
/*
 * pair: identity of a training and a validation set written together; 0: none.
 * It is stored in the last file.
 */
int shard_native_end(struct shard_native_writer *w, int last, uint64_t pair,
		     struct err *e);
/* A hash of all that was written. */
int shard_native_digest(struct shard_native_writer *w, uint64_t *out,
			struct err *e);

/* ---- shard_foreign_write.c ---- */
struct shard_foreign_writer;
struct shard_foreign_writer *
shard_foreign_writer_new(enum shard_format format,
			 const struct shard_info *info);
void shard_foreign_writer_free(struct shard_foreign_writer *w);
/* out: the ids and the files beside them, which stay the caller's. */
int shard_foreign_begin(struct shard_foreign_writer *w,
			struct output *const out[3], struct err *e);
int shard_foreign_doc(struct shard_foreign_writer *w, struct span id,
		      const uint32_t *ids, size_t n, struct err *e);
int shard_foreign_end(struct shard_foreign_writer *w, struct err *e);
/* llm.c and nanoGPT: ids, and where a document ends. */
int shard_foreign_ids(struct shard_foreign_writer *w, const uint32_t *ids,
		      size_t n, struct err *e);
int shard_foreign_bound(struct shard_foreign_writer *w, struct err *e);

#endif
