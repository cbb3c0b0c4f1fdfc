/*
 * trainer.c - a training step needs no run folder, log or data set
 */
#include "tests/unit/test.h"

#include "base/rng.h"
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
	b->targets = B * T;
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
	trainer_init(&t, k, &c, &tc);
	llama_flat_init(t.m, 1, 0.02, 1, t.opt.master);
	llama_set(t.m, t.opt.master);
	fill(&b);
	trainer_step(&t, &b, 1e-2, 1, &r);
	first = r.loss;
	for (n = 2; n <= 30; n++) {
		trainer_step(&t, &b, 1e-2, n, &r);
		assert_null(r.skipped);
	}
	assert_true(r.loss < first / 2);
	trainer_eval(&t, &b, 2);
	assert_true(t.loss[0] < first);
	b.targets = 0;
	for (n = 0; n < B * T; n++)
		b.target[n] = -1;
	trainer_step(&t, &b, 1e-2, 31, &r);
	assert_string_equal(r.skipped, "no target tokens");
	batch_clear(&b);
	trainer_clear(&t);
	k->close(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps),
	};

	return cmocka_run_group_tests_name("trainer", tests, NULL, NULL);
}
