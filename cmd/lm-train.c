/*
 * lm-train - train a Llama language model on shards of token ids
 *
 * The option table is in train/options.c, because --config and --resume use
 * the same names; the run itself is train/job.h.  This file encodes prompts
 * (the trainer sees only token ids), reports the start and the end of the run,
 * and sets the exit status.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/args.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/spin.h"
#include "record/prompt.h"
#include "tokenizer/bpe.h"
#include "train/interrupt.h"
#include "train/job.h"

struct prompts {
	struct job_prompt *v;
	size_t n, cap;
};

static void
add_prompt(struct prompts *p, struct bpe_enc *enc, struct span text)
{
	struct ids ids = {0};
	struct err e = {0};

	if (bpe_encode(enc, text, &ids, &e) < 0)
		die("prompt '%.*s': %s", (int)(text.n < 60 ? text.n : 60),
		    text.p, e.msg);
	GROW(p->v, p->cap, p->n + 1);
	p->v[p->n++] = (struct job_prompt){
		{xmemdup0(text.p, text.n), text.n}, ids.v, ids.n};
}

static void
read_prompts(struct prompts *p, struct bpe_enc *enc, const char *path)
{
	struct prompt_reader *r = prompt_open(path, PROMPT_WRITE);
	struct prompt_line l;
	struct err e = {0};
	int rc;

	while ((rc = prompt_next(r, &l, &e)) > 0) {
		if (l.context.ids)
			die("%s:%llu: prompt is not a string", l.file,
			    (unsigned long long)l.lineno);
		add_prompt(p, enc, l.context.text);
		prompt_line_clear(&l);
	}
	if (rc < 0)
		die_err(&e);
	prompt_close(r);
}

static void
encode_prompts(struct prompts *p, const struct job *j)
{
	const struct vocab *v = j->data.vocab;
	struct err e = {0};
	struct bpe *b;
	struct bpe_enc *enc;
	size_t i;

	if (!v || (!j->o.prompts && !j->o.prompt.n))
		return;
	b = bpe_new(v, &e);
	if (!b)
		die_err(&e);
	enc = bpe_enc_new(b, 0);
	for (i = 0; i < j->o.prompt.n; i++)
		add_prompt(p, enc, span_str(j->o.prompt.v[i]));
	if (j->o.prompts)
		read_prompts(p, enc, j->o.prompts);
	bpe_enc_free(enc);
	bpe_free(b);
}

static void
clear_prompts(struct prompts *p)
{
	while (p->n) {
		p->n--;
		free((char *)(uintptr_t)p->v[p->n].text.p);
		free(p->v[p->n].ids);
	}
	free(p->v);
}

static void
report_start(const struct job *j)
{
	const struct kernels *k = j->tr.k;
	size_t i;

	if (!args_summary())
		return;
	fprintf(stderr, "%s: %lld parameters, %s, kernels %s (%s), %d threads,"
		" peak %.3f TFLOP/s, about %lld MB\n", j->run.path,
		(long long)config_params(&j->c),
		kdtype_name((enum kdtype)j->o.dtype), k->name, k->isa,
		k->threads, j->peak.used / 1e12,
		(long long)(trainer_bytes(j->tr.k, &j->tr.c, &j->c) / 1000000));
	fprintf(stderr, "%s: step %llu of %lld, %llu windows of %lld tokens,"
		" %lld per step in micro-batches of %lld\n", j->run.path,
		(unsigned long long)j->at.step, (long long)j->o.steps,
		(unsigned long long)j->data.id.windows,
		(long long)j->o.seq_len, (long long)j->o.batch_size,
		(long long)j->o.micro_batch);
	for (i = 0; j->data.mix && i < j->data.mix->n; i++)
		fprintf(stderr, "%s: share %.6g of %s, %llu windows\n",
			j->run.path, mixture_share(j->data.mix, i),
			j->data.paths[i],
			(unsigned long long)j->data.mix->v[i].windows);
}

static void
report_end(const struct job *j)
{
	if (!args_summary() || !j->tokens)
		return;
	fprintf(stderr, "%s: step %llu of %lld saved in %s/latest, last loss"
		" %.4f\n", j->run.path, (unsigned long long)j->at.step,
		(long long)j->o.steps, j->run.path, j->last_loss);
}

static int
run(const struct options *cmd, struct kernels *k)
{
	struct prompts p = {0};
	struct err e = {0};
	struct job j;
	int rc;

	if (job_open(&j, cmd, k, &e) < 0)
		die_err(&e);
	encode_prompts(&p, &j);
	j.prompts = p.v;
	j.nprompts = p.n;
	j.report = !args_summary() ? JOB_REPORT_NONE : args_common.verbose ?
		   JOB_REPORT_STEPS : JOB_REPORT_EVENTS;
	if (job_start(&j, &e) < 0)
		die_err(&e);
	report_start(&j);
	interrupt_install();
	rc = job_run(&j, &e);
	if (rc >= 0)
		report_end(&j);
	if (job_close(&j, &e) < 0 || rc < 0)
		die_err(&e);
	clear_prompts(&p);
	return rc;
}

int
main(int argc, char **argv)
{
	struct options o;
	struct arg table[OPTIONS_MAX];
	const struct args a = {
		"lm-train", "[options] --data PATH -o RUN | --resume RUN",
		"Train a Llama, Mistral or Qwen3 language model.",
		"lm-train --preset 1M --tokenizer t.json --data train/ -o run",
		table, options_exclude
	};
	struct err e = {0};
	struct kernels *k;
	int first, sig;

	interrupt_early();	/* before spin_bound(), which may exec again */
	spin_bound(argv);
	options_init(&o);
	options_table(&o, table);
	first = args_parse(&a, argc, argv);
	args_check(&a);
	if (first < argc)
		args_usage(&a, "unexpected operand '%s': use --data for shards",
			   argv[first]);
	if (!o.resume && !o.out)
		args_usage(&a, "no run folder: use -o DIR or --resume DIR");
	k = kernels_open(o.device, args_common.threads, &e);
	if (!k)
		die_err(&e);
	sig = run(&o, k);
	k->close(k);
	if (sig)
		err_end_by_signal(sig);
	return EXIT_OK;
}
