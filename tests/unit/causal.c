/*
 * causal.c - a row sees the earlier rows of its document, and nothing else
 *
 * In bf16 on cpu, with grouped queries and QK-norm, over windows of 600 tokens
 * (several tiles of attention) with and without documents:
 *
 *  - another token at a position changes no bit of the logits of earlier
 *    rows, of other documents and of other windows, but those of its own row;
 *  - it changes no bit of the gradient of a loss whose row does not see it;
 *  - that gradient is zero for the embeddings of tokens that occur only where
 *    the row does not see them;
 *  - the decoder gives the logits of the forward pass at every position.
 */
#include "tests/kernels/must.h"
#include "tests/unit/test.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"
#include "model/decode.h"
#include "model/pass.h"

enum { B = 2, T = 600, N = B * T, V = 1000 };

/* The second document starts in row 210 of each window, the third in 401. */
enum { SECOND = 210, THIRD = 401 };

struct fix {
	struct kernels *k;
	struct llama *m;
	struct pass *p;
	int32_t *tok, *target, *start;	/* device, (N) */
	float *loss, *logz, *grad;	/* device */
	int32_t id[N];
	size_t vp;
};

static void
fix_open(struct fix *f)
{
	struct model_config c = { .vocab = V, .hidden = 64, .layers = 2,
		.heads = 8, .kv_heads = 2, .head_dim = 32, .inter = 96,
		.max_pos = T, .rope_theta = 10000, .norm_eps = 1e-6,
		.init_std = 0.02, .qk_norm = 1, .bos = -1, .eos = -1 };
	struct err e = {0};
	int32_t start[N];
	float *flat;

	f->k = kernels_open("cpu", 2, &e);
	assert_non_null(f->k);
	f->m = llama_new(f->k, &c, K_BF16, K_USE_TRAIN, T, &e);
	assert_non_null(f->m);
	f->vp = (size_t)f->m->vp;
	flat = llama_flat_new(f->m, &e);
	assert_int_equal(llama_flat_init(f->m, 5, 0.2, 1, flat, &e), 0);
	llama_set(f->m, flat);
	kernels_release(f->k, flat);
	f->p = pass_new(f->m, B, T, &e);
	f->tok = must_alloc(f->k, N * 4);
	f->target = must_alloc(f->k, N * 4);
	f->start = must_alloc(f->k, N * 4);
	f->loss = must_alloc(f->k, N * 4);
	f->logz = must_alloc(f->k, N * 4);
	f->grad = llama_flat_new(f->m, &e);
	for (int i = 0; i < N; i++) {
		int t = i % T;

		start[i] = t < SECOND ? 0 : t < THIRD ? SECOND : THIRD;
		f->id[i] = (int32_t)rng_below(3, RNG_TEST, (uint64_t)i, V / 2);
	}
	kernels_upload(f->k, f->start, start, sizeof start);
	must_sync(f->k);
}

static void
fix_close(struct fix *f)
{
	struct kernels *k = f->k;

	pass_free(f->p);
	kernels_release(k, f->tok);
	kernels_release(k, f->target);
	kernels_release(k, f->start);
	kernels_release(k, f->loss);
	kernels_release(k, f->logz);
	kernels_release(k, f->grad);
	llama_free(f->m);
	k->close(k);
}

/* Does row `row` of a window see position `at` of it? */
static int
sees(int row, int at, int documents)
{
	int first = !documents || row < SECOND ? 0 : row < THIRD ? SECOND :
		THIRD;

	return at >= first && at <= row;
}

static struct pass_batch
batch(struct fix *f, int documents)
{
	kernels_upload(f->k, f->tok, f->id, sizeof f->id);
	must_sync(f->k);
	return (struct pass_batch){.b = B, .tok = f->tok, .target = f->target,
		.start = documents ? f->start : NULL, .scale = 1,
		.loss = f->loss, .logz = f->logz};
}

/* In place of ce_head(): the logits of its rows, (N, Vp). */
static float *head_logits;

static void
only_logits(struct kernels *k, const struct k_ce_head *a)
{
	k->matmul_fwd(k, &(struct k_matmul_fwd){.w = a->w, .n = a->n,
		.x = a->h, .y = head_logits, .ydt = K_F32});
}

/* The logits of the forward pass, to be freed. */
static float *
logits(struct fix *f, int documents)
{
	void (*was)(struct kernels *, const struct k_ce_head *) = f->k->ce_head;
	struct pass_batch b = batch(f, documents);
	size_t bytes = N * f->vp * sizeof(float);
	float *x = xmalloc(bytes);

	head_logits = must_alloc(f->k, bytes);
	f->k->ce_head = only_logits;
	pass_run(f->p, &b);
	f->k->ce_head = was;
	must_download(f->k, x, head_logits, bytes);
	kernels_release(f->k, head_logits);
	return x;
}

/* The gradient of the loss of row `row` alone, to be freed. */
static float *
gradient(struct fix *f, int row, int documents)
{
	struct pass_batch b = batch(f, documents);
	size_t bytes = (size_t)f->m->flat * sizeof(float);
	float *x = xmalloc(bytes);
	int32_t target[N];

	for (int i = 0; i < N; i++)
		target[i] = i == row ? 7 : -1;
	kernels_upload(f->k, f->target, target, sizeof target);
	must_sync(f->k);
	b.grad = f->grad;
	pass_run(f->p, &b);
	must_download(f->k, x, f->grad, bytes);
	return x;
}

static const int places[] = { 0, 1, 63, 64, 127, 128, SECOND - 1, SECOND,
	SECOND + 1, 255, 256, THIRD - 1, THIRD, 511, 512, T - 1 };

/* ---- the forward pass ---- */

/* Rows that differ but do not see token `at`, or the reverse for its own. */
static int
wrong_rows(const struct fix *f, const float *x, const float *y, int at,
	   int documents)
{
	int wrong = 0;

	for (int i = 0; i < N; i++) {
		int may = i < T && sees(i, at, documents);
		int same = !memcmp(x + (size_t)i * f->vp,
				   y + (size_t)i * f->vp, f->vp * sizeof *x);

		wrong += (!may && !same) || (i == at && same);
	}
	return wrong;
}

/* Another token in each of `places`. */
static int
all_places(struct fix *f, int documents)
{
	float *x = logits(f, documents);
	int wrong = 0;

	for (size_t i = 0; i < TEST_COUNT(places); i++) {
		int32_t old = f->id[places[i]];
		float *y;

		f->id[places[i]] = (old + 1) % (V / 2);
		y = logits(f, documents);
		f->id[places[i]] = old;
		wrong += wrong_rows(f, x, y, places[i], documents);
		free(y);
	}
	free(x);
	return wrong;
}

static void
rows_see_earlier_ones(void **state)
{
	struct fix f;

	(void)state;
	fix_open(&f);
	assert_int_equal(all_places(&f, 0), 0);
	assert_int_equal(all_places(&f, 1), 0);
	fix_close(&f);
}

static void (*true_attn_fwd)(struct kernels *, const struct k_attn_fwd *);

/* The first row of the second document sees the row before it. */
static void
leaking_attn_fwd(struct kernels *k, const struct k_attn_fwd *a)
{
	int32_t start[N];
	struct k_attn_fwd b = *a;

	memcpy(start, a->start, sizeof start);
	start[SECOND]--;
	b.start = start;
	true_attn_fwd(k, &b);
}

static void
a_leak_is_found(void **state)
{
	struct fix f;

	(void)state;
	fix_open(&f);
	true_attn_fwd = f.k->attn_fwd;
	f.k->attn_fwd = leaking_attn_fwd;
	assert_true(all_places(&f, 1) > 0);
	fix_close(&f);
}

/* ---- the backward pass ---- */

/* Position `at` cannot reach the loss of row `row`. */
static void
check_gradient(struct fix *f, int row, int at, int documents)
{
	size_t bytes = (size_t)f->m->flat * sizeof(float);
	float *x = gradient(f, row, documents), *y;
	int32_t old = f->id[at];

	f->id[at] = (old + 1) % (V / 2);
	y = gradient(f, row, documents);
	f->id[at] = old;
	if (memcmp(x, y, bytes) != 0)
		fail_msg("token %d changes the gradient of row %d", at, row);
	free(x);
	free(y);
}

/*
 * Tokens that the row does not see come from the upper half of the vocabulary:
 * the gradients of their embeddings are zero.  The output matrix is another.
 */
static void
check_embeddings(struct fix *f, int row, int documents)
{
	int64_t c = f->m->c.hidden, at = f->m->param[f->m->embed].at;
	int32_t old[N];
	float *x;
	int own = 0;

	memcpy(old, f->id, sizeof old);
	for (int i = 0; i < N; i++)
		if (i >= T || !sees(row, i, documents))
			f->id[i] += V / 2;
	x = gradient(f, row, documents);
	for (int64_t i = 0; i < V * c; i++) {
		if (i / c >= V / 2 && x[at + i] != 0)
			fail_msg("the loss of row %d reaches token %d", row,
				 (int)(i / c));
		own += i / c == f->id[row] && x[at + i] != 0;
	}
	if (own == 0)
		fail_msg("the loss of row %d does not reach it", row);
	free(x);
	memcpy(f->id, old, sizeof old);
}

static void
gradients_reach_earlier_rows(void **state)
{
	static const int pair[][2] = { { 0, 1 }, { 63, 64 }, { 127, 128 },
		{ 300, 301 }, { 300, T - 1 }, { 300, T + 300 },
		{ T - 1, T } };
	static const int across[][2] = { { SECOND, SECOND - 1 },
		{ SECOND - 1, SECOND }, { THIRD + 30, THIRD - 1 },
		{ T - 1, SECOND }, { THIRD, 0 } };
	struct fix f;

	(void)state;
	fix_open(&f);
	for (size_t i = 0; i < TEST_COUNT(pair); i++) {
		check_gradient(&f, pair[i][0], pair[i][1], 0);
		check_gradient(&f, pair[i][0], pair[i][1], 1);
	}
	for (size_t i = 0; i < TEST_COUNT(across); i++)
		check_gradient(&f, across[i][0], across[i][1], 1);
	for (size_t i = 0; i < TEST_COUNT(places); i++) {
		check_embeddings(&f, places[i], 0);
		check_embeddings(&f, places[i], 1);
	}
	fix_close(&f);
}

/* ---- the decoder ---- */

/* The largest distance of a row of V numbers, relative to the row. */
static double
row_off(const float *x, const float *y)
{
	double d = 0, r = 0;

	for (int i = 0; i < V; i++) {
		d += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
		r += (double)y[i] * y[i];
	}
	return sqrt(d / r);
}

/* Rows [at, at + n) of the first window in one call. */
static double
decode(struct fix *f, struct decoder *d, int at, int n, const float *want)
{
	int32_t slot[T] = { 0 }, pos[T];
	const float *x;
	struct err e = {0};
	double worst = 0;

	for (int i = 0; i < n; i++)
		pos[i] = at + i;
	assert_int_equal(decoder_run(d, n, f->id + at, slot, pos, &e), 0);
	x = decoder_logits(d, 0, n, &e);
	assert_non_null(x);
	for (int i = 0; i < n; i++)
		worst = fmax(worst, row_off(x + (size_t)i * f->vp, want +
					    (size_t)(at + i) * f->vp));
	return worst;
}

/* Off by 2 %, because bf16 rounds other sums; a row at the position before
   its own by much more. */
static void
decoder_agrees_with_pass(void **state)
{
	static const int step[] = { 1, 3, 16, 100, 256 };
	struct err e = {0};
	struct fix f;
	float *want;

	(void)state;
	fix_open(&f);
	want = logits(&f, 0);
	for (size_t i = 0; i < TEST_COUNT(step); i++) {
		struct decoder *d = decoder_new(f.m, 1, T, 256, &e);
		int32_t old = f.id[T - 2];
		double worst = 0, wrong;

		for (int at = 0; at < T; at += step[i])
			worst = fmax(worst, decode(&f, d, at, at + step[i] > T ?
						   T - at : step[i], want));
		f.id[T - 2] = f.id[T - 1];
		wrong = decode(&f, d, T - 2, 1, want + f.vp);
		f.id[T - 2] = old;
		decoder_free(d);
		printf("# %d rows at a time: off by %.2g, wrong row %.2g\n",
		       step[i], worst, wrong);
		if (!(worst < 0.03) || !(wrong > 0.06))
			fail_msg("%d rows at a time: off by %g", step[i],
				 worst);
	}
	free(want);
	fix_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_see_earlier_ones),
		cmocka_unit_test(a_leak_is_found),
		cmocka_unit_test(gradients_reach_earlier_rows),
		cmocka_unit_test(decoder_agrees_with_pass),
	};

	return cmocka_run_group_tests_name("causal", tests, NULL, NULL);
}
