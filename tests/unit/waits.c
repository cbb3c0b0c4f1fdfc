/*
 * waits.c - every wait of a program is needed, and is there
 *
 * Under the guard, one sync of a run does nothing: the first, the second, and
 * so on, each in a process of its own.  Every time the run must end with other
 * results, a message, a crash, or a changed source of an upload.  A sync
 * without which nothing happens is one too many.
 */
#include "tests/kernels/guard.h"
#include "tests/unit/job_world.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "sample/generator.h"

enum { SAME = 40, OTHER, NOT_REACHED };

static int reached, stale;

static void
note_close(struct kernels *k)
{
	reached = guard_of(k)->ignore == 0;
	stale = guard_of(k)->stale > 0;
	guard_of(k)->stale = 0;
	guard_close(k);
}

/* Is the queue a copy of a whole state to the host, that a thread will read? */
static int
is_copy(const struct guard *g)
{
	size_t n = 0;

	for (const struct guard_call *c = g->first; c; c = c->next, n++)
		if (strcmp(c->name, "fetch"))
			return 0;
	return n > 20;
}

/*
 * If the wait for that copy is ignored, let the thread read it before the next
 * one.
 */
static int
slow_sync(struct kernels *k, struct err *e)
{
	struct guard *g = guard_of(k);
	static int late;

	if (late)
		usleep(2000000);
	late = g->ignore == 1 && is_copy(g);
	return guard_sync(k, e);
}

static struct kernels *
deaf_table(size_t nth)
{
	struct kernels *k = guard_wrap(table("cpu", 1));

	guard_of(k)->ignore = nth;
	k->close = note_close;
	k->sync = slow_sync;
	return k;
}

/* ---- a training run, and its continuation ---- */

static struct options
short_run(const char *name)
{
	struct options o = base_options(name);

	o.layers = 1;
	o.hidden_size = 16;
	o.intermediate_size = 16;
	o.micro_batch = 3;
	o.steps = 2;
	o.eval_every = o.sample_every = 2;
	o.sample_tokens = 3;
	o.save_every = 1;
	return o;
}

static int
same_files(const char *a, const char *b, int step)
{
	static const char *const name[] = {"model.safetensors",
		"optimizer.safetensors"};
	char path[100];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "../step-%08d/%s", step, name[i]);
		if (!same_file(a, b, path))
			return 0;
	}
	return 1;
}

static int
train(size_t nth)
{
	char name[24];
	struct options o;
	struct err e = {0};

	snprintf(name, sizeof name, "train%zu", nth);
	o = short_run(name);
	if (run_with(&o, deaf_table(nth), NULL, &e) != 0 || stale)
		return OTHER;
	return same_files("train0", name, 1) && same_files("train0", name, 2) &&
		same_logs("train0", name) ? SAME : OTHER;
}

static int
resume(size_t nth)
{
	char name[24], cmd[9000];
	struct options o;
	struct err e = {0};

	snprintf(name, sizeof name, "more%zu", nth);
	options_init(&o);
	o.resume = xstrdup(test_path(world.dir, name));
	snprintf(cmd, sizeof cmd, "cp -r '%s/half' '%s'", world.dir,
		 o.resume);
	assert_int_equal(system(cmd), 0);
	o.peak_tflops = 1;
	if (run_with(&o, deaf_table(nth), NULL, &e) != 0 || stale)
		return OTHER;
	return same_files("more0", name, 2) && same_logs("more0", name) ?
		SAME : OTHER;
}

/* ---- samples and scores ---- */

struct said {
	uint32_t id[3][8];
	double logprob[3][8], score[4], ahead[2];
};
static struct said said[2];	/* without a sync ignored */
static enum rope_type rope;

static int
say(struct llama *m, struct said *s, struct err *e)
{
	static const uint32_t prompt[3][5] = {{1, 2}, {3, 4, 5}, {6}};
	static const size_t len[3] = {2, 3, 1};
	struct gen_opts o = {.max_tokens = 5, .logprobs = 1};
	struct gen_seq v[3] = {0};
	struct generator *g = generator_new(m, NULL);
	int greedy, rc;

	for (int i = 0; i < 3; i++) {
		v[i].prompt = prompt[i];
		v[i].nprompt = len[i];
	}
	rc = generator_run(g, v, 3, &o, NULL, NULL, e);
	for (int i = 0; i < 3; i++) {
		for (size_t n = 0; rc == 0 && n < v[i].out.n; n++) {
			s->id[i][n] = v[i].out.v[n];
			s->logprob[i][n] = v[i].logprob[n];
		}
		generator_seq_clear(&v[i]);
	}
	if (rc == 0)
		rc = generator_context(g, prompt[1], 3, 4, e);
	if (rc == 0)
		rc = generator_score(g, prompt[1], 2, s->score, &greedy, e);
	if (rc == 0)
		rc = generator_score(g, prompt[0], 2, s->score + 2, &greedy,
				     e);
	if (rc == 0 && generator_ahead(g, 7, 2, s->ahead, e) < 0)
		rc = -1;
	generator_free(g);
	return rc;
}

static int
sample(size_t nth)
{
	struct model_config c = {.vocab = 64, .max_pos = 16, .bos = -1,
		.eos = -1, .dtype = K_BF16};
	struct kernels *k = deaf_table(nth);
	struct said s = {0};
	struct err e = {0};
	struct llama *m;
	float *flat;
	int rc = -1;

	config_preset(&c, PRESET_1M);
	c.layers = 1;
	c.rope.type = rope;
	c.rope.factor = 2;
	m = llama_new(k, &c, K_BF16, K_USE_FWD, 16, &e);
	flat = m ? llama_flat_new(m, &e) : NULL;
	if (flat && llama_flat_init(m, 3, 0.2, 1, flat, &e) == 0) {
		llama_set(m, flat);
		kernels_release(k, flat);
		rc = say(m, &s, &e);
	}
	if (m)
		llama_free(m);
	k->close(k);
	if (nth == 0)
		said[rope == ROPE_DYNAMIC] = s;
	return rc < 0 || stale || memcmp(&s, &said[rope == ROPE_DYNAMIC],
					 sizeof s) ? OTHER : SAME;
}

/* ---- all of them ---- */

/* SAME only if the run ended well with these results. */
static int
in_child(int (*flow)(size_t), size_t nth)
{
	int status, rc;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		dup2(null, 2);
		alarm(60);
		signal(SIGSEGV, SIG_DFL);
		signal(SIGABRT, SIG_DFL);
		rc = flow(nth);
		_exit(reached ? rc : NOT_REACHED);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : OTHER;
}

static void
each_wait(int (*flow)(size_t), const char *name, size_t least)
{
	size_t n, idle = 0;
	int rc;

	assert_int_equal(flow(0), SAME);
	for (n = 1; (rc = in_child(flow, n)) != NOT_REACHED; n++)
		if (rc == SAME) {
			print_error("%s: sync %zu changes nothing\n", name, n);
			idle++;
		}
	printf("%s: %zu waits\n", name, n - 1);
	assert_int_equal(idle, 0);
	assert_true(n > least);
}

static void
training(void **state)
{
	(void)state;
	each_wait(train, "training", 20);
}

static void
continuing(void **state)
{
	struct options o = short_run("half");

	(void)state;
	o.stop_after = 1;
	run(&o, table("cpu", 1));
	each_wait(resume, "resume", 20);
}

static void
sampling(void **state)
{
	(void)state;
	for (rope = ROPE_DEFAULT; ; rope = ROPE_DYNAMIC) {
		each_wait(sample, "samples", 10);
		if (rope == ROPE_DYNAMIC)
			break;
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(training),
		cmocka_unit_test(continuing),
		cmocka_unit_test(sampling),
	};

	return cmocka_run_group_tests_name("waits", tests, make_world,
					   remove_world);
}
