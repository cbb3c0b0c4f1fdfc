/*
 * decode-batch - show what a model sees by decoding windows of shards
 *
 * Shards and windows come from record/shard.h, the order of a run from
 * order/plan.h, as in lm-train.  inspect/window_view.h displays them,
 * inspect/shard_check.h checks them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/args.h"
#include "base/mem.h"
#include "inspect/run_data.h"
#include "inspect/shard_check.h"
#include "inspect/view_select.h"
#include "stream/output.h"

struct options {
	const char *tokenizer, *split, *window, *doc, *run, *out;
	int format, order, ids, targets, json, check, doc_mask;
	int64_t seq_len, random, seed, step, rank, batch, repeat, eot, places;
	double doc_frac, rate;
	int has_places, has_random, has_step, has_rank, ahead;
	int id_bytes, has_order, has_len, has_seed, has_batch, has_mask;
	const char *const *paths;
	size_t npaths;
	uint64_t first, count;		/* --window */
	struct run_data data;		/* --run */
	struct plan_part part;		/* batches; borrows data */
};

/* All files are one set of shards, or each is a source of a mixture. */
struct sources {
	struct shards **v;
	size_t n;
};

/* Only steps that were trained, unless --ahead. */
static int
check_step(const struct options *o, struct err *e)
{
	int64_t last = o->data.last_step;

	if (o->ahead || o->step <= last)
		return 0;
	if (last < 0)
		return err_set(e, "%s/train.jsonl: no step was trained yet"
			       " (--ahead shows what step %lld will see)",
			       o->run, (long long)o->step);
	return err_set(e, "%s/train.jsonl: step %lld was not trained, the last"
		       " one is %lld (--ahead shows what a later step would"
		       " see)", o->run, (long long)o->step, (long long)last);
}

/*
 * A step of a mixture needs all sources.  Otherwise windows are those of one
 * source, which must be one of the run.
 */
static int
choose_sources(struct options *o, struct err *e)
{
	const struct plan_part *p = &o->part;

	if (!p->mix || (o->has_step && o->npaths == p->mix->n))
		return 0;
	if (o->has_step)
		return err_set(e, "run %s mixes %zu sources, but there are %zu"
			       " FILEs: name all, in their order", o->run,
			       p->mix->n, o->npaths);
	if (o->paths == (const char *const *)p->data)
		return err_set(e, "run %s mixes %zu sources: name one as FILE,"
			       " such as %s", o->run, p->mix->n, p->data[0]);
	return 0;
}

/* Values of the run, unless options override them. */
static int
from_run(struct options *o, struct run_data *r, struct err *e)
{
	const struct plan_part *p;

	if (run_data_load(r, o->run, e) < 0 ||
	    (o->has_step && check_step(o, e) < 0))
		return -1;
	p = plan_at(&r->plan, o->has_step ? (uint64_t)o->step : UINT64_MAX);
	o->part = *p;
	if (!o->npaths) {
		o->paths = (const char *const *)p->data;
		o->npaths = p->ndata;
	}
	if (!o->tokenizer) {
		o->tokenizer = r->tokenizer;
		o->split = r->split;
	}
	if (!args_given("shard-format"))
		o->format = p->format;
	if (!args_given("id-bytes"))
		o->id_bytes = p->id_bytes;
	if (!o->has_order)
		o->order = p->order;
	if (!o->has_len)
		o->seq_len = p->seq_len;
	if (!o->has_seed)
		o->seed = (int64_t)p->seed;
	if (!o->has_batch)
		o->batch = (int64_t)p->batch_size;
	if (!o->has_mask)
		o->doc_mask = p->doc_mask;
	if (o->has_order || o->has_len || o->has_seed || o->has_batch)
		o->part.step = o->part.sample = 0;
	if (choose_sources(o, e) < 0)
		return -1;
	if (!o->has_rank || (uint64_t)o->rank < r->world_size)
		return 0;
	return err_set(e, "%s/config.json: no rank %lld: \"world_size\" "
		       "is %llu", o->run, (long long)o->rank,
		       (unsigned long long)r->world_size);
}

/* After the shards are open. */
static void
set_batches(struct options *o, const struct shards *s, uint32_t T)
{
	o->part.order = (enum order_kind)o->order;
	o->part.seed = (uint64_t)o->seed;
	o->part.batch_size = (uint64_t)o->batch;
	o->part.seq_len = T;
	if (!o->part.mix)
		o->part.windows = shards_windows(s, T);
}

/* Rank r of W has windows [r*B/W, (r+1)*B/W) of the step's batch. */
static int
show_step(const struct options *o, const struct sources *s,
	  struct view_select *w, struct err *e)
{
	uint64_t B = o->part.batch_size, W = o->data.world_size, from = 0;
	uint64_t to = B;

	if (o->has_rank) {
		from = (uint64_t)o->rank * B / W;
		to = ((uint64_t)o->rank + 1) * B / W;
	}
	return view_select_step(w, &o->part, s->v, (uint64_t)o->step, from, to,
				e);
}

/* Status 0 or 1, or -1. */
static int
check(const struct options *o, struct view_select *w, struct err *e)
{
	struct shard_check_opts c;
	struct shard_check_report r;
	struct shard_check_listing how = {w->out, o->json, w->view.wide, 0};
	int hits;

	shard_check_opts_init(&c);
	c.vocab = w->view.vocab;
	c.T = w->view.T;
	c.batches = o->part;
	c.doc_frac = o->doc_frac;
	c.max_repeat = (uint64_t)o->repeat;
	c.max_rate = o->rate;
	c.threads = args_common.threads;
	if (shard_check_run(w->view.shards, &c, &r, e) < 0)
		return -1;
	hits = shard_check_report_put(&r, o->json, w->view.wide, &w->buf);
	if (args_common.verbose)
		fprintf(stderr, "decode-batch: %llu tokens, %llu documents, "
			"%llu windows: %d of %d checks failed\n",
			(unsigned long long)r.tokens,
			(unsigned long long)r.docs,
			(unsigned long long)r.windows, hits, CHECK_N);
	how.max = o->json && !o->has_places ? UINT64_MAX : (uint64_t)o->places;
	if (output_put(w->out, &w->buf, e) < 0 ||
	    shard_check_list(&r, &how, e) < 0)
		hits = -1;
	shard_check_report_clear(&r);
	return hits > 0 ? EXIT_ANSWER : hits;
}

/* ---- wiring ---- */

/* The shards are not those of the run, or of one of its steps. */
static int
other_shards(const struct options *o, const char *path, uint64_t hash,
	     uint64_t expected, struct err *e)
{
	char step[40] = "";

	if (o->has_step)
		snprintf(step, sizeof step, "step %lld of ",
			 (long long)o->step);
	return err_set(e, "%s: not the shards that %srun %s was trained on:"
		       " content hash %016llx, expected %016llx", path, step,
		       o->run, (unsigned long long)hash,
		       (unsigned long long)expected);
}

/* Is it what the run was trained on?  paths: those of s; i: its number. */
static int
check_hash(const struct options *o, const struct shards *s,
	   const char *const *paths, size_t i, struct err *e)
{
	const struct mixture *m = o->part.mix;
	uint64_t is = shards_info(s)->hash, expected = o->part.hash;
	size_t k;

	if (m && !o->has_step) {
		for (k = 0; k < m->n; k++)
			if (m->v[k].hash == is)
				return 0;
		return err_set(e, "%s: not a source of run %s: content hash"
			       " %016llx", paths[0], o->run,
			       (unsigned long long)is);
	}
	if (m)
		expected = m->v[i].hash;
	return !expected || is == expected ? 0 :
		other_shards(o, paths[0], is, expected, e);
}

/* Name the step whose shards are gone. */
static void
add_step(const struct options *o, struct err *e)
{
	struct err why = *e;

	if (!o->has_step)
		return;
	*e = (struct err){0};
	err_set(e, "%s (step %lld of run %s was trained on these shards)",
		why.msg, (long long)o->step, o->run);
}

static struct shards *
open_shards(const struct options *o, const struct vocab *v,
	    const char *const *paths, size_t npaths, size_t i, struct err *e)
{
	struct shard_hint h;
	struct shards *s;

	shard_hint_init(&h);
	h.format = (enum shard_format)o->format;
	h.id_bytes = o->id_bytes;
	h.eos = o->eot;
	if (v) {
		h.vocab = v->n;
		h.bos = v->bos;
		h.eos = o->eot >= 0 ? o->eot : v->eos;
	}
	s = shards_open_hint(paths, npaths, &h, e);
	if (!s)
		add_step(o, e);
	if (!s || check_hash(o, s, paths, i, e) == 0)
		return s;
	shards_close(s);
	return NULL;
}

static void
warn_if_other(const struct options *o, const struct shards *s,
	      const struct vocab *v)
{
	uint64_t packed = shards_info(s)->fingerprint;

	if (v && !o->check && packed && packed != v->fingerprint)
		warn("%s: the shards were packed with another tokenizer: the "
		     "text may be wrong", o->tokenizer);
}

static void
close_sources(struct sources *s)
{
	while (s->n)
		shards_close(s->v[--s->n]);
	free(s->v);
}

static int
open_sources(const struct options *o, const struct vocab *v,
	     struct sources *s, struct err *e)
{
	int one = !o->part.mix || !o->has_step;
	size_t n = one ? 1 : o->part.mix->n;

	s->v = xcalloc(n, sizeof *s->v);
	for (; s->n < n; s->n++) {
		s->v[s->n] = open_shards(o, v, o->paths + s->n,
					 one ? o->npaths : 1, s->n, e);
		if (!s->v[s->n])
			return -1;
		warn_if_other(o, s->v[s->n], v);
	}
	return 0;
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
	args_check(a);
	if (!o->npaths && !o->run && isatty(STDIN_FILENO))
		args_usage(a, "no FILE, and stdin is a terminal");
}

/* What the options ask for: 0, 1 or -1. */
static int
show(const struct options *o, const struct sources *s, struct view_select *w,
     struct err *e)
{
	if (o->check)
		return check(o, w, e);
	if (o->doc)
		return view_select_doc(w, o->doc, e);
	if (o->has_step)
		return show_step(o, s, w, e);
	if (o->has_random)
		return view_select_random(w, (uint64_t)o->seed,
					  (uint64_t)o->random, e);
	return view_select_windows(w, o->first, o->count, e);
}

static int
run(struct options *o, struct err *e)
{
	struct view_select w = {0};
	struct vocab *v = NULL;
	struct sources all = {0};
	const struct shards *s;
	uint32_t T;
	int r = -1;

	w.form = o->json ? VIEW_JSON : o->targets ? VIEW_TARGETS :
		 o->ids ? VIEW_IDS : VIEW_TEXT;
	if (o->run && from_run(o, &o->data, e) < 0)
		return -1;
	if (o->tokenizer && !(v = vocab_load(o->tokenizer, o->split, e)))
		return -1;
	if (open_sources(o, v, &all, e) < 0)
		return -1;
	s = all.v[0];
	if (!o->has_step)
		o->part.mix = NULL;
	T = o->seq_len ? (uint32_t)o->seq_len : shards_info(s)->seq_len;
	if (T == 0 && !o->check && !o->doc)
		err_set(e, "the shards have no window length: give --seq-len");
	if (e->set || !(w.out = output_open(o->out, e)))
		return -1;
	window_view_init(&w.view, s, v, T ? T : 1);
	w.view.doc_mask = o->doc_mask;
	set_batches(o, s, T);
	w.view.wide = !o->out && isatty(STDOUT_FILENO);
	if (o->part.mix)
		w.view.source = o->part.data[0];
	window_view_heading(&w.view, w.form, &w.buf);
	r = show(o, &all, &w, e);
	if (r < 0)
		output_abort(w.out);
	else if (output_commit(w.out, e) < 0)
		r = -1;
	window_view_clear(&w.view);
	buf_clear(&w.buf);
	close_sources(&all);
	vocab_free(v);
	run_data_clear(&o->data);
	return r;
}

int
main(int argc, char **argv)
{
	struct options o = {.doc_mask = 1, .batch = 16, .repeat = 100,
		.doc_frac = 0.9, .rate = 1e-6, .eot = -1, .seed = 1, .step = -1,
		.rank = -1, .places = 10};
	const struct arg table[] = {
		OPT_GROUP("What to show"),
		OPT_STR("window", &o.window, "N[:COUNT]",
			"COUNT windows starting at window N [0:1]"),
		OPT_STR("doc", &o.doc, "ID",
			"The whole document with this id"),
		OPT_INT("random", &o.random, "N", 1, 1e15,
			"N distinct windows, chosen at random, see --seed",
			.given = &o.has_random),
		OPT_STR("run", &o.run, "DIR",
			"Shards, order and tokenizer of an lm-train run"),
		OPT_INT("step", &o.step, "N", 0, 1e15,
			"The batch of this step of the run",
			.given = &o.has_step, .of = "run"),
		OPT_FLAG("ahead", &o.ahead,
			 "Also a step that the run has not reached",
			 .of = "step"),
		OPT_INT("rank", &o.rank, "R", 0, 1e6,
			"Only the windows of data-parallel rank R",
			.given = &o.has_rank, .of = "step"),
		OPT_FLAG("check", &o.check,
			 "Check all documents; status 1 if any check fails"),
		OPT_GROUP("Format"),
		VOCAB_ARGS(&o.tokenizer, &o.split,
			   "tokenizer.json or .tiktoken; without it, ids"),
		OPT_FLAG("ids", &o.ids, "One line of ids per window"),
		OPT_FLAG("targets", &o.targets,
			 "A table of inputs and targets"),
		OPT_FLAG("json", &o.json,
			 "JSON Lines: ids, targets, mask, documents"),
		OPT_BOOL("doc-mask", &o.doc_mask,
			 "Mask targets outside the document of their input",
			 .given = &o.has_mask),
		OPT_STR("output", &o.out, "FILE",
			"Write to FILE instead of stdout", .letter = 'o',
			.brief = 1),
		OPT_GROUP("Shards"),
		SHARD_ARGS(&o.format, &o.id_bytes, .brief = 1),
		OPT_INT("seq-len", &o.seq_len, "N", 0, 1073741824,
			"Tokens per window; 0: as packed",
			.given = &o.has_len),
		OPT_INT("eot", &o.eot, "ID", -1, 4294967295.0,
			"Id between documents, for files without an index"),
		OPT_GROUP("Order, and limits of --check"),
		OPT_INT("seed", &o.seed, "N", 0, 9e15,
			"Seed of --random and of the order",
			.given = &o.has_seed, .of = "random check step"),
		OPT_ENUM("order", &o.order, "NAME", order_names,
			 "Order of the windows in batches",
			 .given = &o.has_order, .of = "check step"),
		OPT_INT("batch-size", &o.batch, "N", 1, 1e9,
			"Windows per batch", .given = &o.has_batch,
			.of = "check step"),
		OPT_REAL("max-rate", &o.rate, "X", 0, 1,
			 "Maximum rate of U+FFFD and mojibake, per token",
			 .of = "check"),
		OPT_INT("max-repeat", &o.repeat, "N", 1, 1e9,
			"Longest accepted run of one token", .of = "check"),
		OPT_INT("max-findings", &o.places, "N", 0, 9e15,
			"Places listed per check; with --json, default all",
			.given = &o.has_places, .of = "check"),
		OPT_REAL("max-doc-frac", &o.doc_frac, "X", 0, 1,
			 "Report a document with this share of a batch",
			 .of = "check"),
		OPT_END
	};
	static const char *const exclude[] = {
		"window doc random step check", "targets: ids json",
		"check: ids targets",
		"step: order seq-len seed batch-size doc-mask no-doc-mask",
		NULL
	};
	const struct args a = {
		"decode-batch", "[options] [FILE...]",
		"Show what a model sees by decoding windows of shards.",
		"decode-batch --tokenizer tokenizer.json --window 0:2 train/",
		table, exclude
	};
	struct err e = {0};
	int at = args_parse(&a, argc, argv), r;

	o.paths = (const char *const *)argv + at;
	o.npaths = (size_t)(argc - at);
	parse_window(&o, &a);
	consistent(&o, &a);
	if ((r = run(&o, &e)) < 0)
		die_err(&e);
	return r;
}
