/*
 * emit.c - stages around an external sort, --explain, --curve
 *
 * A band record is "PPPPPPPP BBBB KKKKKKKKKKKKKKKK NAME": what the keys depend
 * on, the band, its key, and the hash of the document's set of shingles, all
 * in hexadecimal (bands.5).  Documents with one set have one name, so `sort
 * -u` leaves one record of a million copies.
 */
#include "dedup/dedup_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/pipeline.h"
#include "base/progress.h"
#include "dedup/edit_distance.h"

enum {
	NAME = BAND_NAME, HEAD = BAND_HEAD,
	LARGE = 256		/* names: the bucket is not written as pairs */
};

uint32_t
dedup_param(const struct minhash_opts *o)
{
	const int64_t v[7] = {
		WORDS_VERSION, MINHASH_VERSION, o->ngram, o->bands, o->rows,
		o->seed, o->chars
	};

	return (uint32_t)XXH3_64bits(v, sizeof(v));
}

static void
put_hex(char *p, uint64_t x, int n)
{
	while (n--) {
		p[n] = "0123456789abcdef"[x & 15];
		x >>= 4;
	}
}

/* --- bands --- */

struct emit {
	struct dedup *d;
	struct output *out;
	uint32_t param;
};

struct emit_doc {
	struct emit *m;
	struct worker *w;
	struct item *x;
};

static void
emit_doc(void *ctx, const struct doc *doc)
{
	struct emit_doc *s = ctx;
	struct dedup *d = s->m->d;
	size_t bands = (size_t)d->o->mh.bands, i;
	struct shingles *sh = &s->w->sh;
	struct item *x = s->x;
	struct set_hash h;
	char *p;

	if (doc->bad)
		return;
	shingles_of(sh, &d->o->mh, doc->text);
	if (!sh->n)
		return;
	shingles_sort(sh);
	item_keys(x, bands);
	minhash_bands(d->mh, sh->v, sh->n, x->keys);
	h = set_hash(sh->v, sh->n);
	for (i = 0; i < bands; i++) {
		p = buf_reserve(&x->text, BAND_LINE + 1);
		memset(p, ' ', BAND_LINE);
		put_hex(p, s->m->param, 8);
		put_hex(p + 9, i, 4);
		put_hex(p + 14, x->keys[i], 16);
		put_hex(p + HEAD, h.a, 16);
		put_hex(p + HEAD + 16, h.b, 16);
		p[BAND_LINE] = '\n';
		x->text.n += BAND_LINE + 1;
	}
}

static void *
emit_read(void *ctx, struct err *e)
{
	struct dedup *d = ((struct emit *)ctx)->d;
	struct doc_batch *b = doc_read(d->docs, 0, e);

	if (b)
		progress_set(input_done(doc_reader_input(d->docs)));
	return b;
}

static int
emit_work(void *ctx, void *batch, int worker, struct err *e)
{
	struct emit *m = ctx;
	struct doc_batch *b = batch;
	struct emit_doc s = {m, &m->d->worker[worker], item_new(m->d)};

	b->user = s.x;
	return doc_parse_each(s.w->parser, b, emit_doc, &s, e);
}

static int
emit_write(void *ctx, void *batch, struct err *e)
{
	const struct emit *m = ctx;
	const struct item *x = ((struct doc_batch *)batch)->user;

	return output_write(m->out, x->text.p, x->text.n, e);
}

static void
emit_drop(void *ctx, void *batch)
{
	item_drop(((struct emit *)ctx)->d, batch);
}

int
dedup_emit_bands(const struct dedup_opts *o, const char *const *files,
		 size_t n, struct err *e)
{
	struct emit m = {.param = dedup_param(&o->mh)};
	const struct pipeline pipe = {
		&m, emit_read, emit_work, emit_write, emit_drop
	};
	int r = -1;

	m.d = dedup_open(o, files, n, 0, e);
	if (!m.d)
		return -1;
	m.out = output_open(o->filter.output, e);
	if (m.out) {
		progress_start("reading", "B",
			       input_total(doc_reader_input(m.d->docs)));
		r = pipeline_run(&pipe, args_common.threads, e);
		progress_stop();
		if (r)
			output_abort(m.out);
		else
			r = output_commit(m.out, e);
	}
	dedup_close(m.d);
	return r;
}

/* --- pairs --- */

struct bucket {
	char head[HEAD];	/* of the records in it */
	struct buf names;	/* NAME bytes each */
};

/* Its band records as they came. */
static int
flush_large(const struct bucket *k, struct output *out, struct err *e)
{
	char line[BAND_LINE + 1];
	size_t i;

	memcpy(line, k->head, HEAD);
	line[BAND_LINE] = '\n';
	for (i = 0; i < k->names.n; i += NAME) {
		memcpy(line + HEAD, k->names.p + i, NAME);
		if (output_write(out, line, sizeof(line), e))
			return -1;
	}
	return 0;
}

static int
flush_bucket(const struct bucket *k, struct output *out, struct err *e)
{
	size_t n = k->names.n / NAME, i, j;
	char line[8 + 2 * (1 + NAME) + 1];

	memcpy(line, k->head, 8);
	line[8] = line[9 + NAME] = ' ';
	line[sizeof(line) - 1] = '\n';
	if (n > LARGE)
		return flush_large(k, out, e);
	for (i = 0; i < n; i++) {
		memcpy(line + 9, k->names.p + NAME * i, NAME);
		for (j = i + 1; j < n; j++) {
			memcpy(line + 10 + NAME, k->names.p + NAME * j, NAME);
			if (output_write(out, line, sizeof(line), e))
				return -1;
		}
	}
	return 0;
}

/* One record, sorted behind the one before. */
static int
pairs_line(struct bucket *k, const char *p, const char *where, uint64_t lineno,
	   struct output *out, struct err *e)
{
	const char *last = k->names.n ? k->names.p + k->names.n - NAME : p;
	int c = k->names.n ? memcmp(k->head, p, HEAD) : -1;

	if (k->names.n && memcmp(k->head, p, 8))
		return err_set(e, "%s:%llu: byte 1: bands of other --ngram, "
			       "--unit, --bands, --rows or --seed than before",
			       where, (unsigned long long)lineno);
	if (c > 0 || (c == 0 && memcmp(last, p + HEAD, NAME) > 0))
		return err_set(e, "%s:%llu: byte 1: records are not sorted "
			       "(LC_ALL=C sort -u)", where,
			       (unsigned long long)lineno);
	if (c == 0 && !memcmp(last, p + HEAD, NAME))
		return 0;
	if (c) {
		if (flush_bucket(k, out, e))
			return -1;
		memcpy(k->head, p, HEAD);
		buf_reset(&k->names);
	}
	buf_put(&k->names, p + HEAD, NAME);
	return 0;
}

static int
is_record(const char *p, size_t n)
{
	size_t i;

	if (n != BAND_LINE || p[8] != ' ' || p[13] != ' ' || p[HEAD - 1] != ' ')
		return 0;
	for (i = 0; i < n; i++)
		if (i != 8 && i != 13 && i != HEAD - 1 &&
		    !memchr("0123456789abcdef", p[i], 16))
			return 0;
	return 1;
}

static int
pairs_chunk(struct bucket *k, const struct chunk *c, struct output *out,
	    struct err *e)
{
	const char *p = c->p, *end = c->p + c->n, *lf;
	uint64_t line = c->line;

	for (; p < end; p = lf + 1, line++) {
		lf = memchr(p, '\n', (size_t)(end - p));
		if (!lf)
			lf = end;
		if (!is_record(p, (size_t)(lf - p)))
			return err_set(e, "%s:%llu: byte 1: no record of "
				       "dedup --emit bands", c->name,
				       (unsigned long long)line);
		if (pairs_line(k, p, c->name, line, out, e))
			return -1;
	}
	return 0;
}

int
dedup_emit_pairs(const struct dedup_opts *o, const char *const *files,
		 size_t n, struct err *e)
{
	struct input *in = input_open(files, n);
	struct output *out = output_open(o->filter.output, e);
	struct bucket k = {.names = {0}};
	struct chunk c = {0};
	int r = out ? 0 : -1;

	while (r == 0 && (r = input_chunk(in, &c, 1 << 18, e)) > 0)
		r = pairs_chunk(&k, &c, out, e);
	if (r == 0)
		r = flush_bucket(&k, out, e);
	if (r == 0)
		r = output_commit(out, e);
	else
		output_abort(out);
	buf_clear(&k.names);
	chunk_clear(&c);
	input_close(in);
	return r;
}

/* --- --explain --- */

struct side {
	const char *want;
	int found;
	struct shingles sh;
	uint64_t *words, *key;
	size_t nwords;
	struct buf at, text;
};

static void
side_take(struct side *s, struct dedup *d, const struct doc *doc,
	  struct span at)
{
	size_t i;

	if (s->found)
		return;
	s->found = 1;
	buf_put(&s->at, at.p, at.n);
	buf_put(&s->text, doc->text.p, doc->text.n);
	shingles_of(&s->sh, &d->o->mh, doc->text);
	shingles_sort(&s->sh);
	s->nwords = s->sh.words.n;
	s->words = xreallocarray(NULL, s->nwords + 1, sizeof(*s->words));
	for (i = 0; i < s->nwords; i++)
		s->words[i] = s->sh.words.v[i].hash;
	s->key = xcalloc((size_t)d->o->mh.bands, sizeof(*s->key));
	if (s->sh.n)
		minhash_bands(d->mh, s->sh.v, s->sh.n, s->key);
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

static int
find_in(struct dedup *d, struct doc_reader *docs, struct side s[2],
	struct err *e)
{
	struct doc_batch *b;
	struct buf at = {0};
	size_t i, k;
	int r = 0;

	while (!r && !(s[0].found && s[1].found) &&
	       (b = doc_read(docs, 0, e))) {
		r = doc_parse(d->worker[0].parser, b, e);
		for (i = 0; !r && i < b->n; i++) {
			buf_reset(&at);
			buf_printf(&at, "%s:%llu", b->v[i].file,
				   (unsigned long long)b->v[i].lineno);
			for (k = 0; k < 2; k++)
				if (span_eq(b->v[i].id, span_str(s[k].want)) ||
				    span_eq(buf_span(&at),
					    span_str(s[k].want)))
					side_take(&s[k], d, &b->v[i],
						  buf_span(&at));
		}
		doc_batch_free(b);
	}
	buf_clear(&at);
	return r || e->set ? -1 : 0;
}

static int
find_sides(struct dedup *d, struct side s[2], struct err *e)
{
	size_t k;

	if ((d->refs && find_in(d, d->refs, s, e)) ||
	    find_in(d, d->docs, s, e))
		return -1;
	for (k = 0; k < 2; k++)
		if (!s[k].found)
			return err_set(e, "no document has the id %s",
				       s[k].want);
	return 0;
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

/* Of two texts that are far apart only a bound: the time is its square. */
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
explain(const struct dedup *d, struct side s[2], int json, struct buf *b)
{
	const struct dedup_opts *o = d->o;
	struct side *x = &s[0], *y = &s[1];
	size_t common = set_common(x->sh.v, x->sh.n, y->sh.v, y->sh.n), i;
	double j = set_jaccard(x->sh.v, x->sh.n, y->sh.v, y->sh.n), shared = 0;
	int near;

	for (i = 0; x->sh.n && y->sh.n && i < (size_t)o->mh.bands; i++)
		shared += x->key[i] == y->key[i];
	near = shared > 0 && j >= o->threshold &&
		(!o->has_edit || edit_similar(x->words, x->nwords, y->words,
					      y->nwords, o->edit_sim));
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
	struct side s[2] = {{.want = a}, {.want = b}};
	struct dedup *d = dedup_open(o, files, n, 0, e);
	struct buf out = {0};
	int r;

	if (!d)
		return -1;
	r = find_sides(d, s, e);
	if (!r)
		explain(d, s, json, &out);
	side_clear(&s[0]);
	side_clear(&s[1]);
	dedup_close(d);
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
