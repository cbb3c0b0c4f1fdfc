/*
 * dedup - leave out documents that stand in the input before
 *
 * The job is common/dedup/dedup.h; here are its options, and the modes that
 * write no documents (--emit, --explain, --curve).
 */
#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/err.h"
#include "dedup/dedup.h"

/* --emit; -1: not given */
enum { EMIT_BANDS, EMIT_PAIRS };

/* Options of --near also matter where pairs are explained. */
#define NEAR "near curve explain emit"

struct options {
	struct dedup_opts d;
	int emit, unit, curve, json;
	const char *explain;
};

/* Without any method: those that drop, and ask for no option. */
static void
default_methods(struct dedup_opts *o)
{
	if (o->exact || o->near || o->spans || o->repeats)
		return;
	o->exact = o->near = o->repeats = 1;
}

static const char *const exclude[] = {
	"emit explain curve", "emit apply", "direct drop-all",
	"emit: against exact spans repeats drop-all report stats check",
	"curve: against exact spans repeats drop-all report stats check",
	"explain: exact spans repeats drop-all report stats check",
	"no-verify: edit-sim direct apply", "span-bytes span-tokens", NULL
};

static void
check(const struct args *a, const struct options *o)
{
	const struct dedup_opts *d = &o->d;

	args_check(a);
	if (d->mh.bands * d->mh.rows > MINHASH_MAX)
		args_usage(a, "--bands times --rows is %lld, more than %d",
			   (long long)(d->mh.bands * d->mh.rows), MINHASH_MAX);
	if (d->split && !d->tokenizer && (!d->spans || d->has_span_bytes))
		args_usage(a, "--split goes with --tokenizer, or with "
			   "--spans in tokens");
}

/* What the bands find, where that is not what was asked for. */
static void
warnings(const struct dedup_opts *o)
{
	double p = minhash_curve(&o->mh, o->threshold);

	if (!o->near)
		return;
	if (!o->verify)
		warn("--no-verify: a pair of similarity 0.5 is taken for a "
		     "duplicate with probability %.3g, one of 0.6 with %.3g, "
		     "one of 0.7 with %.3g", minhash_curve(&o->mh, 0.5),
		     minhash_curve(&o->mh, 0.6), minhash_curve(&o->mh, 0.7));
	else if (p < 0.75)
		warn("--threshold %g: %lld bands of %lld rows find a pair of "
		     "that similarity with probability %.3g (see --curve)",
		     o->threshold, (long long)o->mh.bands,
		     (long long)o->mh.rows, p);
}

/* stdin is read by one of FILE, --against and --apply, once. */
static void
check_stdin(const struct args *a, const struct dedup_opts *d,
	    const char *const *files, size_t n)
{
	size_t uses = n == 0, i;

	for (i = 0; i < n; i++)
		uses += !strcmp(files[i], "-");
	for (i = 0; i < d->against.n; i++)
		uses += !strcmp(d->against.v[i], "-");
	uses += d->apply && !strcmp(d->apply, "-");
	if (uses > 1)
		args_usage(a, "stdin can be read once: FILE, --against or "
			   "--apply");
	args_check_stdin(a, (int)n);
}

static int
run(const struct args *a, struct options *o, const char *const *files, size_t n,
    struct err *e)
{
	if (o->curve)
		return dedup_curve(&o->d, o->json, e);
	if (o->explain) {
		if (!n)
			args_usage(a, "--explain A B: the second id is missing");
		check_stdin(a, &o->d, files + 1, n - 1);
		return dedup_explain(&o->d, o->explain, files[0], files + 1,
				     n - 1, o->json, e);
	}
	check_stdin(a, &o->d, files, n);
	if (o->emit == EMIT_PAIRS)
		return dedup_emit_pairs(&o->d, files, n, e);
	if (o->emit == EMIT_BANDS)
		return dedup_emit_bands(&o->d, files, n, e);
	warnings(&o->d);
	return dedup_run(&o->d, files, n, e);
}

int
main(int argc, char **argv)
{
	static const char *const emits[] = {"bands", "pairs", NULL};
	static const char *const unit_names[] = {"word", "char", NULL};
	struct options o = {.emit = -1, .d = {
		.mh = {.ngram = 5, .bands = 14, .rows = 8, .seed = 1},
		.threshold = 0.8, .edit_sim = -1, .verify = 1,
		.mem = (int64_t)2 << 30, .span_tokens = 50, .min_left = 20,
	}};
	struct dedup_opts *d = &o.d;
	struct arg gopher[GOPHER_ARGS];
	const struct arg table[] = {
		OPT_GROUP("Exact duplicates"),
		OPT_FLAG("exact", &d->exact,
			 "Drop texts equal byte for byte"),
		OPT_FLAG("normalize", &d->normalize,
			 "Ignore case, white space and NFC/NFD",
			 .of = "exact"),
		OPT_GROUP("Near duplicates"),
		OPT_FLAG("near", &d->near, "Drop near duplicates (MinHash)"),
		OPT_REAL("threshold", &d->threshold, "X", 1e-6, 1,
			 "Least Jaccard similarity", .of = NEAR),
		OPT_INT("ngram", &d->mh.ngram, "N", 1, 1000,
			"Words per shingle", .of = NEAR),
		OPT_ENUM("unit", &o.unit, "NAME", unit_names,
			 "Unit of shingles", .of = NEAR),
		OPT_INT("bands", &d->mh.bands, "N", 1, 65535,
			"Bands; more find more pairs", .of = NEAR),
		OPT_INT("rows", &d->mh.rows, "N", 1, 65536,
			"Hashes per band; more find fewer pairs",
			.of = NEAR),
		OPT_INT("seed", &d->mh.seed, "N", 0, 9e15,
			"Seed of the hashes", .of = NEAR),
		OPT_REAL("edit-sim", &d->edit_sim, "X", 0, 1,
			 "Least edit similarity, tested in addition",
			 .given = &d->has_edit, .of = NEAR),
		OPT_BOOL("verify", &d->verify,
			 "Compare candidates before dropping",
			 .of = NEAR),
		OPT_FLAG("direct", &d->direct,
			 "Drop only what is similar to the copy kept",
			 .of = NEAR),
		OPT_STR("apply", &d->apply, "FILE",
			"Candidates are the pairs in FILE", .of = NEAR),
		OPT_GROUP("Repeated passages"),
		OPT_FLAG("spans", &d->spans,
			 "Cut passages that occur earlier"),
		OPT_INT("span-tokens", &d->span_tokens, "N", 1, 1 << 28,
			"Shortest passage, in tokens",
			.given = &d->has_span_tokens, .of = "spans"),
		OPT_INT("span-bytes", &d->span_bytes, "N", 1, 1 << 30,
			"Shortest passage, in bytes",
			.given = &d->has_span_bytes, .of = "spans"),
		OPT_INT("min-left", &d->min_left, "N", 0, 1e15,
			"Drop a text with fewer bytes left",
			.of = "spans"),
		OPT_FLAG("all", &d->all, "Cut the first copy too",
			 .of = "spans"),
		OPT_GROUP("Looping text"),
		OPT_FLAG("repeats", &d->repeats, "Drop texts that loop"),
		OPT_INT("run-count", &d->rep.run_count, "N", 2, 1e9,
			"Times an n-gram occurs in a row", .of = "repeats"),
		OPT_INT("run-ngram", &d->rep.run_max, "N", 1, 1000,
			"Longest n-gram of a run", .of = "repeats"),
		OPT_INT("phrase-count", &d->rep.phrase_count, "N", 0, 1e9,
			"Times a phrase occurs anywhere; 0: off",
			.of = "repeats"),
		OPT_REAL("phrase-share", &d->rep.phrase_share, "X", 0, 1,
			 "Fraction of the text it covers", .of = "repeats"),
		OPT_FLAG("mark", &d->mark,
			 "Add a field \"repeats\" instead of dropping",
			 .of = "repeats"),
		OPT_TABLE(gopher),
		OPT_GROUP("All methods"),
		OPT_STRS("against", &d->against, "FILE",
			 "Documents that come first and are not printed"),
		OPT_FLAG("drop-all", &d->drop_all,
			 "Drop the first of a cluster too"),
		OPT_STR("tokenizer", &d->tokenizer, "FILE",
			"Count tokens of this tokenizer, not words",
			.of = "repeats spans"),
		OPT_STR("split", &d->split, "NAME",
			"Split of a .tiktoken file, or of spans",
			.brief = 1),
		OPT_INT("mem", &d->mem, "BYTES", 1 << 20, 1e15,
			"Memory limit; the rest goes to $TMPDIR"),
		OPT_GROUP("Instead of documents"),
		OPT_ENUM("emit", &o.emit, "WHAT", emits,
			 "Write records for an external sort"),
		OPT_STR("explain", &o.explain, "ID",
			"Compare this document with the first operand's"),
		OPT_FLAG("curve", &o.curve,
			 "Print the probability that a pair is found"),
		OPT_FLAG("json", &o.json, "Write JSON Lines",
			 .of = "explain curve", .brief = 1),
		FILTER_ARGS(&d->filter),
		OPT_END
	};
	const struct args a = {
		"dedup", "[options] [FILE...]",
		"Remove duplicate documents, repeated passages and looping "
		"text.",
		"dedup --near --report why.jsonl -o kept.jsonl docs.jsonl.zst",
		table, exclude
	};
	struct err e = {0};
	int first, status;

	filter_opts_init(&d->filter);
	repeat_opts_init(&d->rep);
	gopher_opts_init(&d->gopher);
	gopher_opts_args(&d->gopher, gopher);
	args_common.frozen = DEDUP_FROZEN;
	first = args_parse(&a, argc, argv);
	d->mh.chars = o.unit;
	gopher_opts_done(&d->gopher);
	default_methods(d);
	check(&a, &o);
	status = run(&a, &o, (const char *const *)argv + first,
		     (size_t)(argc - first), &e);
	free(d->against.v);
	if (status < 0)
		die_err(&e);
	return status;
}
