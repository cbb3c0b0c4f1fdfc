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

/* The help of an option says first whose it is: that method must run. */
static void
check_method(const struct args *a, const char *method, int runs)
{
	size_t n = strlen(method), i;

	for (i = 0; i < a->n && !runs; i++)
		if (*a->table[i].given && !strncmp(a->table[i].help, method, n) &&
		    a->table[i].help[n] == ':')
			args_usage(a, "--%s is a way of --%s",
				   a->table[i].name, method);
}

/* Modes that write no documents exclude what is about those. */
static void
check_modes(const struct args *a, const struct options *o)
{
	static const char *const not[] = {
		"exact", "spans", "repeats", "drop-all", "report", "stats",
		"check"
	};
	int modes = (o->emit >= 0) + (o->curve != 0) + (o->explain != NULL);
	size_t i, k;

	if (modes > 1)
		args_usage(a, "--emit, --explain and --curve exclude each "
			   "other");
	if (o->json && !o->curve && !o->explain)
		args_usage(a, "--json goes with --explain or --curve");
	if (o->d.against.n && (o->emit >= 0 || o->curve))
		args_usage(a, "--against goes with --apply, not with --emit "
			   "or --curve");
	for (i = 0; modes && i < sizeof(not) / sizeof(*not); i++)
		for (k = 0; k < a->n; k++)
			if (*a->table[k].given &&
			    !strcmp(a->table[k].name, not[i]))
				args_usage(a, "--%s has no meaning with %s",
					   not[i], o->curve ? "--curve" :
					   o->explain ? "--explain" : "--emit");
}

static void
check(const struct args *a, const struct options *o)
{
	const struct dedup_opts *d = &o->d;

	check_modes(a, o);
	check_method(a, "exact", d->exact);
	check_method(a, "near", d->near || o->curve || o->explain);
	check_method(a, "spans", d->spans);
	check_method(a, "repeats", d->repeats);
	if (d->tokenizer && !d->spans && !d->repeats)
		args_usage(a, "--tokenizer is a way of --repeats and --spans");
	if (d->mh.bands * d->mh.rows > MINHASH_MAX)
		args_usage(a, "--bands times --rows is %lld, more than %d",
			   (long long)(d->mh.bands * d->mh.rows), MINHASH_MAX);
	if (d->drop_all && d->direct)
		args_usage(a, "--drop-all and --direct exclude each other");
	if ((d->has_edit || d->direct) && !d->verify)
		args_usage(a, "--no-verify excludes --edit-sim and --direct");
	if (o->emit >= 0 && d->apply)
		args_usage(a, "--emit and --apply exclude each other");
	if (d->apply && !d->verify)
		args_usage(a, "--apply verifies: no --no-verify");
	if (d->has_span_bytes && d->has_span_tokens)
		args_usage(a, "--span-bytes and --span-tokens exclude each "
			   "other");
	if (d->split && !d->tokenizer && (!d->spans || d->has_span_bytes))
		args_usage(a, "--split goes with --tokenizer, or with "
			   "--spans in tokens");
}

/* What the bands find, where that is not what was asked for. */
static void
warnings(const struct dedup_opts *o)
{
	double p = minhash_curve(&o->mh, o->threshold);

	if (!o->near || args_common.quiet)
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
	struct arg table[33 + GOPHER_ARGS + FILTER_ARGS] = {
		{"exact", 0, ARG_FLAG, &d->exact, NULL,
		 "drop texts that are equal byte for byte", 0, 0, NULL, NULL},
		{"normalize", 0, ARG_FLAG, &d->normalize, NULL,
		 "exact: case, white space and NFC/NFD make no difference",
		 0, 0, NULL, NULL},
		{"near", 0, ARG_FLAG, &d->near, NULL,
		 "drop texts with nearly the same words", 0, 0, NULL, NULL},
		{"ngram", 0, ARG_INT, &d->mh.ngram, "N",
		 "near: words of a shingle", 1, 1000, NULL, NULL},
		{"unit", 0, ARG_ENUM, &o.unit, "NAME",
		 "near: what a shingle is made of", 0, 0, unit_names, NULL},
		{"bands", 0, ARG_INT, &d->mh.bands, "N",
		 "near: bands; more find more", 1, 65535, NULL, NULL},
		{"rows", 0, ARG_INT, &d->mh.rows, "N",
		 "near: hashes of a band; more find less", 1, 65536, NULL,
		 NULL},
		{"seed", 0, ARG_INT, &d->mh.seed, "N",
		 "near: seed of the hashes", 0, 9e15, NULL, NULL},
		{"threshold", 0, ARG_REAL, &d->threshold, "X",
		 "near: least Jaccard similarity", 1e-6, 1, NULL, NULL},
		{"edit-sim", 0, ARG_REAL, &d->edit_sim, "X",
		 "near: least edit similarity, a second test", 0, 1, NULL,
		 &d->has_edit},
		{"verify", 0, ARG_BOOL, &d->verify, NULL,
		 "near: compare candidates", 0, 0, NULL, NULL},
		{"direct", 0, ARG_FLAG, &d->direct, NULL,
		 "near: drop only what is similar to the one kept", 0, 0,
		 NULL, NULL},
		{"drop-all", 0, ARG_FLAG, &d->drop_all, NULL,
		 "drop the first of a cluster too", 0, 0, NULL, NULL},
		{"against", 0, ARG_STRS, &d->against, "FILE",
		 "documents that come first and are not printed", 0, 0, NULL,
		 NULL},
		{"spans", 0, ARG_FLAG, &d->spans, NULL,
		 "cut passages that stand before", 0, 0, NULL, NULL},
		{"span-bytes", 0, ARG_INT, &d->span_bytes, "N",
		 "spans: shortest passage, bytes", 1, 1 << 30, NULL,
		 &d->has_span_bytes},
		{"span-tokens", 0, ARG_INT, &d->span_tokens, "N",
		 "spans: shortest passage, tokens", 1, 1 << 28, NULL,
		 &d->has_span_tokens},
		{"min-left", 0, ARG_INT, &d->min_left, "N",
		 "spans: drop a text with fewer bytes left", 0, 1e15, NULL,
		 NULL},
		{"all", 0, ARG_FLAG, &d->all, NULL,
		 "spans: cut the first copy too", 0, 0, NULL, NULL},
		{"repeats", 0, ARG_FLAG, &d->repeats, NULL,
		 "drop texts that loop", 0, 0, NULL, NULL},
		{"run-count", 0, ARG_INT, &d->rep.run_count, "N",
		 "repeats: times an n-gram stands in a row", 2, 1e9, NULL,
		 NULL},
		{"run-ngram", 0, ARG_INT, &d->rep.run_max, "N",
		 "repeats: longest n-gram of a run", 1, 1000, NULL, NULL},
		{"phrase-count", 0, ARG_INT, &d->rep.phrase_count, "N",
		 "repeats: times a phrase stands anywhere; 0: off", 0, 1e9,
		 NULL, NULL},
		{"phrase-share", 0, ARG_REAL, &d->rep.phrase_share, "X",
		 "repeats: share of the text that it takes", 0, 1, NULL, NULL},
		{"mark", 0, ARG_FLAG, &d->mark, NULL,
		 "repeats: add a field \"repeats\", drop nothing", 0, 0, NULL,
		 NULL},
		{"tokenizer", 0, ARG_STR, &d->tokenizer, "FILE",
		 "repeats, spans: units are its tokens", 0, 0, NULL, NULL},
		{"split", 0, ARG_STR, &d->split, "NAME",
		 "split of a .tiktoken file, or of spans", 0, 0, NULL, NULL},
		{"emit", 0, ARG_ENUM, &o.emit, "WHAT",
		 "write records for an external sort", 0, 0, emits, NULL},
		{"apply", 0, ARG_STR, &d->apply, "FILE",
		 "near: candidates are the pairs of this file", 0, 0, NULL,
		 NULL},
		{"explain", 0, ARG_STR, &o.explain, "ID",
		 "compare this document with that of the first operand", 0, 0,
		 NULL, NULL},
		{"curve", 0, ARG_FLAG, &o.curve, NULL,
		 "print the probability that a pair is found", 0, 0, NULL,
		 NULL},
		{"json", 0, ARG_FLAG, &o.json, NULL,
		 "JSON from --curve and --explain", 0, 0, NULL, NULL},
		{"mem", 0, ARG_INT, &d->mem, "BYTES",
		 "memory for keys, sets, spans; the rest goes to $TMPDIR",
		 1 << 20, 1e15, NULL, NULL},
	};
	struct args a = {"dedup", "[options] [FILE...]",
			 "leave out documents that stand in the input before",
			 table, 33};
	int given[sizeof(table) / sizeof(*table)] = {0};
	struct err e = {0};
	int first, status;
	size_t i;

	filter_opts_init(&d->filter);
	repeat_opts_init(&d->rep);
	gopher_opts_init(&d->gopher);
	a.n += gopher_opts_args(&d->gopher, table + a.n);
	a.n += filter_opts_args(&d->filter, table + a.n);
	for (i = 0; i < a.n; i++)
		if (!table[i].given)
			table[i].given = &given[i];
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
