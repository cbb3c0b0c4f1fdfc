/*
 * batch.c - see batch.h
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "train/batch.h"

void
batch_init(struct batch *b, uint32_t windows, uint32_t t)
{
	size_t n = (size_t)windows * t;

	memset(b, 0, sizeof *b);
	b->windows = windows;
	b->t = t;
	b->tok = xcalloc(n, sizeof *b->tok);
	b->target = xcalloc(n, sizeof *b->target);
	b->start = xcalloc(n, sizeof *b->start);
	b->order = xcalloc(n, sizeof *b->order);
}

void
batch_clear(struct batch *b)
{
	free(b->tok);
	free(b->target);
	free(b->start);
	free(b->order);
	memset(b, 0, sizeof *b);
}

/* Ids and targets are read in place: both types have 32 bits. */
static int
read_window(struct batch *b, size_t at, const struct batch_source *s,
	    uint64_t k, uint8_t *mask, uint32_t *seg, struct err *e)
{
	uint32_t *ids = (uint32_t *)b->tok + at;
	uint32_t *target = (uint32_t *)b->target + at, i;

	if (shards_window(s->shards, s->t, k, s->doc_mask, ids, target, mask,
			  seg, e) < 0)
		return -1;
	for (i = 0; i < s->t; i++) {
		int in = ids[i] < s->vocab;

		if (!in || (mask[i] && target[i] >= s->vocab))
			return err_set(e, "window %" PRIu64 ", token %" PRIu32
				       ": id %" PRIu32 ", but the model has %"
				       PRId64 " ids", k, i + (uint32_t)in,
				       in ? target[i] : ids[i], s->vocab);
	}
	return 0;
}

int
batch_window(struct batch *b, uint32_t row, const struct batch_source *s,
	     uint64_t k, struct err *e)
{
	size_t at = (size_t)row * s->t;
	uint8_t *mask = xmalloc(s->t);
	uint32_t *seg = xmalloc(s->t * sizeof *seg), i, first = 0;
	int rc = read_window(b, at, s, k, mask, seg, e);

	b->sorted = 0;
	for (i = 0; rc == 0 && i < s->t; i++) {
		if (s->doc_mask && i && seg[i] != seg[i - 1])
			first = i;
		b->start[at + i] = (int32_t)first;
		if (!mask[i])
			b->target[at + i] = -1;
	}
	free(mask);
	free(seg);
	return rc;
}

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

/* One pass of a radix sort: rows of from (n) to `to`, by a digit of tok. */
static void
sort_pass(const int32_t *tok, const int32_t *from, int32_t *to, size_t n,
	  int shift)
{
	size_t at[DIGITS + 1] = {0}, i;

	for (i = 0; i < n; i++)
		at[((uint32_t)tok[i] >> shift) % DIGITS + 1]++;
	for (i = 0; i < DIGITS; i++)
		at[i + 1] += at[i];
	for (i = 0; i < n; i++)
		to[at[((uint32_t)tok[from[i]] >> shift) % DIGITS]++] = from[i];
}

/* The order of the n rows of tok; room (n). */
static void
sort_rows(const int32_t *tok, int32_t *order, int32_t *room, size_t n)
{
	uint32_t all = 0;
	int shift = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		all |= (uint32_t)tok[i];
		order[i] = (int32_t)i;
	}
	for (; shift < 32 && all >> shift; shift += DIGIT) {
		sort_pass(tok, order, room, n, shift);
		memcpy(order, room, n * sizeof *order);
	}
}

void
batch_sort(struct batch *b, uint32_t micro)
{
	size_t n = (size_t)b->windows * b->t, step = (size_t)micro * b->t, at;
	int32_t *room = xcalloc(step, sizeof *room);

	for (at = 0; at < n; at += step)
		sort_rows(b->tok + at, b->order + at, room,
			  n - at < step ? n - at : step);
	b->sorted = micro;
	free(room);
}
