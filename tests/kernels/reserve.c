/*
 * reserve.c - after reserve(), a run allocates nothing
 *
 * A run of odd shapes: a micro-batch and a smaller one, evaluations of one
 * and two sequences, a step with a number that is not finite, samples and
 * scores of any number of rows.  The table counts the times that its memory
 * grew or a plan was made.  The same run without reserve() must be counted.
 */
#include "kernels/cpu/cpu.h"
#include "model/decode.h"
#include "tests/kernels/tables.h"
#include "train/trainer.h"

#include <math.h>

#include "base/mem.h"

enum { T = 200, B = 5, MICRO = 2, ROWS = 40, V = 300 };

static void
fill(struct batch *b)
{
	batch_init(b, B, T);
	for (int i = 0; i < B * T; i++) {
		b->tok[i] = i * 7 % V;
		b->target[i] = i % 5 ? i * 11 % V : -1;
		b->start[i] = i % T / 13 * 13;
	}
}

/* Prompts, steps, scores: each number of rows. */
static int
decode(struct llama *m, struct err *e)
{
	struct decoder *d = decoder_new(m, 1, T, ROWS, e);
	int32_t target[ROWS], best[ROWS];
	uint32_t id[ROWS];
	float loss[ROWS];
	int rc = d ? 0 : -1;
	int64_t last;

	for (int n = 1; n <= ROWS && rc == 0; n++) {
		for (int i = 0; i < n; i++) {
			id[i] = (uint32_t)(i * 3 % V);
			target[i] = i % V;
		}
		rc = decoder_feed(d, id, n, 0, T - n, &last, e);
		rc |= decoder_logits(d, 0, n, e) ? 0 : -1;
		rc |= decoder_score(d, 0, n, target, loss, best, e);
	}
	decoder_free(d);
	return rc;
}

static void
run(struct kernels *k, const struct trainer_conf *tc,
    const struct model_config *c, size_t *grown)
{
	struct trainer t = {0};
	struct trainer_result r;
	struct err e = {0};
	struct batch b;
	int rc = trainer_init(&t, k, c, tc, &e);

	if (rc < 0)
		die_err(&e);
	rc |= llama_flat_init(t.m, 1, 0.02, 1, t.opt.master, &e);
	llama_set(t.m, t.opt.master);
	fill(&b);
	*grown = cpu_of(k)->grown;
	for (uint64_t n = 1; n <= 3; n++)
		rc |= trainer_step(&t, &b, 1e-3, n, &r, &e);
	rc |= trainer_eval(&t, &b, 1, &e);
	rc |= trainer_eval(&t, &b, MICRO, &e);
	rc |= decode(t.m, &e);
	((float *)t.opt.master)[0] = INFINITY;	/* a host table: its memory */
	llama_set(t.m, t.opt.master);
	rc |= trainer_step(&t, &b, 1e-3, 4, &r, &e);
	*grown = cpu_of(k)->grown - *grown;
	if (rc)
		die_err(&e);
	batch_clear(&b);
	trainer_clear(&t);
}

static void
table(const char *name, struct kernels *k)
{
	struct model_config c = { .vocab = V, .max_pos = T, .tie = 1 };
	struct trainer_conf tc = { .seq_len = T, .batch_size = B,
		.micro_batch = MICRO, .sample_rows = ROWS, .doc_mask = 1,
		.optim = { 0.9, 0.95, 1e-8, 0, 0, 1 } };
	struct err e = {0};
	size_t grown;

	config_preset(&c, PRESET_1M);
	c.layers = 2;
	for (int dt = 0; dt < K_TYPES; dt++) {
		const char *type = kdtype_name((enum kdtype)dt);

		tc.dtype = (enum kdtype)dt;
		if (dt == K_F32) {
			run(k, &tc, &c, &grown);
			tap_ok(grown > 10, "%s: %zu allocations are counted",
			       name, grown);
			c.inter += 64;		/* other shapes */
		}
		tap_ok(trainer_reserve(k, &tc, &c, &e) == 0,
		       "%s %s: reserve", name, type);
		run(k, &tc, &c, &grown);
		tap_ok(grown == 0, "%s %s: %zu allocations after it", name,
		       type, grown);
	}
	tap_ok(k->reserve(k, 1, &e) < 0, "%s: too little is refused: %s", name,
	       e.msg);
}

int
main(void)
{
	tap_start();
	each_table(1, 3, table);
	return tap_end();
}
