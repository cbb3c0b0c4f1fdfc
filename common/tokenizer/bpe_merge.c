/*
 * bpe_merge.c - one pre-token to ids by the merges
 *
 * The lowest rank is merged first, of equal ranks the leftmost.  That is what
 * tokenizers does, and tiktoken too where every split of a token has the
 * token's rank.  Up to SHORT symbols are kept in an array that is searched
 * for the least rank after each merge.  Longer pre-tokens are linked lists
 * with a heap of (rank, position); outdated entries are skipped when they
 * come up: O(n log n), no recursion.
 */
#include "tokenizer/bpe_merge_priv.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/mem.h"

enum { SHORT = 48 };

#define RANK_NONE UINT32_MAX

/*
 * A merge in 64 bits: left 21, right 21, rank 22; all ones is an empty slot.
 * Hence the limits on a vocabulary.
 */
enum { ID_BITS = 21, RANK_BITS = 22 };
#define PAIR_EMPTY UINT64_MAX
enum { MAX_IDS = (1 << ID_BITS) - 1 - 256 };	/* bpe_merge_missing() */

#define LESS(a, b) ((a) < (b))
HEAP(heap, uint64_t, LESS)

static inline uint64_t
pair_hash(uint64_t key)
{
	return key * UINT64_C(0x9e3779b97f4a7c15);
}

/* Nine in ten pairs have no merge: the filter, which fits a nearer cache than
 * the table, rules most of them out. */
static inline uint32_t
pair_rank(const struct bpe_merge *b, uint32_t l, uint32_t r)
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
rank_result(const struct bpe_merge *b, uint32_t rank)
{
	return b->result ? b->result[rank] : rank + b->first;
}

static void
pair_add(struct bpe_merge *b, const uint32_t m[3], uint32_t rank)
{
	uint64_t key = (uint64_t)m[0] << ID_BITS | m[1], *x;
	uint64_t h = pair_hash(key), bit = h >> b->filter_shift;
	size_t i = h >> 32;

	b->filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
	/* of equal merges the last one counts, as in tokenizers */
	for (;; i++) {
		x = &b->pair[i & b->pair_mask];
		if (*x == PAIR_EMPTY || *x >> RANK_BITS == key)
			break;
	}
	*x = key << RANK_BITS | rank;
	if ((m[0] | m[1]) < 256)
		b->low[m[0] << 8 | m[1]] = rank;
}

/* A table is needed only where the results are not consecutive. */
static void
set_results(struct bpe_merge *b)
{
	const struct vocab *v = b->v;
	size_t i;

	b->first = v->nmerges ? v->merge[0][2] : 0;
	for (i = 0; i < v->nmerges && v->merge[i][2] == b->first + i; i++)
		;
	if (i == v->nmerges)
		return;
	b->result = xreallocarray(NULL, v->nmerges, sizeof(*b->result));
	for (i = 0; i < v->nmerges; i++)
		b->result[i] = v->merge[i][2];
}

static int
pairs_init(struct bpe_merge *b, struct err *e)
{
	const struct vocab *v = b->v;
	size_t size = 1024;

	if (v->n > MAX_IDS || v->nmerges >= 1u << RANK_BITS)
		return err_set(e, "a vocabulary of %u tokens and %zu merges is "
			       "too large (at most %u and %u)", v->n,
			       v->nmerges, MAX_IDS, (1u << RANK_BITS) - 1);
	while (size < 2 * v->nmerges)
		size *= 2;
	b->pair = mem_pages(size * sizeof(*b->pair));
	b->pair_mask = size - 1;
	memset(b->pair, 0xff, size * sizeof(*b->pair));
	b->filter_shift = 64;
	for (size_t bits = 1; bits < 8 * v->nmerges + 4096; bits *= 2)
		b->filter_shift--;
	b->filter = xcalloc((UINT64_C(1) << (64 - b->filter_shift)) / 64,
			    sizeof(*b->filter));
	b->low = xmalloc(65536 * sizeof(*b->low));
	memset(b->low, 0xff, 65536 * sizeof(*b->low));
	for (size_t i = 0; i < v->nmerges; i++)
		pair_add(b, v->merge[i], v->rank_by_id ? v->merge[i][2] :
			 (uint32_t)i);
	if (!v->rank_by_id)
		set_results(b);
	return 0;
}

int
bpe_merge_init(struct bpe_merge *b, const struct vocab *v, struct err *e)
{
	b->v = v;
	memset(b->byte_id, 0xff, sizeof(b->byte_id));
	for (uint32_t i = 0; i < v->n; i++)
		if (v->token[i].n == 1 && (v->flags[i] & VOCAB_BYTE))
			b->byte_id[(uint8_t)v->token[i].p[0]] = i;
	if (pairs_init(b, e) < 0)
		return -1;
	if (v->kind == VOCAB_SENTENCEPIECE &&
	    !(b->spm = bpe_spm_new(v, b->byte_id, e)))
		return -1;
	if (!v->ignore_merges)
		return 0;
	names_init(&b->whole, v->token, v->n);
	for (uint32_t i = 0; i < v->n; i++)
		if (v->token[i].p &&
		    !(v->flags[i] & (VOCAB_SPECIAL | VOCAB_ADDED)))
			names_add(&b->whole, i);
	return 0;
}

int
bpe_merge_has_missing(const struct bpe_merge *b)
{
	const struct vocab *v = b->v;

	if (v->unk >= 0)
		return 0;
	if (v->kind == VOCAB_SENTENCEPIECE && !v->byte_fallback)
		return 1;
	for (unsigned i = 0; i < 0xf5; i++)	/* not in UTF-8: c0 c1 f5-ff */
		if (b->byte_id[i] == UINT32_MAX && i != 0xc0 && i != 0xc1)
			return 1;
	return 0;
}

void
bpe_merge_clear(struct bpe_merge *b)
{
	if (b->pair)
		mem_pages_free(b->pair, (b->pair_mask + 1) * sizeof(*b->pair));
	bpe_spm_free(b->spm);
	names_clear(&b->whole);
	free(b->filter);
	free(b->low);
	free(b->result);
}

static void
work_room(struct bpe_merge_work *w, size_t n)
{
	if (n <= w->cap)
		return;
	w->cap = n + n / 2 + 256;
	w->id = xreallocarray(w->id, w->cap, sizeof(*w->id));
	w->rank = xreallocarray(w->rank, w->cap, sizeof(*w->rank));
	w->prev = xreallocarray(w->prev, w->cap, sizeof(*w->prev));
	w->next = xreallocarray(w->next, w->cap, sizeof(*w->next));
}

void
bpe_merge_work_clear(struct bpe_merge_work *w)
{
	free(w->id);
	free(w->rank);
	free(w->prev);
	free(w->next);
	free(w->heap);
}

/* rank[i] is that of the pair (i, i + 1); the last one has none. */
static size_t
merge_short(const struct bpe_merge *b, uint32_t *id, uint32_t *rank, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		rank[i] = pair_rank(b, id[i], id[i + 1]);
	while (n > 1) {
		uint32_t best = RANK_NONE;
		size_t at = 0;

		for (size_t i = 0; i + 1 < n; i++)
			if (rank[i] < best) {
				best = rank[i];
				at = i;
			}
		if (best == RANK_NONE)
			break;
		id[at] = rank_result(b, best);
		n--;
		for (size_t i = at + 1; i < n; i++) {
			id[i] = id[i + 1];
			rank[i] = rank[i + 1];
		}
		if (at + 1 < n)
			rank[at] = pair_rank(b, id[at], id[at + 1]);
		if (at > 0)
			rank[at - 1] = pair_rank(b, id[at - 1], id[at]);
	}
	return n;
}

/* Rank of the pair that begins at symbol i, and onto the heap with it. */
static void
set_rank(const struct bpe_merge *b, struct bpe_merge_work *w, size_t n,
	 uint32_t i)
{
	uint32_t j = w->next[i];

	w->rank[i] = j < n ? pair_rank(b, w->id[i], w->id[j]) : RANK_NONE;
	if (w->rank[i] == RANK_NONE)
		return;
	GROW(w->heap, w->heap_cap, w->nheap + 1);
	heap_push(w->heap, w->nheap++, (uint64_t)w->rank[i] << 32 | i);
}

static void
merge_long(const struct bpe_merge *b, struct bpe_merge_work *w, size_t n)
{
	w->nheap = 0;
	for (uint32_t i = 0; i < n; i++) {
		w->prev[i] = i - 1;
		w->next[i] = i + 1;
	}
	for (uint32_t i = 0; i < n; i++)
		set_rank(b, w, n, i);
	while (w->nheap) {
		uint64_t x = heap_pop(w->heap, w->nheap--);
		uint32_t i = (uint32_t)x, r = (uint32_t)(x >> 32), j, p;

		if (w->rank[i] != r)
			continue;
		j = w->next[i];
		w->id[i] = rank_result(b, r);
		w->rank[j] = RANK_NONE;
		w->next[i] = w->next[j];
		if (w->next[i] < n)
			w->prev[w->next[i]] = i;
		w->id[j] = UINT32_MAX;
		set_rank(b, w, n, i);
		p = w->prev[i];
		if (p != UINT32_MAX)
			set_rank(b, w, n, p);
	}
}

/* The ids of the n symbols in w->id. */
static void
merge(const struct bpe_merge *b, struct bpe_merge_work *w, size_t n,
      struct ids *out)
{
	uint32_t *o = ids_reserve(out, n);

	if (n <= SHORT) {
		n = merge_short(b, w->id, w->rank, n);
		memcpy(o, w->id, n * sizeof(*o));
		out->n += n;
		return;
	}
	merge_long(b, w, n);
	for (size_t i = 0; i < n; i = w->next[i])
		*o++ = w->id[i];
	out->n = (size_t)(o - out->v);
}

/* The ids of bytes; one without a token is unknown or missing. */
static size_t
byte_symbols(const struct bpe_merge *b, const char *p, size_t n, uint32_t *id)
{
	const struct vocab *v = b->v;
	int unk = 0;	/* the last symbol is an unknown one */
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t x = b->byte_id[(uint8_t)p[i]];
		int none = x == UINT32_MAX;

		if (none && v->unk < 0)
			x = bpe_merge_missing(v, p[i]);
		else if (none && unk && v->fuse_unk)
			continue;
		else if (none)
			x = (uint32_t)v->unk;
		unk = none;
		id[k++] = x;
	}
	return k;
}

void
bpe_merge_encode(const struct bpe_merge *b, struct bpe_merge_work *w,
		 const char *p, size_t n, struct ids *out)
{
	if (b->v->ignore_merges) {
		int64_t id = names_find(&b->whole, (struct span){p, n});

		if (id >= 0) {
			ids_add(out, (uint32_t)id);
			return;
		}
	}
	work_room(w, n);
	if (b->spm)
		n = bpe_spm_symbols(b->spm, p, n, w->id);
	else
		n = byte_symbols(b, p, n, w->id);
	merge(b, w, n, out);
}
