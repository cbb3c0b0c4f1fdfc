/*
 * bpe.h - text to token ids
 *
 * Equal to Hugging Face tokenizers for the same tokenizer.json, with
 * special-token strings in the text taken as text.  One struct bpe is
 * shared by all threads and has the pieces that any of them met, in
 * BPE_POOL bytes; each thread has a struct bpe_enc with a bounded cache for
 * those that found no room there.
 */
#ifndef ASSAY_BPE_H
#define ASSAY_BPE_H

#include "record/vocab.h"

struct bpe;
struct bpe *bpe_new(const struct vocab *v, struct err *e);	/* keeps v */
void bpe_free(struct bpe *b);

/*
 * cache_bytes bounds the piece cache (0: BPE_CACHE); 64 KiB is the least.
 * Only what is used of both takes memory.
 * Beside it a piece of n bytes takes about 50 n while it is merged, which
 * matters for one of many megabytes.
 */
enum { BPE_POOL = 36 << 20, BPE_CACHE = 10 << 20 };
struct bpe_enc;
struct bpe_enc *bpe_enc_new(const struct bpe *b, size_t cache_bytes);
void bpe_enc_free(struct bpe_enc *c);

/* A growing array of ids. */
struct ids {
	uint32_t *v;
	size_t n, cap;
};

/* Room for n more. */
void ids_grow(struct ids *o, size_t n);

static inline void
ids_add(struct ids *o, uint32_t id)
{
	if (o->n == o->cap)
		ids_grow(o, 1);
	o->v[o->n++] = id;
}

/*
 * Append the ids of text (valid UTF-8, without BOS/EOS) to out.  A text is
 * one document: its end is the end of text for the patterns.
 */
void bpe_encode(struct bpe_enc *c, struct span text, struct ids *out);

#endif
