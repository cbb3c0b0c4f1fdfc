/*
 * vocab.h - a tokenizer as a file: tokenizer.json, .tiktoken
 *
 * The vocabulary, the merges, the special tokens, and what to do with a text
 * before the merges.  Encoding is in tokenizer/bpe.h.  A file that asks for
 * something unsupported is refused when it is loaded, by name.
 */
#ifndef ASSAY_VOCAB_H
#define ASSAY_VOCAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/pattern.h"

/* U+2581, which SentencePiece tokens hold in place of a space. */
#define VOCAB_SPACE "\xe2\x96\x81"

enum vocab_kind {
	VOCAB_BYTE_LEVEL,	/* GPT-2 family: tokens are byte strings */
	VOCAB_SENTENCEPIECE	/* over characters: Llama-2, Mistral */
};

/*
 * An added token.  The text of a special one is ordinary text when it occurs
 * in a document.  Others are cut out of the text first, as tokenizers does
 * (GPT-NeoX's runs of spaces): before normalization, or after it if
 * `normalized` is set; with the white space before or after it (lstrip,
 * rstrip); only where no letter is next to it (single_word).
 */
struct vocab_special {
	struct span text;
	uint32_t id;
	int special;		/* "special": true in added_tokens */
	int normalized, lstrip, rstrip, single_word;
};

/* Where SentencePiece puts a U+2581 in front.  Added tokens cut a text into
 * sections. */
enum vocab_prepend {
	VOCAB_PREPEND_NEVER,
	VOCAB_PREPEND_EACH,	/* normalizer Prepend: each section */
	VOCAB_PREPEND_ALWAYS,	/* Metaspace: each that lacks one */
	VOCAB_PREPEND_FIRST	/* Metaspace: the first, if it lacks one */
};

/* Tokens that the tokenizer puts on one side of a text, in order. */
enum { VOCAB_AROUND = 8 };
struct vocab_around {
	uint32_t id[VOCAB_AROUND];
	size_t n;
};

struct vocab {
	enum vocab_kind kind;
	uint32_t n;		/* ids 0..n-1, specials included */
	struct span *token;	/* [n] bytes (byte level: decoded; SP: UTF-8
				   with U+2581, byte tokens <0xHH> as their one
				   byte); p NULL: no token has this id */
	uint8_t *flags;		/* [n] VOCAB_* below */
	size_t nmerges;
	uint32_t (*merge)[3];	/* left, right, result, in rank order */
	int rank_by_id;		/* .tiktoken: a merge's rank is its result's id;
				   several merges may have one result */
	struct vocab_special *special;	/* added tokens, by id */
	size_t nspecial;
	const struct vocab_special **by_text;	/* the special ones, sorted */
	size_t nby_text;
	/* Splits of the text into pre-tokens, in order: names of pattern.h or
	 * patterns as in the file, NUL-terminated; gpt2 for use_regex. */
	struct span *split;	/* [nsplit] */
	int *split_behavior;	/* [nsplit] enum split_behavior */
	size_t nsplit;
	int nfc;		/* normalizer NFC */
	int add_prefix_space;	/* ByteLevel add_prefix_space */
	enum vocab_prepend sp_prepend;
	int metaspace;		/* U+2581 comes with splitting, so after added
				   tokens, not with normalization */
	int sp_split;		/* Metaspace split: a cut before each U+2581 */
	int byte_fallback, fuse_unk;
	int ignore_merges;	/* look up whole pre-tokens first */
	int64_t bos, eos, unk, pad;	/* id or -1 */
	struct vocab_around front, back;	/* mostly BOS, and nothing */
	int ours;		/* layout of tok-train: bytes in GPT-2 order,
				   merge k is id 256+k, specials last */
	uint64_t fingerprint;	/* XXH3 of all that decides the ids: kind,
				   tokens by id, merges, splits, normalizer */
	void *priv;
};

/* VOCAB_ADDED: an added token that the model's vocabulary does not have. */
enum { VOCAB_SPECIAL = 1, VOCAB_BYTE = 2, VOCAB_ADDED = 4 };

/*
 * Load tokenizer.json (tokenizer_config.json beside it names BOS/EOS), or a
 * .tiktoken file, told apart by content; zstd or gzip is fine.  split names
 * the split of a .tiktoken file (NULL: known by the hash of the published
 * r50k, p50k, cl100k, o200k files).  NULL: error.
 */
struct vocab *vocab_load(const char *path, const char *split, struct err *e);
void vocab_free(struct vocab *v);

/* The two rows of an option table (base/args.h) for what vocab_load() takes:
 * const char ** for the file and for the split; help is the file's. */
#define VOCAB_ARGS(file, split, help) \
	OPT_STR("tokenizer", file, "FILE", help), \
	OPT_STR("split", split, "NAME", \
		"Split of a .tiktoken file", .brief = 1)

/* The id of the token with this text, special tokens first; -1: none. */
int64_t vocab_named(const struct vocab *v, const char *name);

/* Append the special tokens, at most max of them, as a list for a message. */
void vocab_list_special(const struct vocab *v, size_t max, struct buf *b);

/*
 * Does the tokenizer itself put BOS (v->front) before a text?  What
 * `add_bos_token` of tokenizer_config.json says or, if it is not there, the
 * post_processor of tokenizer.json; a .tiktoken file never.  To have a BOS
 * (v->bos) is not to add it: Qwen's does not.
 */
int vocab_adds_bos(const struct vocab *v);

/* vocab_load() from decompressed memory; `where` is its name in messages.  No
 * tokenizer_config.json is read. */
struct vocab *vocab_parse(const char *p, size_t n, const char *where,
			  const char *split, struct err *e);

/*
 * For tok-train: a byte-level vocabulary from merges (left, right ids with
 * bytes in GPT-2 order at 0..255) and special tokens, which come last.
 * split_pattern: a regular expression or a name of pattern.h.  BOS and EOS are
 * the special tokens named <|bos|> and <|eos|> (or <|endoftext|>).  Error: a
 * special token that is empty, given twice or equal to an ordinary token, a
 * merge of ids that do not exist yet or that gives the bytes of another token.
 */
struct vocab *vocab_build(const uint32_t (*pairs)[2], size_t nmerges,
			  const char *const *special, size_t nspecial,
			  const char *split_pattern, struct err *e);

/*
 * Append to b a tokenizer.json (byte for byte as it was loaded), a .tiktoken
 * (byte level only; without special tokens), a tokenizer_config.json.
 */
void vocab_json(const struct vocab *v, struct buf *b);
/* A tokenizer.json that puts these tokens around a text: as it was loaded if it
 * does, else with another post_processor. */
void vocab_json_around(const struct vocab *v, const struct vocab_around *front,
		       const struct vocab_around *back, struct buf *b);
void vocab_tiktoken(const struct vocab *v, struct buf *b);
void vocab_config_json(const struct vocab *v, int64_t max_len, struct buf *b);

/* A special token with whose text p[0..n) begins, or NULL. */
const struct vocab_special *vocab_special_at(const struct vocab *v,
					     const char *p, size_t n);

/* The added token with this id, or NULL. */
const struct vocab_special *vocab_added(const struct vocab *v, uint32_t id);

/* Byte 0..255 to its GPT-2 id and back. */
extern const uint8_t vocab_byte_id[256], vocab_id_byte[256];

/* The character of a byte in byte-level token names, and its byte; -1: none. */
uint32_t vocab_byte_char(unsigned byte);
int vocab_char_byte(uint32_t c);

/* Append the text of a token, with a space for SentencePiece's U+2581. */
void vocab_put_token(const struct vocab *v, uint32_t id, struct buf *out);

/*
 * Does the tokenizer put a space in front of a text that follows token
 * `after`?  -1: at the start of a document or after a special token.  A
 * document's own leading space looks the same, and is taken for it.
 */
int vocab_puts_space(const struct vocab *v, int64_t after);

/*
 * Bytes that a document has for t, the bytes of a token or the first of them:
 * SentencePiece's U+2581 is a space, and a space that was put is none.
 */
uint64_t vocab_text_bytes(const struct vocab *v, struct span t, int space_put);

/*
 * Append the text of ids; for SentencePiece U+2581 becomes a space and the
 * leading one is removed.  skip_special omits special tokens.  -1: an id
 * without a token (the message has position and id).
 */
int vocab_decode(const struct vocab *v, const uint32_t *ids, size_t n,
		 int skip_special, struct buf *out, struct err *e);

#endif
