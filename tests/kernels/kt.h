/*
 * kt.h - one run of an entry: inputs from a seed, memory, outputs
 *
 * A case (cases.h, real.h) makes its inputs with these functions, runs entries
 * of whatever table it is given and hands back the outputs.
 */
#ifndef ASSAY_KERNEL_KT_H
#define ASSAY_KERNEL_KT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "kernels/kernels.h"
#include "tests/kernels/must.h"

enum { KT_MAX = 64 };

/* How an output is compared with that of ref. */
enum kt_kind {
	KT_ROWS,	/* rows of numbers, by the tolerance of kernels.h */
	KT_F32,		/* by that of fp32 in every type */
	KT_STAT,	/* a statistic of each row, by that of statistics */
	KT_BYTES,	/* equal bytes */
	KT_DOUBLE,	/* doubles, within 1e-12 */
	KT_SUM		/* doubles made from f32 numbers, within 1e-4 */
};

struct kt_out {
	const char *name;
	enum kdtype dt;		/* of data */
	enum kt_kind kind;
	int64_t n, cols;	/* numbers, and those of a row */
	void *data;
};

struct kt {
	struct kernels *k;
	enum kdtype dt;
	uint64_t seed, used;
	int big;		/* shapes of several tiles */
	void *mem[KT_MAX], *src[KT_MAX];
	int nmem, nsrc;
	struct kweight *w[4];
	int nw;
	struct kt_out out[12];
	int nout;
	const struct kt *like;	/* see kt_like(); or NULL */
};

/* The number of a big run: which shape of a list. */
static inline int
kt_item(const struct kt *t)
{
	return (int)(t->seed / 2);
}

static inline int64_t
kt_int(struct kt *t, int64_t lo, int64_t hi)
{
	return lo + (int64_t)rng_below(t->seed, RNG_TEST, t->used++,
				       (uint64_t)(hi - lo + 1));
}

/* A size: small and odd, or (big) up to several tiles, often a round one. */
static inline int64_t
kt_size(struct kt *t, int64_t small, int64_t big)
{
	int64_t n = kt_int(t, 1, t->big ? big : small);

	if (t->big && n > 64 && kt_int(t, 0, 1))
		n = n / 64 * 64;
	return n;
}

static inline void *
kt_room(struct kt *t, int64_t n, enum kdtype dt)
{
	void *p = must_alloc(t->k, (size_t)n * kdtype_size(dt));

	t->mem[t->nmem++] = p;
	return p;
}

/* Host bytes to the device; they stay as they are until kt_clear(). */
static inline void
kt_put(struct kt *t, void *dst, const void *src, size_t n)
{
	void *copy = xmalloc(n);

	memcpy(copy, src, n);
	t->src[t->nsrc++] = copy;
	kernels_upload(t->k, dst, copy, n);
}

/*
 * Nearly normal, and cheap: the sum of the four quarters of a hashed counter
 * (splitmix64), each uniform.
 */
static inline float *
kt_normals(struct kt *t, int64_t n, double mean, double std)
{
	float *x = xreallocarray(NULL, (size_t)n, sizeof *x);
	uint64_t base = rng_u64(t->seed, RNG_TEST, t->used++);
	double unit = std * sqrt(3) / 65536;

	for (int64_t i = 0; i < n; i++) {
		uint64_t z = base + (uint64_t)i * 0x9e3779b97f4a7c15u;

		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		z ^= z >> 31;
		x[i] = (float)(mean + unit * ((double)(z & 0xffff) +
			(double)(z >> 16 & 0xffff) +
			(double)(z >> 32 & 0xffff) +
			(double)(z >> 48) - 2 * 65535.0));
	}
	return x;
}

static inline void
kt_fill(struct kt *t, void *dst, int64_t n, enum kdtype dt, double mean,
	double std)
{
	float *x = kt_normals(t, n, mean, std);
	uint16_t *h = (uint16_t *)x;

	if (dt != K_F32)
		for (int64_t i = 0; i < n; i++)
			kdtype_set(h, dt, i, x[i]);
	kt_put(t, dst, x, (size_t)n * kdtype_size(dt));
	free(x);
}

/* Random numbers on the device. */
static inline void *
kt_in(struct kt *t, int64_t n, enum kdtype dt, double std)
{
	void *p = kt_room(t, n, dt);

	kt_fill(t, p, n, dt, 0, std);
	return p;
}

static inline void *
kt_near_one(struct kt *t, int64_t n, enum kdtype dt)
{
	void *p = kt_room(t, n, dt);

	kt_fill(t, p, n, dt, 1, 0.2);
	return p;
}

/* Random integers in [lo, hi]; one in `rare` is -1 (0: none). */
static inline int32_t *
kt_ids(struct kt *t, int64_t n, int64_t lo, int64_t hi, int rare)
{
	int32_t *p = kt_room(t, n, K_F32);
	int32_t *x = xreallocarray(NULL, (size_t)n, sizeof *x);

	for (int64_t i = 0; i < n; i++)
		x[i] = rare && kt_int(t, 1, rare) == 1 ? -1 :
		       (int32_t)kt_int(t, lo, hi);
	kt_put(t, p, x, (size_t)n * sizeof *x);
	free(x);
	return p;
}

/* Rows sorted by token, stable. */
static inline int32_t *
kt_sorted(struct kt *t, const int32_t *tok, int64_t n)
{
	int32_t *x = xreallocarray(NULL, (size_t)n, sizeof *x);
	int32_t *o = xreallocarray(NULL, (size_t)n, sizeof *o);
	int32_t *p = kt_room(t, n, K_F32);

	must_download(t->k, x, tok, (size_t)n * sizeof *x);
	for (int64_t i = 0; i < n; i++) {
		int64_t j = i;

		for (; j > 0 && x[o[j - 1]] > x[i]; j--)
			o[j] = o[j - 1];
		o[j] = (int32_t)i;
	}
	kt_put(t, p, o, (size_t)n * sizeof *o);
	free(x);
	free(o);
	return p;
}

static inline struct kweight *
kt_weight(struct kt *t, int64_t out, int64_t in, int use)
{
	struct kweight *w = must_weight(t->k, t->dt, out, in, use);

	kt_fill(t, w->data, out * in, t->dt, 0, 1 / sqrt((double)in));
	kernels_weight_update(t->k, w);
	t->w[t->nw++] = w;
	return w;
}

/* The output p of `rows` rows of `cols` numbers each. */
static inline struct kt_out *
kt_out(struct kt *t, const char *name, const void *p, int64_t rows,
       int64_t cols, enum kdtype dt)
{
	struct kt_out *o = &t->out[t->nout++];
	int64_t n = rows * cols;
	size_t bytes = (size_t)n * kdtype_size(dt);

	*o = (struct kt_out){ name, dt, KT_ROWS, n, cols,
			      xmalloc(bytes ? bytes : 1) };
	must_download(t->k, o->data, p, bytes);
	return o;
}

/* One statistic of each of n rows. */
static inline void
kt_stat(struct kt *t, const char *name, const float *p, int64_t n)
{
	kt_out(t, name, p, n, 1, K_F32)->kind = KT_STAT;
}

/*
 * Put the output `name` of the run that this one is compared with in p, where
 * this run computed its own: the next entry then gets equal input.
 */
static inline void
kt_like(struct kt *t, const char *name, void *p)
{
	for (int i = 0; t->like && i < t->like->nout; i++) {
		const struct kt_out *o = &t->like->out[i];

		if (strcmp(o->name, name) == 0)
			kt_put(t, p, o->data, (size_t)o->n *
			       kdtype_size(o->dt));
	}
}

static inline double
kt_at(const void *p, enum kdtype dt, int64_t i)
{
	return kdtype_get(p, dt, i);
}

static inline void
kt_set(void *p, enum kdtype dt, int64_t i, double x)
{
	kdtype_set(p, dt, i, (float)x);
}

static inline double
kt_get(const struct kt_out *o, int64_t i)
{
	return kt_at(o->data, o->dt, i);
}

/* Rows row[0..n) of p, of `cols` numbers each, as one output. */
static inline struct kt_out *
kt_sample(struct kt *t, const char *name, const void *p, const int64_t *row,
	  int64_t n, int64_t cols, enum kdtype dt)
{
	struct kt_out *o = &t->out[t->nout++];
	size_t bytes = (size_t)cols * kdtype_size(dt);

	*o = (struct kt_out){ name, dt, KT_ROWS, n * cols, cols,
			      xmalloc((size_t)n * bytes) };
	for (int64_t i = 0; i < n; i++)
		must_download(t->k, (char *)o->data + (size_t)i * bytes,
			       (const char *)p + (size_t)row[i] * bytes,
			       bytes);
	return o;
}

/* Release what a run holds except its outputs. */
static inline void
kt_forget(struct kt *t)
{
	must_sync(t->k);
	while (t->nw > 0)
		must_weight_free(t->k, t->w[--t->nw]);
	while (t->nmem > 0)
		kernels_release(t->k, t->mem[--t->nmem]);
	must_sync(t->k);
	while (t->nsrc > 0)
		free(t->src[--t->nsrc]);
}

static inline void
kt_clear(struct kt *t)
{
	kt_forget(t);
	while (t->nout > 0)
		free(t->out[--t->nout].data);
}

#endif
