/*
 * vocab.h - a tokenizer as a file: tokenizer.json, .tiktoken
 *
 * The vocabulary, the merges, the special tokens, and what the file asks to
 * do with a text before the merges.  Encoding is tokenizer/bpe.h.
 * What a file asks for and we do not do is refused by name at load time.
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
 * An added token.  One that is special is text where it stands in a
 * document; one that is not is cut out of the text before all else, as
 * tokenizers does (runs of spaces of GPT-NeoX): before normalization, or
 * after it where `normalized` is set.
 */
struct vocab_special {
	struct span text;
	uint32_t id;
	int special;		/* "special": true in added_tokens */
	int normalized;
};

/* Where SentencePiece's U+2581 is put before a text; a text that added
 * tokens cut apart has several sections. */
enum vocab_prepend {
	VOCAB_PREPEND_NEVER,
	VOCAB_PREPEND_EACH,	/* normalizer Prepend: each section */
	VOCAB_PREPEND_ALWAYS,	/* Metaspace: each that has none yet */
	VOCAB_PREPEND_FIRST	/* Metaspace: the first, if it has none yet */
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
	/* Splitting of the text into pieces, in order: names of pattern.h or
	 * patterns as in the file, NUL behind each; gpt2's for use_regex. */
	struct span *split;	/* [nsplit] */
	int *split_behavior;	/* [nsplit] enum split_behavior */
	size_t nsplit;
	int nfc;		/* normalizer NFC */
	int add_prefix_space;	/* ByteLevel add_prefix_space */
	enum vocab_prepend sp_prepend;
	int sp_split;		/* Metaspace split: a cut before each U+2581 */
	int byte_fallback, fuse_unk;
	int ignore_merges;	/* whole-piece lookup first */
	int64_t bos, eos, unk, pad;	/* id or -1 */
	int ours;		/* laid out as tok-train does: bytes in GPT-2
				   order, merge k is id 256+k, specials last */
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

/* The two rows of an option table (base/args.h) for what vocab_load() takes:
 * const char ** for the file and for the split; help is the file's. */
#define VOCAB_ARGS(file, split, help) \
	OPT_STR("tokenizer", file, "FILE", help), \
	OPT_STR("split", split, "NAME", \
		"Split of a .tiktoken file", .brief = 1)

/*
 * The id of the token that is to stand at one side of each document: the one
 * called name, of special ones first, or where name is NULL `own`, which is
 * v->bos or v->eos.  -1: there is none, the message tells of --WHAT-token.
 */
int64_t vocab_bound(const struct vocab *v, const char *name, int64_t own,
		    const char *what, struct err *e);

/* The same from memory, unpacked; `where` stands in messages.  Nothing beside
 * it is read. */
struct vocab *vocab_parse(const char *p, size_t n, const char *where,
			  const char *split, struct err *e);

/*
 * For tok-train: a byte-level vocabulary from merges (left, right ids with
 * bytes in GPT-2 order at 0..255) and special tokens, which come last.
 * split_pattern: a regular expression or a name of pattern.h.  BOS and EOS are
 * the special tokens named <|bos|> and <|eos|> (or <|endoftext|>).  Error: a
 * special token that is empty, given twice or equal to an ordinary token, a
 * merge of ids not there yet, one that gives the bytes of another token.
 */
struct vocab *vocab_build(const uint32_t (*pairs)[2], size_t nmerges,
			  const char *const *special, size_t nspecial,
			  const char *split_pattern, struct err *e);

/*
 * Append to b the bytes of tokenizer.json (of one that was loaded: as it was),
 * .tiktoken (byte level only; without the special tokens), and
 * tokenizer_config.json.
 */
void vocab_json(const struct vocab *v, struct buf *b);
void vocab_tiktoken(const struct vocab *v, struct buf *b);
void vocab_config_json(const struct vocab *v, int64_t max_len, struct buf *b);

/* Byte 0..255 to its GPT-2 id and back. */
extern const uint8_t vocab_byte_id[256], vocab_id_byte[256];

/* The byte that a character is in byte-level token names; -1: none. */
int vocab_char_byte(uint32_t c);

/*
 * Append the bytes of ids; decoding of SentencePiece turns U+2581 into a
 * space and takes the leading one off.  skip_special leaves added tokens with
 * special set out.  -1: an id without a token (message: position and id).
 */
int vocab_decode(const struct vocab *v, const uint32_t *ids, size_t n,
		 int skip_special, struct buf *out, struct err *e);

#endif
