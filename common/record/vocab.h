/*
 * vocab.h - a tokenizer as a file: tokenizer.json, .tiktoken
 *
 * The vocabulary, the merges, the special tokens, and what the file asks to
 * do with a text before the merges.  Encoding is corpus/bpe.h.
 * What a file asks for and we do not do is refused by name at load time.
 */
#ifndef ASSAY_VOCAB_H
#define ASSAY_VOCAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum vocab_kind {
	VOCAB_BYTE_LEVEL,	/* GPT-2 family: tokens are byte strings */
	VOCAB_SENTENCEPIECE	/* byte_fallback BPE over characters (Llama-2, Mistral) */
};

struct vocab_special {
	struct span text;
	uint32_t id;
	int special;		/* "special": true in added_tokens */
};

struct vocab {
	enum vocab_kind kind;
	uint32_t n;		/* ids 0..n-1, specials included */
	struct span *token;	/* [n] bytes (byte level: decoded; SP: UTF-8 with
				   U+2581, byte tokens <0xHH> as their one byte) */
	uint8_t *flags;		/* [n] VOCAB_* below */
	size_t nmerges;
	uint32_t (*merge)[3];	/* left, right, result, in rank order */
	struct vocab_special *special;	/* added tokens, by id */
	size_t nspecial;
	/* Splitting of the text into pieces, in order; patterns as in the file. */
	struct span *split;	/* [nsplit]; byte level with use_regex: gpt2's */
	int *split_behavior;	/* [nsplit] enum split_behavior of corpus/split.h */
	size_t nsplit;
	int nfc;		/* normalizer NFC */
	int add_prefix_space;	/* ByteLevel add_prefix_space */
	int sp_prepend;		/* SentencePiece: U+2581 put before the text */
	int ignore_merges;	/* whole-piece lookup first */
	int64_t bos, eos, unk, pad;	/* id or -1 */
	int ours;		/* written by tok-train */
	uint64_t fingerprint;	/* XXH3 of (kind, tokens by id, merges, splits,
				   normalizer): what decides the ids */
	void *priv;
};

enum { VOCAB_SPECIAL = 1, VOCAB_BYTE = 2 };

/*
 * Load tokenizer.json (tokenizer_config.json beside it names BOS/EOS), or a
 * .tiktoken file, told apart by content; zstd or gzip is fine.  split names
 * the split of a .tiktoken file (NULL: known by the hash of the published
 * r50k, p50k, cl100k, o200k files).  NULL: error.
 */
struct vocab *vocab_load(const char *path, const char *split, struct err *e);
void vocab_free(struct vocab *v);

/*
 * For tok-train: a byte-level vocabulary from merges (left, right ids with
 * bytes in GPT-2 order at 0..255) and special tokens, which come last.
 */
struct vocab *vocab_build(const uint32_t (*pairs)[2], size_t nmerges,
			  const char *const *special, size_t nspecial,
			  const char *split_pattern, struct err *e);

/* Write into b the bytes of tokenizer.json / .tiktoken / tokenizer_config.json. */
void vocab_json(const struct vocab *v, struct buf *b);
void vocab_tiktoken(const struct vocab *v, struct buf *b);
void vocab_config_json(const struct vocab *v, int64_t max_len, struct buf *b);

/* Byte 0..255 to its GPT-2 id and back. */
extern const uint8_t vocab_byte_id[256], vocab_id_byte[256];

/* Append the bytes of ids; decoding of SentencePiece takes the leading
 * space off.  -1: an id >= n (message names position and id). */
int vocab_decode(const struct vocab *v, const uint32_t *ids, size_t n,
		 int skip_special, struct buf *out, struct err *e);

#endif
