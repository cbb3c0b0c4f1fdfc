/*
 * attn_nan.c - cpu: attention over numbers that are not finite
 *
 * The matmuls of a tile multiply a masked value by probability zero, and zero
 * times NaN or infinity is NaN: a bad row would reach rows that cannot see it.
 * The fast code finds a NaN in what it computed.  The entry is then computed
 * again, which happens once before a run stops: on copies where every head of
 * a row with such a number is zero, so that bad rows add nothing.  The rows
 * that depend on one are set to NaN afterwards, in O(N) since start never
 * decreases.
 */
#include "kernels/cpu/attn.h"

#include <math.h>
#include <string.h>

/* x (rows, D) becomes zero where a row has a bad number; bad (rows). */
static void
clean(void *x, enum kdtype dt, int64_t rows, int64_t d, uint8_t *bad)
{
	for (int64_t r = 0; r < rows; r++) {
		bad[r] |= !cpu_finite(cpu_at(x, dt, r * d), dt, d);
		if (bad[r])
			memset(cpu_at(x, dt, r * d), 0,
			       (size_t)d * kdtype_size(dt));
	}
}

/* A copy of n numbers at *at, which moves on. */
static void *
copy_of(char **at, const void *x, int64_t n, enum kdtype dt)
{
	size_t bytes = (size_t)n * kdtype_size(dt);

	return memcpy(cpu_carve(at, bytes), x, bytes);
}

/* Bytes of the copies of either entry, at most; lse only backward. */
static size_t
copies_bytes(int64_t n, int64_t h, int64_t g, int64_t d, int64_t t,
	     enum kdtype dt, int grad)
{
	size_t row = (size_t)((h + 2 * g) * d + (grad ? 2 * h * d : 0));

	return (size_t)n * (row * kdtype_size(dt) + (size_t)(2 * h + 2 * g) +
			    (size_t)h * sizeof(float)) + (size_t)t + 7 * 64;
}

/* n bytes of zeros. */
static void *
zeros(char **at, int64_t n)
{
	return memset(cpu_carve(at, (size_t)n), 0, (size_t)n);
}

static void
set_nan(void *x, enum kdtype dt, int64_t row, int64_t d)
{
	for (int64_t i = row * d; i < (row + 1) * d; i++)
		kdtype_set(x, dt, i, NAN);
}

/*
 * Which rows of a head depend on a bad query or key (1), or on a bad value
 * (2).  bad is that of qkv (N, H + 2G); dep (T).
 */
static void
dependent(const struct k_attn_fwd *a, const uint8_t *bad, int64_t b,
	  int64_t h, uint8_t *dep)
{
	int64_t heads = a->h + 2 * a->g, kh = a->h + h / (a->h / a->g);
	int64_t key = -1, value = -1;

	for (int64_t t = 0; t < a->t; t++) {
		const uint8_t *row = bad + (b * a->t + t) * heads;
		int64_t s = k_attn_first(a->start ? a->start[b * a->t + t] : 0,
					 a->window, t);

		key = row[kh] ? t : key;
		value = row[kh + a->g] ? t : value;
		dep[t] = (uint8_t)((row[h] || key >= s) |
				   (value >= s) << 1);
	}
}

void
attn_fwd_masked(struct kernels *k, const struct k_attn_fwd *a)
{
	int64_t n = a->b * a->t, heads = a->h + 2 * a->g;
	char *at = cpu_spare(cpu_of(k), copies_bytes(n, a->h, a->g, a->d,
						     a->t, a->dt, 0));
	struct k_attn_fwd c = *a;
	uint8_t *bad, *dep;
	void *qkv;

	if (cpu_of(k)->plan_only)
		return;
	bad = zeros(&at, n * heads);
	dep = zeros(&at, a->t);
	qkv = copy_of(&at, a->qkv, n * heads * a->d, a->dt);
	clean(qkv, a->dt, n * heads, a->d, bad);
	c.qkv = qkv;
	attn_fwd(k, &c);
	for (int64_t i = 0; i < a->b * a->h; i++) {
		int64_t b = i / a->h, h = i % a->h;

		dependent(a, bad, b, h, dep);
		for (int64_t t = 0; t < a->t; t++) {
			if (dep[t])
				set_nan(a->o, a->dt,
					(b * a->t + t) * a->h + h, a->d);
			if (dep[t] & 1)
				a->lse[i * a->t + t] = NAN;
			if (dep[t] & 1 && a->max_score)
				a->max_score[h] = NAN;
		}
	}
}

/* --- backward --- */

/* Copies of what attn_bwd reads, and the rows (N, H) that are bad. */
struct copies {
	struct k_attn_bwd a;
	void *qkv, *o, *dout;
	float *lse;
	uint8_t *bad;
};

/* Bad rows get a zero query and gradient and, by their lse, probability 0. */
static void
copies_make(struct copies *c, const struct k_attn_bwd *a, char *at)
{
	int64_t n = a->b * a->t, heads = a->h + 2 * a->g;
	struct k_attn_fwd f = { .b = a->b, .t = a->t, .h = a->h, .g = a->g,
				.start = a->start, .window = a->window };
	uint8_t *in = zeros(&at, n * heads), *dep = zeros(&at, a->t);

	c->a = *a;
	c->bad = zeros(&at, n * a->h);
	c->a.qkv = c->qkv = copy_of(&at, a->qkv, n * heads * a->d, a->dt);
	c->a.o = c->o = copy_of(&at, a->o, n * a->h * a->d, a->dt);
	c->a.dout = c->dout = copy_of(&at, a->dout, n * a->h * a->d, a->dt);
	c->a.lse = c->lse = copy_of(&at, a->lse, n * a->h, K_F32);
	clean(c->qkv, a->dt, n * heads, a->d, in);
	for (int64_t i = 0; i < a->b * a->h; i++) {
		int64_t b = i / a->h, h = i % a->h;

		dependent(&f, in, b, h, dep);
		for (int64_t t = 0; t < a->t; t++)
			c->bad[(b * a->t + t) * a->h + h] = dep[t] ||
				!isfinite(c->lse[i * a->t + t]);
	}
	clean(c->o, a->dt, n * a->h, a->d, c->bad);
	clean(c->dout, a->dt, n * a->h, a->d, c->bad);
	clean(c->o, a->dt, n * a->h, a->d, c->bad);	/* where dout was */
	for (int64_t i = 0; i < n * a->h; i++) {
		int64_t b = i / a->h / a->t, t = i / a->h % a->t;

		if (c->bad[i])
			c->lse[(b * a->h + i % a->h) * a->t + t] = 1e30f;
	}
}

/* Keys and values of head g get a NaN from the bad rows that see them. */
static void
mark_keys(const struct k_attn_bwd *a, const uint8_t *bad, int64_t b,
	  int64_t g)
{
	int64_t rep = a->h / a->g, heads = a->h + 2 * a->g, next = a->t;

	for (int64_t j = a->t - 1; j >= 0; j--) {
		int64_t n = b * a->t + j;

		for (int64_t h = g * rep; h < (g + 1) * rep; h++)
			next = bad[n * a->h + h] ? j : next;
		if (next == a->t ||
		    k_attn_first(a->start ? a->start[b * a->t + next] : 0,
				 a->window, next) > j)
			continue;
		set_nan(a->dqkv, a->dt, n * heads + a->h + g, a->d);
		set_nan(a->dqkv, a->dt, n * heads + a->h + a->g + g, a->d);
	}
}

void
attn_bwd_masked(struct kernels *k, const struct k_attn_bwd *a)
{
	int64_t n = a->b * a->t, heads = a->h + 2 * a->g;
	char *at = cpu_spare(cpu_of(k), copies_bytes(n, a->h, a->g, a->d,
						     a->t, a->dt, 1));
	struct copies c;

	if (cpu_of(k)->plan_only)
		return;
	copies_make(&c, a, at);
	attn_bwd(k, &c.a);
	for (int64_t i = 0; i < n * a->h; i++)
		if (c.bad[i])
			set_nan(a->dqkv, a->dt, i / a->h * heads + i % a->h,
				a->d);
	for (int64_t i = 0; i < a->b * a->g; i++)
		mark_keys(a, c.bad, i / a->g, i % a->g);
}
