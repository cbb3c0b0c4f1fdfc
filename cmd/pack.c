/*
 * pack - documents to shards of token ids
 *
 * Blocks of lines are read in order; the workers parse and encode them; one
 * at a time and in order their documents go to the packer of the training or
 * of the validation shards, which hands documents or windows to the writer.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/args.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/output.h"
#include "base/pipeline.h"
#include "base/progress.h"
#include "corpus/bpe.h"
#include "corpus/packer.h"
#include "record/doc.h"
#include "record/shard.h"
#include "record/vocab.h"

/* Formats to write: those of shard.h without "auto". */
enum { FORMAT = SHARD_AUTO + 1 };
/* A document is validation where this hash of its id is low; never change it. */
enum { VAL_SEED = 0x76616c };

struct options {
	struct doc_opts doc;
	const char *tokenizer, *split, *bos_token, *eos_token, *out, *val_out;
	int bos, eos, format, policy, shuffle, has_val;
	int64_t seq_len, seed, shard_tokens, mem, batch;
	double val_frac;
};

/* Room for the ids of most blocks, so that few of them have to grow. */
enum { IDS = 96 * 1024 };

/* The ids of one block: document i of the batch ends at end[i]. */
struct encoded {
	struct ids ids;
	size_t *end, n, cap;
	struct encoded *next;
};

/* One set of shards. */
struct set {
	struct shard_writer *writer;
	struct packer *packer;
	uint64_t bytes;		/* of its texts */
};

struct pack {
	const struct options *o;
	struct vocab *vocab;
	struct bpe *bpe;
	int64_t bos, eos;	/* put around each document; -1: not */
	struct doc_reader *reader;
	struct doc_parser **parser;	/* one a worker */
	struct bpe_enc **enc;
	pthread_mutex_t lock;
	struct encoded *free;
	struct set train, val;	/* val.packer NULL: none wanted */
	struct doc_stats stats;
	struct buf id, first_bad;
};

/* --- the pipeline --- */

static void *
pack_read(void *ctx, struct err *e)
{
	struct pack *p = ctx;
	struct doc_batch *b = doc_read(p->reader, 0, e);

	if (b)
		progress_set(input_done(doc_reader_input(p->reader)));
	return b;
}

static struct encoded *
encoded_new(struct pack *p)
{
	struct encoded *x;

	pthread_mutex_lock(&p->lock);
	x = p->free;
	if (x)
		p->free = x->next;
	pthread_mutex_unlock(&p->lock);
	if (x)
		return x;
	x = xcalloc(1, sizeof(*x));
	x->ids.cap = IDS;
	x->ids.v = xreallocarray(NULL, IDS, sizeof(*x->ids.v));
	return x;
}

static void
put_id(struct ids *ids, int64_t id)
{
	if (id < 0)
		return;
	if (ids->n == ids->cap) {
		ids->cap = ids->cap ? 2 * ids->cap : 1024;
		ids->v = xreallocarray(ids->v, ids->cap, sizeof(*ids->v));
	}
	ids->v[ids->n++] = id;
}

/* What a worker fills while it parses a block. */
struct work {
	const struct pack *p;
	struct bpe_enc *enc;
	struct encoded *x;
};

static void
encode(void *ctx, const struct doc *d)
{
	struct work *w = ctx;
	struct encoded *x = w->x;

	if (!d->bad) {
		put_id(&x->ids, w->p->bos);
		bpe_encode(w->enc, d->text, &x->ids);
		put_id(&x->ids, w->p->eos);
	}
	if (x->n == x->cap) {
		x->cap = x->cap ? 2 * x->cap : 256;
		x->end = xreallocarray(x->end, x->cap, sizeof(*x->end));
	}
	x->end[x->n++] = x->ids.n;
}

static int
pack_work(void *ctx, void *item, int worker, struct err *e)
{
	struct pack *p = ctx;
	struct doc_batch *b = item;
	struct work w = {p, p->enc[worker], encoded_new(p)};

	b->user = w.x;
	w.x->n = w.x->ids.n = 0;
	return doc_parse_each(p->parser[worker], b, encode, &w, e);
}

/* Of the id alone, so that a document is in the same set in every run. */
static int
is_val(const struct options *o, struct span id)
{
	double u = (XXH3_64bits_withSeed(id.p, id.n, VAL_SEED) >> 11) * 0x1p-53;

	return u < o->val_frac;
}

static int
pack_write(void *ctx, void *item, struct err *e)
{
	struct pack *p = ctx;
	const struct doc_batch *b = item;
	const struct encoded *x = b->user;
	size_t i, at = 0;

	for (i = 0; i < b->n; at = x->end[i++]) {
		const struct doc *d = &b->v[i];
		struct span id = doc_id(d, &p->id);
		struct set *s = &p->train;

		doc_stats_in(&p->stats, d);
		if (d->bad) {
			if (!p->first_bad.n)
				buf_printf(&p->first_bad, "%s:%llu: %s",
					   d->file,
					   (unsigned long long)d->lineno,
					   d->why);
			continue;
		}
		doc_stats_kept(&p->stats, d);
		if (p->val.packer && is_val(p->o, id))
			s = &p->val;
		s->bytes += d->text.n;
		if (packer_add(s->packer, id, x->ids.v + at, x->end[i] - at, e))
			return -1;
	}
	return 0;
}

static void
pack_drop(void *ctx, void *item)
{
	struct pack *p = ctx;
	struct doc_batch *b = item;
	struct encoded *x = b->user;

	if (x) {
		pthread_mutex_lock(&p->lock);
		x->next = p->free;
		p->free = x;
		pthread_mutex_unlock(&p->lock);
	}
	doc_batch_free(b);
}

/* --- the two sets --- */

static int
sink_doc(void *ctx, struct span id, const uint32_t *ids, size_t n,
	 struct err *e)
{
	return shard_write_doc(ctx, id, ids, n, e);
}

static int
sink_window(void *ctx, const uint32_t *ids, size_t real,
	    const struct shard_part *parts, size_t nparts, struct err *e)
{
	return shard_write_window(ctx, ids, real, parts, nparts, e);
}

static int
set_open(struct set *s, const struct pack *p, const char *dir, size_t mem,
	 struct err *e)
{
	const struct options *o = p->o;
	const struct packer_opts opts = {
		.policy = o->policy, .seq_len = o->seq_len,
		.shuffle = o->shuffle, .seed = o->seed, .mem = mem,
		.batch = o->batch,
	};
	const struct vocab *v = p->vocab;
	const struct shard_info info = {
		.vocab = v->n, .bos = p->bos >= 0 ? p->bos : v->bos,
		.eos = p->eos >= 0 ? p->eos : v->eos,
		.pad = v->pad >= 0 ? v->pad : v->eos >= 0 ? v->eos : 0,
		.has_bos = p->bos >= 0, .has_eos = p->eos >= 0,
		.fingerprint = v->fingerprint, .seq_len = o->seq_len,
		.policy = o->policy, .windows = packer_windowed(&opts),
		.shuffled = o->shuffle, .shuffle_seed = o->seed,
	};
	struct packer_sink sink = {NULL, sink_doc, sink_window};

	s->writer = shard_writer_open(dir, o->format + FORMAT, &info,
				      dir ? o->shard_tokens : 0, e);
	if (!s->writer)
		return -1;
	sink.ctx = s->writer;
	s->packer = packer_new(&opts, &sink);
	return 0;
}

static int
set_commit(struct set *s, struct err *e)
{
	int r = shard_writer_commit(s->writer, e);

	s->writer = NULL;
	return r;
}

/* --- the summary --- */

static struct packer_stats
both(const struct pack *p)
{
	struct packer_stats a = packer_stats(p->train.packer), b;

	if (!p->val.packer)
		return a;
	b = packer_stats(p->val.packer);
	a.docs += b.docs;
	a.tokens += b.tokens;
	a.windows += b.windows;
	a.spanning += b.spanning;
	a.repeated += b.repeated;
	a.padding += b.padding;
	if (b.largest > a.largest)
		a.largest = b.largest;
	return a;
}

static double
ratio(double a, double b)
{
	return b ? a / b : 0;
}

/* Bytes of text for each token that stands for text: without BOS and EOS. */
static double
bytes_per_token(const struct pack *p, const struct packer_stats *s,
		uint64_t bytes)
{
	return ratio(bytes, s->tokens - s->docs *
		     ((p->bos >= 0) + (p->eos >= 0)));
}

/* Of the tokens in windows, what share is padding. */
static double
waste(const struct pack *p, const struct packer_stats *s)
{
	return ratio(s->padding, (double)s->windows * (p->o->seq_len + 1));
}

static void
put_real(struct buf *b, const char *key, double x)
{
	buf_printf(b, ",\"%s\":%.6g", key, x);
}

static void
put_count(struct buf *b, const char *key, uint64_t n)
{
	buf_printf(b, ",\"%s\":%llu", key, (unsigned long long)n);
}

static void
put_set(const struct pack *p, const struct packer_stats *s, uint64_t bytes,
	struct buf *b)
{
	buf_printf(b, "\"tokens\":%llu", (unsigned long long)s->tokens);
	put_real(b, "bytes_per_token", bytes_per_token(p, s, bytes));
	put_count(b, "windows", s->windows);
	put_count(b, "windows_spanning", s->spanning);
	put_real(b, "spanning_share", ratio(s->spanning, s->windows));
	put_real(b, "largest_doc_share", s->largest);
	put_count(b, "padding_tokens", s->padding);
	put_real(b, "padding_share", waste(p, s));
	put_count(b, "repeated_tokens", s->repeated);
}

static void
stats_json(const struct pack *p, struct buf *b)
{
	struct packer_stats all = both(p), s;

	buf_putc(b, '{');
	doc_stats_json(&p->stats, b);
	buf_putc(b, ',');
	put_set(p, &all, p->train.bytes + p->val.bytes, b);
	put_count(b, "seq_len", p->o->seq_len);
	put_count(b, "vocab_size", p->vocab->n);
	buf_printf(b, ",\"tokenizer_fingerprint\":\"%016llx\"",
		   (unsigned long long)p->vocab->fingerprint);
	if (p->val.packer) {
		s = packer_stats(p->train.packer);
		buf_printf(b, ",\"train\":{\"docs\":%llu,",
			   (unsigned long long)s.docs);
		put_set(p, &s, p->train.bytes, b);
		s = packer_stats(p->val.packer);
		buf_printf(b, "},\"val\":{\"docs\":%llu,",
			   (unsigned long long)s.docs);
		put_set(p, &s, p->val.bytes, b);
		buf_putc(b, '}');
	}
	buf_puts(b, "}\n");
}

static void
summary(const struct pack *p)
{
	struct packer_stats s = both(p);
	const struct doc_stats *d = &p->stats;

	progress_erase();
	fprintf(stderr, "documents             %12llu\n"
		"  empty               %12llu\n"
		"  bad                 %12llu\n"
		"replaced characters   %12llu\n"
		"tokens                %12llu\n"
		"bytes per token       %12.3f\n"
		"windows of %-10lld %12llu\n",
		(unsigned long long)d->docs_in, (unsigned long long)d->empty,
		(unsigned long long)d->docs_bad,
		(unsigned long long)d->surrogates,
		(unsigned long long)s.tokens,
		bytes_per_token(p, &s, d->bytes_kept),
		(long long)p->o->seq_len, (unsigned long long)s.windows);
	fprintf(stderr, "  with two documents  %11.2f%%\n"
		"largest document of %3lld windows %2.2f%%\n"
		"padding               %11.2f%%\n",
		100 * ratio(s.spanning, s.windows), (long long)p->o->batch,
		100 * s.largest, 100 * waste(p, &s));
	if (p->val.packer) {
		s = packer_stats(p->val.packer);
		fprintf(stderr, "validation documents  %12llu\n"
			"validation tokens     %12llu\n",
			(unsigned long long)s.docs,
			(unsigned long long)s.tokens);
	}
}

/* --- wiring --- */

/* The id of a token to put around documents: named, or the tokenizer's own. */
static int64_t
boundary(const struct vocab *v, const char *name, int64_t own,
	 const char *what, struct err *e)
{
	struct span s;
	size_t i;

	if (!name && own >= 0)
		return own;
	if (!name) {
		err_set(e, "the tokenizer names no %s: give one with "
			"--%s-token, or --no-%s", what, what, what);
		return -1;
	}
	s = span_str(name);
	for (i = 0; i < v->nspecial; i++)
		if (span_eq(v->special[i].text, s))
			return v->special[i].id;
	for (i = 0; i < v->n; i++)
		if (span_eq(v->token[i], s))
			return i;
	err_set(e, "--%s-token %s: no such token in the vocabulary", what,
		name);
	return -1;
}

static int
pack_open(struct pack *p, const struct options *o, const char *const *files,
	  size_t n, struct err *e)
{
	int i, threads = args_common.threads;
	size_t mem = o->has_val ? o->mem - o->mem / 8 : o->mem;

	p->o = o;
	pthread_mutex_init(&p->lock, NULL);
	p->vocab = vocab_load(o->tokenizer, o->split, e);
	if (!p->vocab)
		return -1;
	p->bos = o->bos ? boundary(p->vocab, o->bos_token, p->vocab->bos,
				   "bos", e) : -1;
	p->eos = o->eos ? boundary(p->vocab, o->eos_token, p->vocab->eos,
				   "eos", e) : -1;
	if (e->set)
		return -1;
	p->bpe = bpe_new(p->vocab, e);
	if (!p->bpe)
		return -1;
	p->reader = doc_reader_open(files, n, &o->doc);
	p->parser = xcalloc(threads, sizeof(*p->parser));
	p->enc = xcalloc(threads, sizeof(*p->enc));
	for (i = 0; i < threads; i++) {
		p->parser[i] = doc_parser_new(&o->doc);
		p->enc[i] = bpe_enc_new(p->bpe, 0);
	}
	if (set_open(&p->train, p, o->out, mem, e))
		return -1;
	return o->has_val ? set_open(&p->val, p, o->val_out, o->mem / 8, e) : 0;
}

static void
pack_close(struct pack *p)
{
	struct encoded *x, *next;
	int i;

	for (i = 0; i < args_common.threads; i++) {
		doc_parser_free(p->parser[i]);
		bpe_enc_free(p->enc[i]);
	}
	free(p->parser);
	free(p->enc);
	for (x = p->free; x; x = next) {
		next = x->next;
		free(x->ids.v);
		free(x->end);
		free(x);
	}
	packer_free(p->train.packer);
	packer_free(p->val.packer);
	doc_reader_close(p->reader);
	bpe_free(p->bpe);
	vocab_free(p->vocab);
	buf_clear(&p->id);
	buf_clear(&p->first_bad);
	pthread_mutex_destroy(&p->lock);
}

static int
pack_run(struct pack *p, struct output *stats, struct err *e)
{
	const struct pipeline pipe = {
		p, pack_read, pack_work, pack_write, pack_drop
	};
	struct buf b = {0};
	int r;

	progress_start("packing", "B",
		       input_total(doc_reader_input(p->reader)));
	if (pipeline_run(&pipe, args_common.threads, e) ||
	    packer_finish(p->train.packer, e) ||
	    (p->val.packer && packer_finish(p->val.packer, e)))
		return -1;
	progress_stop();
	if ((p->val.packer && set_commit(&p->val, e)) ||
	    set_commit(&p->train, e))
		return -1;
	if (!stats)
		return 0;
	stats_json(p, &b);
	r = output_write(stats, b.p, b.n, e);
	buf_clear(&b);
	return r ? r : output_commit(stats, e);
}

static void
check(const struct args *a, const struct options *o, size_t files)
{
	if (!o->tokenizer)
		args_usage(a, "--tokenizer FILE is needed");
	if (o->has_val != (o->val_out != NULL))
		args_usage(a, "--val-frac and --val-out go together");
	if ((o->shuffle || o->policy != POLICY_CONCAT) &&
	    o->format + FORMAT != SHARD_ASSAY)
		args_usage(a, "%s needs --shard-format assay: other formats "
			   "hold no windows", o->shuffle ? "--shuffle" :
			   "a --policy other than concat");
	if (!o->out && o->format + FORMAT != SHARD_ASSAY &&
	    o->format + FORMAT != SHARD_JSONL)
		args_usage(a, "--shard-format %s needs -o DIR",
			   shard_format_names[o->format + FORMAT]);
	if (!o->out && o->doc.stats && !strcmp(o->doc.stats, "-"))
		args_usage(a, "--stats - needs -o DIR: stdout has the shard");
	if (!o->out && o->format + FORMAT == SHARD_ASSAY && isatty(1))
		args_usage(a, "a shard does not go to a terminal: give -o DIR");
	args_check_stdin(a, files);
}

int
main(int argc, char **argv)
{
	static const char *const policies[] = {
		"concat", "best-fit", "pad", NULL
	};
	struct options o = {
		.bos = 1, .eos = 1, .seq_len = 2048, .shard_tokens = 100000000,
		.mem = 512 << 20, .batch = 32,
	};
	struct arg table[32] = {
		{"tokenizer", 0, ARG_STR, &o.tokenizer, "FILE",
		 "tokenizer.json or .tiktoken", 0, 0, NULL, NULL},
		{"split", 0, ARG_STR, &o.split, "NAME",
		 "split of a .tiktoken file", 0, 0, NULL, NULL},
		{"bos", 0, ARG_BOOL, &o.bos, NULL,
		 "put BOS before each document", 0, 0, NULL, NULL},
		{"eos", 0, ARG_BOOL, &o.eos, NULL,
		 "put EOS behind each document", 0, 0, NULL, NULL},
		{"bos-token", 0, ARG_STR, &o.bos_token, "TOKEN",
		 "the BOS token, where the tokenizer names none", 0, 0, NULL,
		 NULL},
		{"eos-token", 0, ARG_STR, &o.eos_token, "TOKEN",
		 "the EOS token, where the tokenizer names none", 0, 0, NULL,
		 NULL},
		{"seq-len", 0, ARG_INT, &o.seq_len, "N",
		 "tokens of a window", 1, 1 << 30, NULL, NULL},
		{"policy", 0, ARG_ENUM, &o.policy, "NAME",
		 "how windows are filled", 0, 0, policies, NULL},
		{"shuffle", 0, ARG_INT, &o.seed, "SEED",
		 "put the windows in a random order, made from SEED", 0, 9e15, NULL, &o.shuffle},
		{"val-frac", 0, ARG_REAL, &o.val_frac, "X",
		 "share of the documents for validation", 0, 1, NULL,
		 &o.has_val},
		{"val-out", 0, ARG_STR, &o.val_out, "DIR",
		 "where the validation shards go", 0, 0, NULL, NULL},
		{"shard-format", 0, ARG_ENUM, &o.format, "NAME",
		 "what to write", 0, 0, shard_format_names + FORMAT, NULL},
		{"shard-tokens", 0, ARG_INT, &o.shard_tokens, "N",
		 "tokens of a file; 0: all in one", 0, 1e15, NULL, NULL},
		{"mem", 0, ARG_INT, &o.mem, "BYTES",
		 "memory for best-fit and shuffle", 1 << 20, 1e15, NULL, NULL},
		{"batch-windows", 0, ARG_INT, &o.batch, "N",
		 "windows of a batch, in the summary", 1, 1 << 30, NULL, NULL},
		{"output", 'o', ARG_STR, &o.out, "DIR",
		 "where the shards go; else stdout", 0, 0, NULL, NULL},
	};
	struct args a = {"pack", "--tokenizer FILE [options] [FILE...]",
			 "turn documents into shards of token ids", table, 16};
	struct output *stats = NULL;
	struct pack p = {0};
	struct err e = {0};
	int first;

	doc_opts_init(&o.doc);
	a.n += doc_opts_args(&o.doc, table + a.n);
	first = args_parse(&a, argc, argv);
	if (o.out && !strcmp(o.out, "-"))
		o.out = NULL;
	check(&a, &o, argc - first);
	if (o.doc.stats && !(stats = output_open(o.doc.stats, &e)))
		die_err(&e);
	if (pack_open(&p, &o, (const char *const *)argv + first, argc - first,
		      &e) ||
	    pack_run(&p, stats, &e)) {
		shard_writer_abort(p.train.writer);
		shard_writer_abort(p.val.writer);
		die_err(&e);
	}
	if (p.first_bad.n)
		warn("%llu bad lines left out, the first: %.*s",
		     (unsigned long long)p.stats.docs_bad,
		     (int)p.first_bad.n, p.first_bad.p);
	if (!args_common.quiet && (args_common.verbose || isatty(2)))
		summary(&p);
	pack_close(&p);
	return EXIT_OK;
}
