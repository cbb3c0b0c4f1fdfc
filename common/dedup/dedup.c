/*
 * dedup.c - the job of dedup: its passes in order
 */
#include "dedup/dedup.h"

#include <stdlib.h>

#include "base/mem.h"
#include "dedup/dedup_priv.h"

static int
job_open(struct dedup *d, const struct dedup_opts *o,
	 const char *const *files, size_t n, struct err *e)
{
	/* spans have the other half */
	size_t mem = (size_t)(o->spans ? o->mem / 2 : o->mem);

	d->o = o;
	dedup_corpus_open(&d->corpus, o, files, n);
	d->worker = xcalloc((size_t)o->threads, sizeof(*d->worker));
	d->mh = minhash_new(&o->mh);
	dedup_members_open(&d->members, mem);
	dedup_pairs_open(&d->pairs, o, &d->corpus, mem);
	d->names.spool = spool_new(mem / 16);
	if (dedup_passages_room(o, files, n, e) ||
	    dedup_loops_open(&d->loops, o, e) ||
	    dedup_passages_open(&d->passages, o, e))
		return -1;
	return o->apply ? dedup_apply_load(&d->applied, o, e) : 0;
}

static void
worker_clear(struct worker *w)
{
	shingles_clear(&w->sh);
	buf_clear(&w->fold);
	buf_clear(&w->nfc);
	if (w->json)
		json_reader_free(w->json);
	dedup_loops_scratch_clear(&w->loops);
	dedup_passages_scratch_clear(&w->passages);
}

static void
job_clear(struct dedup *d)
{
	int i;

	for (i = 0; i < d->o->threads; i++)
		worker_clear(&d->worker[i]);
	free(d->worker);
	minhash_free(d->mh);
	dedup_clusters_clear(&d->clusters);
	dedup_pairs_clear(&d->pairs);
	dedup_apply_clear(&d->applied);
	dedup_members_clear(&d->members);
	dedup_table_clear(&d->texts);
	dedup_passages_clear(&d->passages);
	dedup_loops_clear(&d->loops);
	spool_free(d->names.spool);
	buf_clear(&d->names.line);
	dedup_corpus_clear(&d->corpus);
}

static int
compare(struct dedup *d, struct err *e)
{
	if (dedup_members_find(&d->members, &d->corpus, d->apart, e))
		return -1;
	dedup_pairs_start(&d->pairs, &d->members);
	return dedup_compare(d, e);
}

/* All passes but the last. */
static int
find(struct dedup *d, struct err *e)
{
	int r;

	d->apart = d->o->exact && !d->o->drop_all &&
		d->o->keep == DEDUP_KEEP_FIRST;
	if (dedup_scan(d, e) ||
	    dedup_passages_find(&d->passages, &d->corpus, e))
		return -1;
	r = compare(d, e);
	if (r > 0) {
		d->apart = 0;
		dedup_table_clear(&d->texts);
		union_find_clear(&d->pairs.near);
		dedup_members_restart(&d->members, &d->corpus);
		r = compare(d, e);
	}
	return r || dedup_join(d, e) ? -1 : 0;
}

int
dedup_run(const struct dedup_opts *o, const char *const *files, size_t n,
	  struct err *e)
{
	struct dedup d = {.o = o};
	struct filter *f = NULL;
	int status = job_open(&d, o, files, n, e);

	if (!status) {
		f = filter_open(&o->filter, e);
		status = f ? 0 : -1;
	}
	if (!status) {
		d.reports = filter_reports(f);
		status = find(&d, e);
		if (status)
			filter_abort(f);
		else
			status = dedup_write(&d, f, e);
	}
	job_clear(&d);
	return status;
}
