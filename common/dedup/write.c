/*
 * write.c - the last pass: lines are kept, cut or dropped, and reported
 *
 * Every decision is made before this pass begins.  Lines are not parsed unless
 * something of the document is needed: the id of one that is dropped, what is
 * wrong with a bad one, the excerpt of a large cluster.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "dedup/dedup_priv.h"
#include "stream/json.h"
#include "text/unicode.h"

struct verdict {
	enum reason why;
	uint32_t member, of;	/* of: the member it duplicates */
};

/* The loop in a text, for the report. */
struct loop {
	enum repeat_rule rule;
	size_t times;
	size_t start, end;	/* bytes of the text; 0: not known */
	struct gopher_hit hit;
	size_t text_to;		/* the end of what is left of the text */
	uint32_t copied;	/* DOC_COPY: the member with its text */
	int short_text;		/* fewer letters and digits than --min-left */
};

/* What a worker found in a block. */
struct written {
	struct loop *loop;	/* by document */
	size_t cap;
	struct buf text;	/* what is left of texts that are cut */
};

struct write {
	struct dedup *d;
	struct filter *filter;
	struct totals totals;
	struct buf line;	/* of the report */
};

static void
written_reset(void *result)
{
	buf_reset(&((struct written *)result)->text);
}

static void
written_clear(void *result)
{
	struct written *x = result;

	free(x->loop);
	buf_clear(&x->text);
}

/* --- verdicts --- */

static struct verdict
exact_verdict(const struct dedup *d, uint32_t i)
{
	const struct clusters *c = &d->clusters;
	uint32_t kept = dedup_kept(c->kept_text, d->members.v[i].exact);
	const uint32_t *copy = c->copy;

	if (kept != i)
		return (struct verdict){EXACT, i, kept};
	if (copy && copy[i] != NOT)
		return (struct verdict){EXACT, i, copy[i]};
	return (struct verdict){KEPT, i, NOT};
}

static struct verdict
near_verdict(const struct dedup *d, uint32_t i)
{
	uint32_t first = dedup_kept(d->clusters.kept,
				    d->pairs.near.parent[i]);
	const uint32_t *ref = d->pairs.ref;

	if (first != i && ref && ref[i] != NOT)
		return (struct verdict){NEAR, i, ref[i]};
	if (first != i && !(d->o->direct &&
			    d->members.v[i].sim < d->o->threshold))
		return (struct verdict){NEAR, i, first};
	if (first == i && d->o->drop_all && d->clusters.size[i] > 1)
		return (struct verdict){NEAR, i, d->clusters.second[i]};
	return (struct verdict){KEPT, i, NOT};
}

/* What happens to document `doc`; the methods in their order. */
static struct verdict
decide(const struct dedup *d, uint32_t doc)
{
	struct verdict v = {KEPT, NOT, NOT};
	unsigned flag = d->corpus.flag[doc];

	if (flag & DOC_COPY)
		v.why = EXACT;
	if (flag & DOC_MEMBER) {
		v.member = dedup_member(&d->members, doc);
		if (d->o->exact)
			v = exact_verdict(d, v.member);
		if (!v.why && d->o->near)
			v = near_verdict(d, v.member);
	}
	if (!v.why)
		v.why = flag & DOC_SPAN ? SPAN : flag & DOC_RUN ? RUN :
			flag & DOC_PHRASE ? PHRASE :
			flag & DOC_GOPHER ? GOPHER : KEPT;
	return v;
}

/* --- workers --- */

/* The member that a reference is, if first of a large cluster; or NOT. */
static uint32_t
ref_is_top(const struct write *w, uint32_t doc)
{
	uint32_t i = w->d->corpus.flag[doc] & DOC_MEMBER ?
		dedup_member(&w->d->members, doc) : NOT;

	return dedup_totals_is_top(&w->totals, i) ? i : NOT;
}

static struct loop
find_loop(const struct dedup *d, struct worker *w, struct span text)
{
	struct loop x = {.start = 0};
	struct err e = {0};	/* what is left of a text may be no loop */
	struct repeat r = dedup_loops_find(&d->loops, &w->loops, &w->sh.words,
					   0, text, &x.hit, &e);

	x.rule = r.rule;
	x.times = r.times;
	if (!d->loops.bpe && r.rule && r.rule != REPEAT_GOPHER) {
		x.start = w->sh.words.v[r.start].start;
		x.end = w->sh.words.v[r.end - 1].end;
	}
	return x;
}

/* Has the text at least n letters and digits? */
static int
has_letters(struct span text, uint64_t n)
{
	unsigned len;
	size_t i;

	for (i = 0; n && i < text.n; i += len)
		n -= (uc_class(uc_next(text.p + i, text.n - i, &len)) &
		      (UC_LETTER | UC_NUMBER)) != 0;
	return !n;
}

/* What is left of a text: is it too short, does it loop? */
static struct loop
cut(const struct dedup *d, struct worker *w, uint32_t doc, struct span text,
    struct buf *out)
{
	size_t from = out->n;
	struct loop x = {.rule = REPEAT_NONE};
	struct span left;

	dedup_passages_cut(&d->passages, doc, text, out);
	left = (struct span){out->p + from, out->n - from};
	if (d->o->repeats)
		x = find_loop(d, w, left);
	x.short_text = !has_letters(left, (uint64_t)d->o->min_left);
	return x;
}

/* Must it be parsed? */
static int
is_wanted(const struct write *w, uint32_t doc, const struct verdict *v)
{
	unsigned flag = w->d->corpus.flag[doc];

	if (w->d->reports && flag & DOC_SOURCE)
		return 1;
	if (doc < w->d->corpus.nref)
		return ref_is_top(w, doc) != NOT;
	return flag & DOC_BAD || v->why >= SPAN ||
		(v->why && w->d->reports) ||
		dedup_totals_is_top(&w->totals, v->member);
}

static int
write_block(const struct docpipe_work *dw, struct doc_batch *b, struct err *e)
{
	const struct write *w = dw->ctx;
	const struct dedup *d = w->d;
	struct worker *worker = &d->worker[dw->worker];
	struct written *x = dw->result;
	uint32_t first, doc;
	size_t i;

	if (dedup_corpus_block(&d->corpus, b, &first, e))
		return -1;
	GROW(x->loop, x->cap, b->n);
	for (i = 0; i < b->n; i++) {
		struct verdict v = decide(d, doc = first + (uint32_t)i);

		x->loop[i] = (struct loop){.rule = REPEAT_NONE,
					   .copied = NOT};
		if (is_wanted(w, doc, &v))
			doc_parse_at(dw->parser, b, i);
		if (d->corpus.flag[doc] & DOC_BAD && !b->v[i].bad)
			doc_set_bad(b, &b->v[i], "its text cannot be split "
				    "with this tokenizer or pattern");
		if (d->corpus.flag[doc] & DOC_COPY && d->reports &&
		    !b->v[i].bad)
			x->loop[i].copied = dedup_copied(d, dedup_exact_key(
				dedup_exact_text(d->o, worker, b->v[i].text)));
		if (doc >= d->corpus.nref && !b->v[i].bad && v.why == SPAN)
			x->loop[i] = cut(d, worker, doc, b->v[i].text,
					 &x->text);
		else if (doc >= d->corpus.nref && !b->v[i].bad && v.why >= RUN)
			x->loop[i] = find_loop(d, worker, b->v[i].text);
		x->loop[i].text_to = x->text.n;
	}
	return 0;
}

/* --- the report --- */

static int
put_duplicate(const struct dedup *d, const struct verdict *v, struct buf *b,
	      struct err *e)
{
	const struct member *m = d->members.v;
	int second;
	double sim;

	buf_putc(b, ',');
	if (dedup_names_get(&d->names, m[v->of].name, b, e))
		return -1;
	if (v->why != NEAR)
		return 0;
	/* with --drop-all the first duplicates the second */
	second = d->o->drop_all && v->member < v->of;
	sim = m[second ? v->of : v->member].sim;
	if (sim >= 0) {
		buf_puts(b, ",\"similarity\":");
		json_put_real(b, sim);
	}
	return 0;
}

static void
put_loop(const struct loop *x, struct buf *b)
{
	if (x->rule == REPEAT_GOPHER) {
		buf_printf(b, ",\"rule\":\"gopher\",\"share\":\"%s\","
			   "\"value\":", gopher_name(x->hit.share));
		json_put_real(b, x->hit.value);
		return;
	}
	buf_printf(b, ",\"rule\":\"%s\",\"times\":%zu",
		   x->rule == REPEAT_RUN ? "run" : "phrase", x->times);
	if (x->end)
		buf_printf(b, ",\"spans\":[{\"start\":%zu,\"end\":%zu}]",
			   x->start, x->end);
}

/* n: the document's number; x: its loop. */
static int
report(struct write *w, const struct doc *doc, uint32_t n,
       const struct verdict *v, const char *action, const struct loop *x,
       struct err *e)
{
	static const char *const reasons[REASONS] = {
		"", "exact", "near", "span", "repeat", "repeat", "repeat"
	};
	struct buf *b = &w->line, id = {0};
	int r = 0;

	if (!w->d->reports)
		return 0;
	buf_reset(b);
	buf_puts(b, "{\"id\":");
	json_put_str(b, doc_id(doc, &id));
	buf_clear(&id);
	buf_printf(b, ",\"action\":\"%s\",\"reason\":\"%s\"", action,
		   reasons[v->why]);
	if (v->why >= RUN)
		put_loop(x, b);
	else if (v->why == SPAN)
		r = dedup_passages_put(&w->d->passages, &w->d->names, n, b, e);
	else
		r = put_duplicate(w->d, v, b, e);
	buf_putc(b, '}');
	return r ? r : filter_report(w->filter, buf_span(b), e);
}

/* --- in order --- */

static void
mark(struct write *w, struct doc *doc, enum reason why)
{
	static const char *const values[] = {
		"\"run\"", "\"phrase\"", "\"gopher\""
	};

	filter_mark(w->filter, doc, "repeats", span_str(values[why - RUN]));
}

/* A document with copies: too little is left, what is left loops, or cut. */
static int
write_cut(struct write *w, struct doc *doc, uint32_t n, struct verdict v,
	  struct span left, const struct loop *x, struct err *e)
{
	const struct dedup_opts *o = w->d->o;
	struct totals *t = &w->totals;
	int drop = x->short_text;

	t->docs[SPAN]++;
	t->bytes[SPAN] += doc->text.n - (drop ? 0 : left.n);
	t->span_drops += (uint64_t)drop;
	t->span_drop_bytes += drop ? doc->text.n : 0;
	if (report(w, doc, n, &v, drop ? "drop" : "cut", x, e))
		return -1;
	if (drop)
		return filter_drop(w->filter, doc, e);
	if (!x->rule)
		return filter_cut(w->filter, doc, left, e);
	v.why = RUN + x->rule - REPEAT_RUN;
	t->docs[v.why]++;
	t->bytes[v.why] += left.n;
	if (report(w, doc, n, &v, o->mark ? "mark" : "drop", x, e))
		return -1;
	if (!o->mark)
		return filter_drop(w->filter, doc, e);
	mark(w, doc, v.why);
	return filter_cut(w->filter, doc, left, e);
}

static int
write_doc(struct write *w, struct doc *doc, uint32_t n,
	  const struct written *x, size_t i, struct err *e)
{
	const struct corpus *c = &w->d->corpus;
	size_t from = i ? x->loop[i - 1].text_to : 0;
	struct span left = {x->text.p + from, x->loop[i].text_to - from};
	struct verdict v;
	int only_mark;

	if (c->flag[n] & DOC_BAD)
		return filter_keep(w->filter, doc, e);
	v = decide(w->d, n);
	if (c->flag[n] & DOC_COPY) {
		v.of = x->loop[i].copied;
		if (w->d->reports && v.of == NOT)
			return err_set(e, "%s:%llu: changed while it was read",
				       doc->file,
				       (unsigned long long)doc->lineno);
	}
	dedup_totals_excerpt(&w->totals, doc, v.member);
	doc->text.n = c->len[n];
	doc->digest = c->digest[n];
	doc->surrogates = 0;
	if (!v.why)
		return filter_keep(w->filter, doc, e);
	if (v.why == SPAN)
		return write_cut(w, doc, n, v, left, &x->loop[i], e);
	only_mark = v.why >= RUN && w->d->o->mark;
	if (report(w, doc, n, &v, only_mark ? "mark" : "drop", &x->loop[i],
		   e))
		return -1;
	w->totals.docs[v.why]++;
	w->totals.bytes[v.why] += c->len[n];
	if (!only_mark)
		return filter_drop(w->filter, doc, e);
	mark(w, doc, v.why);
	return filter_keep(w->filter, doc, e);
}

static int
write_write(void *ctx, struct doc_batch *b, void *result, struct err *e)
{
	struct write *w = ctx;
	struct dedup *d = w->d;
	uint32_t n = dedup_corpus_next(&d->corpus, b);
	size_t i;

	for (i = 0; i < b->n; i++, n++) {
		if (d->corpus.flag[n] & DOC_SOURCE && d->reports &&
		    dedup_passages_name(&d->passages, &d->names, n, &b->v[i],
					e))
			return -1;
		if (n < d->corpus.nref)
			dedup_totals_excerpt(&w->totals, &b->v[i],
					     ref_is_top(w, n));
		else if (write_doc(w, &b->v[i], n, result, i, e))
			return -1;
	}
	return 0;
}

/* Outputs come to their names; the status of the program. */
static int
commit(struct write *w, struct err *e)
{
	struct buf extra = {0};
	int status;

	filter_stats(w->filter)->surrogates += w->d->surrogates;
	dedup_stats_put(w->d, &w->totals, &extra);
	if (args_summary())
		dedup_summary_print(w->d, &w->totals, filter_stats(w->filter));
	status = filter_commit(w->filter, buf_span(&extra), e);
	buf_clear(&extra);
	return status;
}

int
dedup_write(struct dedup *d, struct filter *f, struct err *e)
{
	struct write w = {.d = d, .filter = f};
	const struct docpipe_pass pass = {
		.ctx = &w, .label = "writing", .mode = DOCPIPE_LINES,
		.block = write_block, .write = write_write,
		.result_size = sizeof(struct written),
		.reset = written_reset, .clear = written_clear
	};
	int r;

	dedup_totals_find_top(&w.totals, d);
	r = dedup_corpus_again(&d->corpus, &pass, e);
	if (r)
		filter_abort(f);
	else
		r = commit(&w, e);
	buf_clear(&w.line);
	dedup_totals_clear(&w.totals);
	return r;
}
