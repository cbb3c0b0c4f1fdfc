/*
 * bpe_merge.c - one piece to ids by the merges
 *
 * The lowest rank is merged first, of equal ranks the leftmost: what
 * tokenizers does, and tiktoken too where all splits of a token have its
 * rank.  Up to SHORT symbols lie in an array that is searched for the least
 * rank again after each merge; longer pieces are linked lists with a heap of
 * (rank, position), whose outdated entries are passed over when they come
 * up: O(n log n), no recursion.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "tokenizer/bpe_priv.h"

enum { SHORT = 48 };

static void
pair_add(struct bpe *b, const uint32_t m[3], uint32_t rank)
{
	uint64_t key = (uint64_t)m[0] << ID_BITS | m[1], *x;
	uint64_t h = pair_hash(key), bit = h >> b->filter_shift;
	size_t i = h >> 32;

	b->filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
	/* a merge that stands twice: the last one counts, as in tokenizers */
	for (;; i++) {
		x = &b->pair[i & b->pair_mask];
		if (*x == PAIR_EMPTY || *x >> RANK_BITS == key)
			break;
	}
	*x = key << RANK_BITS | rank;
	if ((m[0] | m[1]) < 256)
		b->low[m[0] << 8 | m[1]] = rank;
}

/* A table only where the results are not one behind another. */
static void
set_results(struct bpe *b)
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

int
merge_init(struct bpe *b, struct err *e)
{
	const struct vocab *v = b->v;
	size_t size = 1024;

	if (v->n >= 1u << ID_BITS || v->nmerges >= 1u << RANK_BITS)
		return err_set(e, "a vocabulary of %u tokens and %zu merges is "
			       "too large (at most %u and %u)", v->n,
			       v->nmerges, (1u << ID_BITS) - 1,
			       (1u << RANK_BITS) - 1);
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

void
merge_clear(struct bpe *b)
{
	if (b->pair)
		mem_pages_free(b->pair, (b->pair_mask + 1) * sizeof(*b->pair));
	free(b->filter);
	free(b->low);
	free(b->result);
}

void
merge_room(struct merge_work *w, size_t n)
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
merge_work_clear(struct merge_work *w)
{
	free(w->id);
	free(w->rank);
	free(w->prev);
	free(w->next);
	free(w->heap);
}

/* rank[i] is that of the pair (i, i + 1); the last one has none. */
static size_t
merge_short(const struct bpe *b, uint32_t *id, uint32_t *rank, size_t n)
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

static void
heap_push(struct merge_work *w, uint64_t x)
{
	size_t i = w->nheap++;

	if (w->nheap > w->heap_cap) {
		w->heap_cap = 2 * w->nheap + 256;
		w->heap = xreallocarray(w->heap, w->heap_cap,
					sizeof(*w->heap));
	}
	while (i && w->heap[(i - 1) / 4] > x) {
		w->heap[i] = w->heap[(i - 1) / 4];
		i = (i - 1) / 4;
	}
	w->heap[i] = x;
}

static void
heap_down(struct merge_work *w, size_t i, uint64_t x)
{
	for (;;) {
		size_t k = 4 * i + 1, end = k + 4, least;

		if (k >= w->nheap)
			break;
		end = end < w->nheap ? end : w->nheap;
		for (least = k++; k < end; k++)
			if (w->heap[k] < w->heap[least])
				least = k;
		if (w->heap[least] >= x)
			break;
		w->heap[i] = w->heap[least];
		i = least;
	}
	w->heap[i] = x;
}

static uint64_t
heap_pop(struct merge_work *w)
{
	uint64_t top = w->heap[0], x = w->heap[--w->nheap];

	if (w->nheap)
		heap_down(w, 0, x);
	return top;
}

static void
set_rank(const struct bpe *b, struct merge_work *w, size_t n, uint32_t i)
{
	uint32_t j = w->next[i];

	w->rank[i] = j < n ? pair_rank(b, w->id[i], w->id[j]) : RANK_NONE;
}

static void
merge_long(const struct bpe *b, struct merge_work *w, size_t n)
{
	w->nheap = 0;
	for (uint32_t i = 0; i < n; i++) {
		w->prev[i] = i - 1;
		w->next[i] = i + 1;
	}
	for (uint32_t i = 0; i < n; i++) {
		set_rank(b, w, n, i);
		if (w->rank[i] != RANK_NONE)
			heap_push(w, (uint64_t)w->rank[i] << 32 | i);
	}
	while (w->nheap) {
		uint64_t x = heap_pop(w);
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
		if (w->rank[i] != RANK_NONE)
			heap_push(w, (uint64_t)w->rank[i] << 32 | i);
		p = w->prev[i];
		if (p == UINT32_MAX)
			continue;
		set_rank(b, w, n, p);
		if (w->rank[p] != RANK_NONE)
			heap_push(w, (uint64_t)w->rank[p] << 32 | p);
	}
}

void
merge_run(const struct bpe *b, struct merge_work *w, size_t n, struct ids *out)
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
