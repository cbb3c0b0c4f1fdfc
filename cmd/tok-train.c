/*
 * tok-train - learn a byte-level BPE vocabulary from documents
 *
 * Documents are cut into pieces and counted (corpus/bpetrain_docs), merges
 * are learned from the distinct pieces (corpus/bpetrain), and the result is
 * written as tokenizer.json and, if asked for, as a rank file: all outputs
 * or none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/args.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/output.h"
#include "corpus/bpetrain.h"
#include "corpus/bpetrain_docs.h"
#include "corpus/split.h"
#include "record/doc.h"
#include "record/vocab.h"

enum { NBYTES = 256, MAX_VOCAB = 1 << 24, MAX_OUT = 3 };

struct options {
	struct doc_opts doc;
	const char *split, *out, *tiktoken;
	struct arg_list special;
	int64_t vocab_size, min_count, max_token_bytes, max_docs, mem;
	double sample_frac;
	int exact;
};

/* What is written, committed together. */
struct outputs {
	struct output *v[MAX_OUT];
	size_t n;
};

static const char *const default_special[] = {"<|bos|>", "<|eos|>"};

static int
parse(struct options *o, int argc, char **argv)
{
	struct arg t[24] = {
		{"", 0, ARG_SECTION, NULL, NULL, "Vocabulary", 0, 0, NULL,
		 NULL},
		{"vocab-size", 0, ARG_INT, &o->vocab_size, "N",
		 "tokens, special ones included", NBYTES, MAX_VOCAB, NULL,
		 NULL},
		{"split", 0, ARG_STR, &o->split, "NAME|REGEX",
		 "gpt2, cl100k, o200k, qwen2, none or a pattern", 0, 0, NULL,
		 NULL},
		{"special", 0, ARG_STRS, &o->special, "TOKEN",
		 "special token, repeatable (default: <|bos|> <|eos|>)", 0, 0,
		 NULL, NULL},
		{"min-count", 0, ARG_INT, &o->min_count, "N",
		 "never merge a pair seen less than N times", 1, 9e18, NULL,
		 NULL},
		{"max-token-bytes", 0, ARG_INT, &o->max_token_bytes, "N",
		 "longest token in bytes (default: any)", 1, UINT32_MAX,
		 NULL, NULL},
		{"exact", 0, ARG_FLAG, &o->exact, NULL,
		 "fail when the text gives fewer tokens", 0, 0, NULL, NULL},
		{"", 0, ARG_SECTION, NULL, NULL, "Documents", 0, 0, NULL,
		 NULL},
		{"sample-frac", 0, ARG_REAL, &o->sample_frac, "F",
		 "share of the documents to use, by hash", 1e-12, 1, NULL,
		 NULL},
		{"max-docs", 0, ARG_INT, &o->max_docs, "N",
		 "use at most N documents, by hash (default: all)", 1, 9e18,
		 NULL, NULL},
		{"weights", 0, ARG_STR, &o->doc.extra_key, "KEY",
		 "count a text as often as this key says", 0, 0, NULL, NULL},
	};
	const struct arg tail[] = {
		{"", 0, ARG_SECTION, NULL, NULL, "Output and memory", 0, 0,
		 NULL, NULL},
		{"output", 'o', ARG_STR, &o->out, "FILE",
		 "the tokenizer.json (default: stdout)", 0, 0, NULL, NULL},
		{"tiktoken", 0, ARG_STR, &o->tiktoken, "FILE",
		 "write the ranks for tiktoken as well", 0, 0, NULL, NULL},
		{"mem", 0, ARG_INT, &o->mem, "BYTES",
		 "most memory (default: half of the machine's)", 1, 9e18,
		 NULL, NULL},
	};
	struct args a = {
		"tok-train", "[options] [FILE...]",
		"Learn a byte-level BPE vocabulary from documents.", t, 11
	};
	int at;

	a.n += doc_opts_args(&o->doc, t + a.n);
	memcpy(t + a.n, tail, sizeof tail);
	a.n += sizeof tail / sizeof *tail;
	at = args_parse(&a, argc, argv);
	if (o->special.n == 0) {
		o->special.v = (void *)xmemdup0(default_special,
			sizeof default_special);
		o->special.n = 2;
	}
	if (o->vocab_size < NBYTES + (int64_t)o->special.n)
		args_usage(&a, "--vocab-size %lld: at least %zu, for %d bytes "
			   "and %zu special tokens", (long long)o->vocab_size,
			   NBYTES + o->special.n, NBYTES, o->special.n);
	if (at == argc && isatty(STDIN_FILENO))
		args_usage(&a, "no FILE, and standard input is a terminal");
	return at;
}

static uint64_t
half_of_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * size / 2 : 0;
}

/* ---- the two phases ---- */

static struct pieces *
count(const struct options *o, char **files, size_t nfiles,
      struct doc_stats *stats, struct err *e)
{
	struct split *split = split_new(&o->split, NULL, 1, e);
	struct bpetrain_docs d = {
		.paths = (const char *const *)files, .npaths = nfiles,
		.doc = &o->doc, .split = split, .frac = o->sample_frac,
		.max_docs = o->max_docs, .mem = o->mem,
		.threads = args_common.threads
	};
	struct pieces *p;

	if (!split)
		return NULL;
	p = bpetrain_count(&d, stats, e);
	split_free(split);
	if (p && stats->docs_bad && !args_common.quiet)
		warn("%llu bad lines were left out",
		     (unsigned long long)stats->docs_bad);
	return p;
}

static struct vocab *
learn(const struct options *o, const struct pieces *p, struct bpetrain *t,
      struct err *e)
{
	struct bpetrain_opts b = {
		.merges = o->vocab_size - NBYTES - o->special.n,
		.min_count = o->min_count, .max_bytes = o->max_token_bytes,
		.mem = o->mem
	};
	size_t size;

	if (bpetrain_run(p, &b, t, e))
		return NULL;
	size = NBYTES + t->n + o->special.n;
	if (t->n < b.merges && o->exact) {
		err_set(e, "the text gives %zu tokens, --vocab-size asks for "
			"%lld: more text is needed", size,
			(long long)o->vocab_size);
		return NULL;
	}
	if (t->n < b.merges && !args_common.quiet)
		warn("the text gives %zu tokens, fewer than --vocab-size %lld",
		     size, (long long)o->vocab_size);
	return vocab_build((const uint32_t (*)[2])t->pair, t->n,
			   o->special.v, o->special.n,
			   split_pattern(o->split), e);
}

/* ---- outputs ---- */

static int
add_output(struct outputs *out, const char *path, struct buf *b,
	   struct err *e)
{
	struct output *o = output_open(path, e);
	int bad;

	if (!o)
		return -1;
	out->v[out->n++] = o;
	bad = output_write(o, b->p, b->n, e);
	buf_reset(b);
	return bad;
}

static void
put_stats(struct buf *b, const struct doc_stats *s, const struct pieces *p,
	  const struct vocab *v, const struct bpetrain *t)
{
	struct pieces_size z;

	pieces_size(p, &z);
	buf_putc(b, '{');
	doc_stats_json(s, b);
	buf_printf(b, ",\"pieces\":%llu,\"pieces_distinct\":%llu,"
		   "\"pieces_distinct_bytes\":%llu,\"vocab_size\":%u,"
		   "\"merges\":%zu,\"last_merge_count\":%llu}\n",
		   (unsigned long long)z.total,
		   (unsigned long long)z.distinct,
		   (unsigned long long)z.distinct_bytes, v->n, t->n,
		   (unsigned long long)(t->n ? t->count[t->n - 1] : 0));
}

static int
put_all(const struct options *o, const struct doc_stats *s,
	const struct pieces *p, const struct vocab *v,
	const struct bpetrain *t, struct err *e)
{
	struct outputs out = {.n = 0};
	struct buf b = {0};
	int bad;

	vocab_json(v, &b);
	bad = add_output(&out, o->out, &b, e);
	if (!bad && o->tiktoken) {
		vocab_tiktoken(v, &b);
		bad = add_output(&out, o->tiktoken, &b, e);
	}
	if (!bad && o->doc.stats) {
		put_stats(&b, s, p, v, t);
		bad = add_output(&out, o->doc.stats, &b, e);
	}
	buf_clear(&b);
	if (!bad)
		return output_commit_all(out.v, out.n, e);
	while (out.n)
		output_abort(out.v[--out.n]);
	return -1;
}

static void
summary(const struct doc_stats *s, const struct pieces *p,
	const struct vocab *v, const struct bpetrain *t)
{
	struct pieces_size z;

	if (args_common.quiet || (!args_common.verbose && !isatty(2)))
		return;
	pieces_size(p, &z);
	fprintf(stderr, "%llu documents, %llu bytes, %llu replaced "
		"characters; %llu left out, %llu bad\n"
		"%llu pieces, %llu distinct of %llu bytes\n"
		"%u tokens, the last merge seen %llu times; "
		"%llu MB while merging\n",
		(unsigned long long)s->docs_kept,
		(unsigned long long)s->bytes_kept,
		(unsigned long long)s->surrogates,
		(unsigned long long)s->docs_dropped,
		(unsigned long long)s->docs_bad,
		(unsigned long long)z.total,
		(unsigned long long)z.distinct,
		(unsigned long long)z.distinct_bytes, v->n,
		(unsigned long long)(t->n ? t->count[t->n - 1] : 0),
		(unsigned long long)(t->memory / 1000000));
}

int
main(int argc, char **argv)
{
	struct options o = {
		.split = "gpt2", .vocab_size = 32000, .min_count = 1,
		.sample_frac = 1
	};
	struct doc_stats stats;
	struct bpetrain t;
	struct pieces *p;
	struct vocab *v;
	struct err e = {0};
	int at;

	doc_opts_init(&o.doc);
	at = parse(&o, argc, argv);
	if (o.mem == 0)
		o.mem = half_of_memory();
	p = count(&o, argv + at, argc - at, &stats, &e);
	if (!p)
		die_err(&e);
	v = learn(&o, p, &t, &e);
	if (!v || put_all(&o, &stats, p, v, &t, &e))
		die_err(&e);
	summary(&stats, p, v, &t);
	pieces_free(p);
	bpetrain_clear(&t);
	vocab_free(v);
	return EXIT_OK;
}
