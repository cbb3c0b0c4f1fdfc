/*
 * pack_job.c - documents to token ids to packers
 *
 * A worker encodes each text while it is still in the parser's memory, so
 * that only the lines, ids and counts of a block are kept until it is
 * written.
 */
#include "pack/pack_job.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/progress.h"
#include "record/docpipe.h"

/* Initial room for the ids of a block: few blocks need more. */
enum { IDS = 96 * 1024 };

/* Another value would move documents between the sets: never change it. */
enum { VAL_SEED = 0x76616c };

/* The ids of one block: those of document i end at end[i]. */
struct encoded {
	struct ids ids;
	size_t *end, n, cap;
};

struct run {
	struct pack_job *job;
	struct bpe_enc **enc;		/* one per worker */
	struct buf id;
};

static void
encoded_reset(void *result)
{
	struct encoded *x = result;

	if (!x->ids.cap) {
		x->ids.cap = IDS;
		x->ids.v = xreallocarray(NULL, IDS, sizeof(*x->ids.v));
	}
	x->n = x->ids.n = 0;
}

static void
encoded_clear(void *result)
{
	struct encoded *x = result;

	free(x->ids.v);
	free(x->end);
}

static int
encode_text(const struct run *r, int worker, struct encoded *x,
	    struct span text, struct err *why)
{
	const struct pack_job *j = r->job;
	size_t start = x->ids.n;

	for (size_t i = 0; i < j->front.n; i++)
		ids_add(&x->ids, j->front.id[i]);
	if (bpe_encode(r->enc[worker], text, &x->ids, why) < 0) {
		x->ids.n = start;
		return -1;
	}
	for (size_t i = 0; i < j->back.n; i++)
		ids_add(&x->ids, j->back.id[i]);
	return 0;
}

static int
encode(const struct docpipe_work *w, struct doc *d, struct err *e)
{
	const struct run *r = w->ctx;
	struct encoded *x = w->result;
	struct err why;

	why.set = 0;
	if (!d->bad && encode_text(r, w->worker, x, d->text, &why) < 0 &&
	    docpipe_bad(w, d, why.msg, e) < 0)
		return -1;
	GROW(x->end, x->cap, x->n + 1);
	x->end[x->n++] = x->ids.n;
	return 0;
}

int
pack_job_is_val(struct span id, double frac)
{
	uint64_t hash = XXH3_64bits_withSeed(id.p, id.n, VAL_SEED);

	return (hash >> 11) * 0x1p-53 < frac;
}

static int
pack_docs(void *ctx, struct doc_batch *b, void *result, struct err *e)
{
	struct run *r = ctx;
	struct pack_job *j = r->job;
	const struct encoded *x = result;
	size_t i, at = 0;
	int val;

	for (i = 0; i < b->n; at = x->end[i++]) {
		const struct doc *d = &b->v[i];
		struct span id = doc_id(d, &r->id);

		doc_stats_in(&j->docs, d);
		if (d->bad)
			continue;
		doc_stats_kept(&j->docs, d);
		val = j->val && pack_job_is_val(id, j->val_frac);
		*(val ? &j->val_bytes : &j->train_bytes) += d->text.n;
		if (packer_add(val ? j->val : j->train, id, x->ids.v + at,
			       x->end[i] - at, e))
			return -1;
	}
	return 0;
}

int
pack_job_run(struct pack_job *j, const char *const *files, size_t n,
	     struct err *e)
{
	struct docpipe *docs = docpipe_open(files, n, j->doc, j->threads, 1);
	struct run r = {.job = j};
	const struct docpipe_pass pass = {
		.ctx = &r, .label = "packing", .mode = DOCPIPE_EACH,
		.doc = encode, .write = pack_docs,
		.result_size = sizeof(struct encoded),
		.reset = encoded_reset, .clear = encoded_clear,
	};
	int i, rc;

	r.enc = xcalloc((size_t)j->threads, sizeof(*r.enc));
	for (i = 0; i < j->threads; i++)
		r.enc[i] = bpe_enc_new(j->bpe, 0);
	rc = docpipe_run(docs, &pass, e);
	for (i = 0; i < j->threads; i++)
		bpe_enc_free(r.enc[i]);
	free(r.enc);
	buf_clear(&r.id);
	docpipe_close(docs);
	if (rc == 0)
		rc = packer_finish(j->train, e);
	if (rc == 0 && j->val)
		rc = packer_finish(j->val, e);
	return rc;
}
