/*
 * rare_model.c - see rare_model.h
 *
 * The matrices are converted to float once (doubles stay); everything after that is in
 * corpus/indicators.c.
 */
#include "corpus/rare_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "record/safetensors.h"

/* Names of the input and of the output matrix, by family. */
static const char *const embed_names[] = {
	"model.embed_tokens.weight", "transformer.wte.weight", "wte.weight",
	"gpt_neox.embed_in.weight", "model.decoder.embed_tokens.weight",
	"transformer.word_embeddings.weight", "word_embeddings.weight",
	"backbone.embeddings.weight", "backbone.embedding.weight",
	"model.language_model.embed_tokens.weight",
	"language_model.model.embed_tokens.weight",
	"model.transformer.wte.weight", "tok_embeddings.weight",
	"embed_tokens.weight", NULL
};
static const char *const head_names[] = {
	"lm_head.weight", "embed_out.weight", "output.weight",
	"language_model.lm_head.weight", "model.transformer.ff_out.weight",
	NULL
};

static const struct st_tensor *
find(const struct st *s, const char *name, const char *const *names)
{
	const struct st_tensor *t = NULL;
	size_t i;

	if (name)
		return st_find(s, name);
	for (i = 0; names[i] && !t; i++)
		t = st_find(s, names[i]);
	return t;
}

static int
is_matrix(const struct st_tensor *t, struct err *e)
{
	if (t->ndim == 2 && t->shape[0] > 0 && t->shape[1] > 0 &&
	    t->shape[0] < UINT32_MAX)
		return 0;
	return err_set(e, "%s: tensor %s: %d dimensions, expected rows and "
		       "columns", t->file, t->name, t->ndim);
}

/* Row r of t to m; -1: not numbers, or not all finite. */
static int
row(const struct st_tensor *t, size_t r, struct ind_matrix *m, char *p,
    struct err *e)
{
	size_t C = m->C, i;
	uint64_t bits, bad = 0;
	uint32_t bits32;

	if (m->f64) {
		memcpy(p, t->data + 8 * r * C, 8 * C);
		for (i = 0; i < C; i++) {
			memcpy(&bits, p + 8 * i, sizeof(bits));
			bad |= (bits >> 52 & 0x7ff) == 0x7ff;
		}
	} else if (st_f32(t, r * C, C, (float *)(void *)p, e)) {
		return -1;
	} else {
		for (i = 0; i < C; i++) {
			memcpy(&bits32, p + 4 * i, sizeof(bits32));
			bad |= (bits32 & 0x7f800000) == 0x7f800000;
		}
	}
	return bad ? err_set(e, "%s: tensor %s: row %zu is not finite",
			     t->file, t->name, r) : 0;
}

static int
matrix(const struct st_tensor *t, struct ind_matrix *m, struct err *e)
{
	size_t r, width;
	char *p;

	m->f64 = t->dtype == ST_F64;
	m->V = t->shape[0];
	m->C = t->shape[1];
	width = m->f64 ? sizeof(double) : sizeof(float);
	m->p = p = xreallocarray(NULL, t->n, width);
	for (r = 0; r < m->V; r++)
		if (row(t, r, m, p + r * m->C * width, e))
			return -1;
	return 0;
}

/* What config.json says: tie 1, 0 or -1 (nothing); vocab -1: nothing. */
static int
config(const char *dir, int *tie, int64_t *vocab, struct err *e)
{
	static const char *const at[] = {"", "text_config."};
	struct json *j;
	char *path = xmalloc(strlen(dir) + 16), key[64];
	int i, rc = 0, is = 0;

	sprintf(path, "%s/config.json", dir);
	j = json_load(path, e);
	*tie = *vocab = -1;
	for (i = 0; j && i < 2 && rc == 0; i++) {
		snprintf(key, sizeof(key), "%stie_word_embeddings", at[i]);
		if (json_get(j, key)) {
			rc = json_get_bool(j, key, &is, e);
			*tie = is;
		}
		snprintf(key, sizeof(key), "%svocab_size", at[i]);
		if (rc == 0 && json_get(j, key))
			rc = json_get_int(j, key, vocab, e);
	}
	free(path);
	if (!j)
		return -1;
	json_free(j);
	return rc;
}

static int
fits(const struct st_tensor *in, const struct st_tensor *out, int64_t vocab,
     struct err *e)
{
	if (is_matrix(in, e) || is_matrix(out, e))
		return -1;
	if (in->shape[0] != out->shape[0])
		return err_set(e, "%s: %s has %llu rows, %s has %llu",
			       out->file, in->name,
			       (unsigned long long)in->shape[0], out->name,
			       (unsigned long long)out->shape[0]);
	if (in->shape[1] != out->shape[1])
		return err_set(e, "%s: %s has %llu columns, %s has %llu",
			       out->file, in->name,
			       (unsigned long long)in->shape[1], out->name,
			       (unsigned long long)out->shape[1]);
	if (vocab >= 0 && (uint64_t)vocab != in->shape[0])
		return err_set(e, "%s: %s has %llu rows, config.json says "
			       "vocab_size %lld", in->file, in->name,
			       (unsigned long long)in->shape[0],
			       (long long)vocab);
	return 0;
}

static int
load(struct rare_model *m, const struct st *s, const char *dir,
     const char *embed, const char *head, struct err *e)
{
	const struct st_tensor *in, *out;
	int64_t vocab;
	int tie;
	size_t i;

	if (config(dir, &tie, &vocab, e))
		return -1;
	in = find(s, embed, embed_names);
	out = find(s, head, head_names);
	if (!in)
		return err_set(e, "%s: no tensor %s; name the input matrix "
			       "with --embed", dir,
			       embed ? embed : embed_names[0]);
	if (!out && (head || tie == 0))
		return err_set(e, "%s: no tensor %s; name the output matrix "
			       "with --head", dir, head ? head : head_names[0]);
	m->tied = head ? 0 : tie >= 0 ? tie : !out;
	if (m->tied)
		out = in;
	if (fits(in, out, vocab, e))
		return -1;
	m->V = in->shape[0];
	m->C = in->shape[1];
	for (i = 0; i < s->n; i++)
		m->params += s->v[i].n;
	if (matrix(in, &m->in, e) ||
	    (!m->tied && matrix(out, &m->out, e)))
		return -1;
	if (m->tied)
		m->out = m->in;
	return 0;
}

int
rare_model_load(struct rare_model *m, const char *dir, const char *embed,
		const char *head, struct err *e)
{
	struct st *s = st_open(dir, e);
	int rc;

	memset(m, 0, sizeof(*m));
	if (!s)
		return -1;
	rc = load(m, s, dir, embed, head, e);
	st_close(s);
	if (rc)
		rare_model_clear(m);
	return rc;
}

void
rare_model_clear(struct rare_model *m)
{
	if (m->out.p != m->in.p)
		free((void *)(uintptr_t)m->out.p);
	free((void *)(uintptr_t)m->in.p);
	indicators_clear(&m->ind);
	memset(m, 0, sizeof(*m));
}

/* ---- the scan ---- */

/* The percentile of the rows of category OK. */
static int
threshold(struct rare_model *m, const struct rare *r, double percent,
	  struct err *e)
{
	double *x = xreallocarray(NULL, m->V, sizeof(double));
	size_t i, n = 0;

	for (i = 0; i < m->V; i++)
		if (r->category[i] == RARE_CAT_OK)
			x[n++] = m->ind.v[m->which][i];
	if (n)
		m->threshold = indicators_percentile(x, n, percent);
	free(x);
	return n ? 0 : err_set(e, "no token of the vocabulary has category OK:"
			       " is it this model's tokenizer?");
}

int
rare_model_scan(struct rare_model *m, struct rare *r, int which,
		double percent, int threads, struct err *e)
{
	uint8_t *unused = xcalloc(m->V + 1, 1);
	size_t i;

	for (i = 0; i < m->V; i++)
		unused[i] = (r->flags[i] & RARE_UNUSED) != 0;
	m->which = which >= 0 ? (enum indicator)which :
		   m->tied ? IND_COS : IND_IN_NORM;
	indicators_get(&m->ind, &m->out, &m->in, unused, threads);
	free(unused);
	if (!m->ind.v[m->which])
		return err_set(e, "no row is known to be unused, which %s "
			       "needs%s; name some with --unused",
			       indicator_names[m->which], m->tied ?
			       " (input and output are one matrix)" : "");
	if (threshold(m, r, percent, e))
		return -1;
	for (i = 0; i < m->V; i++)
		if (r->category[i] <= RARE_CAT_OK_SPECIAL &&
		    !(r->flags[i] & RARE_UNUSED) &&
		    m->ind.v[m->which][i] <= m->threshold)
			r->flags[i] |= RARE_SUSPICIOUS;
	r->model = m;
	return 0;
}
