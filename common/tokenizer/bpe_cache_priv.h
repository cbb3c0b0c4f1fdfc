/*
 * bpe_cache_priv.h - pre-tokens to ids, with those seen before remembered
 */
#ifndef ASSAY_BPE_CACHE_PRIV_H
#define ASSAY_BPE_CACHE_PRIV_H

#include "tokenizer/bpe_merge_priv.h"
#include "tokenizer/bpe_shared_priv.h"

/* Of one thread.  bytes: see bpe_enc_new(); m and shared are borrowed. */
struct bpe_cache;
struct bpe_cache *bpe_cache_new(const struct bpe_merge *m,
				struct bpe_shared *shared, size_t bytes);
void bpe_cache_free(struct bpe_cache *k);	/* NULL is fine */

/*
 * Append the ids of the pre-tokens text[start..ends[0]), text[ends[0]..
 * ends[1]), ..., k of them, at most BPE_CACHE_BATCH.  text has n bytes.
 */
enum { BPE_CACHE_BATCH = 256 };
void bpe_cache_encode(struct bpe_cache *c, const char *text, size_t n,
		      size_t start, const uint32_t *ends, size_t k,
		      struct ids *out);

#endif
