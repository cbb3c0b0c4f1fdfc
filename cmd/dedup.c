/*
 * dedup - remove duplicate documents, repeated passages, repetitive text
 *
 * The job is common/dedup/dedup.h.  Here are its options, and the modes that
 * write no documents (--emit, --explain, --curve).
 */
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/err.h"
#include "dedup/dedup.h"
#include "stream/files.h"

/* --emit; -1: not given */
enum { EMIT_BANDS, EMIT_PAIRS };

/* Options of --near also matter where pairs are explained. */
#define NEAR "near curve explain emit"

struct options {
	struct dedup_opts d;
	int emit, unit, curve, json;
	const char *explain;
	int gopher;
	const char *gopher_limits, *keep;
};

/* Without any method: those that drop whole documents. */
static void
default_methods(struct dedup_opts *d)
{
	if (d->exact || d->near || d->spans || d->repeats)
		return;
	d->exact = d->near = d->repeats = 1;
}

static const char *const exclude[] = {
	"emit explain curve", "emit apply", "direct drop-all", "keep drop-all",
	"keep: emit curve explain",
	"emit: against exact spans repeats drop-all report stats check",
	"curve: against exact spans repeats drop-all report stats check",
	"explain: exact spans repeats drop-all report stats check",
	"no-verify: edit-sim direct apply", "span-bytes span-tokens", NULL
};

static const char *const emits[] = {"bands", "pairs", NULL};
static const char *const unit_names[] = {"word", "char", NULL};

static struct options o = {.emit = -1, .d = {
	.mh = {.ngram = 5, .bands = 14, .rows = 8, .seed = 1},
	.threshold = 0.8, .edit_sim = -1, .verify = 1,
	.mem = (int64_t)2 << 30, .span_tokens = 50, .min_left = 20,
}};

static const struct arg table[] = {
	OPT_GROUP("Exact duplicates"),
	OPT_FLAG("exact", &o.d.exact,
		 "Drop bitwise identical texts"),
	OPT_FLAG("normalize", &o.d.normalize,
		 "Ignore case, white space and NFC/NFD",
		 .of = "exact"),
	OPT_GROUP("Near duplicates"),
	OPT_FLAG("near", &o.d.near, "Drop near duplicates (MinHash)"),
	OPT_REAL("threshold", &o.d.threshold, "X", 1e-6, 1,
		 "Minimum Jaccard similarity", .of = NEAR),
	OPT_INT("ngram", &o.d.mh.ngram, "N", 1, 1000,
		"Words per shingle", .of = NEAR),
	OPT_ENUM("unit", &o.unit, "NAME", unit_names,
		 "Unit of shingles", .of = NEAR,
		.brief = 1),
	OPT_INT("bands", &o.d.mh.bands, "N", 1, 65535,
		"Bands; more find more pairs", .of = NEAR),
	OPT_INT("rows", &o.d.mh.rows, "N", 1, 65536,
		"Hashes per band; more find fewer pairs",
		.of = NEAR),
	OPT_INT("seed", &o.d.mh.seed, "N", 0, 9e15,
		"Seed of the hashes", .of = NEAR,
		.brief = 1),
	OPT_REAL("edit-sim", &o.d.edit_sim, "X", 0, 1,
		 "Also require this minimum edit similarity",
		 .given = &o.d.has_edit, .of = NEAR),
	OPT_BOOL("verify", &o.d.verify,
		 "Compare candidates before dropping",
		 .of = NEAR),
	OPT_FLAG("direct", &o.d.direct,
		 "Drop only documents similar to the one kept",
		 .of = NEAR),
	OPT_STR("apply", &o.d.apply, "FILE",
		"Candidates are the pairs in FILE", .of = NEAR),
	OPT_GROUP("Repeated passages"),
	OPT_FLAG("spans", &o.d.spans,
		 "Cut passages that occur earlier"),
	OPT_INT("span-tokens", &o.d.span_tokens, "N", 1, 1 << 28,
		"Shortest passage, in tokens",
		.given = &o.d.has_span_tokens, .of = "spans"),
	OPT_INT("span-bytes", &o.d.span_bytes, "N", 1, 1 << 30,
		"Shortest passage, in bytes",
		.given = &o.d.has_span_bytes, .of = "spans"),
	OPT_INT("min-left", &o.d.min_left, "N", 0, 1e15,
		"Letters and digits that must be left of a text",
		.of = "spans"),
	OPT_FLAG("all", &o.d.all, "Cut the first copy too",
		 .of = "spans"),
	OPT_GROUP("Repetitive text"),
	OPT_FLAG("repeats", &o.d.repeats, "Drop repetitive texts"),
	OPT_INT("run-count", &o.d.rep.run_count, "N", 2, 1e9,
		"Minimum repeats of an n-gram in a row", .of = "repeats"),
	OPT_INT("run-ngram", &o.d.rep.run_max, "N", 1, 1000,
		"Longest n-gram of a run", .of = "repeats",
		.brief = 1),
	OPT_INT("phrase-count", &o.d.rep.phrase_count, "N", 0, 1e9,
		"Minimum repeats of a phrase anywhere; 0: off",
		.of = "repeats",
		.brief = 1),
	OPT_REAL("phrase-frac", &o.d.rep.phrase_frac, "X", 0, 1,
		 "Fraction of the text it covers", .of = "repeats",
		.brief = 1),
	OPT_FLAG("mark", &o.d.mark,
		 "Add a field \"repeats\" instead of dropping",
		 .of = "repeats"),
	OPT_FLAG("gopher", &o.gopher,
		 "Apply the repetition limits of Gopher", .of = "repeats"),
	OPT_STR("gopher-limits", &o.gopher_limits, "LIST",
		"Override limits, e.g. dup_lines=0.4,top_2gram=1",
		.of = "repeats"),
	OPT_GROUP("All methods"),
	OPT_STRS("against", &o.d.against, "FILE",
		 "Reference documents, read first, never written"),
	OPT_STR("keep", &o.keep, "WHICH",
		"Copy to keep: first, longest, last or largest KEY",
		.of = "exact near"),
	OPT_FLAG("drop-all", &o.d.drop_all,
		 "Drop the first of a cluster too"),
	OPT_STR("tokenizer", &o.d.tokenizer, "FILE",
		"Count tokens of this tokenizer, not words",
		.of = "repeats spans"),
	OPT_STR("split", &o.d.split, "NAME",
		"Split of a .tiktoken file, or of spans",
		.brief = 1),
	OPT_INT("mem", &o.d.mem, "BYTES", 1 << 20, 1e15,
		"Memory limit; the excess goes to $TMPDIR"),
	OPT_GROUP("Instead of documents"),
	OPT_ENUM("emit", &o.emit, "WHAT", emits,
		 "Write records for an external sort"),
	OPT_STR("explain", &o.explain, "ID",
		"Compare this document with the first operand"),
	OPT_FLAG("curve", &o.curve,
		 "Print the probability that a pair is found"),
	OPT_FLAG("json", &o.json, "Write JSON Lines",
		 .of = "explain curve", .brief = 1),
	FILTER_ARGS(&o.d.filter),
	OPT_END
};

static void
keep_option(struct dedup_opts *d, const char *keep)
{
	d->keep = !keep || !strcmp(keep, "first") ? DEDUP_KEEP_FIRST :
		!strcmp(keep, "longest") ? DEDUP_KEEP_LONGEST :
		!strcmp(keep, "last") ? DEDUP_KEEP_LAST : DEDUP_KEEP_KEY;
	d->keep_key = keep;
}

static const struct args args = {
	"dedup", "[options] [FILE...]",
	"Remove duplicate documents, repeated passages and repetitive text.",
	"dedup --near --report why.jsonl -o kept.jsonl docs.jsonl.zst",
	table, exclude
};

static void
check(void)
{
	const struct dedup_opts *d = &o.d;

	args_check(&args);
	if (d->mh.bands * d->mh.rows > MINHASH_MAX)
		args_usage(&args, "--bands times --rows is %lld, more than %d",
			   (long long)(d->mh.bands * d->mh.rows), MINHASH_MAX);
	if (d->split && !d->tokenizer && (!d->spans || d->has_span_bytes))
		args_usage(&args, "--split goes with --tokenizer, or with "
			   "--spans in tokens");
}

/* Do the bands find what the threshold asks for? */
static void
warnings(const struct dedup_opts *d)
{
	double p = minhash_curve(&d->mh, d->threshold);

	if (!d->near)
		return;
	if (!d->verify)
		warn("--no-verify: a pair of similarity 0.5 is dropped with "
		     "probability %.3g, one of 0.6 with %.3g, one of 0.7 with "
		     "%.3g", minhash_curve(&d->mh, 0.5),
		     minhash_curve(&d->mh, 0.6), minhash_curve(&d->mh, 0.7));
	else if (p < 0.75)
		warn("--threshold %g: %lld bands of %lld rows find a pair of "
		     "that similarity with probability %.3g (see --curve)",
		     d->threshold, (long long)d->mh.bands,
		     (long long)d->mh.rows, p);
}

/* Only one of FILE, --against and --apply can read stdin, and once. */
static void
check_stdin(const char *const *files, size_t n)
{
	const struct dedup_opts *d = &o.d;
	size_t uses = n == 0, i;

	for (i = 0; i < n; i++)
		uses += !strcmp(files[i], "-");
	for (i = 0; i < d->against.n; i++)
		uses += !strcmp(d->against.v[i], "-");
	uses += d->apply && !strcmp(d->apply, "-");
	uses += d->filter.doc.files_from &&
		!strcmp(d->filter.doc.files_from, "-");
	if (uses > 1)
		args_usage(&args, "stdin can be read once: FILE, --against or "
			   "--apply");
	args_check_stdin(&args, (int)n);
}

/* Replace the operands, and the references, by the files they stand for. */
static int
find_files(struct files *f, struct files *refs, char **argv, int n,
	   struct err *e)
{
	struct dedup_opts *d = &o.d;

	if (files_add(f, (const char *const *)argv, n,
		      d->filter.doc.files_from, e) ||
	    files_add(refs, d->against.v, d->against.n, NULL, e))
		return -1;
	free(d->against.v);
	d->against = (struct arg_list){ refs->v, refs->n };
	d->filter.files = f->v;
	d->filter.nfiles = f->n;
	d->filter.refs = refs->v;
	d->filter.nrefs = refs->n;
	return 0;
}

static int
run(char **argv, int n, struct err *e)
{
	struct files f = {0}, refs = {0};
	const char *other = NULL;
	int status;

	if (o.curve)
		return dedup_curve(&o.d, o.json, e);
	if (o.explain && !n)
		args_usage(&args, "--explain A B: the second id is missing");
	if (o.explain)
		other = *argv++, n--;
	if (find_files(&f, &refs, argv, n, e))
		return -1;
	check_stdin(f.v, f.n);
	if (o.explain)
		status = dedup_explain(&o.d, o.explain, other, f.v, f.n,
				       o.json, e);
	else if (o.emit == EMIT_PAIRS)
		status = dedup_emit_pairs(&o.d, f.v, f.n, e);
	else if (o.emit == EMIT_BANDS)
		status = dedup_emit_bands(&o.d, f.v, f.n, e);
	else {
		warnings(&o.d);
		status = dedup_run(&o.d, f.v, f.n, e);
	}
	files_clear(&refs);
	files_clear(&f);
	return status;
}

int
main(int argc, char **argv)
{
	struct dedup_opts *d = &o.d;
	struct err e = {0};
	int first, status;

	filter_opts_init(&d->filter);
	repeat_opts_init(&d->rep);
	args_common.frozen = DEDUP_FROZEN;
	first = args_parse(&args, argc, argv);
	o.d.threads = args_common.threads;
	d->mh.chars = o.unit;
	if (gopher_opts_init(&d->gopher, o.gopher, o.gopher_limits, &e))
		args_usage(&args, "--gopher-limits: %s", e.msg);
	default_methods(d);
	keep_option(d, o.keep);
	check();
	status = run(argv + first, argc - first, &e);
	if (status < 0)
		die_err(&e);
	return status;
}
