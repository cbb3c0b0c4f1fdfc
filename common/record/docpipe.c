/*
 * docpipe.c - documents in, parallel work, results out in input order
 *
 * The callbacks of a pass wrapped as those of a pipeline.  Results are kept
 * on a free list, so that in the steady state a pass allocates nothing.
 */
#include "record/docpipe.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/pipeline.h"
#include "base/progress.h"

struct result {
	struct result *next;	/* in the free list */
	alignas(max_align_t) char p[];
};

struct docpipe {
	const char *const *paths;
	size_t npaths;
	struct doc_reader *reader;
	struct doc_parser **parser;	/* [threads] */
	int threads, runs, on_bad;
	const struct docpipe_pass *pass;
	uint64_t next;		/* number of the next document */
	pthread_mutex_t lock;	/* of the free list */
	struct result *free;
};

struct docpipe *
docpipe_open(const char *const *paths, size_t n, const struct doc_opts *o,
	     int threads, int passes)
{
	struct docpipe *p = xcalloc(1, sizeof(*p));
	int i;

	p->paths = paths;
	p->npaths = n;
	p->reader = doc_reader_open(paths, n, o);
	if (passes > 1)
		input_keep(doc_reader_input(p->reader));
	p->threads = threads;
	p->on_bad = o->on_bad;
	p->parser = xcalloc((size_t)threads, sizeof(*p->parser));
	for (i = 0; i < threads; i++)
		p->parser[i] = doc_parser_new(o);
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void
docpipe_close(struct docpipe *p)
{
	int i;

	if (!p)
		return;
	for (i = 0; i < p->threads; i++)
		doc_parser_free(p->parser[i]);
	free(p->parser);
	doc_reader_close(p->reader);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* --- results --- */

static void *
result_new(struct docpipe *p)
{
	struct result *r;

	if (!p->pass->result_size)
		return NULL;
	pthread_mutex_lock(&p->lock);
	r = p->free;
	if (r)
		p->free = r->next;
	pthread_mutex_unlock(&p->lock);
	if (!r)
		r = xcalloc(1, sizeof(*r) + p->pass->result_size);
	if (p->pass->reset)
		p->pass->reset(r->p);
	return r->p;
}

static void
result_release(struct docpipe *p, void *result)
{
	struct result *r;

	if (!result)
		return;
	r = (struct result *)((char *)result - offsetof(struct result, p));
	pthread_mutex_lock(&p->lock);
	r->next = p->free;
	p->free = r;
	pthread_mutex_unlock(&p->lock);
}

static void
results_free(struct docpipe *p)
{
	struct result *r;

	while ((r = p->free)) {
		p->free = r->next;
		if (p->pass->clear)
			p->pass->clear(r->p);
		free(r);
	}
}

/* --- the pipeline --- */

static void *
pipe_read(void *ctx, struct err *e)
{
	struct docpipe *p = ctx;
	struct doc_batch *b = doc_read(p->reader, 0, e);

	if (!b)
		return NULL;
	if (p->pass->label)
		progress_set(input_done(doc_reader_input(p->reader)));
	if (p->pass->mode == DOCPIPE_LINES) {
		doc_lines(b);
		b->first = p->next;
		p->next += b->n;
	}
	return b;
}

int
docpipe_bad(const struct docpipe_work *w, struct doc *d, const char *why,
	    struct err *e)
{
	if (w->on_bad == DOC_FAIL)
		return err_set(e, "%s:%llu: %s", d->file,
			       (unsigned long long)d->lineno, why);
	doc_set_bad(w->batch, d, why);
	return 0;
}

struct each {
	const struct docpipe_work *w;
	const struct docpipe_pass *pass;
	struct doc_batch *b;
	struct err *e;
};

static void
pipe_doc(void *ctx, const struct doc *d)
{
	struct each *s = ctx;

	(void)d;		/* is the next of the batch, const here */
	if (!s->e->set)
		s->pass->doc(s->w, &s->b->v[s->b->n], s->e);
}

/* An error of doc() is of an earlier document than the parser's. */
static int
parse(const struct docpipe_work *w, const struct docpipe_pass *pass,
      struct doc_batch *b, struct err *e)
{
	struct each s = {w, pass, b, e};
	struct err fault = {0};
	size_t i;
	int bad;

	if (pass->mode == DOCPIPE_EACH) {
		bad = doc_parse_each(w->parser, b, pipe_doc, &s, &fault);
	} else {
		bad = doc_parse(w->parser, b, &fault);
		for (i = 0; pass->doc && !e->set && i < b->n; i++)
			pass->doc(w, &b->v[i], e);
	}
	if (bad && !e->set)
		*e = fault;
	return e->set ? -1 : 0;
}

static int
pipe_work(void *ctx, void *item, int worker, struct err *e)
{
	struct docpipe *p = ctx;
	const struct docpipe_pass *pass = p->pass;
	struct doc_batch *b = item;
	const struct docpipe_work w = {
		pass->ctx, b->user = result_new(p), p->parser[worker], worker,
		b, p->on_bad
	};

	if (pass->mode != DOCPIPE_LINES && parse(&w, pass, b, e))
		return -1;
	return pass->block ? pass->block(&w, b, e) : 0;
}

static int
pipe_write(void *ctx, void *item, struct err *e)
{
	struct docpipe *p = ctx;
	struct doc_batch *b = item;

	if (p->pass->mode != DOCPIPE_LINES) {
		b->first = p->next;
		p->next += b->n;
	}
	return p->pass->write(p->pass->ctx, b, b->user, e);
}

static void
pipe_drop(void *ctx, void *item)
{
	struct doc_batch *b = item;

	result_release(ctx, b->user);
	doc_batch_free(b);
}

static void
warn_empty(const struct docpipe *p)
{
	if (p->npaths > 1)
		warn("no documents in %zu files, the first is %s", p->npaths,
		     p->paths[0]);
	else
		warn("%s: no documents", !p->npaths ||
		     path_is_std(p->paths[0]) ? "<stdin>" : p->paths[0]);
}

int
docpipe_run(struct docpipe *p, const struct docpipe_pass *pass,
	    struct err *e)
{
	const struct pipeline pipe = {
		p, pipe_read, pipe_work, pipe_write, pipe_drop
	};
	struct input *in = doc_reader_input(p->reader);
	int r;

	if (p->runs++ && input_rewind(in, e))
		return -1;
	p->pass = pass;
	p->next = 0;
	if (pass->label)
		progress_start(pass->label, "B", input_total(in));
	r = pipeline_run(&pipe, p->threads, e);
	if (pass->label)
		progress_stop();
	results_free(p);
	if (r == 0)
		r = input_same(in, e);
	if (r == 0 && p->runs == 1 && !p->next)
		warn_empty(p);
	return r;
}
