/*
 * lm-sample - text from a language model, and scores of given text
 *
 * Options, wiring, exit status.  The loops are in common/sample: complete.c
 * and score.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/args.h"
#include "base/clock.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/progress.h"
#include "base/spin.h"
#include "kernels/kernels.h"
#include "model/config.h"
#include "record/ckpt.h"
#include "record/safetensors.h"
#include "sample/complete.h"
#include "sample/front.h"
#include "sample/score.h"

static const char *const dtypes[] = { "auto", "bf16", "fp32", NULL };

static struct {
	const char *model, *tokenizer, *split, *prompts, *score;
	const char *output;
	int64_t max_tokens, top_k, seed, batch;
	double temperature, top_p, min_p;
	struct arg_list prompt, stop;
	int bos, bos_given, parse_special, dtype, json;
} opt = {
	.max_tokens = 128, .seed = 1, .batch = 8, .top_p = 1, .bos = 1,
};

static const struct arg table[] = {
	OPT_GROUP("Model"),
	OPT_STR("model", &opt.model, "DIR",
		"Checkpoint, run, or Hugging Face folder"),
	VOCAB_ARGS(&opt.tokenizer, &opt.split,
		   "Tokenizer, if not the folder's"),
	OPT_ENUM("dtype", &opt.dtype, "TYPE", dtypes,
		 "Weights and arithmetic"),
	OPT_BOOL("bos", &opt.bos, "BOS before each text, as in training",
		 .given = &opt.bos_given),
	OPT_FLAG("parse-special", &opt.parse_special,
		 "Special tokens in texts are tokens, not text"),
	OPT_GROUP("Generation"),
	OPT_STRS("prompt", &opt.prompt, "TEXT", "A prompt; repeatable"),
	OPT_STR("prompts", &opt.prompts, "FILE",
		"JSON Lines of {\"prompt\"} [stdin]"),
	OPT_INT("max-tokens", &opt.max_tokens, "N", 1, 1e6,
		"Maximum tokens to generate per prompt"),
	OPT_REAL("temperature", &opt.temperature, "X", 0, 100,
		 "Divide logits by X; 0: greedy"),
	OPT_INT("top-k", &opt.top_k, "N", 0, 1e9,
		"Sample from the N most likely tokens; 0: all"),
	OPT_REAL("top-p", &opt.top_p, "X", 0, 1,
		 "Sample from the smallest set of tokens with total "
		 "probability X; 0: greedy"),
	OPT_REAL("min-p", &opt.min_p, "X", 0, 1,
		 "Drop tokens below X times the top probability"),
	OPT_INT("seed", &opt.seed, "N", 0, 9e15, "Random seed"),
	OPT_STRS("stop", &opt.stop, "TEXT", "Stop before TEXT; repeatable"),
	OPT_INT("batch-size", &opt.batch, "N", 1, 1024,
		"Prompts to run at once"),
	OPT_GROUP("Scoring"),
	OPT_STR("score", &opt.score, "FILE",
		"JSON Lines of context and continuation or choices"),
	OPT_GROUP("Output"),
	OPT_FLAG("json", &opt.json, "Write JSON Lines", .brief = 1),
	OPT_STR("output", &opt.output, "FILE",
		"Write to FILE instead of stdout", .letter = 'o',
		.brief = 1),
	OPT_END
};

static const char *const exclude[] = {"prompt prompts score", NULL};

static const struct args args = {
	"lm-sample", "--model DIR [options] [--prompt TEXT | --prompts FILE]\n"
	"       lm-sample --model DIR [options] --score FILE",
	"Generate text from a language model, or score given text.",
	"lm-sample --model run/latest --prompt 'Once upon a time'",
	table, exclude
};

/* What is loaded, and freed at the end. */
struct loaded {
	struct kernels *k;
	struct model_config config;
	struct llama *llama;
	struct vocab *vocab, *own;	/* own: the folder's, if another one */
	struct bpe *bpe;
};

static void
check_options(int first, int argc)
{
	if (!opt.model)
		args_usage(&args, "--model is missing");
	if (first < argc)
		args_usage(&args, "unexpected operand: use --prompt or "
			   "--prompts");
	args_check(&args);
	opt.model = ckpt_model(opt.model);
	if (!opt.prompt.n && !opt.prompts && !opt.score)
		args_check_stdin(&args, 0);
	for (size_t i = 0; i < opt.stop.n; i++)
		if (!opt.stop.v[i][0])
			args_usage(&args, "--stop: TEXT must not be empty");
}

/* Warn of a tokenizer whose ids mean other words to the model. */
static void
compare_tokenizers(struct loaded *l)
{
	struct buf path = {0};
	struct err e = {0};

	buf_printf(&path, "%s/tokenizer.json%c", opt.model, '\0');
	if (access(path.p, F_OK) == 0)
		l->own = vocab_load(path.p, NULL, &e);
	if (l->own && l->own->fingerprint != l->vocab->fingerprint)
		warn("%s: not the tokenizer of %s: the text may be garbled",
		     opt.tokenizer, opt.model);
	buf_clear(&path);
}

static int
load_tokenizer(struct loaded *l, struct err *e)
{
	struct buf path = {0};

	if (opt.tokenizer)
		buf_puts(&path, opt.tokenizer);
	else
		buf_printf(&path, "%s/tokenizer.json", opt.model);
	buf_putc(&path, '\0');
	if (!opt.tokenizer && access(path.p, F_OK) < 0)
		return 0;	/* token ids need none */
	l->vocab = vocab_load(path.p, opt.split, e);
	if (l->vocab && l->vocab->n == l->config.vocab + 1)
		warn("%s: one token more than the model has rows: %.*s, id %u,"
		     " cannot be used", path.p,
		     (int)l->vocab->token[l->config.vocab].n,
		     l->vocab->token[l->config.vocab].p, l->vocab->n - 1);
	else if (l->vocab && l->vocab->n > l->config.vocab)
		return err_set(e, "%s: %u tokens, but the vocabulary of %s "
			       "has %lld", path.p, l->vocab->n,
			       opt.model, (long long)l->config.vocab);
	buf_clear(&path);
	if (l->vocab && opt.parse_special)
		session_parse_specials(l->vocab);
	if (l->vocab && opt.tokenizer)
		compare_tokenizers(l);
	if (l->vocab)
		l->bpe = bpe_new(l->vocab, e);
	return l->bpe ? 0 : -1;
}

/* Weights that are larger than this have no packed copies. */
#define PACK_LIMIT (INT64_C(512) << 20)

/* Say what memory the model takes, before it is read; returns its use. */
static int
state_memory(const struct model_config *c, int64_t size)
{
	int64_t weights = config_params(c) * size;
	int64_t cache = c->layers * 2 * c->kv_heads * c->head_dim * size;
	int64_t have = (int64_t)mem_available();

	if (args_common.verbose || (args_summary() && weights >= 1000000000))
		fprintf(stderr, "%s: %.3f GB of weights, and %.3f MB of cache "
			"for 1,000 tokens\n", opt.model, (double)weights / 1e9,
			(double)cache / 1e3);
	if (have && weights > have)
		warn("%s: %.1f GB of weights, but only %.1f GB of memory are "
		     "available", opt.model, (double)weights / 1e9,
		     (double)have / 1e9);
	return weights < PACK_LIMIT ? K_USE_FWD : K_USE_PLAIN;
}

static int
load_model(struct loaded *l, struct err *e)
{
	int64_t positions = opt.max_tokens + 4096;
	struct st *st;
	int rc, bf16;

	if (l->config.max_pos > positions)
		positions = l->config.max_pos;
	l->k = kernels_open("cpu", args_common.threads, e);
	if (!l->k)
		return -1;
	st = st_open(opt.model, e);
	if (!st)
		return -1;
	bf16 = opt.dtype ? opt.dtype == 1 : st_matrices_are(st, ST_BF16);
	l->llama = llama_new(l->k, &l->config, bf16 ? K_BF16 : K_F32,
			     state_memory(&l->config, bf16 ? 2 : 4), positions,
			     e);
	rc = l->llama ? llama_load(l->llama, st, e) : -1;
	st_close(st);
	return rc;
}

/* The tokens before each text. */
static int
set_front(const struct loaded *l, struct ids *front, struct err *e)
{
	const struct vocab *v = l->own ? l->own : l->vocab;
	int64_t bos = l->config.bos < 0 && v ? v->bos : l->config.bos;
	enum front_source who;

	if (front_load(opt.model, &l->config, v, front, &who, e) < 0)
		return -1;
	if (!opt.bos && front->n)
		warn("without BOS, although %s: expect worse text",
		     who == FRONT_RUN ?
		     "every training document began with one" :
		     "the model's tokenizer adds it");
	if (!opt.bos)
		front->n = 0;
	if (!opt.bos || !opt.bos_given || front->n)
		return 0;
	if (bos < 0)
		return err_set(e, "%s: no BOS token is named, so --bos has "
			       "none to put", opt.model);
	warn("with BOS, although %s: expect worse text", who == FRONT_RUN ?
	     "no training document began with one" :
	     "the model's tokenizer does not add it");
	ids_add(front, (uint32_t)bos);
	return 0;
}

static void
unload(struct loaded *l)
{
	llama_free(l->llama);
	l->k->close(l->k);
	bpe_free(l->bpe);
	vocab_free(l->vocab);
	vocab_free(l->own);
}

/* How many there are, if a person may want to know; 0: unknown. */
static uint64_t
count_lines(const char *path)
{
	return path && strcmp(path, "-") ? prompt_count(path) : 0;
}

static int
run_prompts(struct session *c, struct err *e)
{
	const struct gen_opts o = {
		.sampler = { opt.temperature, opt.top_k, opt.top_p, opt.min_p,
			     (uint64_t)opt.seed },
		.max_tokens = opt.max_tokens, .stop = opt.stop.v,
		.nstop = opt.stop.n, .logprobs = opt.json };
	struct prompt_reader *r;
	int rc;

	for (size_t i = 0; i < opt.prompt.n; i++)
		if (complete_text(c, &o, span_str(opt.prompt.v[i]), e) < 0)
			return -1;
	if (opt.prompt.n)
		return 0;
	r = prompt_open(opt.prompts ? opt.prompts : "-", PROMPT_WRITE);
	progress_start("generating", "lines", count_lines(opt.prompts));
	rc = complete_prompts(c, &o, opt.batch, r, e);
	progress_stop();
	prompt_close(r);
	return rc;
}

static int
run_scores(struct session *c, struct err *e)
{
	struct prompt_reader *r = prompt_open(opt.score, PROMPT_SCORE);
	struct accuracy s = {0};
	struct buf b = {0};
	int rc;

	progress_start("scoring", "lines", count_lines(opt.score));
	rc = score_lines(c, r, &s, e);
	progress_stop();
	prompt_close(r);
	accuracy_print(&s, &b);
	if (rc == 0 && !opt.json)
		rc = output_write(c->out, b.p, b.n, e);
	else if (rc == 0 && !args_common.quiet)
		fwrite(b.p, 1, b.n, stderr);
	buf_clear(&b);
	return rc;
}

static int finished;

/* The runtime of OpenMP ends the program by exit(1), a status that here would
 * be an answer. */
static void
check_finished(void)
{
	if (!finished)
		die("the OpenMP runtime has no memory for its threads: use "
		    "fewer of them (-j), or raise the limits (ulimit -v, -u)");
}

int
main(int argc, char **argv)
{
	struct loaded l = {0};
	struct session c = {0};
	struct err e = {0};
	int rc;

	spin_bound(argv);
	check_options(args_parse(&args, argc, argv), argc);
	atexit(check_finished);
	if (config_load(&l.config, opt.model, &e) < 0 ||
	    load_tokenizer(&l, &e) < 0 || load_model(&l, &e) < 0)
		die_err(&e);
	c.out = output_open(opt.output, &e);
	if (!c.out)
		die_err(&e);
	if (set_front(&l, &c.front, &e) < 0)
		die_err(&e);
	c.g = generator_new(l.llama, l.vocab);
	c.v = l.vocab;
	c.enc = l.bpe ? bpe_enc_new(l.bpe, 1 << 20) : NULL;
	c.json = opt.json;
	c.positions = l.config.max_pos;
	c.start = clock_s();
	rc = opt.score ? run_scores(&c, &e) : run_prompts(&c, &e);
	if (rc < 0 || output_commit(c.out, &e) < 0)
		die_err(&e);
	session_warn(&c);
	if (c.specials)
		warn("%" PRIu64 " texts contain a special token's text, such "
		     "as '%.*s': it is tokenized as text (use --parse-special "
		     "for the token)", c.specials, (int)c.special.n,
		     c.special.p);
	if (args_common.verbose)
		session_print_rate(&c, stderr);
	bpe_enc_free(c.enc);
	generator_free(c.g);
	free(c.front.v);
	unload(&l);
	finished = 1;
	return EXIT_OK;
}
