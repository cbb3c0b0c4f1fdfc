/*
 * tok-scan-rare - which tokens will a model never learn?
 *
 * What the tokenizer can do with each id (corpus/rare.h), how often shards
 * hold it (corpus/rare_count.h) and what a model's embeddings say of it
 * (corpus/rare_model.h) become one line an id (corpus/rare_report.h).  The
 * model itself is asked by lm-sample: corpus/rare_prompt.h writes the
 * questions and reads the answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/args.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/progress.h"
#include "corpus/rare_count.h"
#include "corpus/rare_model.h"
#include "corpus/rare_prompt.h"
#include "corpus/rare_report.h"
#include "record/shard.h"

struct options {
	const char *tokenizer, *split, *model, *unused, *embed, *head;
	const char *verify, *output, *report, *stats;
	int shard_format, format_given, min_given, indicator, indicator_given;
	int percent_given, prompts, json, check, max_given;
	int64_t min_count, max_rare, rows;
	double percent;
};

struct scan {
	const struct options *o;
	struct vocab *vocab;
	struct shards *shards;
	struct rare r;
	struct rare_counts counts;
	struct rare_model model;
	struct rare_prompts prompts;
	struct rare_answers answers;
	struct rare_sum sum;
};

/* --- reading --- */

/*
 * The model's own tokenizer may be of a kind that we do not encode with; its
 * embeddings can be looked at all the same.  Not so one that is broken.
 */
static int
is_foreign(const char *path)
{
	struct err e = {0};
	struct json *j = json_load(path, &e);

	json_free(j);
	return j != NULL;
}

static int
load_vocab(struct scan *s, int needed, struct err *e)
{
	const struct options *o = s->o;
	char *path = NULL;
	struct err why = {0};

	if (o->tokenizer) {
		s->vocab = vocab_load(o->tokenizer, o->split, e);
		return s->vocab ? 0 : -1;
	}
	path = xmalloc(strlen(o->model) + sizeof("/tokenizer.json"));
	sprintf(path, "%s/tokenizer.json", o->model);
	if (access(path, F_OK))
		err_set(&why, "%s: no tokenizer.json", o->model);
	else
		s->vocab = vocab_load(path, o->split, &why);
	if (!s->vocab && (needed || (!access(path, F_OK) &&
				     !is_foreign(path))))
		err_set(e, "%s", why.msg);
	else if (!s->vocab && !args_common.quiet)
		warn("%s: every row counts as a token of category OK",
		     why.msg);
	free(path);
	return e->set ? -1 : 0;
}

/* As many ids as the tokenizer and the model have. */
static int
load_tokens(struct scan *s, int needed, struct err *e)
{
	const struct options *o = s->o;
	size_t n = s->vocab ? s->vocab->n : 0;

	if (o->model && s->model.V < n) {
		if (needed)
			return err_set(e, "%s: the embedding has %zu rows, "
				       "the tokenizer %zu tokens", o->model,
				       s->model.V, n);
		if (!args_common.quiet)
			warn("%s: the embedding has %zu rows, the tokenizer "
			     "%zu tokens: those without a row are left out",
			     o->model, s->model.V, n);
	}
	if (o->model)
		n = s->model.V;
	if (rare_init(&s->r, s->vocab, (uint32_t)n, e))
		return -1;
	return o->unused ? rare_unused(&s->r, o->unused, e) : 0;
}

static int
count(struct scan *s, const char *const *files, size_t n, struct err *e)
{
	const struct vocab *v = s->vocab;
	const struct shard_info *i;
	struct shard_hint hint;

	shard_hint_init(&hint);
	hint.format = (enum shard_format)s->o->shard_format;
	hint.vocab = v->n;
	hint.limit = 1;
	hint.bos = v->bos;
	hint.eos = v->eos;
	s->shards = shards_open_hint(files, n, &hint, e);
	if (!s->shards)
		return -1;
	i = shards_info(s->shards);
	if (i->fingerprint && i->fingerprint != v->fingerprint)
		return err_set(e, "%s: made with another tokenizer "
			       "(fingerprint %016llx, this one has %016llx)",
			       n ? files[0] : "<stdin>",
			       (unsigned long long)i->fingerprint,
			       (unsigned long long)v->fingerprint);
	if (rare_counts_get(&s->counts, s->shards, s->r.n,
			    i->bos >= 0 ? i->bos : v->bos,
			    i->eos >= 0 ? i->eos : v->eos,
			    args_common.threads, e))
		return -1;
	rare_join(&s->r, &s->counts, (uint64_t)s->o->min_count);
	return 0;
}

static int
look(struct scan *s, struct err *e)
{
	const struct options *o = s->o;

	if (rare_model_scan(&s->model, &s->r, o->indicator_given ?
			    o->indicator : -1, o->percent,
			    args_common.threads, e))
		return -1;
	if (!s->model.ind.converged && !args_common.quiet)
		warn("%s: the first two principal components are as good as "
		     "equal: no_pc1 depends on which is taken", o->model);
	if (!o->prompts && !o->verify)
		return 0;
	if (rare_prompts_make(&s->prompts, &s->r, s->vocab ? s->vocab->bos : -1,
			      e))
		return -1;
	if (!o->verify)
		return 0;
	if (rare_answers_read(&s->answers, &s->r, &s->prompts, o->verify, e))
		return -1;
	s->r.answers = &s->answers;
	return 0;
}

static int
scan(struct scan *s, const char *const *files, size_t n, int shards,
     struct err *e)
{
	const struct options *o = s->o;
	int needed = shards || o->prompts || o->verify;

	if (load_vocab(s, needed, e))
		return -1;
	if (o->model && rare_model_load(&s->model, o->model, o->embed, o->head,
					e))
		return -1;
	if (load_tokens(s, needed, e) || (shards && count(s, files, n, e)) ||
	    (o->model && look(s, e)))
		return -1;
	rare_sum(&s->r, &s->sum);
	return 0;
}

/* --- writing --- */

enum form { FORM_JSON, FORM_TSV, FORM_TABLE, FORM_PROMPTS, FORM_STATS };

static void
put_id(const struct scan *s, enum form form, uint32_t id, struct buf *b)
{
	if (form == FORM_JSON)
		rare_json(&s->r, id, b);
	else if (form == FORM_TSV)
		rare_tsv(&s->r, id, b);
	else if (s->r.flags[id] & RARE_SUSPICIOUS)
		rare_prompts_put(&s->prompts, id, b);
}

static int
put(const struct scan *s, enum form form, struct output *out, struct err *e)
{
	struct buf b = {0};
	uint32_t id;
	int rc = 0;

	if (form == FORM_TSV)
		rare_tsv_head(&s->r, &b);
	if (form == FORM_STATS) {
		rare_stats(&s->r, &s->sum, &b);
	} else if (form == FORM_TABLE) {
		rare_table(&s->r, (size_t)s->o->rows, &b);
		buf_putc(&b, '\n');
		rare_summary(&s->r, &s->sum, &b);
	} else {
		for (id = 0; id < s->r.n && rc == 0; id++) {
			put_id(s, form, id, &b);
			if (b.n > 1 << 16) {
				rc = output_write(out, b.p, b.n, e);
				buf_reset(&b);
			}
		}
	}
	if (rc == 0)
		rc = output_write(out, b.p, b.n, e);
	buf_clear(&b);
	return rc;
}

static int
write_all(const struct scan *s, struct output **out, struct err *e)
{
	const struct options *o = s->o;
	enum form form = o->prompts ? FORM_PROMPTS : o->json ? FORM_JSON :
			 !o->output && isatty(1) ? FORM_TABLE : FORM_TSV;
	struct output *all[3];
	size_t n = 0, i;

	if (put(s, form, out[0], e) ||
	    (out[1] && put(s, FORM_JSON, out[1], e)) ||
	    (out[2] && put(s, FORM_STATS, out[2], e)))
		return -1;
	for (i = 0; i < 3; i++)
		if (out[i])
			all[n++] = out[i];
	return output_commit_all(all, n, e);
}

static void
summary(const struct scan *s)
{
	struct buf b = {0};
	int k;

	progress_erase();
	for (k = 0; s->o->prompts && k < RARE_PROMPTS; k++)
		if (!s->prompts.made[k])
			buf_printf(&b, "no word of the vocabulary fits into "
				   "prompt %d\n", k + 1);
	if (s->o->output || !isatty(1) || s->o->json || s->o->prompts)
		rare_summary(&s->r, &s->sum, &b);
	fwrite(b.p, 1, b.n, stderr);
	buf_clear(&b);
}

/* --- wiring --- */

static void
check(const struct args *a, const struct options *o, int operands)
{
	if (!o->model && !o->tokenizer)
		args_usage(a, "--tokenizer FILE or --model DIR is needed");
	if (!o->model && (o->prompts || o->verify || o->indicator_given ||
			  o->percent_given || o->embed || o->head))
		args_usage(a, "--prompts, --verify, --indicator, --percent, "
			   "--embed and --head need --model");
	if (o->prompts && o->verify)
		args_usage(a, "--prompts asks, --verify reads the answers: "
			   "one of them");
	if (o->prompts && o->json)
		args_usage(a, "--prompts writes questions, not a report: no "
			   "--json");
	if (o->model && !operands && (o->format_given || o->min_given))
		args_usage(a, "--shard-format and --min-count need shards");
	if (o->max_given && !o->check)
		args_usage(a, "--max-rare needs --check");
	if (!o->model)
		args_check_stdin(a, operands);
}

static void
scan_clear(struct scan *s)
{
	rare_prompts_clear(&s->prompts);
	rare_answers_clear(&s->answers);
	rare_counts_clear(&s->counts);
	rare_model_clear(&s->model);
	rare_clear(&s->r);
	if (s->shards)
		shards_close(s->shards);
	vocab_free(s->vocab);
}

/* What --max-rare bounds: see the manual page. */
static uint64_t
found(const struct scan *s, int shards)
{
	return shards ? s->sum.rare : s->o->verify ? s->sum.verified :
	       s->sum.suspicious;
}

int
main(int argc, char **argv)
{
	struct options o = {.min_count = 10, .percent = 2, .rows = 25};
	const struct arg table[] = {
		{"tokenizer", 0, ARG_STR, &o.tokenizer, "FILE",
		 "tokenizer.json or .tiktoken (default: the model's)", 0, 0,
		 NULL, NULL},
		{"split", 0, ARG_STR, &o.split, "NAME",
		 "split of a .tiktoken file", 0, 0, NULL, NULL},
		{"shard-format", 0, ARG_ENUM, &o.shard_format, "NAME",
		 "format of the shards", 0, 0, shard_read_names,
		 &o.format_given},
		{"min-count", 0, ARG_INT, &o.min_count, "N",
		 "a token seen less than N times is rare", 0, 9e15, NULL,
		 &o.min_given},
		{"model", 0, ARG_STR, &o.model, "DIR",
		 "Hugging Face folder whose embeddings are looked at", 0, 0,
		 NULL, NULL},
		{"unused", 0, ARG_STR, &o.unused, "LIST",
		 "more ids known to be unused, as 7,9,100-120", 0, 0, NULL,
		 NULL},
		{"indicator", 0, ARG_ENUM, &o.indicator, "NAME",
		 "which decides (default: in_norm when untied, cos when tied)",
		 0, 0, indicator_names, &o.indicator_given},
		{"percent", 0, ARG_REAL, &o.percent, "P",
		 "share of the tokens that is suspicious", 0, 100, NULL,
		 &o.percent_given},
		{"embed", 0, ARG_STR, &o.embed, "NAME",
		 "tensor of the input matrix", 0, 0, NULL, NULL},
		{"head", 0, ARG_STR, &o.head, "NAME",
		 "tensor of the output matrix", 0, 0, NULL, NULL},
		{"prompts", 0, ARG_FLAG, &o.prompts, NULL,
		 "write questions for lm-sample --score instead", 0, 0, NULL,
		 NULL},
		{"verify", 0, ARG_STR, &o.verify, "FILE",
		 "read the answers of lm-sample --score --json", 0, 0, NULL,
		 NULL},
		{"json", 0, ARG_FLAG, &o.json, NULL,
		 "JSON Lines instead of a table", 0, 0, NULL, NULL},
		{"rows", 0, ARG_INT, &o.rows, "N",
		 "rows of each tail on a terminal", 1, 1e9, NULL, NULL},
		{"output", 'o', ARG_STR, &o.output, "FILE",
		 "write to FILE instead of stdout", 0, 0, NULL, NULL},
		{"report", 0, ARG_STR, &o.report, "FILE",
		 "write the JSON Lines to FILE as well", 0, 0, NULL, NULL},
		{"stats", 0, ARG_STR, &o.stats, "FILE",
		 "write the summary to FILE as JSON", 0, 0, NULL, NULL},
		{"check", 0, ARG_FLAG, &o.check, NULL,
		 "status 1 for more than --max-rare tokens", 0, 0, NULL, NULL},
		{"max-rare", 0, ARG_INT, &o.max_rare, "N",
		 "tokens that --check accepts", 0, 9e15, NULL, &o.max_given},
	};
	const struct args a = {
		"tok-scan-rare", "[options] [SHARD|DIR...]",
		"find the tokens that a model never learns", table,
		sizeof(table) / sizeof(table[0])
	};
	struct scan s = {.o = &o};
	struct output *out[3] = {NULL, NULL, NULL};
	struct err e = {0};
	int first = args_parse(&a, argc, argv), n = argc - first, status;

	check(&a, &o, n);
	if (!(out[0] = output_open(o.output, &e)) ||
	    (o.report && !(out[1] = output_open(o.report, &e))) ||
	    (o.stats && !(out[2] = output_open(o.stats, &e))) ||
	    scan(&s, (const char *const *)argv + first, (size_t)n,
		 !o.model || n, &e) ||
	    write_all(&s, out, &e))
		die_err(&e);
	if (!args_common.quiet && (args_common.verbose || isatty(2)))
		summary(&s);
	status = o.check && found(&s, !o.model || n) > (uint64_t)o.max_rare ?
		 EXIT_ANSWER : EXIT_OK;
	scan_clear(&s);
	return status;
}
