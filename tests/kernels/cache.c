/*
 * cache.c - attention over the cache: runs, long rows, masked values
 *
 * Rows of four slots in one call: two alone, one of them far out, a short run,
 * and two long ones, which the cpu table computes as tiles.  A run must give
 * the bits that it gives in a call of its own, and with any number of threads.
 * NaN wherever no row may look must change no row, and a NaN inside a run only
 * the rows from it on.
 */
#include "tests/kernels/kt.h"
#include "tests/kernels/tables.h"

enum { H = 8, G = 2, D = 64, Q = (H + 2 * G) * D, P = 1700, RUNS = 5,
       ROWS = 1 + 1 + 70 + 5 + 200 };

static const struct {
	int32_t slot, pos, rows;
} runs[RUNS] = {
	{ 3, 1650, 1 }, { 1, 3, 1 }, { 0, 900, 70 }, { 1, 700, 5 },
	{ 2, 0, 200 },
};

static int32_t slot[ROWS], pos[ROWS], first[RUNS];

struct cache {
	struct kernels *k;
	struct kt t;
	int64_t window;
	char *kc, *vc, *qkv, *o;
};

static void
cache_new(struct cache *c, struct kernels *k, enum kdtype dt, int64_t window)
{
	*c = (struct cache){ .k = k, .window = window };
	c->t = (struct kt){ .k = k, .dt = dt, .seed = 7 };
	c->kc = kt_in(&c->t, 4 * G * P * D, dt, 1);
	c->vc = kt_in(&c->t, 4 * G * P * D, dt, 1);
	c->qkv = kt_in(&c->t, ROWS * Q, dt, 1);
	c->o = kt_room(&c->t, ROWS * H * D, dt);
}

/* Attention of runs i..n, with hints. */
static void
attend(struct cache *c, int i, int n)
{
	int64_t row = first[i], end = n < RUNS ? first[n] : ROWS;
	size_t e = kdtype_size(c->t.dt);
	int32_t at[RUNS];
	struct k_runs r = { .n = n - i, .first = at };

	for (int j = i; j < n; j++) {
		at[j - i] = first[j] - first[i];
		if (runs[j].pos + runs[j].rows > r.longest)
			r.longest = runs[j].pos + runs[j].rows;
	}
	c->k->attn_cache(c->k, &(struct k_attn_cache){ .n = end - row,
		.h = H, .g = G, .d = D, .p = P, .dt = c->t.dt,
		.qkv = c->qkv + (size_t)(row * Q) * e, .slot = slot + row,
		.pos = pos + row, .runs = r, .kc = c->kc, .vc = c->vc,
		.window = c->window, .scale = 0.125f,
		.o = c->o + (size_t)(row * H * D) * e });
	must_sync(c->k);
}

static double
value(const struct cache *c, const char *p, int64_t i)
{
	struct kt_out o = { .dt = c->t.dt, .data = (void *)(uintptr_t)p };

	return kt_get(&o, i);
}

static void
set_nan(const struct cache *c, char *p, int64_t i, int64_t n)
{
	for (; n > 0; n--, i++)
		if (c->t.dt == K_BF16)
			((uint16_t *)(void *)p)[i] = 0x7fc0;
		else
			((float *)(void *)p)[i] = NAN;
}

/* --- the tests --- */

static const char *table;

static const char *
what(const struct cache *c)
{
	static char s[80];

	snprintf(s, sizeof s, "%s %s window %d", table,
		 c->t.dt == K_BF16 ? "bf16" : "fp32", (int)c->window);
	return s;
}

static void
same_bits(struct kernels *k, enum kdtype dt, int64_t window)
{
	size_t bytes = (size_t)(ROWS * H * D) * kdtype_size(dt);
	char *all = xmalloc(bytes);
	struct cache c;
	struct err e = {0};

	cache_new(&c, k, dt, window);
	attend(&c, 0, RUNS);
	memcpy(all, c.o, bytes);
	memset(c.o, 0, bytes);
	for (int i = 0; i < RUNS; i++)
		attend(&c, i, i + 1);
	tap_ok(memcmp(all, c.o, bytes) == 0, "%s: a run has the bits of a "
	       "call of its own", what(&c));
	for (int threads = 1; threads < 8; threads += 6) {
		c.k = kernels_open(table, threads, &e);
		memset(c.o, 0, bytes);
		attend(&c, 0, RUNS);
		tap_ok(memcmp(all, c.o, bytes) == 0, "%s: same bits from %d "
		       "threads", what(&c), threads);
		memset(c.o, 0, bytes);
		attend(&c, 0, 1);	/* a part of the row for each task */
		tap_ok(memcmp(all, c.o, bytes / ROWS) == 0,
		       "%s: one row alone, same bits from %d threads",
		       what(&c), threads);
		c.k->close(c.k);
	}
	kt_clear(&c.t);
	free(all);
}

/* Whether rows from..to of both are equal but for rounding. */
static int
near(const struct cache *x, const struct cache *y, int64_t from, int64_t to)
{
	double tol = x->t.dt == K_BF16 ? 0.02 : 1e-4;
	int64_t bad = 0;

	for (int64_t i = from * H * D; i < to * H * D; i++)
		bad += !(fabs(value(x, x->o, i) - value(y, y->o, i)) <= tol);
	return bad == 0;
}

/* Everything that no row may read. */
static void
hide(struct cache *c)
{
	char *seen = xcalloc(4 * P, 1);

	for (int64_t i = 0; i < ROWS; i++)
		for (int64_t j = k_attn_first(0, c->window, pos[i]);
		     j <= pos[i]; j++)
			seen[slot[i] * P + j] = 1;
	for (int64_t i = 0; i < 4 * G * P; i++)
		if (!seen[i / (G * P) * P + i % P]) {
			set_nan(c, c->kc, i * D, D);
			set_nan(c, c->vc, i * D, D);
		}
	free(seen);
}

static void
masked(struct kernels *k, enum kdtype dt, int64_t window)
{
	enum { AT = 930 };	/* of the run from 900 on, of key head 1 */
	struct cache c, clean;
	int64_t finite = 0, row = first[2] + AT - 900;

	cache_new(&c, k, dt, window);
	cache_new(&clean, k, dt, window);
	attend(&clean, 0, RUNS);
	hide(&c);
	attend(&c, 0, RUNS);
	tap_ok(near(&c, &clean, 0, ROWS), "%s: NaN where no row looks "
	       "changes nothing", what(&c));
	set_nan(&c, c.vc, (P + AT) * D, D);
	attend(&c, 0, RUNS);
	for (int64_t i = row; i < first[3]; i++)
		for (int64_t h = 0; h < H; h++)
			finite += (h < H / 2) != !!isfinite(
				value(&c, c.o, (i * H + h) * D));
	tap_ok(near(&c, &clean, 0, row) && near(&c, &clean, first[3], ROWS) &&
	       finite == 0, "%s: NaN in a run reaches the heads of the rows "
	       "that see it", what(&c));
	kt_clear(&c.t);
	kt_clear(&clean.t);
}

static void
test_table(const char *name, struct kernels *k)
{
	table = name;
	for (int dt = K_F32; dt <= K_BF16; dt++)
		for (int64_t window = 0; window <= 100; window += 100) {
			same_bits(k, (enum kdtype)dt, window);
			masked(k, (enum kdtype)dt, window);
		}
}

int
main(void)
{
	int32_t n = 0;

	for (int i = 0; i < RUNS; i++) {
		first[i] = n;
		for (int32_t j = 0; j < runs[i].rows; j++, n++) {
			slot[n] = runs[i].slot;
			pos[n] = runs[i].pos + j;
		}
	}
	tap_start();
	each_table(1, 2, test_table);
	return tap_end();
}
