/*
 * plans.c - no matmul runs on oneDNN's reference loops
 *
 * They are a hundred times slower than its fast code, and oneDNN silently uses
 * them for a layout, stride or type that no fast code accepts.  Every entry
 * with a matmul plans the shapes of the presets, without computing; no plan
 * may be a reference implementation.  Nor may their number grow with that of
 * the batch sizes that occur.  Then, whether the backward pass of attention
 * has tasks for many cores.
 */
#include "kernels/cpu/attn.h"
#include "kernels/cpu/prim.h"
#include "kernels/cpu/weight.h"
#include "model/config.h"
#include "tests/kernels/must.h"
#include "tests/kernels/tables.h"

#include <string.h>

static const int64_t rows[] = { 1, 8, 64, 256, 2048 };
static const int64_t vocabs[] = { 8192, 30000, 50257 };

/* Forward, input gradient and weight gradient of one weight (out, in). */
static void
matmuls(struct kernels *k, enum kdtype dt, int64_t out, int64_t in)
{
	struct kweight *w = must_weight(k, dt, out, in, K_USE_TRAIN);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int acc = 0; acc < 2; acc++) {
			int64_t n = rows[i];

			k->matmul_fwd(k, &(struct k_matmul_fwd){ .w = w,
				.n = n, .ydt = acc ? K_F32 : dt,
				.add = acc ? w->data : NULL });
			k->matmul_fwd(k, &(struct k_matmul_fwd){ .w = w,
				.n = n, .ydt = acc ? K_F32 : dt });
			k->matmul_dx(k, &(struct k_matmul_dx){ .w = w,
				.n = n });
			k->matmul_dw(k, &(struct k_matmul_dw){ .n = n,
				.out = out, .in = in, .dt = dt,
				.accumulate = acc });
		}
	must_weight_free(k, w);
}

static void
head(struct kernels *k, enum kdtype dt, int64_t v, int64_t c)
{
	int64_t vp = (v + 63) / 64 * 64;
	struct kweight *w = must_weight(k, dt, vp, c, K_USE_TRAIN);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int acc = 0; acc < 2; acc++)
			k->ce_head(k, &(struct k_ce_head){ .w = w,
				.n = rows[i], .v = v, .dh = w->data,
				.accumulate = acc });
	must_weight_free(k, w);
}

static void
attention(struct kernels *k, enum kdtype dt, const struct model_config *m,
	  int64_t t)
{
	int64_t h = m->heads, g = m->kv_heads, d = m->head_dim;

	k->attn_fwd(k, &(struct k_attn_fwd){ .b = 1, .t = t, .h = h, .g = g,
		.d = d, .dt = dt });
	k->attn_bwd(k, &(struct k_attn_bwd){ .b = 1, .t = t, .h = h, .g = g,
		.d = d, .dt = dt });
}

static void
all_shapes(struct kernels *k, enum kdtype dt, const struct model_config *m)
{
	int64_t h = m->heads, g = m->kv_heads, d = m->head_dim;
	int64_t c = m->hidden, f = m->inter;

	matmuls(k, dt, (h + 2 * g) * d, c);	/* qkv */
	matmuls(k, dt, c, h * d);		/* o */
	matmuls(k, dt, 2 * f, c);		/* gu */
	matmuls(k, dt, c, f);			/* down */
	for (size_t i = 0; i < sizeof vocabs / sizeof *vocabs; i++)
		head(k, dt, vocabs[i], c);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		attention(k, dt, m, rows[i]);
}

/* Count and print the reference plans from number `from` on. */
static int
slow_plans(const struct cpu *c, size_t from)
{
	struct gemm_shape s;
	const struct prim *g;
	int n = 0;

	for (; (g = prim_nth(c, from, &s)); from++) {
		if (!strstr(prim_impl(g), "ref"))
			continue;
		printf("# %s: %lld x %lld x %lld, ld %lld %lld %lld, %s\n",
		       prim_impl(g), (long long)s.m, (long long)s.n,
		       (long long)s.k, (long long)s.lda, (long long)s.ldb,
		       (long long)s.ldc, s.packed ? "packed" : "plain");
		n++;
	}
	return n;
}

static size_t
plan_count(const struct cpu *c)
{
	struct gemm_shape s;
	size_t n = 0;

	while (prim_nth(c, n, &s))
		n++;
	return n;
}

/* Parts of a tile of 256 rows, or of a sum over 1024, and the remainder. */
enum { HEIGHTS = 6, LENGTHS = 6 };

/*
 * Any number of rows: forward and backward, with a narrower last tile of
 * columns, each height once; weight gradients of four tiles, first and added.
 */
static void
batch_sizes(const char *name, struct kernels *k, enum kdtype dt)
{
	int64_t out = 1000, in = 320, n = 1;
	struct kweight *w = must_weight(k, dt, out, in, K_USE_TRAIN);
	size_t from = plan_count(cpu_of(k)), made;
	size_t most = 2 * HEIGHTS + 2 * HEIGHTS + 4 * 2 * LENGTHS;

	for (int i = 0; i < 1000; i++) {
		n = (n * 48271 + 11) % 3001;
		k->matmul_fwd(k, &(struct k_matmul_fwd){ .w = w, .n = n + 1,
			.ydt = dt });
		k->matmul_dx(k, &(struct k_matmul_dx){ .w = w, .n = n + 1 });
		k->matmul_dw(k, &(struct k_matmul_dw){ .n = n + 1, .out = out,
			.in = in, .dt = dt });
	}
	made = plan_count(cpu_of(k)) - from;
	tap_ok(made >= HEIGHTS && made <= most, "%s %s: 1000 batch sizes make "
	       "%zu plans, at most %zu", name, kdtype_name((enum kdtype)dt),
	       made, most);
	must_weight_free(k, w);
}

static void
table(const char *name, struct kernels *k)
{
	cpu_of(k)->plan_only = 1;
	for (int dt = 0; dt < K_TYPES; dt++)
		batch_sizes(name, k, (enum kdtype)dt);
	for (int dt = 0; dt < K_TYPES; dt++)
		for (int i = PRESET_1M; i <= PRESET_124M; i++) {
			size_t from = plan_count(cpu_of(k)), n;
			struct model_config m = {0};
			int slow;

			config_preset(&m, (enum preset)i);
			all_shapes(k, (enum kdtype)dt, &m);
			slow = slow_plans(cpu_of(k), from);
			n = plan_count(cpu_of(k)) - from;
			tap_ok(n > 100 && slow == 0, "%s %s %s: %d of %zu "
			       "plans are reference code", name,
			       kdtype_name((enum kdtype)dt),
			       config_presets[i], slow, n);
		}
}

/* Least tasks of a phase, and the pairs of units of all phases. */
static void
tasks(int64_t b, int64_t t, int64_t h, int64_t least, int64_t total)
{
	int64_t phases = attn_bwd_phases(b, t, h), min = INT64_MAX, sum = 0;

	for (int64_t p = 0; p < phases; p++) {
		int64_t n = attn_bwd_tasks(b, t, h, p);

		min = n < min ? n : min;
		sum += n;
	}
	tap_ok(min == least && sum == total, "attention backward, B %lld T "
	       "%lld H %lld: %lld phases of at least %lld tasks, %lld in all",
	       (long long)b, (long long)t, (long long)h, (long long)phases,
	       (long long)min, (long long)sum);
}

int
main(void)
{
	tap_start();
	/* 8 units of 128 rows have 36 pairs, 4 or 5 in a phase */
	tasks(1, 1024, 20, 20 * 4, 20 * 36);	/* 500M: G 4 */
	tasks(1, 1024, 12, 12 * 4, 12 * 36);	/* 124M */
	tasks(4, 1024, 6, 24 * 4, 24 * 36);	/* 10M: G 2 */
	/* enough heads: one phase; short windows: one unit */
	tasks(16, 1024, 6, 96, 96);
	tasks(1, 64, 4, 4, 4);
	each_table(1, 1, table);
	return tap_end();
}
