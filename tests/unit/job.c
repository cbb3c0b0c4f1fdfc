/*
 * job.c - whole runs: the same bits wherever they must be the same
 *
 * Small models on a few hundred random documents.  Every claim has its
 * control: a run that must differ.
 */
#include "tests/unit/test.h"

#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "base/rng.h"
#include "train/interrupt.h"
#include "train/job.h"
#include "record/ckpt.h"
#include "tests/kernels/guard.h"

enum { VOCAB = 320, DOCS = 60 };

static struct {
	char *dir;
	char data[4200], val[4200];
} world;

/* Documents of very different lengths: windows have different targets. */
static void
write_shards(const char *dir, uint64_t seed)
{
	struct shard_info info = {.vocab = VOCAB, .bos = 318, .eos = 319,
		.pad = -1, .has_bos = 1, .has_eos = 1, .seq_len = 16};
	struct err e = {0};
	struct shard_writer *w = shard_writer_open(dir, SHARD_ASSAY, &info, 0,
						   &e);
	uint64_t d, i;

	if (!w)
		fail_msg("%s", e.msg);
	for (d = 0; d < DOCS; d++) {
		uint32_t ids[64];
		uint64_t n = 2 + rng_below(seed, RNG_TEST, d, 40);
		char name[32];

		ids[0] = 318;
		for (i = 1; i < n; i++)
			ids[i] = (uint32_t)rng_below(seed, RNG_TEST,
						     (d + 1) * 1000 + i, 30);
		ids[n++] = 319;
		snprintf(name, sizeof name, "d%d", (int)d);
		assert_int_equal(shard_write_doc(w, span_str(name), ids, n,
						 &e), 0);
	}
	assert_int_equal(shard_writer_commit(w, &e), 0);
}

static int
make_world(void **state)
{
	(void)state;
	world.dir = test_folder();
	snprintf(world.data, sizeof world.data, "%s/train", world.dir);
	snprintf(world.val, sizeof world.val, "%s/val", world.dir);
	write_shards(world.data, 1);
	write_shards(world.val, 2);
	return 0;
}

static int
remove_world(void **state)
{
	(void)state;
	test_remove(world.dir);
	return 0;
}

/* ---- running ---- */

static struct options
base_options(const char *run)
{
	struct options o;

	options_init(&o);
	o.out = xstrdup(test_path(world.dir, run));
	o.data.v = xcalloc(1, sizeof *o.data.v);
	o.data.v[0] = xstrdup(world.data);
	o.data.n = 1;
	o.val_data.v = xcalloc(1, sizeof *o.val_data.v);
	o.val_data.v[0] = xstrdup(world.val);
	o.val_data.n = 1;
	o.tokenizer = "tests/data/models/llama-tied/tokenizer.json";
	o.hidden_size = 32;
	o.layers = 2;
	o.heads = 4;
	o.kv_heads = 2;
	o.intermediate_size = 48;
	o.seq_len = 16;
	o.batch_size = 4;
	o.steps = 8;
	o.lr = 1e-2;
	o.warmup_steps = 2;
	o.seed = 5;
	o.eval_every = 4;
	o.eval_windows = 5;
	o.sample_every = 4;
	o.sample_tokens = 6;
	o.prompt.v = xcalloc(1, sizeof *o.prompt.v);
	o.prompt.v[0] = "abc";
	o.prompt.n = 1;
	o.peak_tflops = 1;	/* no measuring */
	return o;
}

static struct kernels *
table(const char *name, int threads)
{
	struct err e = {0};
	struct kernels *k = kernels_open(name, threads, &e);

	if (!k)
		fail_msg("%s", e.msg);
	return k;
}

/* before: called between job_open() and job_run(), or NULL. */
static int
run_with(const struct options *o, struct kernels *k,
	 void (*before)(struct job *), struct err *e)
{
	uint32_t ids[3] = {40, 41, 42};
	struct job_prompt p[] = {{span_str("abc"), ids, 3},
		{span_str("bc"), ids + 1, 2}};
	struct job j;
	int rc = job_open(&j, o, k, e);

	j.prompts = p;
	j.nprompts = TEST_COUNT(p);
	if (rc == 0 && before)
		before(&j);
	if (rc == 0)
		rc = job_run(&j, e);
	if (job_close(&j, e) < 0)
		rc = -1;
	k->close(k);
	return rc;
}

static void
run(const struct options *o, struct kernels *k)
{
	struct err e = {0};

	if (run_with(o, k, NULL, &e) != 0)
		fail_msg("%s", e.msg);
}

static int
same_file(const char *a, const char *b, const char *name)
{
	char path[4400];
	size_t n, m;
	char *x, *y;
	int same;

	snprintf(path, sizeof path, "%s/%s/latest/%s", world.dir, a, name);
	x = test_read(path, &n);
	snprintf(path, sizeof path, "%s/%s/latest/%s", world.dir, b, name);
	y = test_read(path, &m);
	same = n == m && !memcmp(x, y, n);
	free(x);
	free(y);
	return same;
}

static int
same_tensors(const char *a, const char *b)
{
	return same_file(a, b, "model.safetensors") &&
		same_file(a, b, "optimizer.safetensors");
}

/* Step, eval and sample lines without what a clock says. */
static char *
log_of(const char *run)
{
	char path[4400], *text, *line, *save, *out;
	size_t n;

	snprintf(path, sizeof path, "%s/%s/train.jsonl", world.dir, run);
	text = test_read(path, &n);
	out = calloc(1, n + 1);
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *a = strstr(line, ",\"tokens_per_s\"");
		char *b = strstr(line, ",\"data_wait_s\"");

		if (strstr(line, "\"checkpoint\"") ||
		    strstr(line, "\"resume\"") || strstr(line, "\"signal\""))
			continue;
		if (a && b)
			*a = '\0';
		strcat(strcat(out, line), "\n");
	}
	free(text);
	return out;
}

static int
same_logs(const char *a, const char *b)
{
	char *x = log_of(a), *y = log_of(b);
	int same = !strcmp(x, y) && *x;

	free(x);
	free(y);
	return same;
}

/* ---- tests ---- */

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

static void
forget_m(struct job *j)
{
	j->tr.k->zero(j->tr.k, j->tr.opt.m1, (size_t)j->tr.m->flat * 4);
}

static void
forget_count(struct job *j)
{
	j->at.updates = 0;
}

static void
resume(const char *from, const char *to, void (*before)(struct job *))
{
	struct options r;
	struct err e = {0};
	char cmd[9000];

	snprintf(cmd, sizeof cmd, "cp -r '%s/%s' '%s/%s'", world.dir, from,
		 world.dir, to);
	assert_int_equal(system(cmd), 0);
	options_init(&r);
	r.resume = xstrdup(test_path(world.dir, to));
	if (run_with(&r, table("cpu", 1), before, &e) != 0)
		fail_msg("%s", e.msg);
}

/* 8 steps are 3 and 5; with anything forgotten they are not. */
static void
resume_gives_the_same_bits(void **state)
{
	struct options o = base_options("whole");

	(void)state;
	o.z_loss = 1e-3;
	o.schedule = SCHEDULE_WSD;
	run(&o, table("cpu", 1));
	o.out = xstrdup(test_path(world.dir, "half"));
	o.stop_after = 3;
	run(&o, table("cpu", 1));
	resume("half", "rest", NULL);
	assert_true(same_tensors("whole", "rest"));
	assert_true(same_logs("whole", "rest"));
	resume("half", "no_m", forget_m);
	assert_false(same_tensors("whole", "no_m"));
	assert_false(same_logs("whole", "no_m"));
	resume("half", "no_t", forget_count);
	assert_false(same_tensors("whole", "no_t"));
}

/* ---- signals ---- */

static void (*real_head)(struct kernels *, const struct k_ce_head *);
static int calls_left;		/* until the signal comes */
static int by;			/* that signal */

static void
head_with_signal(struct kernels *k, const struct k_ce_head *a)
{
	if (calls_left-- == 0)
		raise(by);
	real_head(k, a);
}

/*
 * In a process of its own, whose nth product with the output matrix (of a
 * step, an evaluation or a sample) meets the signal.
 */
static void
run_until(const struct options *o, int n, int sig)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		struct kernels *k = table("cpu", 1);
		struct err e = {0};

		real_head = k->ce_head;
		k->ce_head = head_with_signal;
		calls_left = n;
		by = sig;
		interrupt_install();
		_exit(run_with(o, k, NULL, &e) == (calls_left < 0 ? sig : 0) ?
		      0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(status == 0 || (sig == SIGKILL && status == SIGKILL));
}

/*
 * Wherever in a step, in the evaluation after step 4 or in the two samples
 * behind it a run ends, and in those that the resume makes up for: the same
 * state in the end, and each line stands there once.
 */
static void
signals_lose_and_double_nothing(void **state)
{
	struct options o = base_options("said"), r;
	int n;

	(void)state;
	run(&o, table("cpu", 1));
	for (n = 0; n < 20; n += n < 8 ? 1 : 4) {
		char name[20];

		snprintf(name, sizeof name, "cut%d", n);
		o.out = xstrdup(test_path(world.dir, name));
		run_until(&o, n, SIGTERM);
		options_init(&r);
		r.resume = o.out;
		run_until(&r, n, SIGTERM);
		run_until(&r, n, SIGKILL);
		run_until(&r, 14, SIGKILL);
		run(&r, table("cpu", 1));
		assert_true(same_tensors("said", name));
		assert_true(same_logs("said", name));
	}
}

/* Any of the ids that end a text ends a sample. */
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

static double
loss_at(const char *run, const char *step)
{
	char *log = log_of(run), key[40], *p;
	double x;

	snprintf(key, sizeof key, "\"step\":%s,", step);
	p = strstr(log, key);
	assert_non_null(p);
	p = strstr(p, "\"loss\":");
	assert_non_null(p);
	x = strtod(p + 7, NULL);
	free(log);
	return x;
}

/* Micro-batches of 1, 2, 3, 4 windows: one result, to rounding. */
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

/* The third update has a gradient that is not a number. */
static void
poison_third(struct kernels *k, const struct k_sumsq *a)
{
	float nan_ = NAN;

	if (++sumsq_calls == 3) {
		k->upload(k, (float *)(uintptr_t)(a->g + a->n / 2), &nan_, 4);
		k->sync(k);
	}
	real_sumsq(k, a);
}

static void
bad_update_is_refused(void **state)
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
			       "\"gradient is not finite\",\"tensor\":"
			       "\"model.layers."));
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

	j->tr.k->upload(j->tr.k, j->tr.opt.master, &x, 4);
	j->tr.k->sync(j->tr.k);
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
	assert_non_null(strstr(e.msg, "10 updates in a row were refused"));
	log = log_of("inf");
	assert_non_null(strstr(log, "\"loss\":null"));
	free(log);
}

/* ---- starting from a folder ---- */

/* Load, one update with a rate that moves nothing: the very weights. */
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
	refuse(&o, "--min-lr is 1, but --lr is");
	o = base_options("never");
	o.val_data.n = 0;
	refuse(&o, "--eval-every needs --val-data");
	o = base_options("never");
	o.init_from = "tests/data/models/qwen3";
	refuse(&o, "--hidden-size is 32, the model folder has 48");
	o = base_options("never");
	o.data.v[0] = "/nowhere/at/all";
	refuse(&o, "/nowhere/at/all");
}

static void
changed_data_is_refused(void **state)
{
	struct options o = base_options("moved"), r;
	struct err e = {0};

	(void)state;
	o.stop_after = 2;
	run(&o, table("ref", 1));
	options_init(&r);
	r.resume = o.out;
	write_shards(world.data, 9);
	assert_int_equal(run_with(&r, table("ref", 1), NULL, &e), -1);
	write_shards(world.data, 1);
	assert_non_null(strstr(e.msg, "the shards have changed"));
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

/* The formula of the manual page, against what the system counted. */
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
		need = (double)trainer_bytes(&conf, &c);
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
		cmocka_unit_test(resume_gives_the_same_bits),
		cmocka_unit_test(signals_lose_and_double_nothing),
		cmocka_unit_test(samples_end_at_any_eos),
		cmocka_unit_test(accumulation_is_a_large_batch),
		cmocka_unit_test(bad_update_is_refused),
		cmocka_unit_test(broken_weights_end_the_run),
		cmocka_unit_test(loaded_weights_stay),
		cmocka_unit_test(refused_by_name),
		cmocka_unit_test(changed_data_is_refused),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		cmocka_unit_test(memory_is_as_stated),
#endif
	};

	return cmocka_run_group_tests_name("job", tests, make_world,
					   remove_world);
}
