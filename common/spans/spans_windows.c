/*
 * spans_windows.c - hashes of windows, one by one or several at a time
 *
 * The windows with one anchor that begin i bytes before it are in one cell for
 * equal i / `cell`.  The text that all starts of the cell have in common is
 * hashed, from its last start on, where no anchor may be.  So equal windows
 * are in cells of equal hashes, at equal distances from their last starts.
 *
 * The hash of a window is the value at a random base of the polynomial over
 * its bytes + 1, mod 2^61 - 1, mixed with its length.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "spans/spans_priv.h"

#define P ((UINT64_C(1) << 61) - 1)

static inline uint64_t
fold(uint64_t h)
{
	return (h & P) + (h >> 61);
}

/* h and b below 2^62, the result below 2^62. */
static inline uint64_t
times(uint64_t h, uint64_t b)
{
	unsigned __int128 x = (unsigned __int128)h * b;

	return ((uint64_t)x & P) + (uint64_t)(x >> 61);
}

void
spans_roll(struct search *s, uint64_t base)
{
	struct roll *r = &s->roll;
	uint64_t p = 1, i, x;

	r->base = base & P;
	r->power[0] = 1;
	for (i = 0; i < ROLL_POWERS; i++)
		r->power[i + 1] = fold(times(r->power[i], r->base));
	for (i = 0; i < s->s->least; i++)
		p = fold(times(p, r->base));
	for (i = 0; i < 256; i++) {
		x = fold(times(i + 1, p));
		x = x >= P ? x - P : x;
		r->out[i] = P - x;
	}
}

/* Add a byte. */
static inline uint64_t
roll_in(const struct roll *r, uint64_t h, char in)
{
	return fold(times(h, r->base) + (unsigned char)in + 1);
}

/* Add a byte and remove the one that leaves. */
static inline uint64_t
roll(const struct roll *r, uint64_t h, char out, char in)
{
	return fold(times(h, r->base) + r->out[(unsigned char)out] +
		    (unsigned char)in + 1);
}

/* The hash of n bytes, several at a time: a step waits for the one before. */
static uint64_t
hash_bytes(const struct roll *r, const char *p, size_t n)
{
	uint64_t h = 0;
	size_t i, k;

	for (i = 0; i + ROLL_POWERS <= n; i += ROLL_POWERS) {
		unsigned __int128 x = (unsigned __int128)h *
			r->power[ROLL_POWERS];

		for (k = 0; k < ROLL_POWERS; k++)
			x += (unsigned __int128)r->power[ROLL_POWERS - 1 - k] *
				((unsigned char)p[i + k] + 1u);
		h = fold(((uint64_t)x & P) + (uint64_t)(x >> 61));
	}
	for (; i < n; i++)
		h = roll_in(r, h, p[i]);
	return h;
}

/* h is the hash of n bytes of the window; fold() left one of two residues. */
static int
put_window(struct thread *t, uint64_t x, size_t more, uint64_t h)
{
	struct search *s = t->s;

	h = spans_mix((h >= P ? h - P : h) ^
		      more * UINT64_C(0x9e3779b97f4a7c15));
	if (s->weak)
		h &= UINT64_C(0xf) << 60 | 0xf;
	return partition_put(s->windows, t->k, spans_bucket(s, h),
			     h, x * s->s->char_max + more, &t->e);
}

/* The windows from text[x]; h is the hash of `least` bytes there. */
static int
windows_at(struct thread *t, size_t x, size_t end, size_t past, uint64_t h)
{
	const struct search *s = t->s;
	struct lengths l = {.p = t->text, .x = x, .end = end};
	size_t n, at = s->s->least;

	if (!spans_is_bound(t->text, x, end))
		return 0;
	while ((n = spans_next_length(s->s, &l)) != 0) {
		for (; at < n; at++)
			h = roll_in(&s->roll, h, t->text[x + at]);
		if (x + n > past &&
		    put_window(t, t->at + x, n - s->s->least, h))
			return -1;
	}
	return 0;
}

int
spans_put_windows(struct thread *t, size_t from, size_t to, size_t end,
		  size_t past)
{
	const struct roll *r = &t->s->roll;
	size_t least = t->s->s->least;
	uint64_t h = hash_bytes(r, t->text + from, least);

	for (; from <= to; from++) {
		if (windows_at(t, from, end, past, h))
			return -1;
		if (from + least < end)
			h = roll(r, h, t->text[from], t->text[from + least]);
	}
	return 0;
}

int
spans_put_cells(struct thread *t, size_t at, size_t from, size_t to)
{
	struct search *s = t->s;
	size_t cell = s->cell, last, end;
	uint64_t h, in;

	for (; from <= to; from = end + 1) {
		last = at - (at - from) / cell * cell;
		end = last < to ? last : to;
		h = XXH3_64bits(t->text + last, s->s->least - cell + 1);
		if (s->weak)
			h &= UINT64_C(3) << 62 | 3;
		in = (last - from) * cell + (last - end);
		if (partition_put(s->blocks, t->k, spans_bucket(s, h),
				  h, (t->at + last) * cell * cell + in,
				  &t->e))
			return -1;
	}
	return 0;
}
