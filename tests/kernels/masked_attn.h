/*
 * masked_attn.h - probes of attention and of the cache
 *
 * Two sequences: documents of 37 rows, and one document; all with a window of
 * 40 rows.  In the backward pass a bad row may spoil all gradients of the
 * pairs it is in, as kernels.h allows.
 */
#ifndef ASSAY_KERNEL_MASKED_ATTN_H
#define ASSAY_KERNEL_MASKED_ATTN_H

#include "tests/kernels/masked.h"

enum { A_H = 4, A_G = 2, A_D = 6, A_HEADS = A_H + 2 * A_G, A_WINDOW = 40 };

static inline int
attn_sees(const struct probe *p, int64_t b, int64_t t, int64_t j)
{
	return j <= t && j > t - A_WINDOW && j >= p->id[b * p->n + t];
}

static inline void
attn_inputs(struct probe *p)
{
	probe_in(p, 2 * p->n * A_HEADS * A_D, p->dt, 0);
	p->id = kt_ids(p->kt, 2 * p->n, 0, 0, 0);
	for (int64_t t = 0; t < p->n; t++)
		p->id[t] = (int32_t)(t / 37 * 37);
}

static inline struct k_attn_fwd
attn_forward(const struct probe *p, void *o, float *lse)
{
	return (struct k_attn_fwd){ .b = 2, .t = p->n, .h = A_H, .g = A_G,
		.d = A_D, .dt = p->dt, .qkv = p->in[0].p, .start = p->id,
		.window = A_WINDOW, .scale = 0.4f, .o = o, .lse = lse };
}

static inline void
attn_fwd_run(struct probe *p, struct kernels *k)
{
	struct k_attn_fwd a = attn_forward(p, p->out[0].p, p->out[1].p);

	k->attn_fwd(k, &a);
}

static inline enum reach
attn_fwd_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	int64_t c = i / A_D % A_HEADS, row = i / A_D / A_HEADS;
	int64_t h = out ? j / p->n % A_H : j / A_D % A_H;
	int64_t b = out ? j / p->n / A_H : j / A_D / A_H / p->n;
	int64_t t = out ? j % p->n : j / A_D / A_H % p->n;

	(void)in;
	if (b != row / p->n)
		return NO;
	if (c < A_H)
		return h == c && t == row % p->n ? YES : NO;
	if ((c - A_H) % A_G != h / (A_H / A_G) ||
	    !attn_sees(p, b, t, row % p->n))
		return NO;
	if (c < A_H + A_G)
		return YES;
	return out ? NO : i % A_D == j % A_D ? YES : MAY;
}

static inline void
attn_fwd_probe(struct probe *p)
{
	attn_inputs(p);
	probe_out(p, 2 * p->n * A_H * A_D, p->dt);
	probe_out(p, 2 * p->n * A_H, K_F32);
	p->run = attn_fwd_run;
	p->reach = attn_fwd_reach;
}

/* Inputs qkv, dout, o, lse; output dqkv. */
static inline void
attn_bwd_run(struct probe *p, struct kernels *k)
{
	k->attn_bwd(k, &(struct k_attn_bwd){ .b = 2, .t = p->n, .h = A_H,
		.g = A_G, .d = A_D, .dt = p->dt, .qkv = p->in[0].p,
		.start = p->id, .window = A_WINDOW, .scale = 0.4f,
		.dout = p->in[1].p, .o = p->in[2].p, .lse = p->in[3].p,
		.dqkv = p->out[0].p });
}

/* A bad number of row t, head h of dout, o (in 1, 2), lse (3) or a query. */
static inline enum reach
attn_query_reach(const struct probe *p, int in, int64_t b, int64_t t,
		 int64_t h, int64_t col, int64_t j)
{
	int64_t c = j / A_D % A_HEADS, r = j / A_D / A_HEADS % p->n;

	if (j / A_D / A_HEADS / p->n != b)
		return NO;
	if (c < A_H)
		return c == h && r == t ? YES : NO;
	if ((c - A_H) % A_G != h / (A_H / A_G) || !attn_sees(p, b, t, r))
		return NO;
	if (c < A_H + A_G || in == 0 || in == 3)
		return YES;
	return in == 1 && col == j % A_D ? YES : MAY;
}

/* A bad number of row r of key (value 0) or value head g. */
static inline enum reach
attn_key_reach(const struct probe *p, int value, int64_t b, int64_t r,
	       int64_t g, int64_t j)
{
	int64_t c = j / A_D % A_HEADS, t = j / A_D / A_HEADS % p->n;

	if (j / A_D / A_HEADS / p->n != b)
		return NO;
	if (c < A_H)
		return c / (A_H / A_G) == g && attn_sees(p, b, t, r) ?
			YES : NO;
	if ((c - A_H) % A_G != g)
		return NO;
	if (t == r)
		return value && c >= A_H + A_G ? MAY : YES;
	/* the first row that sees both */
	return attn_sees(p, b, t > r ? t : r, t > r ? r : t) ? MAY : NO;
}

static inline enum reach
attn_bwd_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	int64_t row = i / A_D / A_HEADS, c = i / A_D % A_HEADS;

	(void)out;
	if (in == 3)
		return attn_query_reach(p, 3, i / p->n / A_H, i % p->n,
					i / p->n % A_H, 0, j);
	if (in > 0) {
		row = i / A_D / A_H;
		c = i / A_D % A_H;
	}
	if (c < A_H)
		return attn_query_reach(p, in, row / p->n, row % p->n, c,
					i % A_D, j);
	return attn_key_reach(p, c >= A_H + A_G, row / p->n, row % p->n,
			      (c - A_H) % A_G, j);
}

static inline void
attn_bwd_probe(struct probe *p)
{
	int64_t n = 2 * p->n * A_H;
	struct k_attn_fwd a;

	attn_inputs(p);
	probe_in(p, n * A_D, p->dt, 0);
	probe_in(p, n * A_D, p->dt, 0);
	probe_in(p, n, K_F32, 0);
	probe_out(p, 2 * p->n * A_HEADS * A_D, p->dt);
	a = attn_forward(p, p->in[2].p, p->in[3].p);
	p->k->attn_fwd(p->k, &a);
	p->run = attn_bwd_run;
	p->reach = attn_bwd_reach;
}

/* --- the cache --- */

enum { C_P = 20, C_SLOTS = 3 };

/* Decoding, one row per slot; a prompt of three rows beside two of them. */
static const int32_t cache_slot[2][5] = { { 2, 0, 1 }, { 1, 1, 1, 0, 2 } };
static const int32_t cache_pos[2][5] = { { 7, 19, 0 }, { 4, 5, 6, 0, 19 } };

static inline int64_t
cache_window(const struct probe *p)
{
	return p->n > 3 ? 5 : 0;
}

/* Inputs qkv, kc, vc; outputs o, kc, vc. */
static inline void
cache_run(struct probe *p, struct kernels *k)
{
	const int32_t *slot = cache_slot[p->n > 3], *pos = cache_pos[p->n > 3];
	size_t bytes = (size_t)p->in[1].n * kdtype_size(p->dt);
	struct k_kv_put a = { .n = p->n, .h = A_H, .g = A_G, .d = A_D,
		.p = C_P, .dt = p->dt, .qkv = p->in[0].p, .slot = slot,
		.pos = pos, .kc = p->out[1].p, .vc = p->out[2].p };
	struct k_attn_cache c = { .n = p->n, .h = A_H, .g = A_G, .d = A_D,
		.p = C_P, .dt = p->dt, .qkv = p->in[0].p, .slot = slot,
		.pos = pos, .kc = a.kc, .vc = a.vc, .window = cache_window(p),
		.scale = 0.4f, .o = p->out[0].p };

	memcpy(a.kc, p->in[1].p, bytes);
	memcpy(a.vc, p->in[2].p, bytes);
	k->kv_put(k, &a);
	k->attn_cache(k, &c);
}

/* Number `at` of kc (value 0) or vc is bad: does it reach number j of o? */
static inline enum reach
cache_to_o(const struct probe *p, int value, int64_t at, int64_t j)
{
	int64_t w = cache_window(p), row = j / A_D / A_H;
	int64_t last = cache_pos[p->n > 3][row], pos = at / A_D % C_P;

	if (cache_slot[p->n > 3][row] != at / A_D / C_P / A_G ||
	    at / A_D / C_P % A_G != j / A_D % A_H / (A_H / A_G) ||
	    pos > last || (w && pos <= last - w))
		return NO;
	return !value || at % A_D == j % A_D ? YES : MAY;
}

/* The number of the cache that row n, key/value head g, column col is put. */
static inline int64_t
cache_place(const struct probe *p, int64_t n, int64_t g, int64_t col)
{
	return ((cache_slot[p->n > 3][n] * A_G + g) * C_P +
		cache_pos[p->n > 3][n]) * A_D + col;
}

static inline enum reach
cache_reach(const struct probe *p, int in, int64_t i, int out, int64_t j)
{
	int64_t n = i / A_D / A_HEADS, c = i / A_D % A_HEADS, at = i;
	int value = in == 2;

	if (in == 0 && c < A_H)		/* a query */
		return out == 0 && j / A_D == n * A_H + c ? YES : NO;
	if (in == 0) {
		value = c >= A_H + A_G;
		at = cache_place(p, n, (c - A_H) % A_G, i % A_D);
	} else {
		for (int64_t m = 0; m < p->n; m++)	/* overwritten */
			for (int64_t g = 0; g < A_G; g++)
				if (cache_place(p, m, g, i % A_D) == i)
					return NO;
	}
	if (out == 0)
		return cache_to_o(p, value, at, j);
	return value == (out == 2) && j == at ? YES : NO;
}

static inline void
cache_probe(struct probe *p)
{
	int64_t kv = C_SLOTS * A_G * C_P * A_D;

	probe_in(p, p->n * A_HEADS * A_D, p->dt, 0);
	probe_in(p, kv, p->dt, 0);
	probe_in(p, kv, p->dt, 0);
	probe_out(p, p->n * A_H * A_D, p->dt);
	probe_out(p, kv, p->dt);
	probe_out(p, kv, p->dt);
	p->run = cache_run;
	p->reach = cache_reach;
}

#endif
