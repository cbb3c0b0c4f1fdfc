/*
 * job_world.h - small runs, for job.c and resume.c
 *
 * A few hundred random documents, and functions that train on them and
 * compare runs.
 */
#ifndef ASSAY_TESTS_JOB_WORLD_H
#define ASSAY_TESTS_JOB_WORLD_H

#include "tests/unit/test.h"

#include "base/mem.h"
#include "base/rng.h"
#include "train/job.h"

enum { VOCAB = 320, DOCS = 60 };

static struct {
	char *dir;
	char data[4200], val[4200];
} world;

/* Documents of different lengths, so windows have different targets. */
static inline void
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

static inline int
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

static inline int
remove_world(void **state)
{
	(void)state;
	test_remove(world.dir);
	return 0;
}

/* ---- running ---- */

static inline struct options
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

static inline struct kernels *
table(const char *name, int threads)
{
	struct err e = {0};
	struct kernels *k = kernels_open(name, threads, &e);

	if (!k)
		fail_msg("%s", e.msg);
	return k;
}

/* before: called between job_open() and job_run(); or NULL. */
static inline int
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
	if (rc == 0)
		rc = job_start(&j, e);
	if (rc == 0 && before)
		before(&j);
	if (rc == 0)
		rc = job_run(&j, e);
	if (job_close(&j, e) < 0)
		rc = -1;
	k->close(k);
	return rc;
}

static inline void
run(const struct options *o, struct kernels *k)
{
	struct err e = {0};

	if (run_with(o, k, NULL, &e) != 0)
		fail_msg("%s", e.msg);
}

static inline int
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

static inline int
same_tensors(const char *a, const char *b)
{
	return same_file(a, b, "model.safetensors") &&
		same_file(a, b, "optimizer.safetensors");
}

/* Step, eval and sample lines, without times and rates. */
static inline char *
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
		if ((a = strstr(line, ",\"eval_s\"")))
			*a = '\0';
		strcat(strcat(out, line), "\n");
	}
	free(text);
	return out;
}

static inline int
same_logs(const char *a, const char *b)
{
	char *x = log_of(a), *y = log_of(b);
	int same = !strcmp(x, y) && *x;

	free(x);
	free(y);
	return same;
}

static inline double
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

#endif
