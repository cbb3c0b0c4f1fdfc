/*
 * contam13 - find benchmark examples in training data
 *
 * Only the options are here; the job is common/contam/contam.h.
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
#include "stream/files.h"

/* --ngram: a number, or "auto" (0). */
static unsigned
parse_ngram(const struct args *a, const char *s)
{
	const char *what;
	int64_t n = 0;

	if (strcmp(s, "auto") &&
	    (args_int(s, &n, &what) || n < 1 || n > NGRAM_MAX))
		args_usage(a, "--ngram: '%s' is neither auto nor a number "
			   "from 1 to %d", s, NGRAM_MAX);
	return (unsigned)n;
}

static int
is_dash(const char *path)
{
	return path && !strcmp(path, "-");
}

/* Standard input can be read only once; a second time it would be empty. */
static void
check_stdin(const struct args *a, const struct contam_opts *c,
	    const struct files *f)
{
	int stdins = f->n == 0;
	size_t k;

	for (k = 0; k < f->n; k++)
		stdins += is_dash(f->v[k]);
	for (k = 0; k < c->against.n; k++)
		stdins += is_dash(c->against.v[k]);
	stdins += is_dash(c->filter.doc.files_from);
	if (stdins + is_dash(c->scores) > 1)
		args_usage(a, "two inputs are standard input, which can be "
			   "read only once");
	args_check_stdin(a, f->n);
}

/* The table must not go where another output goes. */
static void
check_table(const struct args *a, const struct contam_opts *c)
{
	const char *other[] = {c->filter.output, c->filter.doc.report,
			       c->filter.doc.stats};
	int docs = !c->shards || filter_only_checks(&c->filter);
	size_t i;

	if (c->json && docs && !c->table)
		args_usage(a, "--json needs --table FILE");
	if (!c->table)
		return;
	if (c->shards && c->filter.output)
		args_usage(a, "--table and -o are the same with shards: give "
			   "one of them");
	if (docs && is_dash(c->table) && path_is_std(c->filter.output))
		args_usage(a, "--table - needs -o FILE: stdout has the %s",
			   filter_only_checks(&c->filter) ? "findings"
							  : "documents");
	for (i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (other[i] && !strcmp(other[i], c->table))
			args_usage(a, "--table %s: another output has this "
				   "name", c->table);
}

/* Options that shards do not have. */
static void
check_shards(const struct args *a, const struct contam_opts *c)
{
	if (!c->shards) {
		if (args_given("eot"))
			args_usage(a, "--eot applies only to shards");
		return;
	}
	if (args_given("text-key") || args_given("id-key") ||
	    args_given("on-bad") || args_given("files-from"))
		args_usage(a, "--text-key, --id-key, --on-bad and --files-from "
			   "do not apply to shards");
	if (args_given("cut"))
		args_usage(a, "--cut does not apply to shards, which are only "
			   "searched (clean the documents and pack them)");
}

static void
check(const struct args *a, const struct contam_opts *c)
{
	if (!c->against.n)
		args_usage(a, "--against FILE is required");
	args_check(a);
	if (c->tokens != (c->tokenizer != NULL))
		args_usage(a, "--tokens and --tokenizer need each other");
	if (c->split && !c->tokenizer)
		args_usage(a, "--split needs --tokenizer");
	check_shards(a, c);
	check_table(a, c);
}

int
main(int argc, char **argv)
{
	struct contam_opts o = {.window = -1, .eot = -1};
	const char *ngram = "13";
	int list = 0;
	const struct arg table[] = {
		OPT_GROUP("Matching"),
		OPT_STRS("against", &o.against, "FILE|DIR",
			 "Search for this benchmark or directory; repeatable"),
		OPT_STR("bench-fields", &o.fields, "NAMES",
			"Use these fields of examples, comma-separated"),
		OPT_STR("ngram", &ngram, "N",
			"Match N words in a row; auto: 8 to 13",
			.letter = 'n'),
		OPT_INT("max-df", &o.max_df, "N", 0, 1e15,
			"Ignore n-grams in more than N documents; 0: none"),
		OPT_FLAG("tokens", &o.tokens,
			 "Match token ids, in documents or shards"),
		VOCAB_ARGS(&o.tokenizer, &o.split, "Tokenizer for --tokens"),
		SHARD_ARGS(&o.shard_format, &o.id_bytes, .of = "tokens",
			   .brief = 1),
		OPT_INT("eot", &o.eot, "ID", -1, 4294967295.0,
			"End documents of shards at this id; -1: EOS",
			.brief = 1),
		OPT_GROUP("Action (default: drop documents with a hit)"),
		OPT_INT("cut", &o.window, "W", 0, 1e9,
			"Cut hits and W characters on both sides"),
		OPT_FLAG("list", &list, "Keep every document"),
		OPT_GROUP("Reports"),
		OPT_STR("table", &o.table, "FILE",
			"Write the result for each benchmark as TSV"),
		OPT_FLAG("json", &o.json, "Write this table as JSON Lines"),
		OPT_STR("scores", &o.scores, "FILE",
			"Add mean scores, computed from those in FILE"),
		OPT_STR("subsets", &o.subsets, "DIR",
			"Write clean, dirty and short examples to DIR"),
		FILTER_ARGS(&o.filter),
		OPT_END
	};
	static const char *const exclude[] = {"cut list", NULL};
	const struct args a = {
		"contam13", "--against FILE|DIR [options] [FILE...]",
		"Find benchmark examples in training data.",
		"contam13 --against bench/ -o clean.jsonl docs.jsonl.zst",
		table, exclude
	};
	struct files f = {0};
	struct err e = {0};
	int first, status;

	filter_opts_init(&o.filter);
	first = args_parse(&a, argc, argv);
	o.threads = args_common.threads;
	o.quiet = args_common.quiet;
	o.verbose = args_common.verbose;
	o.shards = o.tokens &&
		   (args_given("shard-format") || args_given("id-bytes") ||
		    (first < argc && contam_is_shard(argv[first])));
	o.action = list ? CONTAM_LIST
			: args_given("cut") ? CONTAM_CUT : CONTAM_DROP;
	o.n = parse_ngram(&a, ngram);
	check(&a, &o);
	if (o.shards)
		f.v = (const char **)argv + first, f.n = argc - first;
	else if (files_add(&f, (const char *const *)argv + first, argc - first,
			   o.filter.doc.files_from, &e))
		die_err(&e);
	check_stdin(&a, &o, &f);
	o.filter.files = f.v;
	o.filter.nfiles = f.n;
	status = contam_run(&o, f.v, f.n, &e);
	free(o.against.v);
	if (!o.shards)
		files_clear(&f);
	if (status < 0)
		die_err(&e);
	return status;
}
