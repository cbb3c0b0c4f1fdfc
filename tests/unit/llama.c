/*
 * llama.c - the model against transformers in float64 (tests/data/models)
 *
 * Logits, loss, loss with z-loss and every gradient, windows with one
 * document and with several, on every table of kernels there is.  A gradient
 * is compared in the 2-norm of its tensor.  In bf16 the goldens of a folder of
 * float weights include the rounding of the weights; gradients are also held
 * against ref in fp32 (itself within 1e-5 of the goldens) with the same
 * rounded weights.  Halves with accumulation, or in a larger batch: equal.
 */
#include "tests/kernels/must.h"
#include "tests/unit/test.h"

#include <math.h>

#include "base/mem.h"
#include "model/pass.h"

enum { MAXN = 256 };

static const char *const folders[] = {"llama-tied", "llama-gqa", "qwen3",
	"llama-bf16-sharded"};

/* A model and its golden file on a table. */
struct fix {
	struct kernels *k;
	struct llama *m;
	struct st *gold;
	struct pass *p;
	int64_t b, t, n;
	int32_t *tok, *target, *start;
	float *loss, *logz, *grad;
	float *host;		/* (flat) */
};

static float *
golden(const struct fix *f, const char *prefix, const char *name, size_t *n)
{
	char full[128];
	const struct st_tensor *t;
	struct err e = {0};
	float *x;

	snprintf(full, sizeof full, "%s%s", prefix, name);
	t = st_find(f->gold, full);
	if (!t)
		return NULL;
	x = malloc(t->n * sizeof *x);
	assert_int_equal(st_f32(t, 0, t->n, x, &e), 0);
	*n = t->n;
	return x;
}

static int32_t *
golden_ids(const struct fix *f, const char *prefix, const char *name)
{
	char full[128];
	const struct st_tensor *t;
	int32_t *x;

	snprintf(full, sizeof full, "%s%s", prefix, name);
	t = st_find(f->gold, full);
	if (!t)
		return NULL;
	assert_int_equal(t->dtype, ST_I32);
	x = malloc(t->n * sizeof *x);
	memcpy(x, t->data, t->n * sizeof *x);
	return x;
}

static double
golden_loss(const struct fix *f, const char *name)
{
	const struct st_tensor *t = st_find(f->gold, name);
	double x;

	assert_non_null(t);
	assert_int_equal(t->dtype, ST_F64);
	memcpy(&x, t->data, sizeof x);
	return x;
}

static void
put(struct fix *f, int32_t *dev, const int32_t *host)
{
	kernels_upload(f->k, dev, host, (size_t)f->n * 4);
	must_sync(f->k);
}

static struct fix *
fix_new(const char *table, int threads, const char *folder, enum kdtype dt)
{
	struct fix *f = xcalloc(1, sizeof *f);
	struct err e = {0};
	struct model_config c;
	struct st *s;
	char path[200];

	f->k = kernels_open(table, threads, &e);
	if (!f->k) {
		free(f);
		return NULL;
	}
	snprintf(path, sizeof path, "tests/data/models/%s", folder);
	assert_int_equal(config_load(&c, path, &e), 0);
	s = st_open(path, &e);
	assert_non_null(s);
	f->m = llama_new(f->k, &c, dt, K_USE_TRAIN, 64, &e);
	assert_int_equal(llama_load(f->m, s, &e), 0);
	st_close(s);
	strcat(path, "/golden.safetensors");
	f->gold = st_open(path, &e);
	assert_non_null(f->gold);
	f->tok = must_alloc(f->k, MAXN * 4);
	f->target = must_alloc(f->k, MAXN * 4);
	f->start = must_alloc(f->k, MAXN * 4);
	f->loss = must_alloc(f->k, MAXN * 4);
	f->logz = must_alloc(f->k, MAXN * 4);
	f->grad = llama_flat_new(f->m, &e);
	f->host = malloc((size_t)f->m->flat * 4);
	return f;
}

static void
load_weights(const struct fix *f, const char *folder, float *flat)
{
	struct err e = {0};
	char path[200];
	struct st *s;

	snprintf(path, sizeof path, "tests/data/models/%s", folder);
	s = st_open(path, &e);
	assert_non_null(s);
	assert_int_equal(llama_flat_load(f->m, s, "", flat, &e), 0);
	st_close(s);
}

static void
fix_free(struct fix *f)
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
	st_close(f->gold);
	free(f->host);
	free(f);
}

/* Upload the batch of the golden file; returns how many targets count. */
static int64_t
load_batch(struct fix *f, const char *prefix)
{
	char full[64];
	struct err e = {0};
	const struct st_tensor *t;
	int32_t *ids = golden_ids(f, prefix, "ids");
	int32_t *target = golden_ids(f, prefix, "targets");
	int32_t *seg = golden_ids(f, prefix, "seg");
	int64_t i, count = 0, first = 0;

	snprintf(full, sizeof full, "%sids", prefix);
	t = st_find(f->gold, full);
	f->b = (int64_t)t->shape[0];
	f->t = (int64_t)t->shape[1];
	f->n = f->b * f->t;
	assert_true(f->n <= MAXN);
	for (i = 0; i < f->n; i++) {
		count += target[i] >= 0;
		target[i] = target[i] < 0 ? -1 : target[i];
	}
	put(f, f->tok, ids);
	put(f, f->target, target);
	for (i = 0; seg && i < f->n; i++) {
		if (i % f->t == 0 || seg[i] != seg[i - 1])
			first = i % f->t;
		ids[i] = (int32_t)first;
	}
	if (seg)
		put(f, f->start, ids);
	free(ids);
	free(target);
	free(seg);
	pass_free(f->p);
	f->p = pass_new(f->m, f->b, f->t, &e);
	return count;
}

static struct pass_batch
batch_of(const struct fix *f, int64_t count, int packed)
{
	return (struct pass_batch){.b = f->b, .tok = f->tok,
		.target = f->target, .start = packed ? f->start : NULL,
		.scale = 1.0f / (float)count, .loss = f->loss,
		.logz = f->logz, .grad = f->grad};
}

static double
mean_loss(struct fix *f, int64_t count, double zcoef)
{
	float loss[MAXN], z[MAXN];
	int32_t target[MAXN];
	double sum = 0;
	int64_t i;

	must_download(f->k, loss, f->loss, (size_t)f->n * 4);
	must_download(f->k, z, f->logz, (size_t)f->n * 4);
	must_download(f->k, target, f->target, (size_t)f->n * 4);
	for (i = 0; i < f->n; i++)
		if (target[i] >= 0)
			sum += loss[i] + zcoef * z[i] * z[i];
	return sum / (double)count;
}

/* Relative difference in the 2-norm. */
static double
distance(const float *x, const float *ref, size_t n)
{
	double d = 0, r = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		d += ((double)x[i] - ref[i]) * ((double)x[i] - ref[i]);
		r += (double)ref[i] * ref[i];
	}
	return r > 0 ? sqrt(d / r) : sqrt(d);
}

static void
check(double got, double tol, const char *where, const char *what)
{
	if (!(got <= tol))
		fail_msg("%s: %s: off by %.3g, allowed %.3g", where, what, got,
			 tol);
}

/* In place of ce_head(): the logits of its rows, (n, Vp) float. */
static float *head_logits;

static void
only_logits(struct kernels *k, const struct k_ce_head *a)
{
	k->matmul_fwd(k, &(struct k_matmul_fwd){.w = a->w, .n = a->n,
		.x = a->h, .y = head_logits, .ydt = K_F32});
}

/* How far the logits of a forward pass are from the golden ones. */
static double
logits_off(struct fix *f, const char *prefix, const struct pass_batch *b)
{
	void (*was)(struct kernels *, const struct k_ce_head *) = f->k->ce_head;
	size_t n, v = (size_t)f->m->c.vocab, vp = (size_t)f->m->vp, i;
	size_t bytes = (size_t)f->n * vp * 4;
	float *ref = golden(f, prefix, "logits", &n), *x = malloc(bytes);
	struct pass_batch forward = *b;
	double off;

	assert_non_null(ref);
	forward.grad = NULL;
	head_logits = must_alloc(f->k, bytes);
	f->k->ce_head = only_logits;
	pass_run(f->p, &forward);
	f->k->ce_head = was;
	must_download(f->k, x, head_logits, bytes);
	for (i = 1; i < (size_t)f->n; i++)
		memmove(x + i * v, x + i * vp, v * 4);
	off = distance(x, ref, n);
	kernels_release(f->k, head_logits);
	free(x);
	free(ref);
	return off;
}

/*
 * What bf16 allows against goldens of fp32 weights: the gains of QK-norm sum
 * up many terms of either sign.  PyTorch 2.15 is off by 2.2e-2 on the same
 * model and batch with autocast, and by 2.4e-2 all in bf16.
 */
static double
allowed(const char *tensor, enum kdtype dt, double tol)
{
	return dt == K_BF16 && strstr(tensor, "_norm.weight") ? 2.3e-2 : tol;
}

static int
check_grads(struct fix *f, const char *prefix, double tol, const char *where)
{
	char what[128];
	size_t i, n;
	int seen = 0;

	must_download(f->k, f->host, f->grad, (size_t)f->m->flat * 4);
	for (i = 0; i < f->m->ntensors; i++) {
		const struct tensor *t = &f->m->tensor[i];
		float *ref;

		snprintf(what, sizeof what, "%sgrad.", prefix);
		ref = golden(f, what, t->name, &n);
		if (!ref)
			continue;
		assert_int_equal(n, t->rows * t->cols);
		check(distance(f->host + f->m->param[t->param].at +
			       t->row * t->cols, ref, n),
		      allowed(t->name, f->m->dt, tol), where, t->name);
		free(ref);
		seen++;
	}
	return seen;
}

/* ref in fp32, its weights rounded to bf16, run over the batch of f. */
static float *
rounded_grads(const struct fix *f, const char *folder, const char *prefix)
{
	struct fix *g = fix_new("ref", 1, folder, K_F32);
	struct err e = {0};
	float *flat = llama_flat_new(g->m, &e), *out;
	void *half = must_alloc(g->k, (size_t)g->m->flat * 2);
	struct pass_batch b;
	int64_t count;

	load_weights(g, folder, flat);
	g->k->cast(g->k, &(struct k_cast){.n = g->m->flat, .src = flat,
		.sdt = K_F32, .dst = half, .ddt = K_BF16});
	g->k->cast(g->k, &(struct k_cast){.n = g->m->flat, .src = half,
		.sdt = K_BF16, .dst = flat, .ddt = K_F32});
	llama_set(g->m, flat);
	count = load_batch(g, prefix);
	b = batch_of(g, count, *prefix != 0);
	pass_run(g->p, &b);
	out = g->host;
	g->host = NULL;
	must_download(g->k, out, g->grad, (size_t)g->m->flat * 4);
	assert_int_equal(g->m->flat, f->m->flat);
	kernels_release(g->k, flat);
	kernels_release(g->k, half);
	fix_free(g);
	return out;
}

static void
check_rounded(struct fix *f, const char *folder, const char *prefix,
	      double tol, const char *where)
{
	float *ref = rounded_grads(f, folder, prefix);
	size_t i;

	must_download(f->k, f->host, f->grad, (size_t)f->m->flat * 4);
	for (i = 0; i < f->m->ntensors; i++) {
		const struct tensor *t = &f->m->tensor[i];
		int64_t at = f->m->param[t->param].at + t->row * t->cols;

		check(distance(f->host + at, ref + at,
			       (size_t)(t->rows * t->cols)), tol, where,
		      t->name);
	}
	free(ref);
}

static void
check_folder(const char *table, const char *folder, enum kdtype dt)
{
	double tol = dt == K_F32 ? 1e-5 : 2e-2;
	struct fix *f = fix_new(table, 2, folder, dt);
	struct pass_batch b;
	char where[100];
	int64_t count;

	if (!f)
		return;
	snprintf(where, sizeof where, "%s, %s, %s", table, folder,
		 dt == K_F32 ? "fp32" : "bf16");
	count = load_batch(f, "");
	b = batch_of(f, count, 0);
	check(logits_off(f, "", &b), tol, where, "logits");
	pass_run(f->p, &b);
	check(fabs(mean_loss(f, count, 0) / golden_loss(f, "loss") - 1),
	      tol, where, "loss");
	check(fabs(mean_loss(f, count, 1e-3) / golden_loss(f, "loss_z") - 1),
	      tol, where, "loss with z");
	assert_int_equal(check_grads(f, "", tol, where), f->m->ntensors);
	if (dt == K_BF16)
		check_rounded(f, folder, "", tol, where);

	count = load_batch(f, "packed.");
	b = batch_of(f, count, 1);
	check(logits_off(f, "packed.", &b), tol, where, "logits");
	pass_run(f->p, &b);
	check(fabs(mean_loss(f, count, 0) / golden_loss(f, "packed.loss") - 1),
	      tol, where, "packed loss");
	check_grads(f, "packed.", tol, where);
	if (dt == K_BF16)
		check_rounded(f, folder, "packed.", tol, where);
	fix_free(f);
}

static void
check_table(const char *table)
{
	size_t i;

	for (i = 0; i < sizeof folders / sizeof *folders; i++) {
		check_folder(table, folders[i], K_F32);
		check_folder(table, folders[i], K_BF16);
	}
}

static void
ref_equals_transformers(void **state)
{
	(void)state;
	check_table("ref");
}

static void
cpu_equals_transformers(void **state)
{
	(void)state;
	check_table("cpu");
}

/* Negative control: an angle base that is off must show. */
static void
wrong_theta_is_caught(void **state)
{
	struct fix *f = fix_new("ref", 1, "llama-gqa", K_F32);
	struct llama *good = f->m, *bad;
	struct model_config c = f->m->c;
	struct pass_batch b;
	struct st *s;
	struct err e = {0};

	(void)state;
	c.rope_theta = 10000;
	bad = llama_new(f->k, &c, K_F32, K_USE_TRAIN, 64, &e);
	s = st_open("tests/data/models/llama-gqa", &e);
	assert_int_equal(llama_load(bad, s, &e), 0);
	st_close(s);
	f->m = bad;
	b = batch_of(f, load_batch(f, ""), 0);
	b.b = f->b;
	assert_true(logits_off(f, "", &b) > 1e-3);
	llama_free(good);
	fix_free(f);
}

/* Angles far out: float of the double value, not a product of floats. */
static void
angles_are_exact(void **state)
{
	static const int64_t at[] = {1, 4095, 15962, 32767};
	struct model_config c = {.vocab = 64, .hidden = 64, .layers = 1,
		.heads = 1, .kv_heads = 1, .head_dim = 64, .inter = 64,
		.max_pos = 32768, .rope_theta = 10000, .norm_eps = 1e-5,
		.tie = 1};
	struct err e = {0};
	struct kernels *k = kernels_open("ref", 1, &e);
	struct llama *m = llama_new(k, &c, K_F32, K_USE_FWD, 32768, &e);
	float cs[32], sn[32];
	size_t i, n;

	(void)state;
	for (n = 0; n < TEST_COUNT(at); n++) {
		must_download(k, cs, m->cos + at[n] * 32, sizeof cs);
		must_download(k, sn, m->sin + at[n] * 32, sizeof sn);
		for (i = 0; i < 32; i++) {
			long double a = (long double)at[n] *
				powl(10000, -(long double)i / 32);

			assert_true(fabsl(cosl(a) - cs[i]) < 1e-7L);
			assert_true(fabsl(sinl(a) - sn[i]) < 1e-7L);
		}
	}
	llama_free(m);
	k->close(k);
}

/* Two windows at once or one after the other with accumulation. */
static void
accumulation_is_the_sum(void **state)
{
	struct fix *f = fix_new("ref", 1, "llama-gqa", K_F32);
	int64_t count = load_batch(f, "");
	struct pass_batch b = batch_of(f, count, 0);
	double whole, parts;
	float *both;

	(void)state;
	pass_run(f->p, &b);
	whole = mean_loss(f, count, 0);
	must_download(f->k, f->host, f->grad, (size_t)f->m->flat * 4);
	both = malloc((size_t)f->m->flat * 4);
	memcpy(both, f->host, (size_t)f->m->flat * 4);
	b.b = 1;
	pass_run(f->p, &b);
	b.tok += f->t;
	b.target += f->t;
	b.loss += f->t;
	b.logz += f->t;
	b.accumulate = 1;
	pass_run(f->p, &b);
	parts = mean_loss(f, count, 0);
	must_download(f->k, f->host, f->grad, (size_t)f->m->flat * 4);
	check(fabs(whole / parts - 1), 1e-6, "accumulation", "loss");
	check(distance(f->host, both, (size_t)f->m->flat), 1e-6,
	      "accumulation", "gradient");
	free(both);
	fix_free(f);
}

/* Behind a document's bound nothing depends on the document before it. */
static void
documents_do_not_leak(void **state)
{
	struct fix *f = fix_new("ref", 1, "qwen3", K_F32);
	int64_t count = load_batch(f, "packed."), i, bound = 0;
	struct pass_batch b = batch_of(f, count, 1);
	float one[MAXN], two[MAXN];
	int32_t *ids = golden_ids(f, "packed.", "ids");
	int32_t *seg = golden_ids(f, "packed.", "seg");
	int changed = 0;

	(void)state;
	b.grad = NULL;
	pass_run(f->p, &b);
	must_download(f->k, one, f->loss, (size_t)f->n * 4);
	for (i = 0; seg[i] == seg[0]; i++)
		ids[i] = (ids[i] + 7) % 300;
	bound = i;
	put(f, f->tok, ids);
	pass_run(f->p, &b);
	must_download(f->k, two, f->loss, (size_t)f->n * 4);
	for (i = 0; i < f->n; i++)
		if (i >= bound)
			assert_memory_equal(&one[i], &two[i], 4);
		else
			changed |= one[i] != two[i];
	assert_true(changed);
	b.start = NULL;		/* without the mask it must leak */
	pass_run(f->p, &b);
	must_download(f->k, one, f->loss, (size_t)f->n * 4);
	assert_true(one[f->n - 2] != two[f->n - 2] ||
		    one[f->n - 3] != two[f->n - 3]);
	free(ids);
	free(seg);
	fix_free(f);
}

/* The same bits for 1, 2 and 7 threads. */
static void
threads_do_not_matter(void **state)
{
	static const int threads[] = {1, 2, 7};
	float *first = NULL;
	size_t i, bytes = 0;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct fix *f = fix_new("cpu", threads[i], "llama-gqa",
					K_BF16);
		struct pass_batch b;

		if (!f)
			skip();
		b = batch_of(f, load_batch(f, ""), 0);
		pass_run(f->p, &b);
		bytes = (size_t)f->m->flat * 4;
		must_download(f->k, f->host, f->grad, bytes);
		if (!first) {
			first = malloc(bytes);
			memcpy(first, f->host, bytes);
		} else
			assert_memory_equal(first, f->host, bytes);
		fix_free(f);
	}
	free(first);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ref_equals_transformers),
		cmocka_unit_test(cpu_equals_transformers),
		cmocka_unit_test(wrong_theta_is_caught),
		cmocka_unit_test(angles_are_exact),
		cmocka_unit_test(accumulation_is_the_sum),
		cmocka_unit_test(documents_do_not_leak),
		cmocka_unit_test(threads_do_not_matter),
	};

	return cmocka_run_group_tests_name("llama", tests, NULL, NULL);
}
