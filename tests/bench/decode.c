/*
 * decode.c - decoding and prompts through a preset, one TSV line each
 *
 * usage: decode [-j THREADS] [-k TABLE] [-n STEPS] [-p] [PRESET[:LAYERS]...]
 *
 * With random weights in bf16: tokens per second of 1, 8 and 64 sequences that
 * decode together, the share of the read bandwidth that the weights alone
 * take, and with -p a prompt of 4,096 tokens beside the forward pass over the
 * same tokens without the head.  Each pair of figures is measured in turns,
 * because the speed of a shared machine drifts.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/spin.h"
#include "model/decode.h"
#include "model/pass.h"
#include "tests/kernels/must.h"

enum { PROMPT = 4096, MOST = 64, AT = 32, READ = 256 << 20 };

static int steps = 12, prompts;
static struct err err;

struct bench {
	struct kernels *k;
	struct llama *m;
	const char *name;
	double weights;		/* bytes that a step reads */
	void *block;		/* READ bytes */
	double *sum;
};

static double
now(clockid_t c)
{
	struct timespec t;

	clock_gettime(c, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CPU and wall seconds of the calls between start and stop. */
struct cost {
	double cpu, wall;
};

static void
start(struct cost *c)
{
	c->cpu = -now(CLOCK_PROCESS_CPUTIME_ID);
	c->wall = -now(CLOCK_MONOTONIC);
}

static void
stop(struct cost *c)
{
	c->cpu += now(CLOCK_PROCESS_CPUTIME_ID);
	c->wall += now(CLOCK_MONOTONIC);
}

static int
by_wall(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	return (x->wall > y->wall) - (x->wall < y->wall);
}

static struct cost
median(struct cost *c, int n)
{
	qsort(c, (size_t)n, sizeof *c, by_wall);
	return c[n / 2];
}

/* Read READ bytes with all threads. */
static struct cost
read_memory(struct bench *b)
{
	static const struct k_segment all = { .n = READ / 4 };
	struct cost c;

	start(&c);
	b->k->sumsq(b->k, &(struct k_sumsq){ .nseg = 1, .seg = &all,
		.g = b->block, .out = b->sum });
	must_sync(b->k);
	stop(&c);
	return c;
}

static struct cost
step(struct decoder *d, int64_t n, int32_t at)
{
	int32_t tok[MOST], slot[MOST], pos[MOST];
	struct cost c;

	for (int32_t i = 0; i < n; i++) {
		tok[i] = i * 37 + at;
		slot[i] = i;
		pos[i] = at;
	}
	start(&c);
	if (decoder_run(d, n, tok, slot, pos, &err) < 0 ||
	    !decoder_logits(d, 0, n, &err))
		die_err(&err);
	stop(&c);
	return c;
}

static void
line(const struct bench *b, const char *what, double tokens, struct cost c,
     const char *beside, double ratio)
{
	printf("%s\t%s\t%.1f\t%.1f\t%.1f\t%s\t%.2f\n", b->name, what,
	       1e3 * c.cpu, 1e3 * c.wall, tokens / c.wall, beside, ratio);
	fflush(stdout);
}

static void
decoding(struct bench *b)
{
	static const int64_t sizes[] = { 1, 8, MOST };
	struct decoder *d = decoder_new(b->m, MOST, AT + steps + 1, MOST,
					&err);
	struct cost *c[3], *read = xcalloc((size_t)steps, sizeof *read), one;
	char what[40];
	double rate;

	if (!d)
		die_err(&err);
	for (int s = 0; s < 3; s++) {
		c[s] = xcalloc((size_t)steps, sizeof *c[s]);
		step(d, sizes[s], AT);
	}
	for (int i = 0; i < steps; i++) {
		for (int s = 0; s < 3; s++)
			c[s][i] = step(d, sizes[s], AT + i);
		read[i] = read_memory(b);
	}
	one = median(read, steps);
	rate = READ / one.wall;
	line(b, "read 256 MiB", 0, one, "GB/s", 1e-9 * rate);
	one = median(c[0], steps);
	line(b, "decode 1", 1, one, "of reading", b->weights / one.wall / rate);
	for (int s = 1; s < 3; s++) {
		struct cost x = median(c[s], steps);

		snprintf(what, sizeof what, "decode %d", (int)sizes[s]);
		line(b, what, (double)sizes[s], x, s == 1 ? "of 1" : "of 8",
		     (double)(sizes[s] / (s == 1 ? 1 : 8)) * one.wall / x.wall);
		one = x;
	}
	for (int s = 0; s < 3; s++)
		free(c[s]);
	free(read);
	decoder_free(d);
}

static void
no_head(struct kernels *k, const struct k_ce_head *a)
{
	(void)k;
	(void)a;
}

/* The prompt and the pass in turns, without the head. */
static void
prompt(struct bench *b)
{
	struct pass *p = pass_new(b->m, 1, PROMPT, &err);
	struct decoder *d = decoder_new(b->m, 1, PROMPT, DECODER_PIECE,
					&err);
	struct kernels *k = b->k;
	uint32_t *id = xcalloc(PROMPT, sizeof *id);
	int32_t *tok = must_alloc(k, PROMPT * 4);
	float *loss = must_alloc(k, 2 * PROMPT * 4);
	struct pass_batch w = { .b = 1, .tok = tok, .target = tok,
		.loss = loss, .logz = loss + PROMPT };
	struct cost x[4], y[4];
	int64_t last;

	if (!p || !d)
		die_err(&err);
	for (uint32_t i = 0; i < PROMPT; i++)
		id[i] = i * 37 % 50000;
	kernels_upload(k, tok, id, PROMPT * 4);
	must_sync(k);
	k->ce_head = no_head;
	for (int i = 0; i < 4; i++) {		/* the first is a warm-up */
		start(&x[i]);
		if (decoder_feed(d, id, PROMPT, 0, 0, &last, &err) < 0)
			die_err(&err);
		must_sync(k);
		stop(&x[i]);
		start(&y[i]);
		pass_run(p, &w);
		must_sync(k);
		stop(&y[i]);
	}
	x[0] = median(x + 1, 3);
	y[0] = median(y + 1, 3);
	line(b, "forward pass, no head", PROMPT, y[0], "", 1);
	line(b, "prompt", PROMPT, x[0], "of the pass, wall",
	     x[0].wall / y[0].wall);
	line(b, "prompt", PROMPT, x[0], "of the pass, cpu",
	     x[0].cpu / y[0].cpu);
	pass_free(p);
	decoder_free(d);
	kernels_release(k, tok);
	kernels_release(k, loss);
	free(id);
}

/* Cheap random weights: their values do not matter, as long as they are
 * finite and few are equal. */
static void
fill(struct llama *m)
{
	struct kernels *k = m->k;

	for (size_t i = 0; i < m->nparams; i++) {
		const struct param *p = &m->param[i];
		uint16_t *x = xmalloc((size_t)p->n * sizeof *x);
		uint32_t z = (uint32_t)i;

		for (int64_t j = 0; j < p->n; j++) {
			z = z * 1664525 + 1013904223;
			x[j] = bf16_from_f32(p->w ? 0.06f *
				((float)(z >> 8) / (1 << 24) - 0.5f) : 1);
		}
		kernels_upload(k, p->data, x, (size_t)p->n * sizeof *x);
		must_sync(k);
		if (p->w)
			kernels_weight_update(k, p->w);
		must_sync(k);
		free(x);
	}
}

static void
run(struct kernels *k, const char *spec)
{
	struct bench b = { .k = k, .name = spec };
	struct model_config c = { .vocab = 50304, .max_pos = PROMPT };
	size_t n = strcspn(spec, ":"), i;

	for (i = 1; config_presets[i]; i++)
		if (strlen(config_presets[i]) == n &&
		    memcmp(config_presets[i], spec, n) == 0)
			break;
	if (!config_presets[i])
		die("decode: %s: not PRESET[:LAYERS]", spec);
	config_preset(&c, (enum preset)i);
	if (spec[n])
		c.layers = atoi(spec + n + 1);
	b.weights = 2 * (double)config_params(&c);
	b.m = llama_new(k, &c, K_BF16, b.weights < 512 << 20 ? K_USE_FWD :
			K_USE_PLAIN, PROMPT, &err);
	if (!b.m)
		die_err(&err);
	fill(b.m);
	b.block = must_alloc(k, READ);
	b.sum = must_alloc(k, sizeof *b.sum);
	kernels_zero(k, b.block, READ);
	if (prompts)
		prompt(&b);
	else
		decoding(&b);
	kernels_release(k, b.block);
	kernels_release(k, b.sum);
	llama_free(b.m);
}

int
main(int argc, char **argv)
{
	int threads = (int)sysconf(_SC_NPROCESSORS_ONLN), opt;
	const char *table = "cpu";
	struct kernels *k;

	spin_bound(argv);
	while ((opt = getopt(argc, argv, "j:k:n:p")) != -1)
		if (opt == 'j')
			threads = atoi(optarg);
		else if (opt == 'k')
			table = optarg;
		else if (opt == 'n')
			steps = atoi(optarg);
		else if (opt == 'p')
			prompts = 1;
		else
			return 2;
	k = kernels_open(table, threads, &err);
	if (!k)
		die_err(&err);
	printf("model\twhat\tcpu_ms\twall_ms\ttokens_s\tbeside\tratio\n");
	if (optind == argc)
		run(k, "124M");
	for (; optind < argc; optind++)
		run(k, argv[optind]);
	k->close(k);
	return 0;
}
