/*
 * contam13 - does a benchmark example share 13 words in a row with the data?
 *
 * The benchmarks become an index (corpus/ngram_bench.h), documents or shards
 * pass by it once, or twice with --max-df (corpus/ngram_run.h), and what is
 * left goes on through record/filter.h.  What is said at the end is
 * corpus/ngram_report.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/args.h"
#include "base/output.h"
#include "corpus/bpe.h"
#include "corpus/ngram_bench.h"
#include "corpus/ngram_report.h"
#include "corpus/ngram_run.h"
#include "record/bench_report.h"
#include "record/filter.h"
#include "record/shard.h"
#include "record/vocab.h"

struct options {
	struct filter_opts filter;
	struct arg_list against;
	const char *fields, *ngram, *tokenizer, *split, *subsets, *scores;
	const char *table;
	int drop, list, cut_given, tokens, shard_format, format_given, json;
	int64_t cut, max_df;
	unsigned n;		/* of --ngram; 0: auto */
};

struct contam {
	const struct options *o;
	struct ngram_bench nb;
	struct ngram_run run;
	struct vocab *vocab;
	struct bpe *bpe;
	struct buf skipped;
};

static struct ngram_report
report_of(const struct contam *c)
{
	return (struct ngram_report){&c->nb, &c->run, c->o->scores != NULL,
				     c->o->json};
}

/* What stands beside the documents: subsets, the table. */
static int
write_rest(const struct contam *c, struct err *e)
{
	struct ngram_report r = report_of(c);

	if (c->o->subsets && bench_subsets(&c->nb.b, c->o->subsets, e))
		return -1;
	return c->o->table ? ngram_report_table(&r, c->o->table, 0, e) : 0;
}

/* --- documents --- */

static int
run_docs(struct contam *c, const char *const *files, size_t n, struct err *e)
{
	struct filter *f = filter_open(&c->o->filter, e);
	struct ngram_report r = report_of(c);
	struct buf extra = {0};
	int status;

	if (!f)
		return -1;
	if (ngram_run_docs(&c->run, files, n, &c->o->filter.doc, f, e) ||
	    write_rest(c, e)) {
		filter_abort(f);
		return -1;
	}
	ngram_report_stats(&r, &extra);
	status = filter_commit(f, buf_span(&extra), e);
	buf_clear(&extra);
	return status;
}

/* --- shards --- */

/* out: report and stats, NULL where not wanted. */
static int
end_shards(struct contam *c, struct output **out, struct err *e)
{
	struct ngram_report r = report_of(c);
	struct output *all[2];
	size_t n = 0, i;

	if ((out[1] && ngram_report_shards(&r, out[1], e)) || write_rest(c, e))
		return -1;
	for (i = 0; i < 2; i++)
		if (out[i])
			all[n++] = out[i];
	out[0] = out[1] = NULL;
	if (output_commit_all(all, n, e))
		return -1;
	if (c->o->table)
		return 0;
	return ngram_report_table(&r, c->o->filter.output, isatty(1) &&
				  !c->o->filter.output && !c->o->json, e);
}

static int
run_shards(struct contam *c, const char *const *files, size_t n,
	   struct err *e)
{
	const struct doc_opts *d = &c->o->filter.doc;
	struct output *out[2] = {NULL, NULL};
	struct shard_hint hint;
	struct shards *s;
	int rc = -1;

	shard_hint_init(&hint);
	hint.format = (enum shard_format)c->o->shard_format;
	hint.vocab = c->vocab->n;
	hint.bos = c->vocab->bos;
	hint.eos = c->vocab->eos;
	s = shards_open_hint(files, n, &hint, e);
	if (!s)
		return -1;
	if ((!d->report || (out[0] = output_open(d->report, e))) &&
	    (!d->stats || (out[1] = output_open(d->stats, e))) &&
	    !ngram_run_shards(&c->run, s, out[0], e))
		rc = end_shards(c, out, e);
	output_abort(out[0]);
	output_abort(out[1]);
	shards_close(s);
	if (rc)
		return -1;
	return c->o->filter.check && c->run.docs_hit ? EXIT_ANSWER : EXIT_OK;
}

/* A folder, or a file that begins as one of ours or is named as another's. */
static int
is_shard(const char *path)
{
	static const char *const names[] = {".bin", ".npy", ".ds"};
	size_t i, n = strlen(path), k;
	struct stat s;
	char magic[8];
	FILE *f;

	if (stat(path, &s))
		return 0;
	if (S_ISDIR(s.st_mode))
		return 1;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		k = strlen(names[i]);
		if (n > k && !strcmp(path + n - k, names[i]))
			return 1;
	}
	if (!S_ISREG(s.st_mode) || !(f = fopen(path, "rb")))
		return 0;
	n = fread(magic, 1, sizeof(magic), f);
	fclose(f);
	return n == sizeof(magic) && !memcmp(magic, "assaytok", 8);
}

/* --- wiring --- */

static void
check(const struct args *a, struct options *o, int operands, int shards)
{
	const char *what;
	int64_t n = 0;

	if (!o->against.n)
		args_usage(a, "--against FILE is needed");
	if (strcmp(o->ngram, "auto") &&
	    (args_int(o->ngram, &n, &what) || n < 1 || n > NGRAM_MAX))
		args_usage(a, "--ngram: '%s' is neither auto nor a number "
			   "from 1 to %d", o->ngram, NGRAM_MAX);
	o->n = (unsigned)n;
	if (o->drop + o->list + o->cut_given > 1)
		args_usage(a, "--drop, --cut and --list exclude each other");
	if (o->tokens != (o->tokenizer != NULL))
		args_usage(a, "--tokens and --tokenizer go together");
	if (o->tokens && o->cut_given)
		args_usage(a, "--cut works on words, without --tokens");
	if (o->format_given && !o->tokens)
		args_usage(a, "--shard-format needs --tokens");
	if (shards && (o->drop || o->cut_given))
		args_usage(a, "shards are searched, not rewritten: no --drop "
			   "and no --cut");
	if (!shards && o->table && !strcmp(o->table, "-") &&
	    (!o->filter.output || !strcmp(o->filter.output, "-")))
		args_usage(a, "--table - needs -o FILE: stdout has the "
			   "documents");
	args_check_stdin(a, operands);
}

static int
load(struct contam *c, struct err *e)
{
	const struct options *o = c->o;
	struct ngram_bench_opts bo = {
		.path = o->against.v, .npath = o->against.n,
		.fields = o->fields, .n = o->n, .keep = o->subsets != NULL,
	};

	if (o->tokens) {
		c->vocab = vocab_load(o->tokenizer, o->split, e);
		c->bpe = c->vocab ? bpe_new(c->vocab, e) : NULL;
		if (!c->bpe)
			return -1;
		bo.vocab = c->vocab;
		bo.bpe = c->bpe;
	}
	if (ngram_bench_load(&c->nb, &bo, (uint64_t)o->max_df, &c->skipped, e))
		return -1;
	if (c->skipped.n && !args_common.quiet)
		warn("%.*s: passed over, its name does not end in .jsonl, "
		     ".json or .txt", (int)c->skipped.n, c->skipped.p);
	return o->scores ? bench_scores(&c->nb.b, o->scores, e) : 0;
}

int
main(int argc, char **argv)
{
	struct options o = {.ngram = "13", .cut = -1};
	struct arg table[32] = {
		{"against", 0, ARG_STRS, &o.against, "FILE|DIR",
		 "a benchmark, or a folder of them; repeatable", 0, 0, NULL,
		 NULL},
		{"bench-fields", 0, ARG_STR, &o.fields, "NAMES",
		 "fields of the benchmarks, with commas between", 0, 0, NULL,
		 NULL},
		{"ngram", 'n', ARG_STR, &o.ngram, "N",
		 "words in a row, or auto: by benchmark, 8 to 13", 0, 0, NULL,
		 NULL},
		{"max-df", 0, ARG_INT, &o.max_df, "N",
		 "ignore grams in more than N documents; 0: none", 0, 1e15,
		 NULL, NULL},
		{"tokens", 0, ARG_FLAG, &o.tokens, NULL,
		 "match token ids, on documents or on shards", 0, 0, NULL,
		 NULL},
		{"tokenizer", 0, ARG_STR, &o.tokenizer, "FILE",
		 "tokenizer.json or .tiktoken, for --tokens", 0, 0, NULL, NULL},
		{"split", 0, ARG_STR, &o.split, "NAME",
		 "split of a .tiktoken file", 0, 0, NULL, NULL},
		{"shard-format", 0, ARG_ENUM, &o.shard_format, "NAME",
		 "the input is shards of this format", 0, 0,
		 shard_read_names, &o.format_given},
		{"drop", 0, ARG_FLAG, &o.drop, NULL,
		 "leave documents with a hit out (the default)", 0, 0, NULL,
		 NULL},
		{"cut", 0, ARG_INT, &o.cut, "W",
		 "cut hits and W characters around them", 0, 1e9, NULL,
		 &o.cut_given},
		{"list", 0, ARG_FLAG, &o.list, NULL,
		 "pass every document on", 0, 0, NULL, NULL},
		{"table", 0, ARG_STR, &o.table, "FILE",
		 "write one line a benchmark", 0, 0, NULL, NULL},
		{"json", 0, ARG_FLAG, &o.json, NULL,
		 "that table as JSON Lines, not TSV", 0, 0, NULL, NULL},
		{"scores", 0, ARG_STR, &o.scores, "FILE",
		 "scores of the examples, for the table", 0, 0, NULL, NULL},
		{"subsets", 0, ARG_STR, &o.subsets, "DIR",
		 "write clean, dirty and short examples", 0, 0, NULL, NULL},
	};
	struct args a = {"contam13", "--against FILE|DIR [options] [FILE...]",
			 "find benchmark examples in training data", table, 15};
	struct contam c = {.o = &o};
	struct ngram_report r;
	struct err e = {0};
	int first, shards, status;

	filter_opts_init(&o.filter);
	a.n += filter_opts_args(&o.filter, table + a.n);
	first = args_parse(&a, argc, argv);
	shards = o.tokens && (o.format_given ||
			      (first < argc && is_shard(argv[first])));
	check(&a, &o, argc - first, shards);
	if (load(&c, &e))
		die_err(&e);
	c.run = (struct ngram_run){
		.nb = &c.nb, .window = (size_t)o.cut,
		.threads = args_common.threads,
		.action = o.list ? NGRAM_LIST : o.cut_given ? NGRAM_CUT
							    : NGRAM_DROP,
	};
	status = (shards ? run_shards : run_docs)
		(&c, (const char *const *)argv + first, (size_t)(argc - first),
		 &e);
	if (status < 0)
		die_err(&e);
	r = report_of(&c);
	if (!args_common.quiet && (args_common.verbose || isatty(2)))
		ngram_report_summary(&r, args_common.verbose);
	ngram_bench_clear(&c.nb);
	bpe_free(c.bpe);
	vocab_free(c.vocab);
	buf_clear(&c.skipped);
	free(o.against.v);
	return status;
}
