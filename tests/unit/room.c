/*
 * room.c - too little device memory is an error, and nothing leaks
 *
 * A table refuses the first allocation, then the second, and so on: every
 * refusal must reach the caller as an error with a message, and all that was
 * allocated before must be released.  Host memory is the sanitizer's part.
 */
#include "tests/kernels/guard.h"
#include "tests/kernels/must.h"
#include "tests/unit/test.h"

#include <string.h>

#include "model/decode.h"
#include "sample/generator.h"
#include "train/trainer.h"

static const struct trainer_conf conf = {.seq_len = 8, .batch_size = 3,
	.micro_batch = 2, .dtype = K_BF16, .optim = {.beta1 = 0.9,
	.beta2 = 0.95, .eps = 1e-8, .clip = 1}};

struct world {
	struct kernels *k;
	struct model_config c;
	struct llama *m;
};

/* With packed copies of weights where the processor can. */
static struct world
open_world(enum rope_type rope)
{
	struct world w = {.c = {.vocab = 64, .max_pos = 8}};
	struct err e = {0}, packed = {0};
	struct kernels *k = kernels_open("cpu:packed", 1, &packed);

	if (!k)
		k = kernels_open("cpu", 1, &e);
	assert_non_null(k);
	w.k = guard_wrap(k);
	config_preset(&w.c, PRESET_1M);
	w.c.layers = 2;
	w.c.tie = 0;
	w.c.qk_norm = 1;
	w.c.rope.type = rope;
	w.c.rope.factor = 2;
	return w;
}

/* Model, and all that a test puts on it; 0, or -1 with a message. */

static int
try_llama(struct world *w, struct err *e)
{
	struct llama *m = llama_new(w->k, &w->c, K_BF16, K_USE_TRAIN, 8, e);

	if (!m)
		return -1;
	llama_free(m);
	return 0;
}

static int
try_pass(struct world *w, struct err *e)
{
	struct pass *p = pass_new(w->m, 2, 8, e);

	if (!p)
		return -1;
	pass_free(p);
	return 0;
}

static int
try_decoder(struct world *w, struct err *e)
{
	const int32_t row[3] = {1, 0, 0};
	struct decoder *d = decoder_new(w->m, 2, 8, 4, e);
	int rc = d ? decoder_run(d, 1, row, row + 1, row + 2, e) : -1;

	if (rc == 0 && !decoder_logits(d, 0, 1, e))
		rc = -1;
	decoder_free(d);
	return rc;
}

static int
try_trainer(struct world *w, struct err *e)
{
	struct trainer t = {0};

	if (trainer_init(&t, w->k, &w->c, &conf, e) < 0) {
		assert_null(t.m);	/* clear() has nothing to do */
		return -1;
	}
	trainer_clear(&t);
	return 0;
}

/* A generator is as good as new after a refusal. */
static int
try_generator(struct world *w, struct err *e)
{
	const uint32_t prompt[] = {1, 2};
	struct gen_opts o = {.max_tokens = 3};
	struct generator *g = generator_new(w->m, NULL);
	struct gen_seq s = {.prompt = prompt, .nprompt = 2};
	int rc = generator_run(g, &s, 1, &o, NULL, NULL, e);

	if (rc < 0) {
		struct err again = {0};

		generator_seq_clear(&s);
		s = (struct gen_seq){.prompt = prompt, .nprompt = 2};
		assert_int_equal(generator_run(g, &s, 1, &o, NULL, NULL,
					       &again), 0);
		assert_true(s.out.n > 0 && s.end);
	}
	generator_seq_clear(&s);
	generator_free(g);
	return rc;
}

/* Refuse allocation n for every n; returns how many there are. */
static size_t
refuse_each(struct world *w, int (*run)(struct world *w, struct err *e))
{
	struct guard *g = guard_of(w->k);
	size_t before, n;

	must_sync(w->k);
	before = g->nblocks;
	for (n = 1;; n++) {
		struct err e = {0};
		int rc;

		g->refuse = n;
		rc = run(w, &e);
		must_sync(w->k);
		assert_int_equal(g->nblocks, before);
		if (g->refuse) {
			assert_int_equal(rc, 0);
			g->refuse = 0;
			return n - 1;
		}
		assert_int_equal(rc, -1);
		assert_non_null(strstr(e.msg, "cpu: cannot allocate "));
		assert_non_null(strstr(e.msg, "bytes are free)"));
	}
}

static void
each_allocation(void **state)
{
	struct world w = open_world(ROPE_DYNAMIC);
	struct err e = {0};
	size_t n;

	(void)state;
	/* weights, cos, sin; copies of 4 matrices a layer and of the head */
	n = refuse_each(&w, try_llama);
	assert_true(n == 3 || n == 3 + 2 * (2 * 4 + 1));
	assert_true(refuse_each(&w, try_trainer) >= n + 5 + 1 + 1);
	w.m = llama_new(w.k, &w.c, K_BF16, K_USE_TRAIN, 8, &e);
	assert_non_null(w.m);
	for (size_t i = 0; i < w.m->nparams; i++) {
		struct param *p = &w.m->param[i];

		kernels_zero(w.k, p->data, (size_t)p->n * 2);
		if (p->w)
			kernels_weight_update(w.k, p->w);
	}
	assert_int_equal(refuse_each(&w, try_pass), 1);
	assert_int_equal(refuse_each(&w, try_decoder), 2);
	assert_true(refuse_each(&w, try_generator) >= 2);
	guard_of(w.k)->refuse = 1;
	assert_int_equal(try_generator(&w, &e), -1);
	assert_non_null(strstr(e.msg, "--max-tokens"));
	llama_free(w.m);
	w.k->close(w.k);
}

/* A block larger than the machine is refused, with the figures. */
static void
too_large(void **state)
{
	struct err e = {0};
	struct kernels *k = kernels_open("ref", 1, &e);
	size_t unused, total, much = (size_t)1 << 60;
	char want[200];
	void *p;

	(void)state;
	assert_int_equal(k->memory(k, &unused, &total), 0);
	assert_true(unused > 0 && unused <= total);
	assert_null(k->alloc(k, much, &e));
	snprintf(want, sizeof want, "ref: cannot allocate %zu bytes of device"
		 " memory (", much);
	assert_int_equal(strncmp(e.msg, want, strlen(want)), 0);
	snprintf(want, sizeof want, " of %zu bytes are free)", total);
	assert_non_null(strstr(e.msg, want));
	e = (struct err){0};
	assert_null(k->host_alloc(k, SIZE_MAX / 2, &e));
	assert_non_null(strstr(e.msg, "bytes of host memory"));
	p = k->host_alloc(k, 1, &e);
	assert_non_null(p);
	k->host_free(k, p);
	k->host_free(k, NULL);
	k->close(k);
}

/* Everything that is allocated or carved begins at a multiple of 256 bytes. */
static void
alignment(void **state)
{
	struct world w = open_world(ROPE_DEFAULT);
	struct err e = {0};
	struct llama *m;
	size_t n, i;

	(void)state;
	for (n = 0; n < 5000; n += 97) {
		void *p = must_alloc(w.k, n);

		assert_int_equal((uintptr_t)p % 256, 0);
		kernels_release(w.k, p);
	}
	m = llama_new(w.k, &w.c, K_BF16, K_USE_FWD, 8, &e);
	for (i = 0; i < m->nparams; i++) {
		assert_int_equal((uintptr_t)m->param[i].data % 256, 0);
		assert_int_equal(m->param[i].at * 2 % 256, 0);
	}
	llama_free(m);
	w.k->close(w.k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_allocation),
		cmocka_unit_test(too_large),
		cmocka_unit_test(alignment),
	};

	return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}
