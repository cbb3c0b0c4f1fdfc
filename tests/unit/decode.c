/*
 * decode.c - decoding against the forward pass of training
 *
 * A random model with grouped heads and QK-norm, over 600 tokens: the logits
 * at every position, from a prompt fed whole, in pieces of several sizes, and
 * one token at a time, beside those of pass.h; with a sliding window, too.
 * A sequence has the same bits alone and beside others.
 */
#include "tests/kernels/must.h"
#include "tests/unit/test.h"

#include <math.h>

#include "base/mem.h"
#include "model/decode.h"
#include "model/pass.h"

enum { T = 600, V = 192 };

static int32_t tok[T];

static struct llama *
model_new(struct kernels *k, enum kdtype dt, int64_t window)
{
	struct model_config c = {.vocab = V, .hidden = 128, .layers = 2,
		.heads = 4, .kv_heads = 2, .head_dim = 64, .inter = 192,
		.max_pos = T, .rope_theta = 10000, .norm_eps = 1e-5, .tie = 1,
		.qk_norm = 1, .window = window};
	struct err e = {0};
	struct llama *m = llama_new(k, &c, dt, K_USE_TRAIN, T, &e);
	float *flat = llama_flat_new(m, &e);

	assert_int_equal(llama_flat_init(m, 3, 0.08, 1, flat, &e), 0);
	llama_set(m, flat);
	must_sync(k);
	kernels_release(k, flat);
	return m;
}

static float *head_logits;	/* in place of ce_head(): (T, Vp) */

static void
only_logits(struct kernels *k, const struct k_ce_head *a)
{
	k->matmul_fwd(k, &(struct k_matmul_fwd){.w = a->w, .n = a->n,
		.x = a->h, .y = head_logits, .ydt = K_F32});
}

static float *
pass_logits(struct llama *m)
{
	struct kernels *k = m->k;
	void (*was)(struct kernels *, const struct k_ce_head *) = k->ce_head;
	size_t bytes = (size_t)(T * m->vp) * sizeof(float);
	struct err e = {0};
	struct pass *p = pass_new(m, 1, T, &e);
	int32_t *dev = must_alloc(k, sizeof tok);
	float *x = xmalloc(bytes);

	head_logits = must_alloc(k, bytes);
	k->ce_head = only_logits;
	kernels_upload(k, dev, tok, sizeof tok);
	pass_run(p, &(struct pass_batch){.b = 1, .tok = dev, .target = dev});
	k->ce_head = was;
	must_download(k, x, head_logits, bytes);
	pass_free(p);
	kernels_release(k, dev);
	kernels_release(k, head_logits);
	return x;
}

/* Logits of every position, `piece` tokens at a time, in slot 1 of 3. */
static float *
fed_logits(struct llama *m, int64_t piece)
{
	struct err e = {0};
	struct decoder *d = decoder_new(m, 3, T, T, &e);
	size_t row = (size_t)m->vp * sizeof(float);
	float *x = xmalloc(T * row);
	int32_t slot[T], pos[T];

	for (int32_t i = 0; i < T; i++) {
		slot[i] = 1;
		pos[i] = i;
	}
	for (int64_t i = 0, n; i < T; i += n) {
		n = T - i < piece ? T - i : piece;
		assert_int_equal(decoder_run(d, n, tok + i, slot + i, pos + i,
					     &e), 0);
		memcpy((char *)x + (size_t)i * row,
		       decoder_logits(d, 0, n, &e), (size_t)n * row);
	}
	decoder_free(d);
	return x;
}

/* The worst row, by its distance relative to the reference. */
static double
worst_row(const float *x, const float *ref, int64_t vp)
{
	double worst = 0;

	for (int64_t i = 0; i < T; i++) {
		double d = 0, r = 0;

		for (int64_t j = i * vp; j < i * vp + V; j++) {
			d += ((double)x[j] - ref[j]) * ((double)x[j] - ref[j]);
			r += (double)ref[j] * ref[j];
		}
		worst = fmax(worst, sqrt(d / r));
		if (isnan(d))
			return NAN;
	}
	return worst;
}

static void
check(const char *table, enum kdtype dt, int64_t window)
{
	static const int64_t pieces[] = {T, 256, 100, 7, 1};
	struct err e = {0};
	struct kernels *k = kernels_open(table, 2, &e);
	struct llama *m = model_new(k, dt, window);
	float *want = pass_logits(m);
	double tol = dt == K_BF16 ? 2e-2 : 1e-5;

	for (size_t i = 0; i < TEST_COUNT(pieces); i++) {
		float *got = fed_logits(m, pieces[i]);
		double off = worst_row(got, want, m->vp);

		if (!(off <= tol))
			fail_msg("%s, type %d, window %d, pieces of %d: a row "
				 "is off by %.3g", table, (int)dt, (int)window,
				 (int)pieces[i], off);
		free(got);
	}
	free(want);
	llama_free(m);
	k->close(k);
}

static void
every_position_equals_the_pass(void **state)
{
	(void)state;
	for (int dt = K_F32; dt <= K_BF16; dt++) {
		check("cpu", (enum kdtype)dt, 0);
		check("cpu", (enum kdtype)dt, 90);
	}
	check("ref", K_F32, 90);
}

/* A window that is not there must show. */
static void
another_window_is_caught(void **state)
{
	struct err e = {0};
	struct kernels *k = kernels_open("cpu", 2, &e);
	struct llama *m = model_new(k, K_BF16, 90);
	float *want = pass_logits(m), *got;

	(void)state;
	m->c.window = 91;
	got = fed_logits(m, T);
	assert_true(worst_row(got, want, m->vp) > 2e-2);
	free(want);
	free(got);
	llama_free(m);
	k->close(k);
}

/* Eight sequences at different lengths: each has the bits of one alone. */
static void
batches_do_not_matter(void **state)
{
	enum { N = 8 };
	struct err e = {0};
	struct kernels *k = kernels_open("cpu", 2, &e);
	struct llama *m = model_new(k, K_BF16, 0);
	struct decoder *d = decoder_new(m, N, T, T, &e);
	int32_t slot[N], pos[N], in[N];
	size_t bytes = (size_t)m->vp * sizeof(float);
	float *all = xmalloc(N * bytes);
	uint32_t id[T];
	int64_t last;

	(void)state;
	for (int i = 0; i < T; i++)
		id[i] = (uint32_t)tok[i];
	for (int32_t i = 0; i < N; i++) {
		slot[i] = i;
		pos[i] = 70 * i + 3;
		in[i] = tok[i];
		assert_int_equal(decoder_feed(d, id, pos[i], i, 0, &last, &e),
				 0);
	}
	assert_int_equal(decoder_run(d, N, in, slot, pos, &e), 0);
	memcpy(all, decoder_logits(d, 0, N, &e), N * bytes);
	for (int i = 0; i < N; i++) {
		assert_int_equal(decoder_run(d, 1, in + i, slot + i, pos + i,
					     &e), 0);
		assert_memory_equal(decoder_logits(d, 0, 1, &e),
				    (char *)all + (size_t)i * bytes, bytes);
	}
	free(all);
	decoder_free(d);
	llama_free(m);
	k->close(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_position_equals_the_pass),
		cmocka_unit_test(another_window_is_caught),
		cmocka_unit_test(batches_do_not_matter),
	};

	for (uint32_t i = 0; i < T; i++)
		tok[i] = (int32_t)((i * 2654435761u >> 7) % V);
	return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
