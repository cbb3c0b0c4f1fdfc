/*
 * contam13 - does a benchmark example share 13 words in a row with the data?
 *
 * The job is common/contam/contam.h; here are its options.
 */
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/err.h"
#include "contam/contam.h"
#include "record/shard.h"

struct options {
	struct contam_opts c;
	const char *ngram;
	int drop, list, cut, format, eot;
	struct doc_opts docs;		/* the defaults */
};

/* --ngram, whose value is a number or "auto". */
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

/* Standard input is one thing: read as another once more it would be empty. */
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
			   "read once");
	args_check_stdin(a, n);
}

/* The table is no other output; where it goes by itself. */
static void
check_table(const struct args *a, const struct contam_opts *c)
{
	const char *other[] = {c->filter.output, c->filter.doc.report,
			       c->filter.doc.stats};
	size_t i;

	if (c->json && !c->shards && !c->table)
		args_usage(a, "--json is the form of --table FILE");
	if (!c->table)
		return;
	if (c->shards && c->filter.output)
		args_usage(a, "-o is where the table goes: no --table");
	if (!c->shards && is_dash(c->table) &&
	    (!c->filter.output || is_dash(c->filter.output)))
		args_usage(a, "--table - needs -o FILE: stdout has the "
			   "documents");
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (other[i] && !strcmp(other[i], c->table))
			args_usage(a, "--table %s: another output goes there",
				   c->table);
}

/* Options of lines, which shards have none of. */
static void
check_keys(const struct args *a, const struct options *o)
{
	const struct doc_opts *d = &o->c.filter.doc;

	if (o->c.shards && (d->text_key != o->docs.text_key ||
			    d->id_key != o->docs.id_key ||
			    d->on_bad != o->docs.on_bad))
		args_usage(a, "shards have no lines and no keys: no "
			   "--text-key, --id-key and --on-bad");
}

static void
check(const struct args *a, const struct options *o)
{
	const struct contam_opts *c = &o->c;

	if (!c->against.n)
		args_usage(a, "--against FILE is needed");
	if (o->drop + o->list + o->cut > 1)
		args_usage(a, "--drop, --cut and --list exclude each other");
	if (c->tokens != (c->tokenizer != NULL))
		args_usage(a, "--tokens and --tokenizer go together");
	if (c->split && !c->tokenizer)
		args_usage(a, "--split goes with --tokenizer");
	if (o->format && !c->tokens)
		args_usage(a, "--shard-format needs --tokens");
	if (o->eot && !c->shards)
		args_usage(a, "--eot is for shards");
	check_keys(a, o);
	if (c->shards && (o->drop || o->cut))
		args_usage(a, "shards are searched, not rewritten: no --drop "
			   "and no --cut (clean the documents and pack them)");
	check_table(a, c);
}

int
main(int argc, char **argv)
{
	struct options o = {.ngram = "13", .c.window = -1, .c.eot = -1};
	struct contam_opts *c = &o.c;
	struct arg table[16 + FILTER_ARGS] = {
		{"against", 0, ARG_STRS, &c->against, "FILE|DIR",
		 "a benchmark, or a folder of them; repeatable", 0, 0, NULL,
		 NULL},
		{"bench-fields", 0, ARG_STR, &c->fields, "NAMES",
		 "fields of the benchmarks, with commas between", 0, 0, NULL,
		 NULL},
		{"ngram", 'n', ARG_STR, &o.ngram, "N",
		 "words in a row, or auto: by benchmark, 8 to 13", 0, 0, NULL,
		 NULL},
		{"max-df", 0, ARG_INT, &c->max_df, "N",
		 "ignore grams in more than N documents; 0: none", 0, 1e15,
		 NULL, NULL},
		{"tokens", 0, ARG_FLAG, &c->tokens, NULL,
		 "match token ids, on documents or on shards", 0, 0, NULL,
		 NULL},
		VOCAB_ARGS(&c->tokenizer, &c->split,
			   "tokenizer.json or .tiktoken, for --tokens"),
		{"shard-format", 0, ARG_ENUM, &c->shard_format, "NAME",
		 "the input is shards of this format", 0, 0,
		 shard_read_names, &o.format},
		{"eot", 0, ARG_INT, &c->eot, "ID",
		 "id between documents where the shards name none; -1: EOS of "
		 "the tokenizer", -1, 4294967295.0, NULL, &o.eot},
		{"drop", 0, ARG_FLAG, &o.drop, NULL,
		 "leave documents with a hit out (the default)", 0, 0, NULL,
		 NULL},
		{"cut", 0, ARG_INT, &c->window, "W",
		 "cut hits and W characters around them", 0, 1e9, NULL,
		 &o.cut},
		{"list", 0, ARG_FLAG, &o.list, NULL,
		 "pass every document on", 0, 0, NULL, NULL},
		{"table", 0, ARG_STR, &c->table, "FILE",
		 "write one line a benchmark", 0, 0, NULL, NULL},
		{"json", 0, ARG_FLAG, &c->json, NULL,
		 "that table as JSON Lines, not TSV", 0, 0, NULL, NULL},
		{"scores", 0, ARG_STR, &c->scores, "FILE",
		 "scores of the examples, for the table", 0, 0, NULL, NULL},
		{"subsets", 0, ARG_STR, &c->subsets, "DIR",
		 "write clean, dirty and short examples", 0, 0, NULL, NULL},
	};
	struct args a = {"contam13", "--against FILE|DIR [options] [FILE...]",
			 "find benchmark examples in training data", table, 16};
	struct err e = {0};
	int first, status;

	filter_opts_init(&c->filter);
	o.docs = c->filter.doc;
	a.n += filter_opts_args(&c->filter, table + a.n);
	first = args_parse(&a, argc, argv);
	c->shards = c->tokens && (o.format || (first < argc &&
					       contam_is_shard(argv[first])));
	c->action = o.list ? NGRAM_LIST : o.cut ? NGRAM_CUT : NGRAM_DROP;
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
