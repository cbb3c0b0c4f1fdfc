/*
 * naive_bpe.h - the oracle of bpe_train.c: BPE by recounting
 *
 * Written from the rule alone: each turn counts every pair of every pre-token,
 * takes the highest count (ties: smallest left, then right id), and replaces
 * it from left to right.  No table, no list of places, no heap.
 */
#ifndef NAIVE_BPE_H
#define NAIVE_BPE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct naive_piece {
	uint32_t *id;
	size_t n;
	uint64_t count;
};

struct naive {
	struct naive_piece *v;
	size_t n;
	uint32_t len[4096];	/* bytes of each symbol */
	uint32_t symbols;	/* 256 + merges so far */
};

static void
naive_add(struct naive *t, const uint8_t byte_id[256], const char *p, size_t n,
	  uint64_t count)
{
	struct naive_piece *q;

	t->v = realloc(t->v, (t->n + 1) * sizeof *t->v);
	q = &t->v[t->n++];
	q->id = malloc((n + 1) * sizeof *q->id);
	q->n = n;
	q->count = count;
	for (size_t i = 0; i < n; i++)
		q->id[i] = byte_id[(unsigned char)p[i]];
	for (; t->symbols < 256; t->symbols++)
		t->len[t->symbols] = 1;
}

static uint64_t
naive_count(const struct naive *t, uint32_t a, uint32_t b)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < t->n; k++)
		for (size_t i = 0; i + 1 < t->v[k].n; i++)
			if (t->v[k].id[i] == a && t->v[k].id[i + 1] == b)
				sum += t->v[k].count;
	return sum;
}

static void
naive_replace(struct naive_piece *q, uint32_t a, uint32_t b, uint32_t c)
{
	size_t to = 0;

	for (size_t i = 0; i < q->n; to++) {
		if (i + 1 < q->n && q->id[i] == a && q->id[i + 1] == b) {
			q->id[to] = c;
			i += 2;
		} else {
			q->id[to] = q->id[i++];
		}
	}
	q->n = to;
}

/* One turn: 0 if no pair occurs min times; else the pair and its count. */
static int
naive_turn(struct naive *t, uint64_t min, uint32_t max_bytes,
	   uint32_t pair[2], uint64_t *count)
{
	*count = 0;
	for (size_t k = 0; k < t->n; k++)
		for (size_t i = 0; i + 1 < t->v[k].n; i++) {
			uint32_t a = t->v[k].id[i], b = t->v[k].id[i + 1];
			uint64_t n = naive_count(t, a, b);

			if (max_bytes && t->len[a] + t->len[b] > max_bytes)
				continue;
			if (n < *count || n == 0)
				continue;
			if (n == *count && (a > pair[0] ||
			    (a == pair[0] && b >= pair[1])))
				continue;
			*count = n;
			pair[0] = a;
			pair[1] = b;
		}
	if (*count == 0 || *count < min)
		return 0;
	t->len[t->symbols] = t->len[pair[0]] + t->len[pair[1]];
	for (size_t k = 0; k < t->n; k++)
		naive_replace(&t->v[k], pair[0], pair[1], t->symbols);
	t->symbols++;
	return 1;
}

static void
naive_clear(struct naive *t)
{
	for (size_t k = 0; k < t->n; k++)
		free(t->v[k].id);
	free(t->v);
	memset(t, 0, sizeof *t);
}

#endif
