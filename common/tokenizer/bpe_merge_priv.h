/*
 * bpe_merge_priv.h - one pre-token to ids by the merges
 */
#ifndef ASSAY_BPE_MERGE_PRIV_H
#define ASSAY_BPE_MERGE_PRIV_H

#include "record/names.h"
#include "record/vocab.h"
#include "tokenizer/bpe_spm_priv.h"
#include "tokenizer/ids.h"

/* Shared by threads once set up. */
struct bpe_merge {
	const struct vocab *v;
	uint32_t byte_id[256];	/* UINT32_MAX: no token */
	struct bpe_spm *spm;	/* NULL: byte level */
	uint64_t *pair;		/* open table of left, right, rank */
	size_t pair_mask;
	uint64_t *filter;	/* a bit for the hash of each pair */
	unsigned filter_shift;
	uint32_t *low;		/* [256 * 256] rank of pairs of ids < 256 */
	struct name_table whole;	/* ignore_merges: bytes to id */
	uint32_t *result;	/* rank to result; NULL: rank + first */
	uint32_t first;
};

/*
 * The id that a byte without a token gets if there is no unknown token, from
 * v->n on: bpe_encode() finds it, no merge does.
 */
static inline uint32_t
bpe_merge_missing(const struct vocab *v, char byte)
{
	return v->n + (uint8_t)byte;
}

/* Can there be such ids? */
int bpe_merge_has_missing(const struct bpe_merge *m);

/* Keeps v.  -1: error; bpe_merge_clear() afterwards in either case. */
int bpe_merge_init(struct bpe_merge *m, const struct vocab *v, struct err *e);
void bpe_merge_clear(struct bpe_merge *m);

/* The symbols of one pre-token, one struct a thread; all zero is empty. */
struct bpe_merge_work {
	uint32_t *id, *rank, *prev, *next;
	uint64_t *heap;
	size_t cap, nheap, heap_cap;
};
void bpe_merge_work_clear(struct bpe_merge_work *w);

/* Append the ids of the pre-token p[0..n), n > 0. */
void bpe_merge_encode(const struct bpe_merge *m, struct bpe_merge_work *w,
		      const char *p, size_t n, struct ids *out);

#endif
