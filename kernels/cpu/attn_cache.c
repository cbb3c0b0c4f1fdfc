/*
 * attn_cache.c - cpu: the KV cache, and attention over it
 *
 * Rows of a long run go in tiles, as in attn.c: a task is a tile of queries of
 * one head, with its scores in scratch.  Queries are copied and padded to a
 * multiple of 16 rows, keys come in blocks of 64 up to 512, and the last few
 * are copied and padded with zeros, so that the plans are few and nothing
 * after the last position is read.
 *
 * Every other row goes alone.  Its positions are cut at multiples of
 * VEC_SPLIT; the parts, each with its own maximum, are combined in order.  A
 * task is a row and a key/value head, or one part of them where rows are few:
 * the arithmetic is the same.
 *
 * A masked value that is not finite makes NaN of a tile's result.  The rows of
 * that tile and head are then computed again, each alone.
 */
#include "kernels/cpu/attn.h"

#include <math.h>
#include <string.h>

enum { TILE = 64, UNIT = 16, BLOCK = 512, PAD = 64, TILE_RUN = 8 };

struct tile {
	int64_t row, rows;	/* of the call; one slot, positions in order */
};

struct cache {
	struct cpu *c;
	const struct k_attn_cache *a;
	int64_t q, rep;		/* row length of qkv; query heads per k/v */
	int64_t *single, singles;	/* rows that go alone */
	struct tile *tile;
	int64_t tiles, ld;	/* ld: of a tile's scores */
	int64_t parts;		/* of the longest row */
	float *part;		/* room for those of few rows */
	/* by rows / UNIT and keys / PAD; o: [1] added */
	const struct gemm *s[TILE / UNIT + 1][BLOCK / PAD + 1];
	const struct gemm *o[TILE / UNIT + 1][BLOCK / PAD + 1][2];
};

static int64_t
up(int64_t n, int64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static int64_t
first_key(const struct cache *x, int64_t row)
{
	return k_attn_first(0, x->a->window, x->a->pos[row]);
}

/* Keys (0) or values (1) of the slot of a row, from position j on. */
static void *
kv_at(const struct cache *x, int v, int64_t row, int64_t g, int64_t j)
{
	const struct k_attn_cache *a = x->a;

	return cpu_at(v ? a->vc : a->kc, a->dt,
		      ((a->slot[row] * a->g + g) * a->p + j) * a->d);
}

static void *
out_at(const struct cache *x, int64_t row, int64_t h)
{
	return cpu_at(x->a->o, x->a->dt, (row * x->a->h + h) * x->a->d);
}

/* --- rows alone --- */

/* Floats of one part: for each query head maximum, sum and D numbers. */
static int64_t
part_size(const struct cache *x)
{
	return x->rep * (x->a->d + VEC_PART);
}

/* Parts of a row, of which the first `skip` are outside its window. */
static int64_t
part_count(const struct cache *x, int64_t row, int64_t *skip)
{
	*skip = first_key(x, row) / VEC_SPLIT;
	return x->a->pos[row] / VEC_SPLIT + 1;
}

/* Parts i..n of a row and k/v head to p, the place of part 0. */
static void
row_parts(const struct cache *x, int64_t row, int64_t g, int64_t i, int64_t n,
	  float *p)
{
	int64_t first = first_key(x, row), end = x->a->pos[row] + 1;

	for (; i < n; i++) {
		int64_t j0 = i * VEC_SPLIT;

		x->c->vec->attn_part(x->a, row, g, j0 < first ? first : j0,
				     cpu_min(j0 + VEC_SPLIT, end),
				     p + i * part_size(x));
	}
}

/* The result of query head h, number r of its group. */
static void
row_combine(const struct cache *x, int64_t row, int64_t h, int64_t i,
	    int64_t n, float *p)
{
	int64_t d = x->a->d, step = part_size(x);
	float *to, max, sum = 0;

	p += h % x->rep * (d + VEC_PART);
	to = p + i * step;
	max = to[0];
	for (int64_t j = i + 1; j < n; j++)
		max = p[j * step] > max ? p[j * step] : max;
	for (int64_t j = i; j < n; j++) {
		const float *from = p + j * step;
		float w = expf(from[0] - max);

		sum += from[1] * w;
		if (j == i && w == 1)
			continue;
		for (int64_t c = VEC_PART; c < VEC_PART + d; c++)
			to[c] = j == i ? to[c] * w : to[c] + from[c] * w;
	}
	if (x->a->max_score)
		attn_raise(&x->a->max_score[h], sum == sum ? max : NAN);
	x->c->vec->row_scale(out_at(x, row, h), x->a->dt, to + VEC_PART,
			     1 / sum, d);
}

static void
row_task(void *arg, int64_t t, int thread)
{
	struct cache *x = arg;
	int64_t row = x->single[t / x->a->g], g = t % x->a->g, i;
	int64_t n = part_count(x, row, &i);
	float *p = cpu_own(x->c, thread);

	row_parts(x, row, g, i, n, p);
	for (int64_t h = g * x->rep; h < (g + 1) * x->rep; h++)
		row_combine(x, row, h, i, n, p);
}

/* One part of a row; x->part has room for all. */
static void
part_task(void *arg, int64_t t, int thread)
{
	struct cache *x = arg;
	int64_t i = t % x->parts, at = t / x->parts, skip;
	int64_t row = x->single[at / x->a->g];
	int64_t n = part_count(x, row, &skip);

	(void)thread;
	if (i >= skip && i < n)
		row_parts(x, row, at % x->a->g, i, i + 1,
			  x->part + at * x->parts * part_size(x));
}

static void
combine_task(void *arg, int64_t t, int thread)
{
	struct cache *x = arg;
	int64_t row = x->single[t / x->a->g], g = t % x->a->g, i;
	int64_t n = part_count(x, row, &i);

	(void)thread;
	for (int64_t h = g * x->rep; h < (g + 1) * x->rep; h++)
		row_combine(x, row, h, i, n,
			    x->part + t * x->parts * part_size(x));
}

/* --- tiles --- */

/* What a tile of queries works on. */
struct work {
	float *sc, *o, *inv;	/* (TILE, ld), (TILE, D), (TILE) */
	void *p;		/* (TILE, ld), type dt; f32: sc */
	void *q, *k, *v;	/* (TILE, D), (PAD, D), (PAD, D), type dt */
};

static struct work
tile_scratch(const struct cache *x, int thread)
{
	size_t cells = (size_t)(TILE * x->ld), d = (size_t)x->a->d;
	struct work w;

	w.sc = cpu_own(x->c, thread);
	w.o = w.sc + 2 * cells;
	w.q = w.o + TILE * d;
	w.k = (float *)w.q + TILE * d;
	w.v = (float *)w.k + PAD * d;
	w.inv = (float *)w.v + PAD * d;
	w.p = x->a->dt == K_F32 ? w.sc : w.sc + cells;
	return w;
}

/* Copy rows of D numbers; those from `rows` to `all` become zero. */
static void
copy_rows(const struct cache *x, void *to, const void *from, int64_t ld,
	  int64_t rows, int64_t all)
{
	int64_t d = x->a->d;
	size_t bytes = (size_t)d * kdtype_size(x->a->dt);

	for (int64_t i = 0; i < rows; i++)
		memcpy(cpu_at(to, x->a->dt, i * d),
		       cpu_at(from, x->a->dt, i * ld), bytes);
	memset(cpu_at(to, x->a->dt, rows * d), 0,
	       bytes * (size_t)(all - rows));
}

/* First key of a tile, the end of its whole blocks, and the padded end. */
struct keys {
	int64_t j0, whole, end;
};

static struct keys
tile_keys(const struct cache *x, const struct tile *t)
{
	int64_t end = x->a->pos[t->row] + t->rows;

	return (struct keys){ first_key(x, t->row) / PAD * PAD,
			      end / PAD * PAD, up(end, PAD) };
}

/* Keys of the block that starts at j: PAD times a power of two. */
static int64_t
block_keys(struct keys s, int64_t j)
{
	int64_t n = PAD;

	while (n < BLOCK && 2 * n <= s.whole - j)
		n *= 2;
	return n;
}

static const struct gemm *
plan(struct cache *x, int64_t m, int64_t n, int64_t k, int64_t lda, int tb,
     int64_t ldc, int accumulate)
{
	return gemm_plan(x->c, &(struct gemm_shape){
		.m = m, .n = n, .k = k, .lda = lda, .ldb = x->a->d, .tb = tb,
		.ldc = ldc, .dt = x->a->dt, .cdt = K_F32,
		.accumulate = accumulate });
}

static void
block_plans(struct cache *x, int64_t m, int64_t n, int add)
{
	const struct gemm **s = &x->s[m / UNIT][n / PAD];
	const struct gemm **o = &x->o[m / UNIT][n / PAD][add];
	int64_t d = x->a->d;

	if (!*s)
		*s = plan(x, m, n, d, d, 1, x->ld, 0);
	if (!*o)
		*o = plan(x, m, d, n, x->ld, 0, d, add);
}

static void
tile_plans(struct cache *x, const struct tile *t)
{
	struct keys s = tile_keys(x, t);

	for (int64_t j = s.j0, n; j < s.end; j += n) {
		n = block_keys(s, j);
		block_plans(x, up(t->rows, UNIT), n, j > s.j0);
	}
}

/* Returns the largest score. */
static float
tile_matmuls(struct cache *x, const struct tile *t, int64_t h,
	     const struct work *w, int thread)
{
	struct keys s = tile_keys(x, t);
	int64_t r = up(t->rows, UNIT) / UNIT, g = h / x->rep;
	const struct k_attn_cache *a = x->a;
	float top = -INFINITY;

	for (int64_t j = s.j0, n; j < s.end; j += n) {
		n = block_keys(s, j);
		gemm_run(x->c, x->s[r][n / PAD], thread, w->q, j < s.whole ?
			 kv_at(x, 0, t->row, g, j) : w->k, w->sc + j - s.j0);
	}
	for (int64_t i = 0; i < t->rows; i++) {
		float max;

		w->inv[i] = 1 / x->c->vec->softmax(w->sc + i * x->ld,
			cpu_at(w->p, a->dt, i * x->ld), a->dt, a->scale,
			first_key(x, t->row + i) - s.j0,
			a->pos[t->row + i] + 1 - s.j0, s.end - s.j0, &max);
		top = max > top ? max : top;
	}
	for (int64_t j = s.j0, n; j < s.end; j += n) {
		n = block_keys(s, j);
		gemm_run(x->c, x->o[r][n / PAD][j > s.j0], thread,
			 cpu_at(w->p, a->dt, j - s.j0), j < s.whole ?
			 kv_at(x, 1, t->row, g, j) : w->v, w->o);
	}
	return a->scale * top;
}

/* The rows of a tile and head again, each alone. */
static void
tile_again(struct cache *x, const struct tile *t, int64_t h, int thread)
{
	float *p = cpu_own(x->c, thread);

	for (int64_t row = t->row; row < t->row + t->rows; row++) {
		int64_t i, n = part_count(x, row, &i);

		row_parts(x, row, h / x->rep, i, n, p);
		row_combine(x, row, h, i, n, p);
	}
}

static void
tile_task(void *arg, int64_t i, int thread)
{
	struct cache *x = arg;
	const struct k_attn_cache *a = x->a;
	const struct tile *t = &x->tile[x->tiles - 1 - i / a->h];
	int64_t h = i % a->h, g = h / x->rep, nan = 0;
	struct keys s = tile_keys(x, t);
	struct work w = tile_scratch(x, thread);
	float top;

	copy_rows(x, w.q, cpu_at(a->qkv, a->dt, t->row * x->q + h * a->d),
		  x->q, t->rows, up(t->rows, UNIT));
	for (int v = 0; v < 2 && s.whole < s.end; v++)
		copy_rows(x, v ? w.v : w.k, kv_at(x, v, t->row, g, s.whole),
			  a->d, a->pos[t->row] + t->rows - s.whole, PAD);
	top = tile_matmuls(x, t, h, &w, thread);
	for (int64_t j = 0; j < t->rows * a->d; j++)
		nan |= w.o[j] != w.o[j];
	if (nan) {
		tile_again(x, t, h, thread);
		return;
	}
	if (a->max_score)
		attn_raise(&a->max_score[h], top);
	for (int64_t j = 0; j < t->rows; j++)
		x->c->vec->row_scale(out_at(x, t->row + j, h), a->dt,
				     w.o + j * a->d, w.inv[j], a->d);
}

/* --- the entries --- */

static void
add_run(struct cache *x, int64_t row, int64_t n)
{
	if (n < TILE_RUN) {
		for (; n > 0; n--)
			x->single[x->singles++] = row++;
		return;
	}
	for (; n > 0; n -= TILE, row += TILE)
		x->tile[x->tiles++] = (struct tile){ row, cpu_min(n, TILE) };
}

/* Sort the rows into tiles and single ones. */
static void
sort_rows(struct cache *x)
{
	const struct k_attn_cache *a = x->a;
	int64_t n = a->runs.n ? a->runs.n : a->n;

	for (int64_t i = 0; i < n; i++) {
		int64_t row = a->runs.n ? a->runs.first[i] : i;
		int64_t end = i + 1 == n ? a->n :
			a->runs.n ? a->runs.first[i + 1] : i + 1;

		add_run(x, row, end - row);
	}
	for (int64_t i = 0; i < x->tiles; i++)
		tile_plans(x, &x->tile[i]);
}

/* Every plan that a call on such a cache can make. */
static void
all_plans(struct cache *x)
{
	for (int64_t m = UNIT; m <= TILE; m += UNIT)
		for (int64_t n = PAD; n <= BLOCK && n < x->ld; n *= 2)
			for (int add = 0; add < 2; add++)
				block_plans(x, m, n, add);
}

/* One part a task if there are at most this many rows and k/v heads. */
static int64_t
few_tasks(const struct cache *x)
{
	return 4 * x->c->threads;
}

/*
 * Sizes that depend on the cache, not on the positions, so that calls do not
 * grow anything as a text gets longer.
 */
static void
cache_open(struct cache *x)
{
	const struct k_attn_cache *a = x->a;
	int64_t parts = (a->p - 1) / VEC_SPLIT + 1, all;
	int64_t own, tile;
	size_t lists = (size_t)a->n * (sizeof *x->single + sizeof *x->tile);

	x->ld = up(a->p, PAD) + PAD;
	if (x->ld * kdtype_size(a->dt) % 4096 == 0)
		x->ld += PAD;	/* rows in different sets of the cache */
	all = parts * cpu_min(a->n * a->g, few_tasks(x)) * part_size(x);
	x->tile = cpu_shared(x->c, lists + (size_t)all * sizeof(float));
	x->single = (int64_t *)(void *)(x->tile + a->n);
	x->part = (float *)(void *)(x->single + a->n);
	own = parts * part_size(x);
	tile = 2 * TILE * x->ld + (2 * TILE + 2 * PAD) * a->d + TILE;
	if (x->c->plan_only || (a->runs.n && a->runs.n < a->n))
		own = tile > own ? tile : own;
	cpu_private(x->c, (size_t)own * sizeof(float));
}

void
cpu_attn_cache(struct kernels *k, const struct k_attn_cache *a)
{
	struct cache x = { .c = cpu_of(k), .a = a,
			   .q = (a->h + 2 * a->g) * a->d,
			   .rep = a->h / a->g };
	int64_t rows;

	cache_open(&x);
	if (x.c->plan_only) {
		all_plans(&x);
		return;
	}
	for (int64_t i = 0; i < a->n; i++)
		if (a->pos[i] / VEC_SPLIT >= x.parts)
			x.parts = a->pos[i] / VEC_SPLIT + 1;
	sort_rows(&x);
	for (int64_t h = 0; a->max_score && h < a->h; h++)
		a->max_score[h] = -INFINITY;
	cpu_each(x.c, x.tiles * a->h, tile_task, &x);
	rows = x.singles * a->g;
	if (x.parts == 1 || rows > few_tasks(&x)) {
		cpu_each(x.c, rows, row_task, &x);
		return;
	}
	cpu_each(x.c, rows * x.parts, part_task, &x);
	cpu_each(x.c, rows, combine_task, &x);
}

static void
put_task(void *arg, int64_t n, int thread)
{
	const struct k_kv_put *a = arg;
	int64_t q = (a->h + 2 * a->g) * a->d;
	size_t bytes = (size_t)a->d * kdtype_size(a->dt);

	(void)thread;
	for (int64_t g = 0; g < a->g; g++) {
		int64_t to = ((a->slot[n] * a->g + g) * a->p + a->pos[n]) *
			     a->d;
		int64_t from = n * q + (a->h + g) * a->d;

		memcpy(cpu_at(a->kc, a->dt, to), cpu_at(a->qkv, a->dt, from),
		       bytes);
		memcpy(cpu_at(a->vc, a->dt, to),
		       cpu_at(a->qkv, a->dt, from + a->g * a->d), bytes);
	}
}

void
cpu_kv_put(struct kernels *k, const struct k_kv_put *a)
{
	struct k_kv_put copy = *a;

	cpu_each(cpu_of(k), a->n, put_task, &copy);
}
