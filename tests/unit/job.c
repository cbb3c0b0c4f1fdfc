/*
 * job.c - whole runs: equal bits wherever they must be equal
 *
 * Each claim has a control: a run that must differ.
 */
#include "tests/unit/job_world.h"

#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/kernels/guard.h"
#include "tests/kernels/must.h"

static void
guard_gives_the_same_bits(void **state)
{
	static const char *const tables[] = {"ref", "cpu"};
	char a[20], b[20];
	int dtype, t;

	(void)state;
	for (t = 0; t < 2; t++)
		for (dtype = K_F32; dtype <= K_BF16; dtype++) {
			struct options o;

			snprintf(a, sizeof a, "plain%d%d", t, dtype);
			o = base_options(a);
			o.dtype = dtype;
			o.micro_batch = 3;
			o.steps = 20;
			o.qk_norm = dtype == K_F32;
			run(&o, table(tables[t], 1));
			snprintf(b, sizeof b, "guard%d%d", t, dtype);
			o.out = xstrdup(test_path(world.dir, b));
			run(&o, guard_wrap(table(tables[t], 1)));
			assert_true(same_tensors(a, b));
			assert_true(same_logs(a, b));
		}
}

static void
threads_give_the_same_bits(void **state)
{
	static const int threads[] = {1, 2, 7};
	char name[20];
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		struct options o;

		snprintf(name, sizeof name, "j%d", i);
		o = base_options(name);
		run(&o, table("cpu", threads[i]));
		assert_true(same_tensors("j0", name));
		assert_true(same_logs("j0", name));
	}
	{
		struct options o = base_options("seed6");

		o.seed = 6;
		run(&o, table("cpu", 1));
		assert_false(same_tensors("j0", "seed6"));
		assert_false(same_logs("j0", "seed6"));
	}
}

/* ---- what MFU is relative to ---- */

static double
two_tera(struct kernels *k, enum kdtype dt)
{
	(void)k;
	return dt == K_BF16 ? 2e12 : 1e12;
}

static double
half_tera(struct kernels *k, enum kdtype dt)
{
	(void)k;
	(void)dt;
	return 5e11;
}

/* A run of one step; mfu over tokens per second, and the start of a key. */
static double
mfu_of(const char *name, double given, int nominal, const char *want)
{
	struct options o = base_options(name);
	struct kernels *k = table("cpu", 1);
	char path[4400], *text, *p;
	double rate, mfu;
	size_t n;

	o.steps = 1;
	o.peak_tflops = given;
	k->peak = half_tera;
	if (nominal)
		k->nominal = two_tera;
	run(&o, k);
	snprintf(path, sizeof path, "%s/%s/train.jsonl", world.dir, name);
	text = test_read(path, &n);
	p = strstr(text, "\"tokens_per_s\":");
	assert_non_null(p);
	assert_int_equal(sscanf(p, "\"tokens_per_s\":%lf,\"mfu\":%lf", &rate,
				&mfu), 2);
	free(text);
	snprintf(path, sizeof path, "%s/%s/latest/train_state.json", world.dir,
		 name);
	text = test_read(path, &n);
	if (!strstr(text, want))
		fail_msg("%s is not in %s", want, text);
	free(text);
	return mfu / rate;
}

/* The option, else the nominal rate of the type, else the measured one. */
static void
mfu_is_relative_to_the_peak(void **state)
{
	double one = mfu_of("given", 1, 1, "\"peak_tflops\": 1, \""
			    "nominal_tflops\": 2, \"measured_tflops\": 0, \""
			    "device\": {\"table\": \"cpu\", ");
	double two = mfu_of("nominal", 0, 1, "\"peak_tflops\": 2, \""
			    "nominal_tflops\": 2, \"measured_tflops\": 0.5,");
	double half = mfu_of("measured", 0, 0, "\"peak_tflops\": 0.5, \""
			     "nominal_tflops\": 0, \"measured_tflops\": 0.5,");

	(void)state;
	assert_true(fabs(one / two - 2) < 1e-6);
	assert_true(fabs(half / one - 2) < 1e-6);
}

/* Any EOS of the model ends a sample. */
static void
samples_end_at_any_eos(void **state)
{
	struct options o = base_options("eos");
	char *log, *p, text[9000];
	long first, second;

	(void)state;
	o.init_from = xstrdup(test_path(world.dir, "model"));
	snprintf(text, sizeof text, "cp -r tests/data/models/llama-gqa '%s' &&"
		 " chmod -R u+w '%s'", o.init_from, o.init_from);
	assert_int_equal(system(text), 0);
	o.hidden_size = o.layers = o.heads = o.kv_heads = 0;
	o.intermediate_size = 0;
	o.lr = 1e-12;
	o.steps = 1;
	run(&o, table("cpu", 1));
	log = log_of("eos");
	p = strstr(log, "\"tokens\":[");
	assert_non_null(p);
	first = strtol(p + 10, &p, 10);
	for (second = first; *p == ',' && second == first; )
		second = strtol(p + 1, &p, 10);
	assert_int_not_equal(second, first);
	free(log);

	snprintf(text, sizeof text, "{\"bos_token_id\": 318,"
		 " \"eos_token_id\": [319, %ld]}\n", second);
	test_write(test_path(o.init_from, "generation_config.json"), text,
		   strlen(text));
	o.out = xstrdup(test_path(world.dir, "eos2"));
	run(&o, table("cpu", 1));
	log = log_of("eos2");
	snprintf(text, sizeof text, ",%ld", second);
	p = strstr(log, "\"tokens\":[");
	assert_int_equal(strtol(p + 10, NULL, 10), first);
	*strchr(p, ']') = '\0';
	assert_null(strstr(p, text));
	free(log);
}

/* Micro-batches of 1, 2, 3, 4 windows: the same result, up to rounding. */
static void
accumulation_is_a_large_batch(void **state)
{
	char name[20];
	int n;

	(void)state;
	for (n = 4; n >= 1; n--) {
		struct options o;

		snprintf(name, sizeof name, "micro%d", n);
		o = base_options(name);
		o.dtype = K_F32;
		o.micro_batch = n;
		run(&o, table("ref", 1));
		if (fabs(loss_at(name, "7") / loss_at("micro4", "7") - 1) >
		    2e-5)
			fail_msg("micro-batch %d: loss %.9g, expected %.9g",
				 n, loss_at(name, "7"),
				 loss_at("micro4", "7"));
		assert_true(loss_at(name, "0") > 0);
	}
}

/* ---- gradients that are not finite ---- */

static void (*real_sumsq)(struct kernels *, const struct k_sumsq *);
static int sumsq_calls;

/* The third update has NaN in the gradients of two parameters. */
static void
poison_third(struct kernels *k, const struct k_sumsq *a)
{
	float nan_ = NAN;
	int p;

	if (++sumsq_calls == 3)
		for (p = 1; p <= 3; p += 2) {
			kernels_upload(k, (float *)(uintptr_t)(a->g +
				  a->seg[p].at), &nan_, 4);
			must_sync(k);
		}
	real_sumsq(k, a);
}

static void
bad_update_is_skipped(void **state)
{
	struct options o = base_options("nan");
	struct kernels *k = table("ref", 1);
	struct err e = {0};
	char *log;

	(void)state;
	real_sumsq = k->sumsq;
	k->sumsq = poison_third;
	sumsq_calls = 0;
	o.eval_every = o.sample_every = 0;
	if (run_with(&o, k, NULL, &e) != 0)
		fail_msg("%s", e.msg);
	log = log_of("nan");
	assert_non_null(strstr(log, "{\"type\":\"skip\",\"step\":2,\"reason\":"
			       "\"gradient is not finite\",\"phase\":"
			       "\"backward\",\"tensor\":\"model.layers.0."
			       "self_attn.o_proj.weight\""));
	assert_non_null(strstr(log, "\"step\":7,"));
	assert_null(strstr(log, "\"skip\",\"step\":3"));
	assert_true(loss_at("nan", "7") < loss_at("nan", "0"));
	free(log);
	log = test_read(test_path(world.dir, "nan/latest/train_state.json"),
			&(size_t){0});
	assert_non_null(strstr(log, "\"updates\": 7,"));
	free(log);
}

static void
break_weights(struct job *j)
{
	float x = INFINITY;

	kernels_upload(j->tr.k, j->tr.opt.master, &x, 4);
	must_sync(j->tr.k);
	llama_set(j->tr.m, j->tr.opt.master);
}

static void
broken_weights_end_the_run(void **state)
{
	struct options o = base_options("inf");
	struct err e = {0};
	char *log;

	(void)state;
	o.steps = 50;
	o.eval_every = o.sample_every = 0;
	assert_int_equal(run_with(&o, table("ref", 1), break_weights, &e), -1);
	assert_non_null(strstr(e.msg, "10 updates in a row were skipped"));
	log = log_of("inf");
	assert_non_null(strstr(log, "\"loss\":null"));
	free(log);
}

/* ---- starting from a folder ---- */

/* Load, then one update with a negligible rate: the weights are equal. */
static void
loaded_weights_stay(void **state)
{
	struct options o = base_options("same");
	struct err e = {0};
	struct st *x, *y;
	size_t i, k;
	float p, q;

	(void)state;
	o.init_from = "tests/data/models/llama-gqa";
	o.hidden_size = o.layers = o.heads = o.kv_heads = 0;
	o.intermediate_size = 0;
	o.dtype = K_F32;
	o.lr = 1e-12;
	o.warmup_steps = 0;
	o.weight_decay = 0;
	o.steps = 1;
	run(&o, table("cpu", 1));
	x = st_open(test_path(world.dir, "same/latest"), &e);
	y = st_open("tests/data/models/llama-gqa", &e);
	assert_int_equal(x->n, y->n);
	for (i = 0; i < x->n; i++)
		for (k = 0; k < x->v[i].n; k++) {
			st_f32(&x->v[i], k, 1, &p, &e);
			st_f32(&y->v[i], k, 1, &q, &e);
			if (fabsf(p - q) > 1e-9f)
				fail_msg("%s", x->v[i].name);
		}
	st_close(x);
	st_close(y);
}

/* ---- refusals ---- */

static void
refuse(struct options *o, const char *word)
{
	struct err e = {0};

	assert_int_equal(run_with(o, table("ref", 1), NULL, &e), -1);
	if (!strstr(e.msg, word))
		fail_msg("message \"%s\", expected \"%s\" in it", e.msg, word);
	assert_int_not_equal(access(o->out, F_OK), 0);
}

static void
refused_by_name(void **state)
{
	struct options o = base_options("never");

	(void)state;
	o.seq_len = 100000;
	refuse(&o, "need >= T+1 = 100001 tokens, have ");
	o = base_options("never");
	o.vocab_size = 10;
	refuse(&o, "");
	o = base_options("never");
	o.kv_heads = 3;
	refuse(&o, "are not a multiple of 3 kv heads");
	o = base_options("never");
	o.min_lr = 1;
	refuse(&o, "the final learning rate is 1, expected 0 to the peak");
	o = base_options("never");
	o.val_data.n = 0;
	refuse(&o, "evaluation needs validation data");
	o = base_options("never");
	o.init_from = "tests/data/models/qwen3";
	refuse(&o, "--hidden-size is 32, the model folder has 48");
	o = base_options("never");
	o.data.v[0] = "/nowhere/at/all";
	refuse(&o, "/nowhere/at/all");
}

/* ---- memory ---- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static long
peak_bytes(char *const argv[])
{
	struct rusage r;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	assert_true(pid > 0);
	assert_int_equal(wait4(pid, &status, 0, &r), pid);
	if (status)
		fail_msg("%s: status %x", argv[0], status);
	return r.ru_maxrss * 1024;
}

/* The formula in the manual page, against the peak that the system reports. */
static void
memory_is_as_stated(void **state)
{
	const char *bin = getenv("BIN");
	char prog[4200], run_dir[4400];
	int dtype;

	(void)state;
	snprintf(prog, sizeof prog, "%s/lm-train", bin ? bin : "bin");
	if (access(prog, X_OK) != 0)
		skip();
	for (dtype = K_F32; dtype <= K_BF16; dtype++) {
		struct options o = base_options("unused");
		struct model_config c;
		struct trainer_conf conf;
		struct err e = {0};
		struct kernels *k;
		double need, used;
		char *argv[] = {prog, "--preset", "1M", "--vocab-size",
			"30000", "--data", world.data, "--seq-len", "256",
			"--batch-size", "8", "--steps", "2", "--dtype",
			dtype == K_F32 ? "fp32" : "bf16", "-j", "1",
			"--peak-tflops", "1", "-q", "-o", run_dir, NULL};

		snprintf(run_dir, sizeof run_dir, "%s/mem%d", world.dir,
			 dtype);
		used = (double)peak_bytes(argv);
		o.hidden_size = o.layers = o.heads = o.kv_heads = 0;
		o.intermediate_size = 0;
		o.preset = PRESET_1M;
		o.vocab_size = 30000;
		o.seq_len = 256;
		o.batch_size = 8;
		o.dtype = dtype;
		assert_int_equal(options_resolve(&o, NULL, 1, &c, &e), 0);
		conf = options_trainer(&o);
		k = kernels_open("cpu", 1, &e);
		assert_non_null(k);
		need = (double)trainer_bytes(k, &conf, &c);
		k->close(k);
		if (fabs(used / need - 1) > 0.1)
			fail_msg("stated %.0f MB, used %.0f MB", need / 1e6,
				 used / 1e6);
	}
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guard_gives_the_same_bits),
		cmocka_unit_test(threads_give_the_same_bits),
		cmocka_unit_test(mfu_is_relative_to_the_peak),
		cmocka_unit_test(samples_end_at_any_eos),
		cmocka_unit_test(accumulation_is_a_large_batch),
		cmocka_unit_test(bad_update_is_skipped),
		cmocka_unit_test(broken_weights_end_the_run),
		cmocka_unit_test(loaded_weights_stay),
		cmocka_unit_test(refused_by_name),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		cmocka_unit_test(memory_is_as_stated),
#endif
	};

	return cmocka_run_group_tests_name("job", tests, make_world,
					   remove_world);
}
