/*
 * tok-scan-rare - find the tokens that a model never learns
 *
 * Options, wiring, exit status.  The scan itself is rare/rare_scan.h.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/args.h"
#include "base/progress.h"
#include "rare/rare_scan.h"
#include "record/ckpt.h"
#include "stream/output.h"

static struct {
	const char *tokenizer, *split, *model, *unused, *embed, *head;
	const char *scores, *output, *report, *stats;
	int shard_format, id_bytes, eot_given, below_given, indicator;
	int prompts, json, check;
	int64_t rare_below, max_rare, table_rows, eot;
	double suspicious_frac;
} opt = {.indicator = -1, .rare_below = 10, .suspicious_frac = .02,
	 .table_rows = 25, .eot = -1};

static const struct arg table[] = {
	OPT_GROUP("Tokens and shards"),
	VOCAB_ARGS(&opt.tokenizer, &opt.split,
		   "tokenizer.json or .tiktoken [the model's]"),
	SHARD_ARGS(&opt.shard_format, &opt.id_bytes, .brief = 1),
	OPT_INT("eot", &opt.eot, "ID", -1, 4294967295.0,
		"Id between documents, if the shards have no boundaries",
		.given = &opt.eot_given),
	OPT_INT("rare-below", &opt.rare_below, "N", 0, 9e15,
		"Call a token rare below N occurrences",
		.given = &opt.below_given),
	OPT_STR("unused", &opt.unused, "LIST",
		"More ids known to be unused, e.g. 7,9,100-120"),
	OPT_GROUP("Model"),
	OPT_STR("model", &opt.model, "DIR",
		"Hugging Face model directory to inspect"),
	OPT_ENUM("indicator", &opt.indicator, "NAME", indicator_names,
		 "Indicator to use", .of = "model"),
	OPT_REAL("suspicious-frac", &opt.suspicious_frac, "F", 0, 1,
		 "Call the lowest fraction F suspicious", .of = "model"),
	OPT_STR("embed", &opt.embed, "NAME", "Tensor of the input matrix",
		.of = "model"),
	OPT_STR("head", &opt.head, "NAME", "Tensor of the output matrix",
		.of = "model"),
	OPT_FLAG("verify-prompts", &opt.prompts,
		 "Write prompts for lm-sample --score instead",
		 .of = "model"),
	OPT_STR("verify-scores", &opt.scores, "FILE",
		"Read the answers of lm-sample --score --json",
		.of = "model"),
	OPT_GROUP("Output"),
	OPT_INT("table-rows", &opt.table_rows, "N", 1, 1e9,
		"Rows from each end of the ranking on a terminal"),
	OPT_FLAG("json", &opt.json, "Write JSON Lines", .brief = 1),
	OPT_STR("output", &opt.output, "FILE",
		"Write to FILE instead of stdout", .letter = 'o',
		.brief = 1),
	OPT_STR("report", &opt.report, "FILE", "Also write JSON Lines to FILE",
		.brief = 1),
	OPT_STR("stats", &opt.stats, "FILE", "Write the summary as JSON",
		.brief = 1),
	OPT_FLAG("check", &opt.check,
		 "Exit with status 1 for more than --max-rare tokens",
		 .brief = 1),
	OPT_INT("max-rare", &opt.max_rare, "N", 0, 9e15,
		"Tokens that --check accepts", .of = "check"),
	OPT_END
};

static const char *const exclude[] = {
	"verify-prompts: verify-scores json", NULL
};

static const struct args args = {
	"tok-scan-rare", "[options] [SHARD|DIR...]",
	"Find tokens that a model never learns.",
	"tok-scan-rare --tokenizer tokenizer.json shards/",
	table, exclude
};

static void
check_options(int operands)
{
	if (!opt.model && !opt.tokenizer)
		args_usage(&args, "--tokenizer FILE or --model DIR is needed");
	args_check(&args);
	if (opt.model)
		opt.model = ckpt_model(opt.model);
	if (opt.model && !operands &&
	    (args_given("shard-format") || args_given("id-bytes") ||
	     opt.eot_given || opt.below_given))
		args_usage(&args, "--shard-format, --id-bytes, --eot and "
			   "--rare-below need shards");
	if (!opt.model)
		args_check_stdin(&args, operands);
}

static int
put_all(const struct rare_scan *s, struct output **out, struct err *e)
{
	enum rare_form form = opt.prompts ? RARE_ASK :
		opt.json ? RARE_JSON :
		!opt.output && isatty(1) ? RARE_TABLE : RARE_TSV;
	struct output *all[3];
	size_t n = 0, i;

	if (rare_scan_write(s, form, (size_t)opt.table_rows, out[0], e) ||
	    (out[1] && rare_scan_write(s, RARE_JSON, 0, out[1], e)) ||
	    (out[2] && rare_scan_write(s, RARE_STATS, 0, out[2], e)))
		return -1;
	for (i = 0; i < 3; i++)
		if (out[i])
			all[n++] = out[i];
	return output_commit_all(all, n, e);
}

/* For people; a table on stdout has the summary below it. */
static void
print_summary(const struct rare_scan *s)
{
	struct buf b = {0};

	progress_erase();
	if (opt.prompts)
		rare_scan_notes(s, &b);
	if (opt.output || !isatty(1) || opt.json || opt.prompts)
		rare_summary_text(&s->summary, &s->r, &b);
	if (b.n)
		fwrite(b.p, 1, b.n, stderr);
	buf_clear(&b);
}

/* What --check compares with --max-rare. */
static uint64_t
found(const struct rare_scan *s, int shards)
{
	return shards ? s->summary.rare : opt.scores ? s->summary.verified :
	       s->summary.suspicious;
}

int
main(int argc, char **argv)
{
	struct output *out[3] = {NULL, NULL, NULL};
	struct rare_scan s;
	struct err e = {0};
	int first = args_parse(&args, argc, argv), n = argc - first;
	int shards = !opt.model || n, status;

	check_options(n);
	if (!(out[0] = output_open(opt.output, &e)) ||
	    (opt.report && !(out[1] = output_open(opt.report, &e))) ||
	    (opt.stats && !(out[2] = output_open(opt.stats, &e))))
		die_err(&e);
	if (rare_scan(&s, &(struct rare_scan_opts){
		.tokenizer = opt.tokenizer, .split = opt.split,
		.shards = shards ? (const char *const *)argv + first : NULL,
		.nshards = (size_t)n,
		.format = (enum shard_format)opt.shard_format,
		.id_bytes = opt.id_bytes, .eot = opt.eot,
		.rare_below = (uint64_t)opt.rare_below, .unused = opt.unused,
		.model = opt.model, .embed = opt.embed, .head = opt.head,
		.indicator = opt.indicator,
		.suspicious_frac = opt.suspicious_frac,
		.prompts = opt.prompts, .answers = opt.scores,
		.threads = args_common.threads,
		.quiet = args_common.quiet }, &e) ||
	    put_all(&s, out, &e))
		die_err(&e);
	if (!args_common.quiet && (args_common.verbose || isatty(2)))
		print_summary(&s);
	status = opt.check && found(&s, shards) > (uint64_t)opt.max_rare ?
		 EXIT_ANSWER : EXIT_OK;
	rare_scan_clear(&s);
	return status;
}
