/*
 * attn.h - cpu: attention on finite numbers (attn.c, attn_bwd.c), and on any
 * (attn_nan.c)
 */
#ifndef ASSAY_CPU_ATTN_H
#define ASSAY_CPU_ATTN_H

#include "kernels/cpu/cpu.h"

/*
 * Heads apart: rows of one head follow each other, (B, heads, Tp, D), because
 * oneDNN is up to three times as fast on operands without gaps.  Tp is T
 * rounded up to whole tiles; rows from T on are zero, so that all tiles have
 * the same shape.
 */
struct attn {
	struct cpu *c;
	int64_t b, t, h, g, d;
	enum kdtype dt;
	float scale;
	const int32_t *start;
	int64_t window;
	int64_t tile, tp;
	const void *qkv;	/* (B, T, Q), and apart: */
	char *x;		/* (B, H + 2G, Tp, D) */
	int nan;		/* set by any task */
};

/* The first key that row t of sequence b sees. */
static inline int64_t
attn_first(const struct attn *x, int64_t b, int64_t t)
{
	return k_attn_first(x->start ? x->start[b * x->t + t] : 0, x->window,
			    t);
}

/* Row t of head i, counted from q to v, of sequence b. */
static inline void *
attn_at(const struct attn *x, int64_t b, int64_t i, int64_t t)
{
	return cpu_at(x->x, x->dt,
		      ((b * (x->h + 2 * x->g) + i) * x->tp + t) * x->d);
}

/* The key head of query head h; its value head is G further. */
static inline int64_t
attn_key(const struct attn *x, int64_t h)
{
	return x->h + h / (x->h / x->g);
}

/* Sizes of tiles, and Tp, a multiple of unit tiles. */
void attn_tiles(struct attn *x, int64_t unit);

/* Rows (B, T, heads, D) to heads (B, heads, Tp, D), rows from T on zero. */
void attn_apart(const struct attn *x, const void *rows, int64_t heads,
		void *to);

/* Note whether the n numbers of p have a NaN. */
void attn_find_nan(struct attn *x, const float *p, int64_t n);

/*
 * The entries on numbers that are finite where the mask hides them.  Return
 * whether a NaN was computed.
 */
int attn_fwd(struct kernels *k, const struct k_attn_fwd *a);
int attn_bwd(struct kernels *k, const struct k_attn_bwd *a);

/*
 * The same on any numbers; while only planning, the memory for it is noted.
 */
void attn_fwd_masked(struct kernels *k, const struct k_attn_fwd *a);
void attn_bwd_masked(struct kernels *k, const struct k_attn_bwd *a);

/* Phases of the backward pass, and the number of tasks in phase p. */
int64_t attn_bwd_phases(int64_t b, int64_t t, int64_t h);
int64_t attn_bwd_tasks(int64_t b, int64_t t, int64_t h, int64_t p);

/*
 * Tasks raise the largest score of a head in any order: the result is the
 * same.  A NaN stays; adding 0 makes a zero positive.
 */
static inline void
attn_raise(float *to, float x)
{
	float old;

	x += 0.0f;
	__atomic_load(to, &old, __ATOMIC_RELAXED);
	while (x > old || (x != x && old == old))
		if (__atomic_compare_exchange(to, &old, &x, 0,
					      __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED))
			return;
}

#endif
