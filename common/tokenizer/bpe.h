/*
 * bpe.h - text to token ids
 *
 * The ids are those of Hugging Face tokenizers for the same tokenizer.json,
 * with special-token strings in the text taken as text.  All threads share
 * one struct bpe, which remembers pre-tokens that any of them has encoded, in
 * BPE_SHARED or shared_bytes bytes.  Each thread has a struct bpe_enc with a
 * bounded cache for those that the shared table has no room for.
 */
#ifndef ASSAY_BPE_H
#define ASSAY_BPE_H

#include "record/vocab.h"
#include "tokenizer/ids.h"

struct bpe;
struct bpe *bpe_new(const struct vocab *v, struct err *e);	/* keeps v */
struct bpe *bpe_new_sized(const struct vocab *v, size_t shared_bytes,
			  struct err *e);
void bpe_free(struct bpe *b);

/*
 * cache_bytes bounds this thread's cache (0: BPE_CACHE; at least 64 KiB).
 * Both tables take memory only as they fill.  Merging a pre-token of n bytes
 * takes about 50 n bytes besides, which matters for one of many megabytes.
 */
enum { BPE_SHARED = 36 << 20, BPE_CACHE = 10 << 20 };
struct bpe_enc;
struct bpe_enc *bpe_enc_new(const struct bpe *b, size_t cache_bytes);
void bpe_enc_free(struct bpe_enc *c);

/*
 * Append the ids of text (valid UTF-8) to out, without BOS or EOS.  The text
 * is one document: its end is the end of the text for the split patterns.
 * -1: the vocabulary has no token for some byte of the text, or a split pattern
 * takes too long on it, and out is as it was.
 */
int bpe_encode(struct bpe_enc *c, struct span text, struct ids *out,
	       struct err *e);

/* The same for a text that continues another one: no space is put before it,
 * whatever the tokenizer puts before the first word of a document. */
int bpe_encode_rest(struct bpe_enc *c, struct span text, struct ids *out,
		    struct err *e);

/*
 * Ids to compare texts by, where nothing is missing: a byte without a token
 * (SentencePiece: the first of a character) is v->n plus that byte, so all are
 * below v->n + BPE_MISSING.
 */
enum { BPE_MISSING = 256 };
int bpe_units(struct bpe_enc *c, struct span text, struct ids *out,
	      struct err *e);

#endif
