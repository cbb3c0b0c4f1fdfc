/*
 * explain.c - --explain: one pair as near sees it; --curve: all similarities
 */
#include <stdlib.h>

#include "base/mem.h"
#include "dedup/dedup_priv.h"
#include "dedup/edit_distance.h"
#include "stream/json.h"
#include "stream/output.h"

struct side {
	const char *want;
	int found;
	struct shingles sh;
	uint64_t *words, *key;
	size_t nwords;
	struct buf at, text;
};

struct explain {
	const struct dedup_opts *o;
	struct minhash *mh;
	struct side side[2];
};

static void
side_take(struct side *s, const struct explain *x, const struct doc *doc,
	  struct span at)
{
	size_t i;

	if (s->found)
		return;
	s->found = 1;
	buf_put(&s->at, at.p, at.n);
	buf_put(&s->text, doc->text.p, doc->text.n);
	shingles_of(&s->sh, &x->o->mh, doc->text);
	shingles_sort(&s->sh);
	s->nwords = s->sh.words.n;
	s->words = xreallocarray(NULL, s->nwords + 1, sizeof(*s->words));
	for (i = 0; i < s->nwords; i++)
		s->words[i] = s->sh.words.v[i].hash;
	s->key = xcalloc((size_t)x->o->mh.bands, sizeof(*s->key));
	if (s->sh.n)
		minhash_bands(x->mh, s->sh.v, s->sh.n, s->key);
}

static void
side_clear(struct side *s)
{
	shingles_clear(&s->sh);
	free(s->words);
	free(s->key);
	buf_clear(&s->at);
	buf_clear(&s->text);
}

/* Both documents, if they are in this block. */
static int
find_write(void *ctx, struct doc_batch *b, void *result, struct err *e)
{
	struct explain *x = ctx;
	struct side *s = x->side;
	struct buf at = {0};
	size_t i, k;

	(void)result;
	(void)e;
	for (i = 0; i < b->n; i++) {
		const struct doc *d = &b->v[i];

		buf_reset(&at);
		buf_printf(&at, "%s:%llu", d->file,
			   (unsigned long long)d->lineno);
		for (k = 0; k < 2; k++)
			if (span_eq(d->id, span_str(s[k].want)) ||
			    span_eq(buf_span(&at), span_str(s[k].want)))
				side_take(&s[k], x, d, buf_span(&at));
	}
	buf_clear(&at);
	return s[0].found && s[1].found;
}

static int
find_in(struct explain *x, const char *const *files, size_t n, struct err *e)
{
	const struct docpipe_pass pass = {
		.ctx = x, .mode = DOCPIPE_TEXTS, .write = find_write
	};
	struct docpipe *p;
	int r;

	if (x->side[0].found && x->side[1].found)
		return 0;
	p = docpipe_open(files, n, &x->o->filter.doc, x->o->threads, 1);
	r = docpipe_run(p, &pass, e);
	docpipe_close(p);
	return r < 0 ? -1 : 0;
}

static void
row(struct buf *b, int json, const char *key, const char *fmt, double x)
{
	if (json)
		buf_printf(b, b->n ? ",\"%s\":" : "{\"%s\":", key);
	else
		buf_printf(b, "%s\t", key);
	buf_printf(b, fmt, x);
	if (!json)
		buf_putc(b, '\n');
}

/* Only a bound where texts are far apart: the time is its square. */
static void
put_edits(const struct side *x, const struct side *y, int json, struct buf *b)
{
	enum { FAR = 10000 };
	size_t longest = x->nwords > y->nwords ? x->nwords : y->nwords;
	size_t max = longest < FAR ? longest : FAR;
	size_t dist = edit_distance(x->words, x->nwords, y->words, y->nwords,
				    max);

	row(b, json, dist > max ? "edit_similarity_below" : "edit_similarity",
	    "%.6g", !longest ? 0 : 1 - (double)(dist > max ? max : dist) /
	    (double)longest);
}

static void
explain(const struct explain *s, int json, struct buf *b)
{
	const struct dedup_opts *o = s->o;
	const struct side *x = &s->side[0], *y = &s->side[1];
	size_t common = set_common(x->sh.v, x->sh.n, y->sh.v, y->sh.n), i;
	double j = set_jaccard(x->sh.v, x->sh.n, y->sh.v, y->sh.n), shared = 0;
	int near;

	for (i = 0; x->sh.n && y->sh.n && i < (size_t)o->mh.bands; i++)
		shared += x->key[i] == y->key[i];
	near = shared > 0 && (!o->verify ||
		(dedup_similar(x->sh.v, x->sh.n, y->sh.v, y->sh.n,
			       o->threshold) &&
		 (!o->has_edit || edit_similar(x->words, x->nwords, y->words,
					       y->nwords, o->edit_sim))));
	row(b, json, "words_a", "%.0f", (double)x->nwords);
	row(b, json, "words_b", "%.0f", (double)y->nwords);
	row(b, json, "shingles_a", "%.0f", (double)x->sh.n);
	row(b, json, "shingles_b", "%.0f", (double)y->sh.n);
	row(b, json, "common", "%.0f", (double)common);
	row(b, json, "jaccard", "%.17g", j);
	put_edits(x, y, json, b);
	row(b, json, "candidate_probability", "%.6g",
	    minhash_curve(&o->mh, j));
	row(b, json, "bands_in_common", "%.0f", shared);
	row(b, json, "equal_text", "%.0f",
	    span_eq(buf_span(&x->text), buf_span(&y->text)));
	row(b, json, "near_duplicates", "%.0f", near);
	if (json)
		buf_puts(b, "}\n");
}

static int
print(struct buf *b, const char *path, struct err *e)
{
	struct output *out = output_open(path, e);
	int r = out ? output_write(out, b->p, b->n, e) : -1;

	buf_clear(b);
	if (r)
		output_abort(out);
	return r ? r : output_commit(out, e);
}

int
dedup_explain(const struct dedup_opts *o, const char *a, const char *b,
	      const char *const *files, size_t n, int json, struct err *e)
{
	struct explain x = {.o = o, .side = {{.want = a}, {.want = b}}};
	struct buf out = {0};
	int r = 0, k;

	x.mh = minhash_new(&o->mh);
	if (o->against.n)
		r = find_in(&x, o->against.v, o->against.n, e);
	if (!r)
		r = find_in(&x, files, n, e);
	for (k = 0; k < 2 && !r; k++)
		if (!x.side[k].found)
			r = err_set(e, "no document has the id %s",
				    x.side[k].want);
	if (!r)
		explain(&x, json, &out);
	side_clear(&x.side[0]);
	side_clear(&x.side[1]);
	minhash_free(x.mh);
	return r ? r : print(&out, o->filter.output, e);
}

/* --- --curve --- */

int
dedup_curve(const struct dedup_opts *o, int json, struct err *e)
{
	struct buf b = {0};
	int i;

	if (!json)
		buf_puts(&b, "jaccard\tprobability\n");
	for (i = 5; i <= 100; i += 5)
		buf_printf(&b, json ? "{\"jaccard\":%.2f,\"probability\":"
			   "%.6f}\n" : "%.2f\t%.6f\n", i / 100.0,
			   minhash_curve(&o->mh, i / 100.0));
	return print(&b, o->filter.output, e);
}
