/*
 * pack_job.c - documents to ids to packers
 *
 * A worker encodes each text while it is still in the parser's memory, so
 * that of a block only lines, ids and counts are kept until it is written.
 * Those buffers go round on a free list.
 */
#include "pack/pack_job.h"

#include <pthread.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/pipeline.h"
#include "base/progress.h"

/* Room for the ids of most blocks, so that few of them have to grow. */
enum { IDS = 96 * 1024 };

/* Another value would move documents between the sets: never change it. */
enum { VAL_SEED = 0x76616c };

/* The ids of one block: document i of the batch ends at end[i]. */
struct encoded {
	struct ids ids;
	size_t *end, n, cap;
	struct encoded *next;
};

struct run {
	struct packjob *job;
	struct doc_reader *reader;
	struct doc_parser **parser;	/* one a worker */
	struct bpe_enc **enc;
	pthread_mutex_t lock;		/* of the free list */
	struct encoded *free;
	struct buf id;
};

/* What a worker fills while it parses a block. */
struct work {
	const struct packjob *job;
	struct bpe_enc *enc;
	struct encoded *x;
};

static void *
job_read(void *ctx, struct err *e)
{
	struct run *r = ctx;
	struct doc_batch *b = doc_read(r->reader, 0, e);

	if (b)
		progress_set(input_done(doc_reader_input(r->reader)));
	return b;
}

static struct encoded *
encoded_new(struct run *r)
{
	struct encoded *x;

	pthread_mutex_lock(&r->lock);
	x = r->free;
	if (x)
		r->free = x->next;
	pthread_mutex_unlock(&r->lock);
	if (!x) {
		x = xcalloc(1, sizeof(*x));
		x->ids.cap = IDS;
		x->ids.v = xreallocarray(NULL, IDS, sizeof(*x->ids.v));
	}
	x->n = x->ids.n = 0;
	return x;
}

static void
encode(void *ctx, const struct doc *d)
{
	struct work *w = ctx;
	struct encoded *x = w->x;

	if (!d->bad) {
		if (w->job->bos >= 0)
			ids_add(&x->ids, w->job->bos);
		bpe_encode(w->enc, d->text, &x->ids);
		if (w->job->eos >= 0)
			ids_add(&x->ids, w->job->eos);
	}
	if (x->n == x->cap) {
		x->cap = x->cap ? 2 * x->cap : 256;
		x->end = xreallocarray(x->end, x->cap, sizeof(*x->end));
	}
	x->end[x->n++] = x->ids.n;
}

static int
job_work(void *ctx, void *item, int worker, struct err *e)
{
	struct run *r = ctx;
	struct doc_batch *b = item;
	struct work w = {r->job, r->enc[worker], encoded_new(r)};

	b->user = w.x;
	return doc_parse_each(r->parser[worker], b, encode, &w, e);
}

int
packjob_is_val(struct span id, double frac)
{
	uint64_t hash = XXH3_64bits_withSeed(id.p, id.n, VAL_SEED);

	return (hash >> 11) * 0x1p-53 < frac;
}

static void
bad_line(struct packjob *j, const struct doc *d)
{
	if (!j->first_bad.n)
		buf_printf(&j->first_bad, "%s:%llu: %s", d->file,
			   (unsigned long long)d->lineno, d->why);
}

static int
job_write(void *ctx, void *item, struct err *e)
{
	struct run *r = ctx;
	struct packjob *j = r->job;
	const struct doc_batch *b = item;
	const struct encoded *x = b->user;
	size_t i, at = 0;
	int val;

	for (i = 0; i < b->n; at = x->end[i++]) {
		const struct doc *d = &b->v[i];
		struct span id = doc_id(d, &r->id);

		doc_stats_in(&j->docs, d);
		if (d->bad) {
			bad_line(j, d);
			continue;
		}
		doc_stats_kept(&j->docs, d);
		val = j->val && packjob_is_val(id, j->val_frac);
		*(val ? &j->val_bytes : &j->train_bytes) += d->text.n;
		if (packer_add(val ? j->val : j->train, id, x->ids.v + at,
			       x->end[i] - at, e))
			return -1;
	}
	return 0;
}

static void
job_drop(void *ctx, void *item)
{
	struct run *r = ctx;
	struct doc_batch *b = item;
	struct encoded *x = b->user;

	if (x) {
		pthread_mutex_lock(&r->lock);
		x->next = r->free;
		r->free = x;
		pthread_mutex_unlock(&r->lock);
	}
	doc_batch_free(b);
}

static void
run_open(struct run *r, struct packjob *j, const char *const *files, size_t n)
{
	int i;

	r->job = j;
	pthread_mutex_init(&r->lock, NULL);
	r->reader = doc_reader_open(files, n, j->doc);
	r->parser = xcalloc(j->threads, sizeof(*r->parser));
	r->enc = xcalloc(j->threads, sizeof(*r->enc));
	for (i = 0; i < j->threads; i++) {
		r->parser[i] = doc_parser_new(j->doc);
		r->enc[i] = bpe_enc_new(j->bpe, 0);
	}
}

static void
run_close(struct run *r)
{
	struct encoded *x, *next;
	int i;

	for (i = 0; i < r->job->threads; i++) {
		doc_parser_free(r->parser[i]);
		bpe_enc_free(r->enc[i]);
	}
	free(r->parser);
	free(r->enc);
	for (x = r->free; x; x = next) {
		next = x->next;
		free(x->ids.v);
		free(x->end);
		free(x);
	}
	doc_reader_close(r->reader);
	buf_clear(&r->id);
	pthread_mutex_destroy(&r->lock);
}

int
packjob_run(struct packjob *j, const char *const *files, size_t n,
	    struct err *e)
{
	struct run r = {0};
	const struct pipeline pipe = {
		&r, job_read, job_work, job_write, job_drop
	};
	int rc;

	run_open(&r, j, files, n);
	progress_start("packing", "B",
		       input_total(doc_reader_input(r.reader)));
	rc = pipeline_run(&pipe, j->threads, e);
	run_close(&r);
	if (rc == 0)
		rc = packer_finish(j->train, e);
	if (rc == 0 && j->val)
		rc = packer_finish(j->val, e);
	progress_stop();
	return rc;
}
