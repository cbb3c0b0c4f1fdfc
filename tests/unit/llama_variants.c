/*
 * llama_variants.c - RoPE scaling and sliding windows against transformers in
 * float64 (tests/data/variants)
 *
 * Every configuration: logits, loss and gradients of a window, several
 * documents in a window, texts scored at several lengths in any order, and
 * greedy text with the cache; on ref and cpu.  Lengths are below and above
 * original_max_position_embeddings and the window.
 */
#include "tests/kernels/must.h"
#include "tests/unit/test.h"

#include <math.h>

#include "base/mem.h"
#include "model/pass.h"
#include "sample/generator.h"

#define DATA "tests/data/variants/"

enum { T = 48, PROMPT = 14, NEW = 12 };

static const struct {
	const char *name, *weights;
} variants[] = {
	{"linear-old", "llama"}, {"linear", "llama"}, {"dynamic", "llama"},
	{"yarn", "llama"}, {"yarn-ramp", "llama"}, {"yarn-factor", "llama"},
	{"llama3", "llama"}, {"llama3-new", "llama"}, {"mistral", "mistral"},
	{"mistral-window", "mistral"}, {"qwen3-window", "qwen3"},
	{"qwen3-types", "qwen3"},
};

struct fix {
	const char *name;
	struct kernels *k;
	struct llama *m;
	struct st *gold;
};

static const struct st_tensor *
tensor(const struct fix *f, const char *name)
{
	const struct st_tensor *t = st_find(f->gold, name);

	if (!t)
		fail_msg("%s: no golden %s", f->name, name);
	return t;
}

static double
real(const struct fix *f, const char *name, size_t i)
{
	const struct st_tensor *t = tensor(f, name);
	double x;

	memcpy(&x, t->data + i * sizeof x, sizeof x);
	return x;
}

static void
ids_of(const struct fix *f, const char *name, int32_t *to)
{
	const struct st_tensor *t = tensor(f, name);

	memcpy(to, t->data, t->bytes);
}

static void
fix_open(struct fix *f, const char *table, const char *name,
	 const char *weights)
{
	struct model_config c;
	struct err e = {0};
	char path[120];
	struct st *s;

	f->name = name;
	f->k = kernels_open(table, 2, &e);
	snprintf(path, sizeof path, DATA "%s", name);
	if (config_load(&c, path, &e) < 0)
		fail_msg("%s", e.msg);
	f->m = llama_new(f->k, &c, K_F32, K_USE_TRAIN, T, &e);
	snprintf(path, sizeof path, DATA "%s.safetensors", weights);
	s = st_open(path, &e);
	if (!s || llama_load(f->m, s, &e) < 0)
		fail_msg("%s", e.msg);
	st_close(s);
	snprintf(path, sizeof path, DATA "%s/golden.safetensors", name);
	f->gold = st_open(path, &e);
	assert_non_null(f->gold);
}

static void
fix_close(struct fix *f)
{
	llama_free(f->m);
	f->k->close(f->k);
	st_close(f->gold);
}

static void
check(const struct fix *f, const char *what, double off)
{
	if (!(off < 1e-5))
		fail_msg("%s, %s: %s is off by %.3g", f->k->name, f->name, what,
			 off);
}

static void
check_tensor(const struct fix *f, const char *name, const float *x)
{
	const struct st_tensor *t = tensor(f, name);
	float *ref = xmalloc(t->bytes);
	double d = 0, r = 0;
	size_t i;

	memcpy(ref, t->data, t->bytes);
	for (i = 0; i < t->n; i++) {
		d += ((double)x[i] - ref[i]) * ((double)x[i] - ref[i]);
		r += (double)ref[i] * ref[i];
	}
	check(f, name, sqrt(d / r));
	free(ref);
}

/* ---- windows ---- */

static float *head_logits;	/* see only_logits() */

/* In place of ce_head(): the logits of its rows. */
static void
only_logits(struct kernels *k, const struct k_ce_head *a)
{
	k->matmul_fwd(k, &(struct k_matmul_fwd){.w = a->w, .n = a->n,
		.x = a->h, .y = head_logits, .ydt = K_F32});
}

static void
check_logits(struct fix *f, struct pass *p, struct pass_batch b,
	     const char *name)
{
	void (*was)(struct kernels *, const struct k_ce_head *) = f->k->ce_head;
	size_t bytes = (size_t)(T * f->m->vp) * sizeof(float);
	float *x = xmalloc(bytes);

	assert_int_equal(f->m->vp, f->m->c.vocab);
	head_logits = must_alloc(f->k, bytes);
	f->k->ce_head = only_logits;
	b.grad = NULL;
	pass_run(p, &b);
	f->k->ce_head = was;
	must_download(f->k, x, head_logits, bytes);
	check_tensor(f, name, x);
	kernels_release(f->k, head_logits);
	free(x);
}

static void
check_grads(struct fix *f, const float *grad)
{
	float *host = xmalloc((size_t)f->m->flat * sizeof *host);
	size_t i, seen = 0;

	must_download(f->k, host, grad, (size_t)f->m->flat * sizeof *host);
	for (i = 0; i < f->m->ntensors; i++) {
		const struct tensor *t = &f->m->tensor[i];
		char name[100];

		snprintf(name, sizeof name, "grad.%s", t->name);
		if (!st_find(f->gold, name))
			continue;
		check_tensor(f, name, host + f->m->param[t->param].at +
			     t->row * t->cols);
		seen++;
	}
	assert_int_equal(seen, 4);
	free(host);
}

static void
check_window(struct fix *f, const char *prefix, float *grad)
{
	struct kernels *k = f->k;
	struct err e = {0};
	struct pass *p = pass_new(f->m, 1, T, &e);
	int32_t *dev = must_alloc(k, 3 * T * 4), ids[T], target[T], start[T];
	float *loss = must_alloc(k, 2 * T * 4), got[T];
	int64_t n = 0, i;
	char name[3][32];
	double sum = 0;
	struct pass_batch b = {.b = 1, .tok = dev, .target = dev + T,
		.start = *prefix ? dev + 2 * T : NULL, .loss = loss,
		.logz = loss + T, .grad = grad};

	snprintf(name[0], sizeof name[0], "%sids", prefix);
	snprintf(name[1], sizeof name[1], "%stargets", prefix);
	ids_of(f, name[0], ids);
	ids_of(f, name[1], target);
	if (*prefix)
		ids_of(f, "packed.seg", start);
	for (i = T - 1; i >= 0; i--) {
		target[i] = target[i] < 0 ? -1 : target[i];
		n += target[i] >= 0;
	}
	for (i = 0; i < T && *prefix; i++) {	/* rows of documents 0, 1, 2 */
		static const int32_t first[] = {0, 11, 12};

		start[i] = first[start[i]];
	}
	kernels_upload(k, dev, ids, sizeof ids);
	kernels_upload(k, dev + T, target, sizeof target);
	kernels_upload(k, dev + 2 * T, start, sizeof start);
	b.scale = 1.0f / (float)n;
	snprintf(name[2], sizeof name[2], "%slogits", prefix);
	check_logits(f, p, b, name[2]);
	pass_run(p, &b);
	must_download(k, got, loss, sizeof got);
	for (i = 0; i < T; i++)
		sum += got[i];
	snprintf(name[2], sizeof name[2], "%sloss", prefix);
	check(f, name[2], fabs(sum / (double)n / real(f, name[2], 0) - 1));
	if (grad)
		check_grads(f, grad);
	kernels_release(k, dev);
	kernels_release(k, loss);
	pass_free(p);
}

/* ---- sampling ---- */

/* Scores of texts of several lengths: long ones before and after short. */
static void
check_scores(struct fix *f)
{
	static const struct {
		size_t context, n;
	} texts[] = {{3, 48}, {3, 9}, {15, 20}, {15, 48}, {20, 33}, {1, 20}};
	struct generator *g = generator_new(f->m, NULL);
	int32_t ids[T];
	struct err e = {0};
	size_t i, j;

	ids_of(f, "ids", ids);
	for (i = 0; i < TEST_COUNT(texts); i++) {
		size_t c = texts[i].context, n = texts[i].n;
		double lp[T];
		char name[20];
		int greedy;

		assert_int_equal(generator_context(g, (uint32_t *)ids, c,
						   T - c, &e), 0);
		/* another continuation of this context: shorter, then ours */
		assert_int_equal(generator_score(g, (uint32_t *)ids + c, 2, lp,
						 &greedy, &e), 0);
		assert_int_equal(generator_score(g, (uint32_t *)ids + c, n - c,
						 lp, &greedy, &e), 0);
		snprintf(name, sizeof name, "score.%zu", n);
		for (j = 0; j < n - c; j++)
			check(f, name, fabs(lp[j] - real(f, name, c - 1 + j)) /
			      10);	/* a logarithm of about -10 */
	}
	generator_free(g);
}

/* Greedy text, beside a shorter prompt. */
static void
check_text(struct fix *f)
{
	struct generator *g = generator_new(f->m, NULL);
	struct gen_opts o = {.sampler = {.top_p = 1}, .max_tokens = NEW,
		.logprobs = 1};
	struct gen_seq s[2] = {{0}};
	int32_t ids[T], want[PROMPT + NEW];
	struct err e = {0};
	int i;

	ids_of(f, "ids", ids);
	ids_of(f, "generated", want);
	s[0].prompt = s[1].prompt = (uint32_t *)ids;
	s[0].nprompt = 5;
	s[1].nprompt = PROMPT;
	if (generator_run(g, s, 2, &o, NULL, NULL, &e) < 0)
		fail_msg("%s: %s", f->name, e.msg);
	assert_int_equal(s[1].out.n, NEW);
	for (i = 0; i < NEW; i++) {
		assert_int_equal(s[1].out.v[i], want[PROMPT + i]);
		check(f, "logprobs", fabs(s[1].logprob[i] -
					  real(f, "logprobs", (size_t)i)));
	}
	generator_seq_clear(&s[0]);
	generator_seq_clear(&s[1]);
	generator_free(g);
}

static void
check_all(const char *table)
{
	size_t i;

	for (i = 0; i < TEST_COUNT(variants); i++) {
		struct err e = {0};
		struct fix f;
		float *grad;

		fix_open(&f, table, variants[i].name, variants[i].weights);
		grad = llama_flat_new(f.m, &e);
		check_window(&f, "", grad);
		check_window(&f, "packed.", NULL);
		check_scores(&f);
		check_text(&f);
		kernels_release(f.k, grad);
		fix_close(&f);
	}
}

static void
ref_equals_transformers(void **state)
{
	(void)state;
	check_all("ref");
}

static void
cpu_equals_transformers(void **state)
{
	(void)state;
	check_all("cpu");
}

/* What config_json() writes is read as the same shape. */
static void
round_trip(void **state)
{
	size_t i;

	for (i = 0; i < TEST_COUNT(variants); i++) {
		struct model_config c, d;
		struct err e = {0};
		struct buf b = {0};
		char path[120];

		snprintf(path, sizeof path, DATA "%s", variants[i].name);
		assert_int_equal(config_load(&c, path, &e), 0);
		config_json(&c, &b);
		test_write(test_path(*state, "config.json"), b.p, b.n);
		if (config_load(&d, *state, &e) < 0)
			fail_msg("%s: %s", variants[i].name, e.msg);
		assert_memory_equal(&c.rope, &d.rope, sizeof c.rope);
		assert_true(c.rope_theta == d.rope_theta);
		assert_true(c.window == d.window &&
			    c.window_from == d.window_from &&
			    c.mistral == d.mistral && c.qk_norm == d.qk_norm);
		buf_clear(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ref_equals_transformers),
		cmocka_unit_test(cpu_equals_transformers),
		TEST_IN_FOLDER(round_trip),
	};

	return cmocka_run_group_tests_name("llama_variants", tests, NULL, NULL);
}
