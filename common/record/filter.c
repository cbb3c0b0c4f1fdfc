/*
 * filter.c - the outputs of a program that filters documents
 *
 * Lines are written from the block that holds them; output.h combines them
 * into large writes.  A line with a new text has three parts: the bytes before
 * the raw value of --text-key, the new value, the bytes after it.  If a key
 * occurs twice the last counts, so the last is replaced.
 */
#include "record/filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/json.h"
#include "stream/json_scan.h"

struct filter {
	const struct filter_opts *o;
	struct output *out, *report, *stats;
	struct doc_stats docs;
	uint64_t cuts;
	int found;
	struct buf line, marked, id;
};

void
filter_opts_init(struct filter_opts *o)
{
	memset(o, 0, sizeof(*o));
	doc_opts_init(&o->doc);
}

/* --- opening and ending --- */

static int
open_side(struct output **to, const struct filter_opts *o, const char *name,
	  const char *path, struct err *e)
{
	if (!path)
		return 0;
	if (path_is_std(path) && path_is_std(o->output))
		return err_set(e, "%s -: documents go to stdout: give -o FILE",
			       name);
	*to = output_open(path, e);
	return *to ? 0 : -1;
}

struct filter *
filter_open(const struct filter_opts *o, struct err *e)
{
	struct filter *f = xcalloc(1, sizeof(*f));

	f->o = o;
	if (open_side(&f->report, o, "--report", o->doc.report, e) ||
	    open_side(&f->stats, o, "--stats", o->doc.stats, e) ||
	    !(f->out = output_open(o->output, e))) {
		filter_abort(f);
		return NULL;
	}
	return f;
}

static void
filter_free(struct filter *f)
{
	buf_clear(&f->line);
	buf_clear(&f->marked);
	buf_clear(&f->id);
	free(f);
}

void
filter_abort(struct filter *f)
{
	if (!f)
		return;
	output_abort(f->out);
	output_abort(f->report);
	output_abort(f->stats);
	filter_free(f);
}

static int
write_stats(struct filter *f, struct span extra, struct err *e)
{
	struct buf *b = &f->line;

	if (!f->stats)
		return 0;
	buf_reset(b);
	buf_putc(b, '{');
	doc_stats_json(&f->docs, b);
	buf_printf(b, ",\"docs_cut\":%llu", (unsigned long long)f->cuts);
	if (extra.n) {
		buf_putc(b, ',');
		buf_put(b, extra.p, extra.n);
	}
	buf_puts(b, "}\n");
	return output_write(f->stats, b->p, b->n, e);
}

int
filter_commit(struct filter *f, struct span extra, struct err *e)
{
	struct output *all[3];
	size_t n = 0;
	int status;

	if (write_stats(f, extra, e)) {
		filter_abort(f);
		return -1;
	}
	all[n++] = f->out;
	if (f->report)
		all[n++] = f->report;
	if (f->stats)
		all[n++] = f->stats;
	status = f->o->check &&
		(f->docs.docs_dropped || f->cuts || f->found ||
		 !f->docs.docs_in) ? EXIT_ANSWER : EXIT_OK;
	if (output_commit_all(all, n, e))
		status = -1;
	else
		doc_stats_warn(&f->docs, f->o->doc.on_bad == DOC_PASS);
	filter_free(f);
	return status;
}

/* --- documents --- */

static int
put_bad(struct filter *f, const struct doc *d, struct err *e)
{
	int pass = f->o->doc.on_bad == DOC_PASS;
	struct buf *b = &f->line;

	if (f->report) {
		buf_reset(b);
		buf_puts(b, "{\"id\":");
		json_put_str(b, doc_id(d, &f->id));
		buf_printf(b, ",\"action\":\"%s\",\"reason\":\"bad\","
			   "\"why\":", pass ? "pass" : "skip");
		json_put_str(b, span_str(d->why));
		buf_putc(b, '}');
		if (filter_report(f, buf_span(b), e))
			return -1;
	}
	return pass ? output_write(f->out, d->line.p, d->line.n, e) : 0;
}

int
filter_keep(struct filter *f, const struct doc *d, struct err *e)
{
	doc_stats_in(&f->docs, d);
	if (d->bad)
		return put_bad(f, d, e);
	doc_stats_kept(&f->docs, d);
	return output_write(f->out, d->line.p, d->line.n, e);
}

int
filter_drop(struct filter *f, const struct doc *d, struct err *e)
{
	doc_stats_in(&f->docs, d);
	if (d->bad)
		return put_bad(f, d, e);
	doc_stats_dropped(&f->docs, d);
	return 0;
}

/* The line with the text replaced, into out. */
static void
retext(const struct doc *d, const char *text_key, struct span text,
       struct buf *out)
{
	struct span old = json_scan_find(d->line, text_key);
	const char *end = d->line.p + d->line.n;

	buf_reset(out);
	buf_put(out, d->line.p, old.p - d->line.p);
	json_put_str(out, text);
	buf_put(out, old.p + old.n, end - (old.p + old.n));
}

int
filter_cut(struct filter *f, const struct doc *d, struct span text,
	   struct err *e)
{
	struct doc now = *d;

	doc_stats_in(&f->docs, d);
	if (d->bad)
		return put_bad(f, d, e);
	now.text = text;
	now.digest = doc_digest(text);
	doc_stats_kept(&f->docs, &now);
	f->cuts++;
	retext(d, f->o->doc.text_key, text, &f->line);
	return output_write(f->out, f->line.p, f->line.n, e);
}

void
filter_mark(struct filter *f, struct doc *d, const char *key,
	    struct span value)
{
	struct buf *b = &f->marked;
	struct span name, val;
	struct json_walk w;
	size_t n = d->line.n;

	f->found = 1;
	while (d->line.p[n - 1] != '}')
		n--;
	buf_reset(b);
	buf_put(b, d->line.p, n - 1);
	json_walk_open(&w, d->line);
	if (json_walk_next(&w, &name, &val))
		buf_putc(b, ',');
	json_put_str(b, span_str(key));
	buf_putc(b, ':');
	buf_put(b, value.p, value.n);
	buf_put(b, d->line.p + n - 1, d->line.n - n + 1);
	d->line = buf_span(b);
}

/* --- report --- */

int
filter_reports(const struct filter *f)
{
	return f->report != NULL;
}

int
filter_report(struct filter *f, struct span line, struct err *e)
{
	if (!f->report)
		return 0;
	return output_write(f->report, line.p, line.n, e) ||
	       output_write(f->report, "\n", 1, e) ? -1 : 0;
}

void
filter_found(struct filter *f)
{
	f->found = 1;
}

struct doc_stats *
filter_stats(struct filter *f)
{
	return &f->docs;
}

