/*
 * emit.c - records for an external sort
 *
 * A band record is "PPPPPPPP BBBB KKKKKKKKKKKKKKKK NAME": what the keys depend
 * on, the band, its key, and the hash of the document's set of shingles, all
 * in hexadecimal (bands.5).  Documents with the same set have the same name,
 * so `sort -u` leaves one record of a million copies.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dedup/dedup_priv.h"
#include "stream/output.h"

enum {
	NAME = BAND_NAME, HEAD = BAND_HEAD,
	LARGE = 256		/* names: the bucket is not written as pairs */
};

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
	const struct dedup_opts *o;
	struct minhash *mh;
	struct emit_scratch {
		struct shingles sh;
		uint64_t *key;		/* of each band */
	} *scratch;			/* per thread */
	struct output *out;
	uint32_t param;
};

static void
records_reset(void *result)
{
	buf_reset(result);
}

static void
records_clear(void *result)
{
	buf_clear(result);
}

static int
emit_doc(const struct docpipe_work *w, struct doc *doc, struct err *e)
{
	const struct emit *m = w->ctx;
	struct emit_scratch *s = &m->scratch[w->worker];
	size_t bands = (size_t)m->o->mh.bands, i;
	struct shingles *sh = &s->sh;
	struct buf *out = w->result;
	struct set_hash h;
	char *p;

	(void)e;
	if (doc->bad)
		return 0;
	shingles_of(sh, &m->o->mh, doc->text);
	if (!sh->n)
		return 0;
	shingles_sort(sh);
	if (!s->key)
		s->key = xcalloc(bands, sizeof(*s->key));
	minhash_bands(m->mh, sh->v, sh->n, s->key);
	h = set_hash(sh->v, sh->n);
	for (i = 0; i < bands; i++) {
		p = buf_reserve(out, BAND_LINE + 1);
		memset(p, ' ', BAND_LINE);
		put_hex(p, m->param, 8);
		put_hex(p + 9, i, 4);
		put_hex(p + 14, s->key[i], 16);
		put_hex(p + HEAD, h.a, 16);
		put_hex(p + HEAD + 16, h.b, 16);
		p[BAND_LINE] = '\n';
		out->n += BAND_LINE + 1;
	}
	return 0;
}

static int
emit_write(void *ctx, struct doc_batch *b, void *result, struct err *e)
{
	const struct emit *m = ctx;
	const struct buf *out = result;

	(void)b;
	return output_write(m->out, out->p, out->n, e);
}

static int
emit_run(struct emit *m, const char *const *files, size_t n, struct err *e)
{
	const struct docpipe_pass pass = {
		.ctx = m, .label = "reading", .mode = DOCPIPE_EACH,
		.doc = emit_doc, .write = emit_write,
		.result_size = sizeof(struct buf),
		.reset = records_reset, .clear = records_clear
	};
	struct docpipe *p = docpipe_open(files, n, &m->o->filter.doc,
					 m->o->threads, 1);
	int r = docpipe_run(p, &pass, e);

	docpipe_close(p);
	return r;
}

int
dedup_emit_bands(const struct dedup_opts *o, const char *const *files,
		 size_t n, struct err *e)
{
	struct emit m = {.o = o, .param = dedup_band_param(&o->mh)};
	int r, i;

	m.out = output_open(o->filter.output, e);
	if (!m.out)
		return -1;
	m.mh = minhash_new(&o->mh);
	m.scratch = xcalloc((size_t)o->threads, sizeof(*m.scratch));
	r = emit_run(&m, files, n, e);
	if (r)
		output_abort(m.out);
	else
		r = output_commit(m.out, e);
	for (i = 0; i < o->threads; i++) {
		shingles_clear(&m.scratch[i].sh);
		free(m.scratch[i].key);
	}
	free(m.scratch);
	minhash_free(m.mh);
	return r;
}

/* --- pairs --- */

struct bucket_names {
	char head[HEAD];	/* of the records in it */
	struct buf names;	/* NAME bytes each */
};

/* Its band records, unchanged. */
static int
flush_large(const struct bucket_names *k, struct output *out, struct err *e)
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
flush_bucket(const struct bucket_names *k, struct output *out, struct err *e)
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

/* One record, which must not sort before the previous one. */
static int
pairs_line(struct bucket_names *k, const char *p, const char *where,
	   uint64_t lineno, struct output *out, struct err *e)
{
	const char *last = k->names.n ? k->names.p + k->names.n - NAME : p;
	int c = k->names.n ? memcmp(k->head, p, HEAD) : -1;

	if (k->names.n && memcmp(k->head, p, 8))
		return err_set(e, "%s:%llu: byte 1: bands made with "
			       "another n-gram length, unit, number of "
			       "bands or rows, or seed than before",
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
pairs_chunk(struct bucket_names *k, const struct chunk *c, struct output *out,
	    struct err *e)
{
	struct span rest = {c->p, c->n}, line;
	struct band_record r;
	uint64_t lineno;

	for (lineno = c->line; span_line(&rest, &line); lineno++) {
		if (dedup_record_parse(line, &r) || r.pair)
			return err_set(e, "%s:%llu: byte 1: not a band "
				       "record (bands(5))", c->name,
				       (unsigned long long)lineno);
		if (pairs_line(k, line.p, c->name, lineno, out, e))
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
	struct bucket_names k = {.names = {0}};
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
