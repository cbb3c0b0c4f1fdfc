/*
 * saving.c - checkpoints are written while training goes on, whole and in
 * parts
 *
 * fsync() of this program makes the thread wait for later steps, and these
 * take their time, so that what is seen does not depend on the machine.
 */
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/unit/job_world.h"

#include "record/ckpt.h"

enum { STEP_MS = 100, PATIENCE_MS = 60000 };

static pthread_t trains;
static int waits;		/* of the thread for step 6 */
static void (*fast_fetch)(struct kernels *, const struct k_fetch *);

static void
sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static int
log_has(const char *run, const char *part)
{
	char path[4400], *log;
	int has;

	snprintf(path, sizeof path, "%s/%s/train.jsonl", world.dir, run);
	log = test_read(path, &(size_t){0});
	has = strstr(log, part) != NULL;
	free(log);
	return has;
}

int
fsync(int fd)
{
	int ms;

	(void)fd;
	if (!waits || pthread_equal(pthread_self(), trains))
		return 0;
	for (ms = 0; ms < PATIENCE_MS; ms += 10) {
		if (log_has("thread", "\"type\":\"step\",\"step\":6"))
			break;
		sleep_ms(10);
	}
	return 0;
}

/* Each step fetches its loss. */
static void
slow_fetch(struct kernels *k, const struct k_fetch *a)
{
	sleep_ms(STEP_MS);
	fast_fetch(k, a);
}

static struct options
saving_options(const char *run)
{
	struct options o = base_options(run);

	o.eval_every = o.sample_every = 0;
	o.save_every = 4;
	return o;
}

static char *
whole_log(const char *run)
{
	char path[4400];

	snprintf(path, sizeof path, "%s/%s/train.jsonl", world.dir, run);
	return test_read(path, &(size_t){0});
}

/* Where a line is in the log. */
static size_t
place(const char *log, const char *part)
{
	const char *p = strstr(log, part);

	if (!p)
		fail_msg("no %s in %s", part, log);
	return (size_t)(p - log);
}

static double
seconds(const char *log, const char *key)
{
	const char *p = strstr(log, "\"type\":\"checkpoint\",\"step\":4");

	p = p ? strstr(p, key) : NULL;
	assert_non_null(p);
	return strtod(p + strlen(key) + 2, NULL);
}

static void
slow_steps(struct job *j)
{
	fast_fetch = j->tr.k->fetch;
	j->tr.k->fetch = slow_fetch;
}

static void
no_copy(struct job *j)
{
	j->run.save.no_copy = 1;
}

static void
run_so(const struct options *o, void (*before)(struct job *))
{
	struct kernels *k = table("cpu", 2);
	struct err e = {0};

	if (run_with(o, k, before, &e) != 0)
		fail_msg("%s", e.msg);
}

static void
steps_go_on(void **state)
{
	struct options o = saving_options("thread"), p = saving_options("wait");
	char *log;

	(void)state;
	trains = pthread_self();
	waits = 1;
	run_so(&o, slow_steps);
	waits = 0;
	run_so(&p, no_copy);
	log = whole_log("thread");
	assert_true(place(log, "\"type\":\"step\",\"step\":6") <
		    place(log, "\"type\":\"checkpoint\",\"step\":4"));
	assert_true(seconds(log, "save_s") > 0.29);
	assert_true(seconds(log, "stall_s") < seconds(log, "save_s") - 0.1);
	place(log, "\"type\":\"checkpoint\",\"step\":8");
	free(log);
	log = whole_log("wait");
	assert_true(place(log, "\"type\":\"checkpoint\",\"step\":4") <
		    place(log, "\"type\":\"step\",\"step\":4"));
	assert_true(seconds(log, "stall_s") >= seconds(log, "save_s"));
	free(log);
	assert_true(same_tensors("thread", "wait"));
	assert_true(same_logs("thread", "wait"));
}

/* The checkpoint of step 4 holds the state of step 4, not a later one. */
static void
copy_is_of_its_step(void **state)
{
	struct options o = saving_options("short");
	struct err e = {0};
	char a[4400], b[4400];
	size_t n, m;
	char *x, *y;

	(void)state;
	o.stop_after = 4;
	run_so(&o, no_copy);
	snprintf(a, sizeof a, "%s/short/step-00000004/optimizer.safetensors",
		 world.dir);
	snprintf(b, sizeof b, "%s/thread/step-00000004/optimizer.safetensors",
		 world.dir);
	x = test_read(a, &n);
	y = test_read(b, &m);
	assert_true(n == m && !memcmp(x, y, n));
	free(x);
	free(y);
	snprintf(a, sizeof a, "%s/thread/step-00000004", world.dir);
	if (ckpt_verify(a, &e) < 0)
		fail_msg("%s", e.msg);
}

static void
small_shards(struct job *j)
{
	j->run.save.shard_bytes = 20000;
}

/* The tensors of a folder, one after another. */
static void
same_model(const char *a, const char *b)
{
	struct err e = {0};
	char path[4400];
	struct st *x, *y;
	size_t i;

	snprintf(path, sizeof path, "%s/%s/latest", world.dir, a);
	x = st_open(path, &e);
	snprintf(path, sizeof path, "%s/%s/latest", world.dir, b);
	y = st_open(path, &e);
	if (!x || !y)
		fail_msg("%s", e.msg);
	assert_int_equal(x->n, y->n);
	for (i = 0; i < x->n; i++) {
		assert_string_equal(x->v[i].name, y->v[i].name);
		assert_int_equal(x->v[i].bytes, y->v[i].bytes);
		assert_memory_equal(x->v[i].data, y->v[i].data,
				    x->v[i].bytes);
	}
	st_close(x);
	st_close(y);
}

static void
large_models_are_sharded(void **state)
{
	struct options o = saving_options("parts"), more;
	char path[4400], *index;
	struct stat st;
	int i;

	(void)state;
	run_so(&o, small_shards);
	same_model("parts", "wait");
	assert_true(same_file("parts", "wait", "optimizer.safetensors"));
	snprintf(path, sizeof path, "%s/parts/latest/model.safetensors",
		 world.dir);
	assert_true(access(path, F_OK) < 0);
	snprintf(path, sizeof path,
		 "%s/parts/latest/model.safetensors.index.json", world.dir);
	index = test_read(path, &(size_t){0});
	/* P = 320 * 32 + 2 * (2 * 32 * 32 + 2 * 16 * 32 + 3 * 32 * 48 + 64) +
	   32, in bf16 */
	assert_non_null(strstr(index, "\"total_size\": 51520\n"));
	assert_non_null(strstr(index, "\"model.embed_tokens.weight\": "
			       "\"model-00001-of-00003.safetensors\""));
	assert_non_null(strstr(index, "\"model.norm.weight\": "
			       "\"model-00003-of-00003.safetensors\""));
	free(index);
	for (i = 2; i <= 3; i++) {
		snprintf(path, sizeof path,
			 "%s/parts/latest/model-%05d-of-00003.safetensors",
			 world.dir, i);
		assert_int_equal(stat(path, &st), 0);
		assert_true(st.st_size < 20000 + 2000);
	}
	/* and read: by a resume, and to begin from */
	options_init(&more);
	more.resume = o.out;
	more.peak_tflops = 1;
	more.allow_changed_config = 1;
	run_so(&more, NULL);
	more = saving_options("child");
	snprintf(path, sizeof path, "%s/parts/latest", world.dir);
	more.hidden_size = more.layers = more.heads = 0;
	more.kv_heads = more.intermediate_size = 0;
	more.init_from = path;
	more.lr = 1e-12;
	run_so(&more, NULL);
	assert_true(loss_at("child", "0") < loss_at("wait", "7") + 0.5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_go_on),
		cmocka_unit_test(copy_is_of_its_step),
		cmocka_unit_test(large_models_are_sharded),
	};

	return cmocka_run_group_tests_name("saving", tests, make_world,
					   remove_world);
}
