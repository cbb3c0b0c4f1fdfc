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

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/json.h"
#include "stream/json_scan.h"
#include "stream/mirror.h"

enum { SOURCES_MAX = 100000, SOURCE_LONGEST = 4096 };

/* Counts of a source. */
struct source {
	char *name;		/* NULL: documents without one, and bad lines */
	size_t n;
	uint64_t in, kept, dropped, bad, cut, found, bytes_in, bytes_kept;
};

struct filter {
	const struct filter_opts *o;
	struct output *out;	/* both NULL: documents are not written */
	struct mirror *mirror;
	struct output *stats;
	struct findings findings;
	struct doc_stats docs;
	uint64_t cuts;
	int found, found_now;	/* ever; in the next document */
	struct source *source;	/* in order of appearance */
	size_t nsource, sourcecap;
	uint32_t *slot;		/* number + 1, by hash */
	size_t mask;
	struct source *now;	/* of the current document, or NULL */
	struct buf line, marked, id;
};

void
filter_opts_init(struct filter_opts *o)
{
	memset(o, 0, sizeof(*o));
	doc_opts_init(&o->doc);
}

/* --- findings --- */

int
filter_only_checks(const struct filter_opts *o)
{
	return o->check && !o->output;
}

int
findings_open(struct findings *x, const struct filter_opts *o, struct err *e)
{
	int shown = filter_only_checks(o);
	const char *path = o->doc.report;

	*x = (struct findings){{NULL, NULL}};
	if (path && !(shown && path_is_std(path)) &&
	    !(x->to[0] = output_open(path, e)))
		return -1;
	return shown && !(x->to[1] = output_open(NULL, e)) ? -1 : 0;
}

int
findings_any(const struct findings *x)
{
	return x->to[0] || x->to[1];
}

int
findings_put(struct findings *x, struct span line, struct err *e)
{
	int i;

	for (i = 0; i < 2; i++)
		if (x->to[i] && (output_write(x->to[i], line.p, line.n, e) ||
				 output_write(x->to[i], "\n", 1, e)))
			return -1;
	return 0;
}

size_t
findings_move(struct findings *x, struct output **all, size_t n)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (x->to[i])
			all[n++] = x->to[i];
		x->to[i] = NULL;
	}
	return n;
}

void
findings_abort(struct findings *x)
{
	output_abort(x->to[0]);
	output_abort(x->to[1]);
	*x = (struct findings){{NULL, NULL}};
}

/* --- opening and ending --- */

/* Two things must not go to stdout. */
static int
check_std(const struct filter_opts *o, const char *name, const char *path,
	  struct err *e)
{
	if (!path || !path_is_std(path) || !path_is_std(o->output))
		return 0;
	return err_set(e, "%s and %s cannot both go to stdout: give -o "
		       "FILE", name,
		       filter_only_checks(o) ? "findings" : "documents");
}

static int
open_docs(struct filter *f, struct err *e)
{
	const struct filter_opts *o = f->o;

	if (filter_only_checks(o))
		return 0;
	if (mirror_wanted(o->output))
		f->mirror = mirror_open(o->output, o->files, o->nfiles,
					o->refs, o->nrefs, e);
	else
		f->out = output_open(o->output, e);
	return f->mirror || f->out ? 0 : -1;
}

struct filter *
filter_open(const struct filter_opts *o, struct err *e)
{
	struct filter *f = xcalloc(1, sizeof(*f));

	f->o = o;
	if ((!filter_only_checks(o) &&
	     check_std(o, "report", o->doc.report, e)) ||
	    check_std(o, "stats", o->doc.stats, e) ||
	    findings_open(&f->findings, o, e) ||
	    (o->doc.stats && !(f->stats = output_open(o->doc.stats, e))) ||
	    open_docs(f, e)) {
		filter_abort(f);
		return NULL;
	}
	return f;
}

static void
filter_free(struct filter *f)
{
	size_t i;

	for (i = 0; i < f->nsource; i++)
		free(f->source[i].name);
	free(f->source);
	free(f->slot);
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
	mirror_abort(f->mirror);
	findings_abort(&f->findings);
	output_abort(f->stats);
	filter_free(f);
}

static void
put_sources(const struct filter *f, struct buf *b)
{
	size_t i;

	json_put_key(b, "sources");
	buf_putc(b, '[');
	for (i = 0; i < f->nsource; i++) {
		const struct source *s = &f->source[i];

		buf_puts(b, i ? ",{" : "{");
		json_put_key(b, "source");
		if (s->name)
			json_put_str(b, (struct span){s->name, s->n});
		else
			buf_puts(b, "null");
		json_put_key_uint(b, "docs_in", s->in);
		json_put_key_uint(b, "docs_kept", s->kept);
		json_put_key_uint(b, "docs_dropped", s->dropped);
		json_put_key_uint(b, "docs_bad", s->bad);
		json_put_key_uint(b, "docs_cut", s->cut);
		json_put_key_uint(b, "docs_found", s->found);
		json_put_key_uint(b, "bytes_in", s->bytes_in);
		json_put_key_uint(b, "bytes_kept", s->bytes_kept);
		buf_putc(b, '}');
	}
	buf_putc(b, ']');
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
	if (f->o->source_key)
		put_sources(f, b);
	buf_puts(b, "}\n");
	return output_write(f->stats, b->p, b->n, e);
}

/* All bytes to the device, then all names. */
static int
commit(struct filter *f, struct err *e)
{
	struct output *all[4];
	struct mirror *m = f->mirror;
	size_t n = 0, i;
	int bad = 0;

	if (f->out)
		all[n++] = f->out;
	n = findings_move(&f->findings, all, n);
	if (f->stats)
		all[n++] = f->stats;
	for (i = 0; i < n && m && !bad; i++)
		bad = output_finish(all[i], e);
	if (bad)
		mirror_abort(m);
	else if (m)
		bad = mirror_commit(m, e);
	if (!bad)
		return output_commit_all(all, n, e);
	for (i = 0; i < n; i++)
		output_abort(all[i]);
	return -1;
}

int
filter_commit(struct filter *f, struct span extra, struct err *e)
{
	int status;

	if (write_stats(f, extra, e)) {
		filter_abort(f);
		return -1;
	}
	status = f->o->check &&
		(f->docs.docs_dropped || f->cuts || f->found ||
		 !f->docs.docs_in) ? EXIT_ANSWER : EXIT_OK;
	if (commit(f, e))
		status = -1;
	else
		doc_stats_warn(&f->docs, f->o->doc.on_bad == DOC_PASS);
	filter_free(f);
	return status;
}

/* --- sources --- */

static size_t
slot_of(const struct filter *f, const char *name, size_t n)
{
	size_t at = name ? (size_t)XXH3_64bits(name, n) : 0;
	const struct source *s;

	for (;; at++) {
		at &= f->mask;
		if (!f->slot[at])
			return at;
		s = &f->source[f->slot[at] - 1];
		if (!s->name == !name && s->n == n &&
		    (!n || !memcmp(s->name, name, n)))
			return at;
	}
}

static void
grow_slots(struct filter *f)
{
	size_t i, slots = f->slot ? 2 * (f->mask + 1) : 64;

	free(f->slot);
	f->slot = xcalloc(slots, sizeof(*f->slot));
	f->mask = slots - 1;
	for (i = 0; i < f->nsource; i++)
		f->slot[slot_of(f, f->source[i].name, f->source[i].n)] =
			(uint32_t)i + 1;
}

/* Set f->now to the source of that name; NULL: none. */
static int
find_source(struct filter *f, const char *name, size_t n, struct err *e)
{
	size_t at;

	if (!f->slot || 2 * f->nsource > f->mask)
		grow_slots(f);
	at = slot_of(f, name, n);
	if (!f->slot[at] && f->nsource == SOURCES_MAX)
		return err_set(e, "more than %d different values of the key "
			       "%s", SOURCES_MAX, f->o->source_key);
	if (!f->slot[at]) {
		struct source s = {.n = n};

		if (name) {
			s.name = xmalloc(n + 1);
			memcpy(s.name, name, n);
		}
		GROW(f->source, f->sourcecap, f->nsource + 1);
		f->source[f->nsource++] = s;
		f->slot[at] = (uint32_t)f->nsource;
	}
	f->now = &f->source[f->slot[at] - 1];
	return 0;
}

/* The source of a document: a string, or a number as it is written. */
static int
enter_source(struct filter *f, const struct doc *d, struct err *e)
{
	struct span s = {NULL, 0};
	struct json *j = NULL;
	int rc;

	if (!d->bad)
		s = json_scan_find(d->line, f->o->source_key);
	while (s.n && strchr(" \t\r\n", s.p[s.n - 1]))
		s.n--;
	if (s.n && *s.p == '"') {
		j = json_parse(s.p, s.n, "source", e);
		if (!j)
			return -1;
		s = j->str;
		s.p = s.n ? s.p : "";
	} else if (!s.n || !strchr("-0123456789", *s.p)) {
		s = (struct span){NULL, 0};
	}
	rc = s.n <= SOURCE_LONGEST ? find_source(f, s.p, s.n, e) :
		err_set(e, "%s:%llu: the value of the key %s has %zu bytes, "
			"more than %d", d->file, (unsigned long long)d->lineno,
			f->o->source_key, s.n, SOURCE_LONGEST);
	json_free(j);
	return rc;
}

/* --- documents --- */

/* A document arrives. */
static int
enter(struct filter *f, const struct doc *d, struct err *e)
{
	doc_stats_in(&f->docs, d);
	if (f->o->source_key) {
		if (enter_source(f, d, e))
			return -1;
		f->now->in++;
		f->now->bad += d->bad != 0;
		f->now->bytes_in += d->text.n;
		f->now->found += f->found_now;
	}
	f->found_now = 0;
	return 0;
}

static int
put_line(struct filter *f, const struct doc *d, struct span line,
	 struct err *e)
{
	if (f->mirror)
		return mirror_write(f->mirror, d->file, line, e);
	return f->out ? output_write(f->out, line.p, line.n, e) : 0;
}

static int
put_bad(struct filter *f, const struct doc *d, struct err *e)
{
	int pass = f->o->doc.on_bad == DOC_PASS;
	struct buf *b = &f->line;

	if (findings_any(&f->findings)) {
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
	return pass ? put_line(f, d, d->line, e) : 0;
}

int
filter_keep(struct filter *f, const struct doc *d, struct err *e)
{
	if (enter(f, d, e))
		return -1;
	if (d->bad)
		return put_bad(f, d, e);
	doc_stats_kept(&f->docs, d);
	if (f->now) {
		f->now->kept++;
		f->now->bytes_kept += d->text.n;
	}
	return put_line(f, d, d->line, e);
}

int
filter_drop(struct filter *f, const struct doc *d, struct err *e)
{
	if (enter(f, d, e))
		return -1;
	if (d->bad)
		return put_bad(f, d, e);
	doc_stats_dropped(&f->docs, d);
	if (f->now) {
		f->now->dropped++;
		f->now->found++;
	}
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

	if (enter(f, d, e))
		return -1;
	if (d->bad)
		return put_bad(f, d, e);
	now.text = text;
	now.digest = doc_digest(text);
	doc_stats_kept(&f->docs, &now);
	f->cuts++;
	if (f->now) {
		f->now->kept++;
		f->now->cut++;
		f->now->found++;
		f->now->bytes_kept += text.n;
	}
	retext(d, f->o->doc.text_key, text, &f->line);
	return put_line(f, d, buf_span(&f->line), e);
}

void
filter_mark(struct filter *f, struct doc *d, const char *key,
	    struct span value)
{
	struct buf *b = &f->marked;
	struct span name, val;
	struct json_walk w;
	size_t n = d->line.n;

	f->found = f->found_now = 1;
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
	return findings_any(&f->findings);
}

int
filter_report(struct filter *f, struct span line, struct err *e)
{
	return findings_put(&f->findings, line, e);
}

void
filter_found(struct filter *f)
{
	f->found = f->found_now = 1;
}

struct doc_stats *
filter_stats(struct filter *f)
{
	return &f->docs;
}

