/*
 * tok-train - train a byte-level BPE tokenizer on documents
 *
 * Documents are split into pre-tokens, which are counted (bpe_train_docs.h);
 * merges are learned from the distinct ones (bpe_train.h); the result is
 * written as tokenizer.json and, on request, as tiktoken ranks: all outputs
 * or none.  The two phases can be separate runs: --emit writes the counts,
 * --pieces reads them (pieces.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/args.h"
#include "base/err.h"
#include "base/mem.h"
#include "record/doc.h"
#include "record/vocab.h"
#include "stream/files.h"
#include "stream/output.h"
#include "tokenizer/bpe_train.h"
#include "tokenizer/bpe_train_docs.h"
#include "tokenizer/bpe_train_report.h"
#include "tokenizer/pieces.h"
#include "tokenizer/split.h"

enum { NBYTES = 256, MAX_VOCAB = 1 << 24 };

struct options {
	struct doc_opts doc;
	const char *split, *out, *tiktoken;
	char *pattern;		/* of split; pattern.h */
	struct arg_list special, pieces;
	int64_t vocab_size, min_count, max_token_bytes, max_docs, mem;
	double sample_frac;
	int exact, emit, what;
};

/* Opened before the work, committed together; NULL: not requested. */
struct outputs {
	struct output *json, *tiktoken, *stats;
};

static const char *default_special[] = {"<|bos|>", "<|eos|>"};

static int
is_stdout(const char *path)
{
	return !path || !strcmp(path, "-");
}

static int
parse(struct options *o, int argc, char **argv)
{
	static const char *const stages[] = {"pieces", NULL};
	static const char *const exclude[] = {
		"emit: vocab-size special min-count max-token-bytes exact "
		"tiktoken pieces",
		"pieces: files-from text-key id-key on-bad sample-frac "
		"max-docs weights", NULL
	};
	const struct arg t[] = {
		OPT_GROUP("Vocabulary"),
		OPT_INT("vocab-size", &o->vocab_size, "N", 1, MAX_VOCAB,
			"Tokens, including special ones"),
		OPT_STR("split", &o->split, "NAME|REGEX",
			"gpt2, cl100k, o200k, qwen2, none or a pattern"),
		OPT_STRS("special", &o->special, "TOKEN",
			 "Special token, repeatable [<|bos|> <|eos|>]"),
		OPT_INT("min-count", &o->min_count, "N", 1, 9e18,
			"Never merge a pair that occurs fewer than N times"),
		OPT_INT("max-token-bytes", &o->max_token_bytes, "N", 1,
			UINT32_MAX, "Maximum token length in bytes [no limit]"),
		OPT_FLAG("exact", &o->exact,
			 "Fail if the text yields fewer tokens"),
		DOC_ARGS(&o->doc),
		OPT_REAL("sample-frac", &o->sample_frac, "X", 1e-12, 1,
			 "Fraction of the documents to use, by hash"),
		OPT_INT("max-docs", &o->max_docs, "N", 1, 9e18,
			"Maximum number of documents, chosen by hash [all]"),
		OPT_STR("weights", &o->doc.extra_key, "KEY",
			"Count each text as many times as this key says"),
		OPT_GROUP("Stages"),
		OPT_ENUM("emit", &o->what, "WHAT", stages,
			 "Write the counted pre-tokens and stop",
			 .given = &o->emit),
		OPT_STRS("pieces", &o->pieces, "FILE",
			 "Read counted pre-tokens instead of documents"),
		OPT_GROUP("Output and memory"),
		OPT_STR("output", &o->out, "FILE",
			"Write to FILE instead of stdout",
			.letter = 'o'),
		OPT_STR("tiktoken", &o->tiktoken, "FILE",
			"Also write the ranks for tiktoken"),
		OPT_INT("mem", &o->mem, "BYTES", 1, 9e18,
			"Memory limit [half of the machine's]"),
		OPT_END
	};
	const struct args a = {
		"tok-train", "[options] [FILE...]",
		"Train a byte-level BPE tokenizer on documents.",
		"tok-train --vocab-size 32000 -o tokenizer.json docs.jsonl.zst",
		t, exclude
	};
	struct err e = {0};
	int at;

	at = args_parse(&a, argc, argv);
	if (o->special.n == 0) {
		o->special.v = default_special;
		o->special.n = 2;
	}
	if (o->vocab_size < NBYTES + (int64_t)o->special.n)
		args_usage(&a, "--vocab-size %lld: at least %zu, for %d bytes "
			   "and %zu special tokens", (long long)o->vocab_size,
			   NBYTES + o->special.n, NBYTES, o->special.n);
	if (!*o->split)
		args_usage(&a, "--split: an empty pattern (use none for no "
			   "split)");
	o->pattern = pattern_split(o->split, &e);
	if (!o->pattern)
		args_usage(&a, "%s", e.msg);
	if (o->pieces.n && at < argc)
		args_usage(&a, "%s: no documents are read with --pieces",
			   argv[at]);
	if (at == argc && !o->doc.files_from && !o->pieces.n &&
	    isatty(STDIN_FILENO))
		args_usage(&a, "no FILE, and standard input is a terminal");
	if (is_stdout(o->out) + (o->tiktoken && is_stdout(o->tiktoken)) +
	    (o->doc.stats && is_stdout(o->doc.stats)) > 1)
		args_usage(&a, "only one output can go to stdout");
	if (o->mem == 0)
		o->mem = mem_of_machine() / 2;
	return at;
}

/* ---- the two phases ---- */

static struct pretokens *
count(const struct options *o, const struct files *files,
      struct doc_stats *stats, struct err *e)
{
	const char *const pattern = o->pattern;
	struct split *split = split_new(&pattern, NULL, 1, e);
	struct bpe_train_docs d = {
		.paths = files->v, .npaths = files->n,
		.doc = &o->doc, .split = split, .frac = o->sample_frac,
		.max_docs = o->max_docs, .mem = o->mem,
		.threads = args_common.threads
	};
	struct pretokens *p;

	if (!split)
		return NULL;
	if (o->pieces.n) {
		split_free(split);
		return pieces_read(o->pieces.v, o->pieces.n, (uint64_t)o->mem,
				   e);
	}
	p = bpe_train_docs_count(&d, stats, e);
	split_free(split);
	if (p)
		doc_stats_warn(stats, 0);
	return p;
}

static struct vocab *
learn(const struct options *o, const struct pretokens *p, struct bpe_train *t,
      struct err *e)
{
	struct bpe_train_opts b = {
		.merges = o->vocab_size - NBYTES - o->special.n,
		.min_count = o->min_count, .max_bytes = o->max_token_bytes,
		.mem = o->mem
	};
	size_t size;

	if (bpe_train_run(p, &b, t, e) ||
	    bpe_train_special_check(t, o->special.v, o->special.n, e))
		return NULL;
	size = NBYTES + t->n + o->special.n;
	if (t->n < b.merges && o->exact) {
		err_set(e, "the text yields %zu tokens, fewer than "
			"--vocab-size %lld: give more text", size,
			(long long)o->vocab_size);
		return NULL;
	}
	if (t->n < b.merges)
		warn("the text yields %zu tokens, fewer than --vocab-size "
		     "%lld", size, (long long)o->vocab_size);
	return vocab_build((const uint32_t (*)[2])t->pair, t->n,
			   o->special.v, o->special.n,
			   pattern_regex(o->pattern), e);
}

/* ---- outputs ---- */

static int
outputs_open(struct outputs *out, const struct options *o, struct err *e)
{
	if (!(out->json = output_open(o->out, e)))
		return -1;
	if (o->tiktoken && !(out->tiktoken = output_open(o->tiktoken, e)))
		return -1;
	if (o->doc.stats && !(out->stats = output_open(o->doc.stats, e)))
		return -1;
	return 0;
}

/* v NULL: the pre-tokens instead of a tokenizer. */
static int
outputs_commit(const struct outputs *out, const struct vocab *v,
	       const struct bpe_train_report *r, struct err *e)
{
	struct output *all[3];
	struct buf b = {0};
	size_t n = 0;
	int bad;

	if (v)
		vocab_json(v, &b);
	else if (pieces_write(r->pretokens, out->json, e) < 0)
		return -1;
	bad = output_put(all[n++] = out->json, &b, e);
	if (!bad && out->tiktoken) {
		vocab_tiktoken(v, &b);
		bad = output_put(all[n++] = out->tiktoken, &b, e);
	}
	if (!bad && out->stats) {
		bpe_train_report_stats(r, &b);
		bad = output_put(all[n++] = out->stats, &b, e);
	}
	buf_clear(&b);
	return bad ? -1 : output_commit_all(all, n, e);
}

int
main(int argc, char **argv)
{
	struct options o = {
		.split = "cl100k", .vocab_size = 32000, .min_count = 1,
		.sample_frac = 1
	};
	struct outputs out = {NULL, NULL, NULL};
	struct bpe_train t = {0};
	struct doc_stats stats;
	struct bpe_train_report report = {.docs = &stats, .learned = &t};
	struct pretokens *p;
	struct vocab *v = NULL;
	struct err e = {0};
	struct buf text = {0};
	struct files files = {0};
	int at;

	doc_opts_init(&o.doc);
	at = parse(&o, argc, argv);
	if (files_add(&files, (const char *const *)argv + at, argc - at,
		      o.doc.files_from, &e) ||
	    bpe_train_special_check(&t, o.special.v, o.special.n, &e) ||
	    outputs_open(&out, &o, &e) ||
	    !(p = count(&o, &files, &stats, &e)) ||
	    (!o.emit && !(v = learn(&o, p, &t, &e))))
		die_err(&e);
	report.pretokens = p;
	report.tokens = v ? v->n : 0;
	if (o.emit)
		report.learned = NULL;
	if (o.pieces.n)
		report.docs = NULL;
	if (outputs_commit(&out, v, &report, &e))
		die_err(&e);
	bpe_train_report_summary(&report, &text);
	if (args_summary())
		err_text(text.p, text.n);
	buf_clear(&text);
	vocab_free(v);
	bpe_train_clear(&t);
	pretokens_free(p);
	free(o.pattern);
	files_clear(&files);
	return EXIT_OK;
}
