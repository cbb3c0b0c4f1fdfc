/*
 * bpe_priv.h - what bpe*.c and bpe_spm.c share
 *
 * bpe.c      a text to sections, sections to pieces, pieces to ids
 * bpe_merge.c one piece to ids by the merges
 * bpe_cache.c pieces seen before
 * bpe_shared.c  those that all threads have in common
 * bpe_spm.c      SentencePiece: spaces, characters, byte fallback
 */
#ifndef ASSAY_BPE_PRIV_H
#define ASSAY_BPE_PRIV_H

#include "tokenizer/bpe.h"
#include "tokenizer/split.h"
#include "record/names.h"


#define RANK_NONE UINT32_MAX

/*
 * A merge in 64 bits: left 21, right 21, rank 22; all ones is an empty slot.
 * Hence the limits on a vocabulary.
 */
enum { ID_BITS = 21, RANK_BITS = 22 };
#define PAIR_EMPTY UINT64_MAX

struct added;
struct pool;

struct bpe {
	const struct vocab *v;
	struct split *split;
	uint32_t byte_id[256];
	uint64_t *pair;		/* open table */
	size_t pair_mask;
	uint64_t *filter;	/* a bit for the hash of each pair */
	unsigned filter_shift;
	uint32_t *low;		/* [256 * 256] rank of pairs of ids < 256 */
	struct name_table whole;	/* ignore_merges: bytes to id */
	uint32_t *result;	/* rank to result; NULL: rank + first */
	uint32_t first;
	struct added *raw, *normal;	/* added tokens before and after NFC */
	struct pool *pool;
	/* SentencePiece */
	uint32_t *char_slot;	/* code point, id: open table of pairs */
	size_t char_mask;
	int cut_spaces;		/* no merge crosses "x ", x no space */
	uint64_t join[128][2];	/* a merge may cross "xy": bit y of join[x] */
};

/* Symbols of one piece while it is merged. */
struct merge_work {
	uint32_t *id, *rank, *prev, *next;
	uint64_t *heap;
	size_t cap, nheap, heap_cap;
};

struct cache;

struct bpe_enc {
	const struct bpe *b;
	struct split_scratch *split;
	struct merge_work work;
	struct cache *cache;
	struct buf nfc, text;
};

static inline uint64_t
pair_hash(uint64_t key)
{
	return key * UINT64_C(0x9e3779b97f4a7c15);
}

/* Most pairs have no merge: the filter, which fits a nearer cache than the
 * table, tells for nine in ten of them. */
static inline uint32_t
pair_rank(const struct bpe *b, uint32_t l, uint32_t r)
{
	uint64_t key = (uint64_t)l << ID_BITS | r, h, bit;
	size_t i;

	if ((l | r) < 256)
		return b->low[l << 8 | r];
	h = pair_hash(key);
	bit = h >> b->filter_shift;
	if (!(b->filter[bit >> 6] >> (bit & 63) & 1))
		return RANK_NONE;
	for (i = h >> 32;; i++) {
		uint64_t x = b->pair[i & b->pair_mask];

		if (x >> RANK_BITS == key)
			return x & ((1u << RANK_BITS) - 1);
		if (x == PAIR_EMPTY)
			return RANK_NONE;
	}
}

static inline uint32_t
rank_result(const struct bpe *b, uint32_t rank)
{
	return b->result ? b->result[rank] : rank + b->first;
}

static inline uint32_t *
ids_reserve(struct ids *o, size_t n)
{
	if (o->n + n > o->cap)
		ids_grow(o, n);
	return o->v + o->n;
}

int merge_init(struct bpe *b, struct err *e);
void merge_clear(struct bpe *b);
void merge_work_clear(struct merge_work *w);

/* Room for n symbols; merge_run() merges the n in w->id and appends. */
void merge_room(struct merge_work *w, size_t n);
void merge_run(const struct bpe *b, struct merge_work *w, size_t n,
	       struct ids *out);

/* One piece, n > 0, without the cache. */
void piece_encode(struct bpe_enc *c, const char *p, size_t n,
		  struct ids *out);

struct cache *cache_new(size_t bytes);
void cache_free(struct cache *k);

/* Pieces text[start..ends[0]), text[ends[0]..ends[1]), ...; text has n
 * bytes. */
void cache_encode(struct bpe_enc *c, const char *text, size_t n, size_t start,
		  const uint32_t *ends, size_t k, struct ids *out);

int spm_init(struct bpe *b, struct err *e);
void spm_clear(struct bpe *b);
size_t spm_symbols(const struct bpe *b, const char *p, size_t n,
		   uint32_t *id);
void spm_section(struct bpe_enc *c, struct span text, int first,
		 struct ids *out);

#endif
