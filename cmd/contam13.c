/*
 * contam13 - find benchmark examples that share 13 words in a row with
 * training data
 *
 * Only options are here; the job is common/contam/contam.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/err.h"
#include "base/path.h"
#include "contam/contam.h"
#include "contam/ngram.h"
#include "record/shard.h"
#include "record/vocab.h"

struct options {
	struct contam_opts c;
	const char *ngram;
	int list, cut, format, eot;
	struct doc_opts docs;		/* the defaults */
};

/* --ngram: a number or "auto". */
static void
check_ngram(const struct args *a, struct options *o)
{
	const char *what;
	int64_t n = 0;

	if (strcmp(o->ngram, "auto") &&
	    (args_int(o->ngram, &n, &what) || n < 1 || n > NGRAM_MAX))
		args_usage(a, "--ngram: '%s' is neither auto nor a number "
			   "from 1 to %d", o->ngram, NGRAM_MAX);
	o->c.n = (unsigned)n;
}

static int
is_dash(const char *path)
{
	return path && !strcmp(path, "-");
}

/* Standard input can be read only once; a second time it would be empty. */
static void
check_stdin(const struct args *a, const struct contam_opts *c,
	    char *const *file, int n)
{
	int stdins = n == 0, i;
	size_t k;

	for (i = 0; i < n; i++)
		stdins += is_dash(file[i]);
	for (k = 0; k < c->against.n; k++)
		stdins += is_dash(c->against.v[k]);
	if (stdins + is_dash(c->scores) > 1)
		args_usage(a, "two inputs are standard input, which can be "
			   "read only once");
	args_check_stdin(a, n);
}

/* The table must not go where another output goes. */
static void
check_table(const struct args *a, const struct contam_opts *c)
{
	const char *other[] = {c->filter.output, c->filter.doc.report,
			       c->filter.doc.stats};
	size_t i;

	if (c->json && !c->shards && !c->table)
		args_usage(a, "--json needs --table FILE");
	if (!c->table)
		return;
	if (c->shards && c->filter.output)
		args_usage(a, "--table and -o are the same with shards: give "
			   "one of them");
	if (!c->shards && is_dash(c->table) && path_is_std(c->filter.output))
		args_usage(a, "--table - needs -o FILE: stdout has the "
			   "documents");
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (other[i] && !strcmp(other[i], c->table))
			args_usage(a, "--table %s: another output has this "
				   "name", c->table);
}

/* Options that shards do not have. */
static void
check_shards(const struct args *a, const struct options *o)
{
	const struct doc_opts *d = &o->c.filter.doc;

	if (o->c.shards && (d->text_key != o->docs.text_key ||
			    d->id_key != o->docs.id_key ||
			    d->on_bad != o->docs.on_bad))
		args_usage(a, "--text-key, --id-key and --on-bad do not apply "
			   "to shards");
	if (o->c.shards && o->cut)
		args_usage(a, "--cut does not apply to shards, which are only "
			   "searched (clean the documents and pack them)");
	if (o->eot && !o->c.shards)
		args_usage(a, "--eot applies only to shards");
}

static void
check(const struct args *a, const struct options *o)
{
	const struct contam_opts *c = &o->c;

	if (!c->against.n)
		args_usage(a, "--against FILE is required");
	if (o->list && o->cut)
		args_usage(a, "--cut and --list exclude each other");
	if (c->tokens != (c->tokenizer != NULL))
		args_usage(a, "--tokens and --tokenizer need each other");
	if (c->split && !c->tokenizer)
		args_usage(a, "--split needs --tokenizer");
	if (o->format && !c->tokens)
		args_usage(a, "--shard-format needs --tokens");
	check_shards(a, o);
	check_table(a, c);
}

int
main(int argc, char **argv)
{
	struct options o = {.ngram = "13", .c.window = -1, .c.eot = -1};
	struct contam_opts *c = &o.c;
	struct arg table[15 + FILTER_ARGS] = {
		{"against", 0, ARG_STRS, &c->against, "FILE|DIR",
		 "search for this benchmark, or those of a folder; repeatable",
		 0, 0, NULL, NULL},
		{"bench-fields", 0, ARG_STR, &c->fields, "NAMES",
		 "use these fields of an example, separated by commas", 0, 0,
		 NULL, NULL},
		{"ngram", 'n', ARG_STR, &o.ngram, "N",
		 "match N words in a row; auto: 8 to 13, by benchmark", 0, 0,
		 NULL, NULL},
		{"max-df", 0, ARG_INT, &c->max_df, "N",
		 "ignore n-grams in more than N documents; 0: none", 0, 1e15,
		 NULL, NULL},
		{"tokens", 0, ARG_FLAG, &c->tokens, NULL,
		 "match token ids, in documents or shards", 0, 0, NULL, NULL},
		VOCAB_ARGS(&c->tokenizer, &c->split,
			   "tokenizer of --tokens"),
		{"shard-format", 0, ARG_ENUM, &c->shard_format, "NAME",
		 "read shards of this format", 0, 0,
		 shard_read_names, &o.format},
		{"eot", 0, ARG_INT, &c->eot, "ID",
		 "end documents of such shards at this id; -1: EOS", -1,
		 4294967295.0, NULL, &o.eot},
		{"cut", 0, ARG_INT, &c->window, "W",
		 "cut hits and W characters around them, keep the rest", 0,
		 1e9, NULL, &o.cut},
		{"list", 0, ARG_FLAG, &o.list, NULL,
		 "keep every document", 0, 0, NULL, NULL},
		{"table", 0, ARG_STR, &c->table, "FILE",
		 "write the result for each benchmark as TSV", 0, 0, NULL,
		 NULL},
		{"json", 0, ARG_FLAG, &c->json, NULL,
		 "write that table as JSON Lines", 0, 0, NULL, NULL},
		{"scores", 0, ARG_STR, &c->scores, "FILE",
		 "add mean scores by class, from the examples' scores", 0, 0,
		 NULL, NULL},
		{"subsets", 0, ARG_STR, &c->subsets, "DIR",
		 "write the clean, dirty and short examples", 0, 0, NULL,
		 NULL},
	};
	struct args a = {"contam13", "--against FILE|DIR [options] [FILE...]",
			 "find benchmark examples in training data", table, 15};
	struct err e = {0};
	int first, status;

	filter_opts_init(&c->filter);
	o.docs = c->filter.doc;
	a.n += filter_opts_args(&c->filter, table + a.n);
	first = args_parse(&a, argc, argv);
	c->threads = args_common.threads;
	c->quiet = args_common.quiet;
	c->verbose = args_common.verbose;
	c->shards = c->tokens && (o.format || (first < argc &&
					       contam_is_shard(argv[first])));
	c->action = o.list ? CONTAM_LIST : o.cut ? CONTAM_CUT : CONTAM_DROP;
	check_ngram(&a, &o);
	check(&a, &o);
	check_stdin(&a, c, argv + first, argc - first);
	status = contam_run(c, (const char *const *)argv + first,
			    (size_t)(argc - first), &e);
	free(c->against.v);
	if (status < 0)
		die_err(&e);
	return status;
}
