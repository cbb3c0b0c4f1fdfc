/*
 * trainer.c - a training step needs no run folder, log or data set
 */
#include "tests/unit/test.h"

#include <math.h>

#include "base/rng.h"
#include "model/decode.h"
#include "train/trainer.h"

enum { T = 8, B = 3, VOCAB = 64 };

static void
fill(struct batch *b)
{
	int32_t i;

	batch_init(b, B, T);
	for (i = 0; i < B * T; i++) {
		b->tok[i] = (int32_t)rng_below(1, RNG_TEST, (uint64_t)i,
					       VOCAB);
		b->target[i] = b->tok[i] / 2;
		b->start[i] = 0;
	}
}

/* A batch is memorized; one without targets is skipped. */
static void
steps(void **state)
{
	struct model_config c = {.vocab = VOCAB, .max_pos = T};
	struct trainer_conf tc = {.seq_len = T, .batch_size = B,
		.micro_batch = 2, .dtype = K_F32,
		.optim = {0.9, 0.95, 1e-8, 0, 0, 1}};
	struct trainer_result r;
	struct trainer t = {0};
	struct kernels *k;
	struct batch b;
	struct err e = {0};
	uint64_t n;
	double first;

	(void)state;
	config_preset(&c, PRESET_1M);
	c.layers = 1;
	k = kernels_open("cpu", 1, &e);
	assert_non_null(k);
	assert_int_equal(trainer_init(&t, k, &c, &tc, &e), 0);
	assert_int_equal(llama_flat_init(t.m, 1, 0.02, 1, t.opt.master, &e), 0);
	llama_set(t.m, t.opt.master);
	fill(&b);
	assert_int_equal(trainer_step(&t, &b, 1e-2, 1, &r, &e), 0);
	first = r.loss;
	for (n = 2; n <= 30; n++) {
		assert_int_equal(trainer_step(&t, &b, 1e-2, n, &r, &e), 0);
		assert_null(r.skipped);
	}
	assert_true(r.loss < first / 2);
	assert_int_equal(trainer_eval(&t, &b, 2, &e), 0);
	assert_true(t.loss[0] < first);
	for (n = 0; n < B * T; n++)
		b.target[n] = -1;
	assert_int_equal(trainer_step(&t, &b, 1e-2, 31, &r, &e), 0);
	assert_string_equal(r.skipped, "no target tokens");
	batch_clear(&b);
	trainer_clear(&t);
	k->close(k);
}

static struct trainer_conf
small(int64_t windows, int64_t micro_batch)
{
	return (struct trainer_conf){.seq_len = T, .batch_size = windows,
		.micro_batch = micro_batch, .dtype = K_F32,
		.optim = {0.9, 0.95, 1e-8, 0, 0, 0}};
}

static void
begin(struct trainer *t, const struct trainer_conf *tc, const char *table)
{
	struct model_config c = {.vocab = VOCAB, .max_pos = T};
	struct err e = {0};
	struct kernels *k = kernels_open(table, 1, &e);

	config_preset(&c, PRESET_1M);
	c.layers = 1;
	assert_non_null(k);
	assert_int_equal(trainer_init(t, k, &c, tc, &e), 0);
	assert_int_equal(llama_flat_init(t->m, 1, 0.02, 1, t->opt.master, &e),
			 0);
	llama_set(t->m, t->opt.master);
}

static void
end(struct trainer *t)
{
	struct kernels *k = t->k;

	trainer_clear(t);
	k->close(k);
}

/* ---- one wait ---- */

static int (*real_sync)(struct kernels *, struct err *);
static int syncs;

static int
count_sync(struct kernels *k, struct err *e)
{
	syncs++;
	return real_sync(k, e);
}

static void
a_step_waits_once(void **state)
{
	struct trainer_conf tc = small(B, 2);
	struct trainer_result r;
	struct trainer t;
	struct err e = {0};
	struct batch b;
	uint64_t n;

	(void)state;
	begin(&t, &tc, "cpu");
	fill(&b);
	real_sync = t.k->sync;
	t.k->sync = count_sync;
	syncs = 0;
	for (n = 1; n <= 5; n++)
		assert_int_equal(trainer_step(&t, &b, 1e-2, n, &r, &e), 0);
	assert_int_equal(syncs, 5);
	batch_clear(&b);
	end(&t);
}

/* ---- the mean over targets ---- */

/* The largest difference of two runs' master weights. */
static double
difference(const struct trainer *x, const struct trainer *y)
{
	const float *p = x->opt.master, *q = y->opt.master;
	double most = 0;
	int64_t i;

	assert_int_equal(x->m->flat, y->m->flat);
	for (i = 0; i < x->m->flat; i++)
		most = fmax(most, fabs((double)p[i] - q[i]));
	return most;
}

/*
 * Windows without a target change nothing, however they are split: the mean
 * is over targets, not over rows.  Five of the last window's eight count.
 */
static void
mean_is_over_targets(void **state)
{
	struct trainer_conf all = small(B, 1), one = small(1, 1);
	struct trainer_result ra, ro;
	struct trainer a, o;
	struct err e = {0};
	struct batch b, c;
	int i;

	(void)state;
	begin(&a, &all, "ref");
	begin(&o, &one, "ref");
	fill(&b);
	batch_init(&c, 1, T);
	for (i = 0; i < B * T; i++)
		if (i < 2 * T || i % T < 3)
			b.target[i] = -1;
	for (i = 0; i < T; i++) {
		c.tok[i] = b.tok[2 * T + i];
		c.target[i] = b.target[2 * T + i];
		c.start[i] = 0;
	}
	for (i = 1; i <= 3; i++) {
		assert_int_equal(trainer_step(&a, &b, 1e-3, (uint64_t)i, &ra,
					      &e), 0);
		assert_int_equal(trainer_step(&o, &c, 1e-3, (uint64_t)i, &ro,
					      &e), 0);
		assert_null(ra.skipped);
		assert_true(fabs(ra.loss / ro.loss - 1) < 1e-6);
		assert_true(fabs(ra.grad_norm / ro.grad_norm - 1) < 1e-5);
	}
	assert_true(difference(&a, &o) < 2e-5);
	assert_true(ra.grad_norm > 0.1);
	batch_clear(&b);
	batch_clear(&c);
	end(&a);
	end(&o);
}

/* The order of rows is stable, of each micro-batch, and changes no bit. */
static void
order(void **state)
{
	enum { N = 300, MICRO = 2 };
	static const int32_t vocab[] = {1, 2000, 5000, 1 << 30};
	struct batch b;
	size_t i, j, k, n;

	(void)state;
	for (k = 0; k < 4; k++) {
		batch_init(&b, 5, N);
		for (i = 0; i < 5 * N; i++)
			b.tok[i] = (int32_t)rng_below(2 + k, RNG_TEST, i % 400,
						      (uint64_t)vocab[k]);
		batch_sort(&b, MICRO);
		assert_int_equal(b.sorted, MICRO);
		for (i = 0; i < 5 * N; i += MICRO * N) {
			const int32_t *o = b.order + i, *tok = b.tok + i;

			n = i + MICRO * N > 5 * N ? N : MICRO * N;
			for (j = 0; j < n; j++)
				assert_in_range(o[j], 0, n - 1);
			for (j = 1; j < n; j++)
				assert_true(tok[o[j - 1]] < tok[o[j]] ||
					    (tok[o[j - 1]] == tok[o[j]] &&
					     o[j - 1] < o[j]));
		}
		batch_clear(&b);
	}
}

static void
order_same_bits(void **state)
{
	struct model_config c = {.vocab = VOCAB, .max_pos = T};
	struct trainer_conf tc = {.seq_len = T, .batch_size = B,
		.micro_batch = 2, .dtype = K_BF16,
		.optim = {0.9, 0.95, 1e-8, 0, 0, 1}};
	struct trainer_result r[3];
	struct err e = {0};
	struct batch b;
	uint64_t n;
	int i;

	(void)state;
	config_preset(&c, PRESET_1M);
	c.layers = 1;
	fill(&b);
	for (i = 0; i < 3; i++) {
		struct kernels *k = kernels_open("cpu", 1 + i, &e);
		struct trainer t = {0};

		assert_non_null(k);
		assert_int_equal(trainer_init(&t, k, &c, &tc, &e), 0);
		assert_int_equal(llama_flat_init(t.m, 1, 0.02, 1,
						 t.opt.master, &e), 0);
		llama_set(t.m, t.opt.master);
		if (i > 0)
			batch_sort(&b, 2);
		for (n = 1; n <= 5; n++)
			assert_int_equal(trainer_step(&t, &b, 1e-2, n, &r[i],
						      &e), 0);
		assert_true(memcmp(&r[i].loss, &r[0].loss, sizeof r->loss) ==
			    0);
		assert_true(memcmp(&r[i].grad_norm, &r[0].grad_norm,
				   sizeof r->grad_norm) == 0);
		trainer_clear(&t);
		k->close(k);
	}
	batch_clear(&b);
}

/* Logits of T tokens, decoded one by one. */
static void
decode(struct llama *m, const int32_t *tok, float *logits)
{
	struct err e = {0};
	struct decoder *d = decoder_new(m, 1, T, 1, &e);
	int32_t i, slot = 0;
	const float *l;

	assert_non_null(d);
	for (i = 0; i < T; i++) {
		assert_int_equal(decoder_run(d, 1, tok + i, &slot, &i, &e), 0);
		l = decoder_logits(d, 0, 1, &e);
		assert_non_null(l);
		memcpy(logits + (size_t)i * VOCAB, l, VOCAB * sizeof *l);
	}
	decoder_free(d);
}

/* 20 steps in fp16 follow those in fp32; so do logits from the cache. */
static void
half(void **state)
{
	static const enum kdtype types[] = {K_F32, K_F16};
	struct model_config c = {.vocab = VOCAB, .max_pos = T};
	float logits[2][T * VOCAB];
	double loss[2][20], diff = 0, norm = 0;
	struct err e = {0};
	struct batch b;
	int i, j;

	(void)state;
	config_preset(&c, PRESET_1M);
	c.layers = 2;
	fill(&b);
	for (i = 0; i < 2; i++) {
		struct trainer_conf tc = {.seq_len = T, .batch_size = B,
			.micro_batch = 2, .dtype = types[i],
			.optim = {0.9, 0.95, 1e-8, 0, 0, 1}};
		struct kernels *k = kernels_open("cpu", 2, &e);
		struct trainer_result r;
		struct trainer t = {0};

		assert_non_null(k);
		assert_int_equal(trainer_init(&t, k, &c, &tc, &e), 0);
		assert_int_equal(llama_flat_init(t.m, 1, 0.02, 1,
						 t.opt.master, &e), 0);
		llama_set(t.m, t.opt.master);
		for (j = 0; j < 20; j++) {
			assert_int_equal(trainer_step(&t, &b, 2e-3,
					 (uint64_t)j + 1, &r, &e), 0);
			assert_null(r.skipped);
			loss[i][j] = r.loss;
		}
		decode(t.m, b.tok, logits[i]);
		trainer_clear(&t);
		k->close(k);
	}
	assert_true(loss[0][19] < 0.8 * loss[0][0]);
	for (j = 0; j < 20; j++)
		assert_true(fabs(loss[1][j] - loss[0][j]) < 0.01 * loss[0][j]);
	for (j = 0; j < T * VOCAB; j++) {
		diff += pow(logits[1][j] - logits[0][j], 2);
		norm += pow(logits[0][j], 2);
	}
	assert_true(sqrt(diff / norm) < 0.02);
	batch_clear(&b);
}

/* A fault: number x in a row of a tensor, and where it must be found. */
struct fault {
	const char *tensor;
	float x;
	int all;		/* all numbers of the tensor, not one */
	double z_loss;
	int forward;
	const char *found;
};

static void
inject(struct trainer *t, const struct fault *f)
{
	const struct llama *m = t->m;
	size_t i;
	int64_t j;

	for (i = 0; f->tensor && i < m->ntensors; i++) {
		const struct tensor *s = &m->tensor[i];
		int64_t at = m->param[s->param].at + s->row * s->cols;

		if (strcmp(s->name, f->tensor))
			continue;
		for (j = 0; j < (f->all ? s->rows * s->cols : 1); j++)
			t->opt.master[at + j] = f->x;
		llama_set(t->m, t->opt.master);
		return;
	}
	assert_null(f->tensor);
}

static void
find_fault(const struct fault *f, enum kdtype dt)
{
	struct model_config c = {.vocab = VOCAB, .max_pos = T};
	struct trainer_conf tc = {.seq_len = T, .batch_size = B,
		.micro_batch = 2, .dtype = dt, .z_loss = f->z_loss,
		.optim = {0.9, 0.95, 1e-8, 0, 0, 1}};
	struct trainer_result r;
	struct trainer t = {0};
	struct batch b;
	struct err e = {0};
	struct kernels *k = kernels_open("cpu", 1, &e);

	config_preset(&c, PRESET_1M);
	c.layers = 3;
	c.tie = 0;
	assert_int_equal(trainer_init(&t, k, &c, &tc, &e), 0);
	assert_int_equal(llama_flat_init(t.m, 1, 0.02, 1, t.opt.master, &e), 0);
	llama_set(t.m, t.opt.master);
	inject(&t, f);
	fill(&b);
	assert_int_equal(trainer_step(&t, &b, 1e-2, 1, &r, &e), 0);
	assert_non_null(r.skipped);
	assert_string_equal(r.tensor, f->found);
	assert_int_equal(r.forward, f->forward);
	batch_clear(&b);
	trainer_clear(&t);
	k->close(k);
}

/* The first bad number is looked for in the order of computation. */
static void
first_bad(void **state)
{
#define L1 "model.layers.1."
	static const struct fault faults[] = {
		{"model.embed_tokens.weight", NAN, 1, 0, 1,
			"model.embed_tokens"},
		{L1 "input_layernorm.weight", NAN, 0, 0, 1,
			L1 "input_layernorm"},
		{L1 "self_attn.k_proj.weight", NAN, 0, 0, 1,
			L1 "self_attn.k_proj"},
		{L1 "self_attn.v_proj.weight", INFINITY, 0, 0, 1,
			L1 "self_attn.v_proj"},
		{L1 "input_layernorm.weight", 1e21f, 1, 0, 1,
			L1 "self_attn"},
		{L1 "self_attn.o_proj.weight", NAN, 0, 0, 1,
			L1 "self_attn.o_proj"},
		{L1 "post_attention_layernorm.weight", 1e21f, 1, 0, 1,
			L1 "mlp"},
		{L1 "mlp.up_proj.weight", NAN, 0, 0, 1, L1 "mlp.up_proj"},
		{L1 "mlp.down_proj.weight", NAN, 0, 0, 1,
			L1 "mlp.down_proj"},
		{"model.norm.weight", NAN, 0, 0, 1, "model.norm"},
		{"lm_head.weight", NAN, 0, 0, 1, "lm_head"},
		{NULL, 0, 0, 1e300, 0, "lm_head.weight"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof faults / sizeof *faults; i++) {
		find_fault(&faults[i], K_F32);
		find_fault(&faults[i], K_BF16);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps),
		cmocka_unit_test(a_step_waits_once),
		cmocka_unit_test(mean_is_over_targets),
		cmocka_unit_test(order),
		cmocka_unit_test(order_same_bits),
		cmocka_unit_test(half),
		cmocka_unit_test(first_bad),
	};

	return cmocka_run_group_tests_name("trainer", tests, NULL, NULL);
}
