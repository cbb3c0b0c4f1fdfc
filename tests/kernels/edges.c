/*
 * edges.c - numbers at the edge: NaN behind a mask, subnormals
 *
 * For ref and every instruction set of this processor.  What is masked is
 * filled with NaN or infinity; every number that does not depend on it must
 * agree with a run without, and every number that does must not be finite.
 */
#include "tests/kernels/must.h"
#include "tests/kernels/tables.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "kernels/kernels.h"

static struct kernels *k;
static enum kdtype dt;
static const char *table;

static void
put(void *p, int64_t i, float x)
{
	kdtype_set(p, dt, i, x);
}

static float
get(const void *p, int64_t i)
{
	return kdtype_get(p, dt, i);
}

/* Host tables only: device memory is written directly. */
static void *
room(int64_t n, double std)
{
	static uint64_t draws;
	void *p = must_alloc(k, (size_t)n * sizeof(float));

	draws++;
	for (int64_t i = 0; i < n; i++)
		put(p, i, (float)(std * rng_normal(3, RNG_TEST + draws,
						   (uint64_t)i)));
	return p;
}

static void
fill(void *p, int64_t from, int64_t n, float x)
{
	for (int64_t i = from; i < from + n; i++)
		put(p, i, x);
}

static const char *
type(void)
{
	return kdtype_name(dt);
}

static int
near(float x, float y)
{
	static const float tol[] = {
		[K_F32] = 1e-4f, [K_BF16] = 0.05f, [K_F16] = 0.01f };

	return fabsf(x - y) <= tol[dt] *
		(1 + fabsf(y));
}

/* --- attention --- */

enum { B = 2, H = 4, G = 2, D = 16, Q = (H + 2 * G) * D };

struct attn {
	int64_t t;
	int32_t *start;
	void *qkv, *o, *dout, *dqkv;
	float *lse;
};

static void
attn_new(struct attn *s, int64_t t)
{
	s->t = t;
	s->start = must_alloc(k, (size_t)(B * t) * sizeof *s->start);
	for (int64_t i = 0; i < B * t; i++)	/* documents of 37 */
		s->start[i] = (int32_t)(i % t / 37 * 37);
	s->qkv = room(B * t * Q, 1);
	s->dout = room(B * t * H * D, 1);
	s->o = room(B * t * H * D, 1);
	s->dqkv = room(B * t * Q, 1);
	s->lse = must_alloc(k, (size_t)(B * t * H) * sizeof(float));
}

static void
attn_free(struct attn *s)
{
	kernels_release(k, s->start);
	kernels_release(k, s->qkv);
	kernels_release(k, s->dout);
	kernels_release(k, s->o);
	kernels_release(k, s->dqkv);
	kernels_release(k, s->lse);
}

static void
attn_run(struct attn *s)
{
	k->attn_fwd(k, &(struct k_attn_fwd){ .b = B, .t = s->t, .h = H,
		.g = G, .d = D, .dt = dt, .qkv = s->qkv, .start = s->start,
		.scale = 0.25f, .o = s->o, .lse = s->lse });
	k->attn_bwd(k, &(struct k_attn_bwd){ .b = B, .t = s->t, .h = H,
		.g = G, .d = D, .dt = dt, .qkv = s->qkv, .start = s->start,
		.scale = 0.25f, .o = s->o, .lse = s->lse, .dout = s->dout,
		.dqkv = s->dqkv });
}

enum where { QUERY, KEY, VALUE, GRADIENT };

/*
 * Row `at` of the first sequence is bad in head 0 (or key head 0): may row t,
 * head h of out (0), of dqkv (1) have seen it?
 */
static int
sees(enum where w, int64_t at, int grad, int64_t b, int64_t t, int64_t h)
{
	int64_t end = (at / 37 + 1) * 37, first = at / 37 * 37;

	if (b > 0 || t < first || t >= end)
		return 0;
	if (w == QUERY || w == GRADIENT) {
		if (!grad)
			return w == QUERY && t == at && h == 0;
		return (h == 0 && t == at) ||
			((h == H || h == H + G) && t <= at);
	}
	if (!grad)
		return h < H / G && t >= at;
	/* every row from `at` on is bad, and all keys it sees */
	return h < H / G ? t >= at : h == H || h == H + G;
}

static int
compare(const struct attn *s, const struct attn *clean, enum where w,
	int64_t at, int grad)
{
	const void *x = grad ? s->dqkv : s->o;
	const void *y = grad ? clean->dqkv : clean->o;
	int64_t heads = grad ? H + 2 * G : H, seen = 0, bad = 0;

	for (int64_t i = 0; i < B * s->t * heads; i++) {
		int64_t n = i / heads, nan = 0, off = 0;
		int may = sees(w, at, grad, n / s->t, n % s->t, i % heads);

		for (int64_t c = i * D; c < (i + 1) * D; c++) {
			nan += !isfinite(get(x, c));
			off += !near(get(x, c), get(y, c));
		}
		seen += may && nan;
		bad += !may && off;
	}
	if (w != GRADIENT || grad)
		bad += seen == 0;
	if (bad)
		printf("# %lld rows are wrong\n", (long long)bad);
	return bad == 0;
}

static void
test_attn(int64_t t, enum where w, float x)
{
	static const char *const name[] = { "query", "key", "value",
		"gradient" };
	static const int64_t column[] = { 0, H * D, (H + G) * D, 0 };
	struct attn s, clean;
	int64_t at = t / 2;

	attn_new(&s, t);
	attn_new(&clean, t);
	memcpy(clean.qkv, s.qkv, (size_t)(B * t * Q) * kdtype_size(dt));
	memcpy(clean.dout, s.dout, (size_t)(B * t * H * D) *
	       kdtype_size(dt));
	attn_run(&clean);
	if (w == GRADIENT)
		fill(s.dout, at * H * D, D, x);
	else
		fill(s.qkv, at * Q + column[w], D, x);
	attn_run(&s);
	tap_ok(compare(&s, &clean, w, at, 0) && compare(&s, &clean, w, at, 1),
	       "%s %s: %s of a %s stays in the rows that see it, of %d",
	       table, type(), isnan(x) ? "NaN" : "infinity", name[w], (int)t);
	attn_free(&s);
	attn_free(&clean);
}

static void
test_cache(void)
{
	enum { P = 50, SLOTS = 2 };
	int64_t kv = SLOTS * G * P * D, n = 0;
	void *kc = room(kv, 1), *vc = room(kv, 1), *qkv = room(2 * Q, 1);
	void *o = room(2 * H * D, 1);
	int32_t slot[] = { 0, 1 }, pos[] = { 20, 30 };

	for (int64_t g = 0; g < G; g++) {
		fill(kc, (g * P + 21) * D, (P - 21) * D, NAN);
		fill(vc, (g * P + 21) * D, (P - 21) * D, NAN);
		fill(vc, ((G + g) * P + 5) * D, D, NAN);
	}
	k->attn_cache(k, &(struct k_attn_cache){ .n = 2, .h = H, .g = G,
		.d = D, .p = P, .dt = dt, .qkv = qkv, .slot = slot,
		.pos = pos, .kc = kc, .vc = vc, .scale = 0.25f, .o = o });
	for (int64_t i = 0; i < H * D; i++)
		n += isfinite(get(o, i)) && isnan(get(o, H * D + i));
	tap_ok(n == H * D, "%s %s: NaN in the cache after a row's position or "
	       "in another slot reaches nothing", table, type());
	kernels_release(k, kc);
	kernels_release(k, vc);
	kernels_release(k, qkv);
	kernels_release(k, o);
}

/* --- rows --- */

/* Of n rows of c numbers only row `at` is not finite, and it is in all. */
static int
only(const void *x, int64_t n, int64_t c, int64_t at)
{
	int64_t wrong = 0;

	for (int64_t i = 0; i < n * c; i++)
		wrong += isfinite(get(x, i)) == (i / c == at);
	return wrong == 0;
}

static int
norm_and_rope(int64_t n, int64_t at)
{
	float *x = must_alloc(k, (size_t)(n * Q) * sizeof *x);
	float one[D / 2], *rstd = must_alloc(k, (size_t)n * sizeof *rstd);
	void *y = room(n * Q, 1), *w = room(Q, 1);
	int32_t *pos = xcalloc((size_t)n, sizeof *pos);
	int ok;

	for (int64_t i = 0; i < n * Q; i++)
		x[i] = i / Q == at ? NAN : (float)(i % 11);
	for (int i = 0; i < D / 2; i++)
		one[i] = 1;
	k->rmsnorm_fwd(k, &(struct k_rmsnorm_fwd){ .n = n, .c = Q, .dt = dt,
		.x = x, .w = w, .eps = 1e-5f, .y = y, .rstd = rstd });
	ok = only(y, n, Q, at);
	k->rope_fwd(k, &(struct k_rope_fwd){ .n = n, .h = H, .g = G, .d = D,
		.dt = dt, .in = y, .out = y, .pos = pos, .cos = one,
		.sin = one });
	ok &= only(y, n, Q, at);
	free(pos);
	kernels_release(k, x);
	kernels_release(k, y);
	kernels_release(k, w);
	kernels_release(k, rstd);
	return ok;
}

static void
test_rows(int64_t n)
{
	enum { C = 40, OUT = 72, AT = 3 };
	struct kweight *w = must_weight(k, dt, OUT, C, K_USE_TRAIN);
	void *x = room(n * C, 1), *y = room(n * OUT, 1);
	void *a = room(n * OUT / 2, 1);
	int ok;

	for (int64_t i = 0; i < OUT * C; i++)
		put(w->data, i, (float)(i % 7) - 3.5f);
	kernels_weight_update(k, w);
	fill(x, AT * C, C, NAN);
	k->matmul_fwd(k, &(struct k_matmul_fwd){ .w = w, .n = n, .x = x,
		.y = y, .ydt = dt });
	ok = only(y, n, OUT, AT);
	k->swiglu_fwd(k, &(struct k_swiglu_fwd){ .n = n, .f = OUT / 2,
		.dt = dt, .gu = y, .a = a });
	ok &= only(a, n, OUT / 2, AT);
	k->matmul_dx(k, &(struct k_matmul_dx){ .w = w, .n = n, .dy = y,
		.dx = x });
	ok &= only(x, n, C, AT);
	ok &= norm_and_rope(n, AT);
	tap_ok(ok, "%s %s: NaN in one of %d rows stays there", table, type(),
	       (int)n);
	must_weight_free(k, w);
	kernels_release(k, x);
	kernels_release(k, y);
	kernels_release(k, a);
}

/* A row without target adds nothing to dw, whatever it holds. */
static void
test_head(void)
{
	enum { N = 300, C = 24, V = 90 };
	struct kweight *w = must_weight(k, dt, 128, C, K_USE_TRAIN);
	void *h = room(N * C, 1), *dh = room(N * C, 1);
	float *loss = must_alloc(k, N * 4), *logz = must_alloc(k, N * 4);
	float *dw = must_alloc(k, 2 * 128 * C * sizeof *dw);
	int32_t target[N];
	int64_t bad = 0;

	for (int i = 0; i < N; i++)
		target[i] = i % 5 ? i % V : -1;
	for (int64_t i = 0; i < 128 * C; i++)
		put(w->data, i, i < V * C ? (float)(i % 5) / 8 - 0.25f : 0);
	kernels_weight_update(k, w);
	for (int run = 0; run < 2; run++) {
		if (run)
			fill(h, 5 * C, C, NAN);
		k->ce_head(k, &(struct k_ce_head){ .w = w, .n = N, .v = V,
			.h = h, .target = target, .scale = 0.5f,
			.loss = loss, .logz = logz, .dh = dh,
			.dw = dw + run * 128 * C });
	}
	for (int64_t i = 0; i < 128 * C; i++)
		bad += !near(dw[128 * C + i], dw[i]);
	for (int64_t i = 0; i < N; i++)
		bad += !isfinite(loss[i]) || isfinite(logz[i]) == (i == 5);
	for (int64_t i = 0; i < N * C; i++)
		bad += !isfinite(get(dh, i));
	tap_ok(bad == 0, "%s %s: NaN in a row without target reaches no "
	       "gradient", table, type());
	must_weight_free(k, w);
	kernels_release(k, h);
	kernels_release(k, dh);
	kernels_release(k, loss);
	kernels_release(k, logz);
	kernels_release(k, dw);
}

/* --- subnormals --- */

static void
test_subnormals(void)
{
	enum { N = 100 };
	float *tiny = must_alloc(k, N * sizeof *tiny), *rstd;
	float *zero = must_alloc(k, N * sizeof *zero);
	void *x = room(N, 1), *w = room(N, 1), *gu = room(2 * N, 1);
	void *a = room(N, 1), *y = room(N, 1);
	float unit = dt == K_F16 ? 0x3p-24f : 1.1e-40f;
	int64_t bad = 0, i;

	memset(zero, 0, N * sizeof *zero);
	for (i = 0; i < N; i++) {
		tiny[i] = (float)(i + 1) * unit * (i % 2 ? -1.0f : 1.0f);
		put(w, i, tiny[i]);
		put(gu, i, 30);			/* silu(30) = 30 */
		put(gu, N + i, tiny[i] / 32);
	}
	k->cast(k, &(struct k_cast){ .n = N, .src = tiny, .sdt = K_F32,
		.dst = x, .ddt = dt });
	for (i = 0; i < N; i++)
		bad += get(x, i) != get(w, i) || get(x, i) == 0;
	rstd = must_alloc(k, sizeof *rstd);
	for (i = 0; i < N; i++)
		zero[i] = 1;
	k->rmsnorm_fwd(k, &(struct k_rmsnorm_fwd){ .n = 1, .c = N, .dt = dt,
		.x = zero, .w = w, .eps = 0, .y = y, .rstd = rstd });
	for (i = 0; i < N; i++)
		bad += get(y, i) != get(w, i);
	k->swiglu_fwd(k, &(struct k_swiglu_fwd){ .n = 1, .f = N, .dt = dt,
		.gu = gu, .a = a });
	for (i = N / 2; i < N; i++)
		bad += get(a, i) == 0;
	memset(zero, 0, N * sizeof *zero);
	k->adamw(k, &(struct k_adamw){ .nseg = 1,
		.seg = &(struct k_segment){ .n = N }, .p = tiny, .m = zero,
		.v = zero, .g = zero, .lr = 1e-3, .beta1 = 0.9,
		.beta2 = 0.95, .eps = 1e-8, .gscale = 1, .t = 1, .w = y,
		.wdt = dt });
	for (i = 0; i < N; i++)
		bad += get(y, i) != get(w, i);
	tap_ok(bad == 0, "%s %s: subnormal numbers are stored as they are",
	       table, type());
	kernels_release(k, tiny);
	kernels_release(k, zero);
	kernels_release(k, rstd);
	kernels_release(k, x);
	kernels_release(k, w);
	kernels_release(k, gu);
	kernels_release(k, a);
	kernels_release(k, y);
}

static void
all(void)
{
	for (int i = 0; i < K_TYPES; i++) {
		dt = (enum kdtype)i;
		for (int w = QUERY; w <= GRADIENT; w++) {
			test_attn(150, (enum where)w, NAN);
			test_attn(600, (enum where)w, NAN);
		}
		test_attn(150, VALUE, INFINITY);
		test_attn(150, GRADIENT, -INFINITY);
		test_cache();
		test_rows(6);
		test_rows(50);
		test_head();
		test_subnormals();
	}
}

static void
test_table(const char *name, struct kernels *opened)
{
	table = name;
	k = opened;
	all();
}

int
main(void)
{
	tap_start();
	each_table(0, 2, test_table);
	return tap_end();
}
