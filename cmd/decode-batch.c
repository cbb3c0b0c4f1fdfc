/*
 * decode-batch - what the model sees: windows of shards as text
 *
 * Shards and windows come from record/shard.h, the order of a run from
 * record/order.h: the functions that lm-train calls.  How tokens look is
 * inspect/window_view.h, what is wrong with them inspect/shard_check.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/args.h"
#include "base/output.h"
#include "inspect/view_select.h"
#include "inspect/shard_check.h"
#include "record/rundata.h"

struct options {
	const char *tokenizer, *split, *window, *doc, *run, *out;
	int format, order, ids, targets, json, check, doc_mask;
	int64_t seq_len, random, seed, step, rank, width, batch, repeat, eot;
	double share, rate;
	int has_random, has_step, has_rank;
	int has_format, has_order, has_len, has_seed, has_batch, has_mask;
	const char *const *paths;
	size_t npaths;
	uint64_t first, count;		/* --window */
	struct run_data data;		/* --run */
};

/* What the run says, where no option says otherwise. */
static int
from_run(struct options *o, struct run_data *r, struct err *e)
{
	if (run_data_load(r, o->run, e) < 0)
		return -1;
	if (!o->npaths) {
		o->paths = r->paths;
		o->npaths = r->npaths;
	}
	if (!o->tokenizer) {
		o->tokenizer = r->tokenizer;
		o->split = r->split;
	}
	if (!o->has_format)
		o->format = r->format;
	if (!o->has_order)
		o->order = r->order;
	if (!o->has_len)
		o->seq_len = r->seq_len;
	if (!o->has_seed)
		o->seed = (int64_t)r->seed;
	if (!o->has_batch)
		o->batch = (int64_t)r->batch_size;
	if (!o->has_mask)
		o->doc_mask = r->doc_mask;
	if (!o->has_rank || (uint64_t)o->rank < r->world_size)
		return 0;
	return err_set(e, "%s/config.json: rank %lld asked for, \"world_size\" "
		       "is %llu", o->run, (long long)o->rank,
		       (unsigned long long)r->world_size);
}

/* Rank r of W has samples [r*B/W, (r+1)*B/W) of the step's batch. */
static int
show_step(const struct options *o, struct lookout *w, struct err *e)
{
	uint64_t B = (uint64_t)o->batch, W = o->data.world_size, from = 0, to;

	to = B;
	if (o->has_rank) {
		from = (uint64_t)o->rank * B / W;
		to = ((uint64_t)o->rank + 1) * B / W;
	}
	return lookout_samples(w, (enum order_kind)o->order, (uint64_t)o->seed,
			       (uint64_t)o->step * B + from, to - from, e);
}

/* Status 0 or 1, or -1. */
static int
check(const struct options *o, struct lookout *w, struct err *e)
{
	struct check_opts c;
	struct check_report r;
	int hits;

	check_opts_init(&c);
	c.vocab = w->look.vocab;
	c.T = w->look.T;
	c.batch = (uint64_t)o->batch;
	c.order = (enum order_kind)o->order;
	c.seed = (uint64_t)o->seed;
	c.doc_share = o->share;
	c.max_repeat = (uint64_t)o->repeat;
	c.max_rate = o->rate;
	c.threads = args_common.threads;
	if (check_run(w->look.shards, &c, &r, e) < 0)
		return -1;
	hits = check_report_put(&r, o->json, w->look.wide, &w->buf);
	if (args_common.verbose)
		fprintf(stderr, "decode-batch: %llu tokens, %llu documents, "
			"%llu windows: %d of %d checks found something\n",
			(unsigned long long)r.tokens,
			(unsigned long long)r.docs,
			(unsigned long long)r.windows, hits, CHECK_N);
	check_report_clear(&r);
	if (output_put(w->out, &w->buf, e) < 0)
		return -1;
	return hits ? EXIT_ANSWER : 0;
}

/* ---- wiring ---- */
static struct shards *
open_shards(const struct options *o, const struct vocab *v, struct err *e)
{
	struct shard_hint h;
	struct shards *s;

	shard_hint_init(&h);
	h.format = (enum shard_format)o->format;
	h.width = (uint32_t)o->width;
	h.eos = o->eot;
	if (v) {
		h.vocab = v->n;
		h.bos = v->bos;
		h.eos = o->eot >= 0 ? o->eot : v->eos;
	}
	s = shards_open_hint(o->paths, o->npaths, &h, e);
	if (!s || !o->data.has_hash || shards_info(s)->hash == o->data.hash)
		return s;
	err_set(e, "%s: the shards are not those of the run %s: content "
		"%016llx, trained on %016llx", o->paths[0], o->run,
		(unsigned long long)shards_info(s)->hash,
		(unsigned long long)o->data.hash);
	shards_close(s);
	return NULL;
}

static void
parse_window(struct options *o, const struct args *a)
{
	const char *s = o->window ? o->window : "0", *what;
	int64_t n = 0, count = 1;
	char first[32];
	size_t k = strcspn(s, ":");

	snprintf(first, sizeof(first), "%.*s", (int)k, s);
	if (k >= sizeof(first) || args_int(first, &n, &what) < 0 || n < 0 ||
	    (s[k] && (args_int(s + k + 1, &count, &what) < 0 || count < 1)))
		args_usage(a, "--window %s: expected N or N:COUNT", s);
	o->first = (uint64_t)n;
	o->count = (uint64_t)count;
}

static void
consistent(struct options *o, const struct args *a)
{
	if (!!o->window + !!o->doc + o->has_random + o->has_step + o->check > 1)
		args_usage(a, "--window, --doc, --random, --step and --check "
			   "exclude each other");
	if (o->ids + o->targets > 1 || (o->targets && o->json) ||
	    (o->check && (o->ids || o->targets)))
		args_usage(a, "--ids, --targets, --json and --check: one at a "
			   "time (--json has ids and targets)");
	if (o->has_step && !o->run)
		args_usage(a, "--step needs --run DIR");
	if (o->has_step && (o->has_order || o->has_len || o->has_seed ||
			    o->has_batch || o->has_mask))
		args_usage(a, "--order, --seq-len, --seed, --batch-size and "
			   "--doc-mask are those of the run with --step");
	if (o->has_rank && !o->has_step)
		args_usage(a, "--rank needs --step N");
	if (!o->npaths && !o->run && isatty(STDIN_FILENO))
		args_usage(a, "no FILE, and stdin is a terminal");
}

static int
run(struct options *o, struct err *e)
{
	struct lookout w = {0};
	struct vocab *v = NULL;
	struct shards *s;
	uint32_t T;
	int r = -1;

	w.form = o->json ? LOOK_JSON : o->targets ? LOOK_TARGETS :
		 o->ids ? LOOK_IDS : LOOK_TEXT;
	if (o->run && from_run(o, &o->data, e) < 0)
		return -1;
	if (o->tokenizer && !(v = vocab_load(o->tokenizer, o->split, e)))
		return -1;
	if (!(s = open_shards(o, v, e)))
		return -1;
	if (v && !o->check && shards_info(s)->fingerprint &&
	    shards_info(s)->fingerprint != v->fingerprint &&
	    !args_common.quiet)
		warn("%s: not the tokenizer that the shards were packed with: "
		     "the text may be wrong", o->tokenizer);
	T = o->seq_len ? (uint32_t)o->seq_len : shards_info(s)->seq_len;
	if (T == 0 && !o->check && !o->doc)
		err_set(e, "the shards name no window length: --seq-len must");
	if (e->set || !(w.out = output_open(o->out, e)))
		return -1;
	look_init(&w.look, s, v, T ? T : 1);
	w.look.T = T ? T : 1;
	w.look.doc_mask = o->doc_mask;
	w.look.wide = !o->out && isatty(STDOUT_FILENO);
	look_head(&w.look, w.form, &w.buf);
	r = o->check ? check(o, &w, e) : o->doc ? lookout_doc(&w, o->doc, e) :
	    o->has_step ? show_step(o, &w, e) : o->has_random ?
	    lookout_random(&w, (uint64_t)o->seed, (uint64_t)o->random, e) :
	    lookout_windows(&w, o->first, o->count, e);
	if (r < 0)
		output_abort(w.out);
	else if (output_commit(w.out, e) < 0)
		r = -1;
	look_clear(&w.look);
	buf_clear(&w.buf);
	shards_close(s);
	vocab_free(v);
	run_data_clear(&o->data);
	return r;
}

int
main(int argc, char **argv)
{
	struct options o = {.doc_mask = 1, .batch = 16, .repeat = 100,
		.share = 0.9, .rate = 1e-6, .eot = -1, .seed = 1, .step = -1,
		.rank = -1};
	const struct arg table[] = {
		{NULL, 0, ARG_SECTION, NULL, NULL, "Which", 0, 0, NULL, NULL},
		{"window", 0, ARG_STR, &o.window, "N[:COUNT]",
		 "windows from number N on (0)", 0, 0, NULL, NULL},
		{"doc", 0, ARG_STR, &o.doc, "ID",
		 "the document of this id, whole", 0, 0, NULL, NULL},
		{"random", 0, ARG_INT, &o.random, "N",
		 "N different windows drawn by --seed", 1, 1e15, NULL,
		 &o.has_random},
		{"run", 0, ARG_STR, &o.run, "DIR",
		 "shards, order and tokenizer of a run of lm-train", 0, 0, NULL,
		 NULL},
		{"step", 0, ARG_INT, &o.step, "N",
		 "the batch of this step of the run", 0, 1e15, NULL,
		 &o.has_step},
		{"rank", 0, ARG_INT, &o.rank, "R",
		 "of it, the windows of this rank", 0, 1e6, NULL, &o.has_rank},
		{"check", 0, ARG_FLAG, &o.check, NULL,
		 "look for faults in all documents; status 1 if there are", 0,
		 0, NULL, NULL},
		{NULL, 0, ARG_SECTION, NULL, NULL, "How", 0, 0, NULL, NULL},
		VOCAB_ARGS(&o.tokenizer, &o.split,
			   "tokenizer.json or .tiktoken; without it ids only"),
		{"ids", 0, ARG_FLAG, &o.ids, NULL, "a line of ids a window", 0,
		 0, NULL, NULL},
		{"targets", 0, ARG_FLAG, &o.targets, NULL,
		 "a table of inputs beside their targets", 0, 0, NULL, NULL},
		{"json", 0, ARG_FLAG, &o.json, NULL,
		 "JSON Lines: ids, targets, mask, documents", 0, 0, NULL, NULL},
		{"doc-mask", 0, ARG_BOOL, &o.doc_mask, NULL,
		 "a target in another document does not count", 0, 0, NULL,
		 &o.has_mask},
		{"output", 'o', ARG_STR, &o.out, "FILE",
		 "write there instead of stdout", 0, 0, NULL, NULL},
		{"seed", 0, ARG_INT, &o.seed, "N",
		 "for --random, and the order of --check", 0, 9e15, NULL,
		 &o.has_seed},
		{NULL, 0, ARG_SECTION, NULL, NULL, "Shards", 0, 0, NULL, NULL},
		{"shard-format", 0, ARG_ENUM, &o.format, "NAME",
		 "format of shards without a magic number", 0, 0,
		 shard_read_names, &o.has_format},
		{"seq-len", 0, ARG_INT, &o.seq_len, "N",
		 "tokens a window; 0: as the shards say", 0, 1073741824,
		 NULL, &o.has_len},
		{"id-bytes", 0, ARG_INT, &o.width, "N",
		 "2 or 4 bytes an id in raw files; 0: by index or vocabulary",
		 0, 4, NULL, NULL},
		{"eot", 0, ARG_INT, &o.eot, "ID",
		 "id between documents, for files without an index; -1: EOS "
		 "of the tokenizer", -1, 4294967295.0, NULL, NULL},
		{NULL, 0, ARG_SECTION, NULL, NULL, "Limits of --check", 0, 0,
		 NULL, NULL},
		{"max-rate", 0, ARG_REAL, &o.rate, "X",
		 "U+FFFD and mojibake for each token that are no fault", 0, 1,
		 NULL, NULL},
		{"max-repeat", 0, ARG_INT, &o.repeat, "N",
		 "the same token in a row that is no fault", 1, 1e9, NULL,
		 NULL},
		{"batch-size", 0, ARG_INT, &o.batch, "N",
		 "windows a batch", 1, 1e9, NULL, &o.has_batch},
		{"max-doc-share", 0, ARG_REAL, &o.share, "X",
		 "share of a batch at which one document fills it", 0, 1, NULL,
		 NULL},
		{"order", 0, ARG_ENUM, &o.order, "NAME",
		 "order of the windows in the batches", 0, 0, order_names,
		 &o.has_order},
	};
	const struct args a = {"decode-batch", "[options] [FILE...]",
		"show what a model sees: windows of shards as text",
		.table = table, .n = sizeof(table) / sizeof(*table)};
	struct err e = {0};
	int at = args_parse(&a, argc, argv), r;

	o.paths = (const char *const *)argv + at;
	o.npaths = (size_t)(argc - at);
	if (o.width == 1 || o.width == 3)
		args_usage(&a, "--id-bytes is 2 or 4");
	parse_window(&o, &a);
	consistent(&o, &a);
	if ((r = run(&o, &e)) < 0)
		die_err(&e);
	return r;
}
