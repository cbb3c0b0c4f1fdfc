/*
 * write.c - the last pass: lines go out, decisions go to the report
 *
 * Every decision stands before this pass begins.  Lines are cut; a document
 * is parsed only where something of it is wanted: the id of one that goes,
 * what is wrong with a bad one, the excerpt of a large cluster.
 */
#include "dedup/dedup_priv.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/pipeline.h"
#include "base/progress.h"
#include "text/unicode.h"

/* From RUN on as enum repeat_rule has them. */
enum reason { KEPT, EXACT, NEAR, SPAN, RUN, PHRASE, GOPHER };
enum { NAME_SHOWN = 40, EXCERPT = 48 };	/* characters in the summary */

struct verdict {
	enum reason why;
	uint32_t member, of;	/* of: the member it duplicates */
};

static struct verdict
exact_verdict(const struct dedup *d, uint32_t i)
{
	const struct member *m = &d->m[i];

	if (m->exact != i)
		return (struct verdict){EXACT, i, m->exact};
	if (d->copy && d->copy[i] != NOT)
		return (struct verdict){EXACT, i, d->copy[i]};
	return (struct verdict){KEPT, i, NOT};
}

static struct verdict
near_verdict(const struct dedup *d, uint32_t i)
{
	uint32_t first = d->near.parent[i];

	if (first != i && d->ref && d->ref[i] != NOT)
		return (struct verdict){NEAR, i, d->ref[i]};
	if (first != i && !(d->o->direct && d->m[i].sim < d->o->threshold))
		return (struct verdict){NEAR, i, first};
	if (first == i && d->o->drop_all && d->size[i] > 1)
		return (struct verdict){NEAR, i, d->second[i]};
	return (struct verdict){KEPT, i, NOT};
}

/* What happens to document `doc`; the methods in their order. */
static struct verdict
decide(const struct dedup *d, uint32_t doc)
{
	struct verdict v = {KEPT, NOT, NOT};
	uint8_t flag = d->flag[doc];

	if (flag & DOC_MEMBER) {
		uint32_t i = dedup_member(d, doc);

		v.member = i;
		if (d->o->exact)
			v = exact_verdict(d, i);
		if (!v.why && d->o->near)
			v = near_verdict(d, i);
	}
	if (!v.why && flag & DOC_SPAN)
		v.why = SPAN;
	if (!v.why && flag & DOC_RUN)
		v.why = RUN;
	if (!v.why && flag & DOC_PHRASE)
		v.why = PHRASE;
	if (!v.why && flag & DOC_GOPHER)
		v.why = GOPHER;
	return v;
}

/* --- the pass --- */

static int
is_top(const struct dedup *d, uint32_t member)
{
	size_t i;

	for (i = 0; i < 5; i++)
		if (d->top[i].member == member)
			return (int)i + 1;
	return 0;
}

/* The member that a reference is, if first of a large cluster; or NOT. */
static uint32_t
ref_is_top(const struct dedup *d, uint32_t doc)
{
	uint32_t i = d->flag[doc] & DOC_MEMBER ? dedup_member(d, doc) : NOT;

	return i != NOT && is_top(d, i) ? i : NOT;
}

/* Where the loop stands, for the report: bytes of the text, or the share. */
static void
find_loop(struct dedup *d, struct worker *w, struct item *x, size_t i,
	  struct span text)
{
	struct repeat r = dedup_repeat(d, w, text, 0, &x->hit[i]);

	x->hash[i] = (struct set_hash){0, 0};
	x->flag[i] = (uint8_t)r.rule;
	x->exact[i] = r.times;
	if (!d->bpe && r.rule && r.rule != REPEAT_GOPHER) {
		x->hash[i].a = w->sh.words.v[r.start].start;
		x->hash[i].b = w->sh.words.v[r.end - 1].end;
	}
}

/* What is left of a text, and whether that loops. */
static void
cut(struct dedup *d, struct worker *w, struct item *x, size_t i,
    struct span text)
{
	size_t from = x->text.n;
	struct span left;

	dedup_cut(d, x->first + (uint32_t)i, text, &x->text);
	x->text_end[i] = x->text.n;
	left = (struct span){x->text.p + from, x->text.n - from};
	x->flag[i] = REPEAT_NONE;
	if (d->o->repeats)
		find_loop(d, w, x, i, left);
}

static int
write_work(void *ctx, void *batch, int worker, struct err *e)
{
	struct dedup *d = ctx;
	struct worker *w = &d->worker[worker];
	struct doc_batch *b = batch;
	struct item *x = b->user;
	int reports = filter_reports(d->filter);
	size_t i;

	(void)e;
	item_room(x, b->n);
	for (i = 0; i < b->n; i++) {
		uint32_t doc = x->first + (uint32_t)i;
		struct verdict v;

		x->text_end[i] = x->text.n;
		if (doc < d->nref) {
			if ((reports && d->flag[doc] & DOC_SOURCE) ||
			    ref_is_top(d, doc) != NOT)
				doc_parse_at(w->parser, b, i);
			continue;
		}
		if (d->flag[doc] & DOC_BAD) {
			doc_parse_at(w->parser, b, i);
			continue;
		}
		v = decide(d, doc);
		if ((v.why && (reports || v.why >= SPAN)) ||
		    (reports && d->flag[doc] & DOC_SOURCE) ||
		    (v.member != NOT && is_top(d, v.member)))
			doc_parse_at(w->parser, b, i);
		if (b->v[i].bad)
			continue;
		if (v.why == SPAN)
			cut(d, w, x, i, b->v[i].text);
		else if (v.why >= RUN)
			find_loop(d, w, x, i, b->v[i].text);
	}
	return 0;
}

static int
put_duplicate(struct dedup *d, const struct verdict *v, struct buf *b,
	      struct err *e)
{
	uint64_t at = d->m[v->of].name;
	double sim = d->m[v->member > v->of ? v->member : v->of].sim;
	uint32_t n;

	buf_putc(b, ',');
	if (spool_read(d->names, at, &n, sizeof(n), e) ||
	    spool_read(d->names, at + sizeof(n), buf_reserve(b, n), n, e))
		return -1;
	b->n += n;
	if (v->why == NEAR && sim >= 0) {
		buf_puts(b, ",\"similarity\":");
		json_put_real(b, sim);
	}
	return 0;
}

static const char *
rule_name(enum reason why)
{
	return why == RUN ? "run" : why == PHRASE ? "phrase" : "gopher";
}

static void
put_loop(const struct item *x, size_t i, enum reason why, struct buf *b)
{
	buf_printf(b, ",\"rule\":\"%s\"", rule_name(why));
	if (why == GOPHER) {
		buf_printf(b, ",\"share\":\"%s\",\"value\":",
			   gopher_name(x->hit[i].share));
		json_put_real(b, x->hit[i].value);
		return;
	}
	buf_printf(b, ",\"times\":%llu",
		   (unsigned long long)x->exact[i]);
	if (x->hash[i].b)
		buf_printf(b, ",\"spans\":[{\"start\":%llu,\"end\":%llu}]",
			   (unsigned long long)x->hash[i].a,
			   (unsigned long long)x->hash[i].b);
}

static int
report(struct dedup *d, const struct doc *doc, const struct verdict *v,
       const char *action, const struct item *x, size_t i, struct err *e)
{
	static const char *const names[] = {
		"", "exact", "near", "span", "repeat", "repeat", "repeat"
	};
	struct buf *b = &d->line, id = {0};

	if (!filter_reports(d->filter))
		return 0;
	buf_reset(b);
	buf_puts(b, "{\"id\":");
	json_put_str(b, doc_id(doc, &id));
	buf_clear(&id);
	buf_printf(b, ",\"action\":\"%s\",\"reason\":\"%s\"", action,
		   names[v->why]);
	if (v->why >= RUN)
		put_loop(x, i, v->why, b);
	else if (v->why == SPAN && dedup_put_spans(d, x->first + (uint32_t)i,
						   b, e))
		return -1;
	else if (v->why == SPAN)
		;
	else if (put_duplicate(d, v, b, e))
		return -1;
	buf_putc(b, '}');
	return filter_report(d->filter, buf_span(b), e);
}

/* At most max characters, those that move a cursor as spaces. */
static void
put_plain(struct buf *b, struct span text, size_t max)
{
	size_t k, n = 0;
	unsigned len;

	for (k = 0; k < text.n && n < max; k += len, n++) {
		uint32_t c = uc_next(text.p + k, text.n - k, &len);

		if (uc_class(c) & UC_SPACE || uc_cat(c) == UC_CC ||
		    uc_cat(c) == UC_CF)
			buf_putc(b, ' ');
		else
			buf_put(b, text.p + k, len);
	}
}

/* The name of a large cluster's first document and how it begins. */
static void
excerpt(struct dedup *d, const struct doc *doc, uint32_t member)
{
	int i = is_top(d, member);
	struct buf *b = i ? &d->top[i - 1].text : NULL, id = {0};

	if (!b || b->n || doc->bad || !doc->text.p)
		return;
	put_plain(b, doc_id(doc, &id), NAME_SHOWN);
	buf_puts(b, "  ");
	put_plain(b, doc->text, EXCERPT);
	buf_clear(&id);
}

static void
mark(struct dedup *d, struct doc *doc, enum reason why)
{
	static const char *const values[] = {
		"\"run\"", "\"phrase\"", "\"gopher\""
	};

	filter_mark(d->filter, doc, "repeats", span_str(values[why - RUN]));
}

/* A document with copies: too little is left, what is left loops, or cut. */
static int
write_cut(struct dedup *d, struct doc *doc, struct verdict v,
	  const struct item *x, size_t i, struct err *e)
{
	size_t from = i ? x->text_end[i - 1] : 0;
	struct span left = {x->text.p + from, x->text_end[i] - from};
	int drop = left.n < (size_t)d->o->min_left;

	d->docs_by[SPAN]++;
	d->bytes_by[SPAN] += doc->text.n - (drop ? 0 : left.n);
	d->span_drops += (uint64_t)drop;
	d->span_drop_bytes += drop ? doc->text.n : 0;
	if (report(d, doc, &v, drop ? "drop" : "cut", x, i, e))
		return -1;
	if (drop)
		return filter_drop(d->filter, doc, e);
	if (!x->flag[i])
		return filter_cut(d->filter, doc, left, e);
	v.why = RUN + x->flag[i] - REPEAT_RUN;
	d->docs_by[v.why]++;
	d->bytes_by[v.why] += left.n;
	if (report(d, doc, &v, d->o->mark ? "mark" : "drop", x, i, e))
		return -1;
	if (!d->o->mark)
		return filter_drop(d->filter, doc, e);
	mark(d, doc, v.why);
	return filter_cut(d->filter, doc, left, e);
}

static int
write_doc(struct dedup *d, struct doc *doc, uint32_t n, const struct item *x,
	  size_t i, struct err *e)
{
	struct verdict v;
	int only_mark;

	if (d->flag[n] & DOC_BAD)
		return filter_keep(d->filter, doc, e);
	v = decide(d, n);
	if (v.member != NOT)
		excerpt(d, doc, v.member);
	doc->text.n = d->len[n];
	doc->digest = d->digest[n];
	doc->surrogates = 0;
	if (!v.why)
		return filter_keep(d->filter, doc, e);
	if (v.why == SPAN)
		return write_cut(d, doc, v, x, i, e);
	only_mark = v.why >= RUN && d->o->mark;
	if (report(d, doc, &v, only_mark ? "mark" : "drop", x, i, e))
		return -1;
	d->docs_by[v.why]++;
	d->bytes_by[v.why] += d->len[n];
	if (!only_mark)
		return filter_drop(d->filter, doc, e);
	mark(d, doc, v.why);
	return filter_keep(d->filter, doc, e);
}

static int
write_write(void *ctx, void *batch, struct err *e)
{
	struct dedup *d = ctx;
	struct doc_batch *b = batch;
	const struct item *x = b->user;
	size_t i;

	for (i = 0; i < b->n; i++) {
		uint32_t n = x->first + (uint32_t)i;

		if (d->flag[n] & DOC_SOURCE && filter_reports(d->filter) &&
		    dedup_name_source(d, n, &b->v[i], e))
			return -1;
		if (n < d->nref && ref_is_top(d, n) != NOT)
			excerpt(d, &b->v[i], ref_is_top(d, n));
		if (n >= d->nref && write_doc(d, &b->v[i], n, x, i, e))
			return -1;
	}
	return 0;
}

/* The largest clusters, largest first, then by order. */
static void
find_top(struct dedup *d)
{
	uint32_t i;
	size_t k, n = 0;

	for (k = 0; k < 5; k++)
		d->top[k].member = NOT;
	for (i = 0; i < d->nm; i++) {
		if (d->size[i] < 2 ||
		    (n == 5 && d->size[d->top[4].member] >= d->size[i]))
			continue;
		n += n < 5;
		for (k = n - 1; k && d->size[d->top[k - 1].member] <
		     d->size[i]; k--)
			d->top[k].member = d->top[k - 1].member;
		d->top[k].member = i;
	}
}

int
dedup_write(struct dedup *d, struct err *e)
{
	const struct pipeline pipe = {
		d, lines_read, write_work, write_write, item_drop
	};
	int r;

	find_top(d);
	if (input_rewind(doc_reader_input(d->docs), e) ||
	    (d->refs && input_rewind(doc_reader_input(d->refs), e)))
		return -1;
	d->cursor = 0;
	progress_start("writing", "B",
		       input_total(doc_reader_input(d->docs)));
	r = pipeline_run(&pipe, args_common.threads, e);
	progress_stop();
	if (!r && d->cursor != d->n)
		return err_set(e, "the input changed while it was read: %u "
			       "documents, then %u", d->n, d->cursor);
	return r;
}

/* --- what it came to --- */

void
dedup_stats(const struct dedup *d, struct buf *b)
{
	static const char *const names[] = {
		"", "exact", "near", "span", "repeat_run", "repeat_phrase",
		"repeat_gopher"
	};
	int i;

	for (i = EXACT; i <= GOPHER; i++)
		buf_printf(b, "%s\"%s\":{\"docs\":%llu,\"bytes\":%llu}",
			   i > EXACT ? "," : "", names[i],
			   (unsigned long long)d->docs_by[i],
			   (unsigned long long)d->bytes_by[i]);
	buf_printf(b, ",\"span_dropped\":{\"docs\":%llu,\"bytes\":%llu}",
		   (unsigned long long)d->span_drops,
		   (unsigned long long)d->span_drop_bytes);
	buf_printf(b, ",\"clusters\":%llu,\"largest_cluster\":%llu,"
		   "\"pairs_compared\":%llu,\"pairs_similar\":%llu,"
		   "\"docs_without_words\":%llu,\"sorted_runs\":%zu,"
		   "\"spans_on_disk\":%s",
		   (unsigned long long)d->clusters,
		   (unsigned long long)d->largest,
		   (unsigned long long)d->candidates,
		   (unsigned long long)d->verified,
		   (unsigned long long)d->no_words,
		   extsort_runs(d->exact) + extsort_runs(d->bands),
		   d->spans_spilled ? "true" : "false");
}

static void
summary_line(const char *name, uint64_t docs, uint64_t bytes)
{
	fprintf(stderr, "%-14s %12llu %16llu\n", name,
		(unsigned long long)docs, (unsigned long long)bytes);
}

/* What went or stays under another text, by reason: adds up. */
static void
summary_reasons(const struct dedup *d)
{
	static const char *const names[] = {
		"", "exact", "near", "span, dropped", "run", "phrase",
		"gopher"
	}, *const marks[] = {"run, marked", "phrase, marked", "gopher, marked"};
	int i;

	for (i = EXACT; i <= GOPHER; i++) {
		uint64_t docs = d->docs_by[i], bytes = d->bytes_by[i];

		if (i == SPAN && docs > d->span_drops) {
			docs -= d->span_drops;
			bytes -= d->span_drop_bytes;
			summary_line("span, cut", docs, bytes);
			docs = d->span_drops;
			bytes = d->span_drop_bytes;
		}
		if (docs)
			summary_line(i >= RUN && d->o->mark ? marks[i - RUN] :
				     names[i], docs, bytes);
	}
}

void
dedup_summary(struct dedup *d)
{
	const struct doc_stats *s = filter_stats(d->filter);
	size_t i;

	progress_erase();
	fprintf(stderr, "%-14s %12s %16s\n", "", "documents", "bytes of text");
	summary_line("read", s->docs_in, s->bytes_in);
	summary_reasons(d);
	if (s->docs_bad)
		summary_line("bad", s->docs_bad, 0);
	summary_line("kept", s->docs_kept, s->bytes_kept);
	if (!d->clusters)
		return;
	fprintf(stderr, "%llu clusters, the largest:\n",
		(unsigned long long)d->clusters);
	for (i = 0; i < 5 && d->top[i].member != NOT; i++)
		fprintf(stderr, "%8u  %.*s\n", d->size[d->top[i].member],
			(int)d->top[i].text.n, d->top[i].text.p);
}
