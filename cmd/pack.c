/*
 * pack - turn documents into shards of token ids
 *
 * Opens a tokenizer and one or two shard writers, each with a packer in front
 * that decides its windows; pack/pack_job.h runs them.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/args.h"
#include "base/err.h"
#include "pack/pack_job.h"
#include "pack/pack_stats.h"
#include "record/shard.h"
#include "stream/files.h"
#include "stream/output.h"

struct options {
	struct doc_opts doc;
	const char *tokenizer, *split, *bos_token, *eos_token, *out, *val_out;
	int bos, eos, format, policy, shuffle, has_val;
	int64_t seq_len, seed, shard_tokens, mem, batch;
	double val_frac;
};

struct pack {
	struct vocab *vocab;
	struct bpe *bpe;
	struct shard_writer *train, *val;
	struct output *stats;
	struct pack_job job;
};

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

/*
 * A packer and the shards that it fills.  Shards name the BOS and EOS of the
 * tokenizer even if documents do not get them; without a padding token they
 * pad with EOS, without that with id 0.
 */
static struct packer *
set_open(const struct pack *p, const struct options *o, const char *dir,
	 size_t mem, struct shard_writer **writer, struct err *e)
{
	const struct packer_opts opts = {
		.policy = o->policy, .seq_len = o->seq_len,
		.shuffle = o->shuffle, .seed = o->seed,
		.mem = mem, .batch = o->batch,
	};
	const struct vocab *v = p->vocab;
	const struct vocab_around *front = &p->job.front, *back = &p->job.back;
	const struct shard_info info = {
		.vocab = v->n, .fingerprint = v->fingerprint,
		.bos = front->n ? front->id[0] : v->bos,
		.has_bos = front->n > 0,
		.eos = back->n ? back->id[back->n - 1] : v->eos,
		.has_eos = back->n > 0,
		.pad = v->pad >= 0 ? v->pad : v->eos >= 0 ? v->eos : 0,
		.seq_len = o->seq_len, .policy = o->policy,
		.windows = packer_windowed(&opts),
		.shuffled = o->shuffle,
		.shuffle_seed = o->shuffle ? o->seed : 0,
	};
	struct packer_sink sink = {NULL, sink_doc, sink_window};

	*writer = shard_writer_open(dir, shard_write_formats[o->format], &info,
				    dir ? o->shard_tokens : 0, e);
	if (!*writer)
		return NULL;
	sink.ctx = *writer;
	return packer_new(&opts, &sink);
}

/*
 * The tokens on one side of a document: the one called name, else what the
 * tokenizer puts there, else its own BOS or EOS.  1: there is none.
 */
static int
one_end(const struct vocab *v, const char *option, const char *name,
	const struct vocab_around *usual, int64_t own,
	struct vocab_around *to, struct err *e)
{
	int64_t id = name ? vocab_named(v, name) : own;

	if (name && id < 0)
		return err_set(e, "%s %s: no such token in the vocabulary",
			       option, name);
	if (!name && usual->n)
		*to = *usual;
	else if (id >= 0)
		*to = (struct vocab_around){{(uint32_t)id}, 1};
	return to->n == 0;
}

static int
set_ends(struct pack *p, const struct options *o, struct err *e)
{
	static const char *const missing[] = {
		"", "BOS: use --bos-token or --no-bos",
		"EOS: use --eos-token or --no-eos",
		"BOS and no EOS: use --bos-token or --no-bos, and --eos-token "
		"or --no-eos"
	};
	const struct vocab *v = p->vocab;
	struct buf b = {0};
	int none[2] = {0, 0};

	if (o->bos)
		none[0] = one_end(v, "--bos-token", o->bos_token, &v->front,
				  v->bos, &p->job.front, e);
	if (o->eos)
		none[1] = one_end(v, "--eos-token", o->eos_token, &v->back,
				  v->eos, &p->job.back, e);
	if (none[0] < 0 || none[1] < 0)
		return -1;
	if (none[0] || none[1]) {
		vocab_list_special(v, 10, &b);
		err_set(e, "%s: names no %s; its special tokens: %.*s",
			o->tokenizer, missing[none[0] + 2 * none[1]],
			(int)b.n, b.p);
		buf_clear(&b);
	}
	return e->set ? -1 : 0;
}

static int
pack_open(struct pack *p, const struct options *o, struct err *e)
{
	struct pack_job *j = &p->job;
	size_t val_mem = o->has_val ? o->mem / 8 : 0;

	p->vocab = vocab_load(o->tokenizer, o->split, e);
	if (!p->vocab)
		return -1;
	if (set_ends(p, o, e) < 0 || !(p->bpe = bpe_new(p->vocab, e)))
		return -1;
	j->doc = &o->doc;
	j->bpe = p->bpe;
	j->threads = args_common.threads;
	j->val_frac = o->val_frac;
	j->train = set_open(p, o, o->out, o->mem - val_mem, &p->train, e);
	if (j->train && o->has_val)
		j->val = set_open(p, o, o->val_out, val_mem, &p->val, e);
	return e->set ? -1 : 0;
}

static int
outputs_open(struct pack *p, const struct options *o, struct err *e)
{
	if (pack_open(p, o, e))
		return -1;
	if (o->doc.stats && !(p->stats = output_open(o->doc.stats, e)))
		return -1;
	return 0;
}

static void
outputs_abort(struct pack *p)
{
	output_abort(p->stats);		/* may be in a folder of the others */
	shard_writer_abort(p->val);	/* perhaps in that of the first */
	shard_writer_abort(p->train);
}

/* Everything to the device, then all of it appears. */
static int
outputs_commit(struct pack *p, struct pack_stats *sum, struct err *e)
{
	struct shard_writer *sets[] = {p->train, p->val};
	struct buf b = {0};
	int r = p->val ? shard_writer_pair(p->train, p->val, e) : 0;

	if (r == 0 && p->stats) {
		sum->identity = shard_writer_identity(p->train);
		pack_stats_json(sum, &b);
		r = output_put(p->stats, &b, e) ||
		    output_finish(p->stats, e) ? -1 : 0;
		buf_clear(&b);
	}
	if (r) {
		outputs_abort(p);
		return -1;
	}
	r = shard_writer_commit_all(sets, p->val ? 2 : 1, e);
	if (!r && p->stats)
		return output_commit(p->stats, e);
	output_abort(p->stats);
	return r;
}

static void
pack_close(struct pack *p)
{
	packer_free(p->job.train);
	packer_free(p->job.val);
	bpe_free(p->bpe);
	vocab_free(p->vocab);
}

/* For people: what was skipped, and the summary. */
static void
summary(const struct pack *p, const struct pack_stats *sum)
{
	struct buf b = {0};

	doc_stats_warn(&p->job.docs, 0);
	if (!args_summary())
		return;
	pack_stats_text(sum, &b);
	err_text(b.p, b.n);
	buf_clear(&b);
}

static void
check(const struct args *a, const struct options *o, size_t files)
{
	enum shard_format format = shard_write_formats[o->format];

	if (!o->tokenizer)
		args_usage(a, "--tokenizer FILE is required");
	if (o->has_val != (o->val_out != NULL))
		args_usage(a, "--val-frac and --val-out go together");
	if (o->val_out && !strcmp(o->val_out, "-"))
		args_usage(a, "--val-out - is not possible: give a folder");
	if ((o->shuffle || o->policy != POLICY_CONCAT) &&
	    format != SHARD_ASSAY)
		args_usage(a, "%s needs --shard-format assay: other formats "
			   "have no windows", o->shuffle ? "--shuffle" :
			   "a --policy other than concat");
	if (!o->out && format != SHARD_ASSAY && format != SHARD_JSONL)
		args_usage(a, "--shard-format %s needs -o DIR",
			   shard_format_names[format]);
	if (!o->out && o->doc.stats && !strcmp(o->doc.stats, "-"))
		args_usage(a, "--stats - needs -o DIR: the shard goes to "
			   "stdout");
	if (!o->out && format == SHARD_ASSAY && isatty(1))
		args_usage(a, "refusing to write a binary shard to a "
			   "terminal: use -o "
			   "DIR");
	args_check_stdin(a, files);
}

int
main(int argc, char **argv)
{
	static const char *const policies[] = {
		"concat", "best-fit", "pad", NULL
	};
	struct options o = {
		.bos = 1, .eos = 1, .seed = -1, .seq_len = 2048,
		.shard_tokens = 100000000,
		.mem = 512 << 20, .batch = 32,
	};
	const struct arg table[] = {
		OPT_GROUP("Tokens"),
		VOCAB_ARGS(&o.tokenizer, &o.split,
			   "tokenizer.json or .tiktoken"),
		OPT_BOOL("bos", &o.bos, "Put BOS before each document"),
		OPT_BOOL("eos", &o.eos, "Put EOS after each document"),
		OPT_STR("bos-token", &o.bos_token, "TOKEN",
			"Use TOKEN as BOS instead of the tokenizer's"),
		OPT_STR("eos-token", &o.eos_token, "TOKEN",
			"Use TOKEN as EOS instead of the tokenizer's"),
		OPT_GROUP("Windows"),
		OPT_INT("seq-len", &o.seq_len, "N", 1, 1 << 30,
			"Tokens per window"),
		OPT_ENUM("policy", &o.policy, "NAME", policies,
			 "How to fill windows"),
		OPT_INT("shuffle", &o.seed, "SEED", 0, 9e15,
			"Shuffle the windows with this seed",
			.given = &o.shuffle),
		OPT_INT("mem", &o.mem, "BYTES", 1 << 20, 1e15,
			"Memory for best-fit and shuffle"),
		OPT_INT("batch-size", &o.batch, "N", 1, 1 << 30,
			"Windows per batch, in the summary"),
		OPT_GROUP("Shards"),
		OPT_STR("output", &o.out, "DIR",
			"Write shards to DIR instead of stdout",
			.letter = 'o'),
		OPT_ENUM("shard-format", &o.format, NULL,
			 shard_write_names, "Output format"),
		OPT_INT("shard-tokens", &o.shard_tokens, "N", 0, 1e15,
			"Tokens per file; 0: one file"),
		OPT_REAL("val-frac", &o.val_frac, "X", 0, 1,
			 "Fraction of documents for validation",
			 .given = &o.has_val),
		OPT_STR("val-out", &o.val_out, "DIR",
			"Write validation shards to DIR"),
		DOC_ARGS(&o.doc),
		OPT_END
	};
	const struct args a = {
		"pack", "--tokenizer FILE [options] [FILE...]",
		"Turn documents into shards of token ids.",
		"pack --tokenizer tok.json -o train/ docs.jsonl.zst",
		table, NULL
	};
	struct files files = {0};
	struct pack p = {0};
	struct pack_stats sum = {.job = &p.job};
	struct err e = {0};
	int first;

	doc_opts_init(&o.doc);
	first = args_parse(&a, argc, argv);
	if (o.out && !strcmp(o.out, "-"))
		o.out = NULL;
	if (files_add(&files, (const char *const *)argv + first, argc - first,
		      o.doc.files_from, &e))
		die_err(&e);
	check(&a, &o, files.n);
	if (outputs_open(&p, &o, &e) ||
	    pack_job_run(&p.job, files.v, files.n, &e)) {
		outputs_abort(&p);
		die_err(&e);
	}
	sum.seq_len = o.seq_len;
	sum.batch = o.batch;
	sum.vocab = p.vocab->n;
	sum.fingerprint = p.vocab->fingerprint;
	if (outputs_commit(&p, &sum, &e))
		die_err(&e);
	summary(&p, &sum);
	pack_close(&p);
	files_clear(&files);
	return EXIT_OK;
}
