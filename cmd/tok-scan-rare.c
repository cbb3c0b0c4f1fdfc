/*
 * tok-scan-rare - which tokens will a model never learn?
 *
 * Options, wiring, exit status.  What is looked at, and how it is put
 * together, is rare/rare_scan.h.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/args.h"
#include "base/output.h"
#include "base/progress.h"
#include "rare/rare_scan.h"

static struct {
	const char *tokenizer, *split, *model, *unused, *embed, *head;
	const char *verify, *output, *report, *stats;
	int shard_format, format_given, eot_given, min_given, indicator;
	int percent_given, prompts, json, check, max_given;
	int64_t min_count, max_rare, rows, eot;
	double percent;
} opt = {.indicator = -1, .min_count = 10, .percent = 2, .rows = 25,
	 .eot = -1};

static const struct arg table[] = {
	VOCAB_ARGS(&opt.tokenizer, &opt.split,
		   "tokenizer.json or .tiktoken (default: the model's)"),
	{"shard-format", 0, ARG_ENUM, &opt.shard_format, "NAME",
	 "format of the shards", 0, 0, shard_read_names,
	 &opt.format_given},
	{"eot", 0, ARG_INT, &opt.eot, "ID",
	 "id between documents where the shards name none; -1: EOS of the "
	 "tokenizer", -1, 4294967295.0, NULL, &opt.eot_given},
	{"min-count", 0, ARG_INT, &opt.min_count, "N",
	 "a token seen less than N times is rare", 0, 9e15, NULL,
	 &opt.min_given},
	{"model", 0, ARG_STR, &opt.model, "DIR",
	 "Hugging Face folder whose embeddings are looked at", 0, 0,
	 NULL, NULL},
	{"unused", 0, ARG_STR, &opt.unused, "LIST",
	 "more ids known to be unused, as 7,9,100-120", 0, 0, NULL,
	 NULL},
	{"indicator", 0, ARG_ENUM, &opt.indicator, "NAME",
	 "which decides; else in_norm when untied, cos when tied", 0, 0,
	 indicator_names, NULL},
	{"percent", 0, ARG_REAL, &opt.percent, "P",
	 "share of the tokens that is suspicious", 0, 100, NULL,
	 &opt.percent_given},
	{"embed", 0, ARG_STR, &opt.embed, "NAME",
	 "tensor of the input matrix", 0, 0, NULL, NULL},
	{"head", 0, ARG_STR, &opt.head, "NAME",
	 "tensor of the output matrix", 0, 0, NULL, NULL},
	{"prompts", 0, ARG_FLAG, &opt.prompts, NULL,
	 "write questions for lm-sample --score instead", 0, 0, NULL,
	 NULL},
	{"verify", 0, ARG_STR, &opt.verify, "FILE",
	 "read the answers of lm-sample --score --json", 0, 0, NULL,
	 NULL},
	{"json", 0, ARG_FLAG, &opt.json, NULL,
	 "JSON Lines instead of a table", 0, 0, NULL, NULL},
	{"rows", 0, ARG_INT, &opt.rows, "N",
	 "rows of each tail on a terminal", 1, 1e9, NULL, NULL},
	{"output", 'o', ARG_STR, &opt.output, "FILE",
	 "write to FILE instead of stdout", 0, 0, NULL, NULL},
	{"report", 0, ARG_STR, &opt.report, "FILE",
	 "write the JSON Lines to FILE as well", 0, 0, NULL, NULL},
	{"stats", 0, ARG_STR, &opt.stats, "FILE",
	 "write the summary to FILE as JSON", 0, 0, NULL, NULL},
	{"check", 0, ARG_FLAG, &opt.check, NULL,
	 "status 1 for more than --max-rare tokens", 0, 0, NULL, NULL},
	{"max-rare", 0, ARG_INT, &opt.max_rare, "N",
	 "tokens that --check accepts", 0, 9e15, NULL, &opt.max_given},
};

static const struct args args = {
	"tok-scan-rare", "[options] [SHARD|DIR...]",
	"find the tokens that a model never learns", table,
	sizeof(table) / sizeof(table[0])
};

static void
check_options(int operands)
{
	if (!opt.model && !opt.tokenizer)
		args_usage(&args, "--tokenizer FILE or --model DIR is needed");
	if (!opt.model && (opt.prompts || opt.verify || opt.indicator >= 0 ||
			  opt.percent_given || opt.embed || opt.head))
		args_usage(&args, "--prompts, --verify, --indicator, --percent, "
			   "--embed and --head need --model");
	if (opt.prompts && opt.verify)
		args_usage(&args, "--prompts asks, --verify reads the answers: "
			   "one of them");
	if (opt.prompts && opt.json)
		args_usage(&args, "--prompts writes questions, not a report: no "
			   "--json");
	if (opt.model && !operands &&
	    (opt.format_given || opt.eot_given || opt.min_given))
		args_usage(&args, "--shard-format, --eot and --min-count need "
			   "shards");
	if (opt.max_given && !opt.check)
		args_usage(&args, "--max-rare needs --check");
	if (!opt.model)
		args_check_stdin(&args, operands);
}

static int
write_all(const struct rare_scan *s, struct output **out, struct err *e)
{
	enum rare_form form = opt.prompts ? RARE_QUESTIONS :
		opt.json ? RARE_JSON :
		!opt.output && isatty(1) ? RARE_TABLE : RARE_TSV;
	struct output *all[3];
	size_t n = 0, i;

	if (rare_scan_put(s, form, (size_t)opt.rows, out[0], e) ||
	    (out[1] && rare_scan_put(s, RARE_JSON, 0, out[1], e)) ||
	    (out[2] && rare_scan_put(s, RARE_STATS, 0, out[2], e)))
		return -1;
	for (i = 0; i < 3; i++)
		if (out[i])
			all[n++] = out[i];
	return output_commit_all(all, n, e);
}

/* For people; a table on standard output has the summary below it. */
static void
summary(const struct rare_scan *s)
{
	struct buf b = {0};

	progress_erase();
	if (opt.prompts)
		rare_scan_notes(s, &b);
	if (opt.output || !isatty(1) || opt.json || opt.prompts)
		rare_summary(&s->r, &s->sum, &b);
	if (b.n)
		fwrite(b.p, 1, b.n, stderr);
	buf_clear(&b);
}

/* What --max-rare bounds: see the manual page. */
static uint64_t
found(const struct rare_scan *s, int shards)
{
	return shards ? s->sum.rare : opt.verify ? s->sum.verified :
	       s->sum.suspicious;
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
		.format = (enum shard_format)opt.shard_format, .eot = opt.eot,
		.min_count = (uint64_t)opt.min_count, .unused = opt.unused,
		.model = opt.model, .embed = opt.embed, .head = opt.head,
		.indicator = opt.indicator,
		.percent = opt.percent, .prompts = opt.prompts,
		.verify = opt.verify, .threads = args_common.threads,
		.quiet = args_common.quiet }, &e) ||
	    write_all(&s, out, &e))
		die_err(&e);
	if (!args_common.quiet && (args_common.verbose || isatty(2)))
		summary(&s);
	status = opt.check && found(&s, shards) > (uint64_t)opt.max_rare ?
		 EXIT_ANSWER : EXIT_OK;
	rare_scan_clear(&s);
	return status;
}
