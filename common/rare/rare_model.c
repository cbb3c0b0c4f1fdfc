/*
 * rare_model.c - see rare_model.h
 *
 * The matrices stay in the mapped file; matrix.h reads them.
 */
#include "rare/rare_model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "stream/json.h"

/* Modules of the input and of the output matrix, by family. */
static const char *const embed_names[] = {
	"model.embed_tokens", "transformer.wte", "wte", "gpt_neox.embed_in",
	"model.decoder.embed_tokens", "transformer.word_embeddings",
	"word_embeddings", "backbone.embeddings", "backbone.embedding",
	"model.language_model.embed_tokens",
	"language_model.model.embed_tokens", "model.transformer.wte",
	"tok_embeddings", "embed_tokens", NULL
};
static const char *const head_names[] = {
	"lm_head", "embed_out", "output", "language_model.lm_head",
	"model.transformer.ff_out", NULL
};

/* The first tensor there is of names, each followed by the suffix. */
static const struct st_tensor *
find(const struct st *s, const char *const *names, const char *suffix)
{
	const struct st_tensor *t = NULL;
	char *name;

	for (; *names && !t; names++) {
		name = xstrf("%s%s", *names, suffix);
		t = st_find(s, name);
		free(name);
	}
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

/* The tensor as a mapped matrix of C columns. */
static int
as_matrix(const struct st_tensor *t, size_t C, struct matrix *m,
	  struct err *e)
{
	static const struct {
		enum st_dtype from;
		enum matrix_type to;
	} types[] = {
		{ST_F32, MATRIX_F32}, {ST_F64, MATRIX_F64},
		{ST_BF16, MATRIX_BF16},
		{ST_F16, MATRIX_F16}
	};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].from == t->dtype) {
			*m = (struct matrix){t->data, types[i].to,
					   t->shape[0], C};
			return 0;
		}
	return err_set(e, "%s: tensor %s: dtype %s, expected F32, BF16, F16 "
		       "or F64", t->file, t->name, st_dtype_name(t->dtype));
}

/* From config.json: *tie is 1, 0 or -1 (absent), *vocab -1 when absent. */
static int
config(const char *dir, int *tie, int64_t *vocab, struct err *e)
{
	static const char *const at[] = {"", "text_config."};
	struct json *j;
	char *path = path_join(dir, "config.json"), *key;
	int i, rc = 0;

	j = json_load(path, e);
	free(path);
	*tie = *vocab = -1;
	for (i = 0; j && i < 2 && rc == 0; i++) {
		key = xstrf("%stie_word_embeddings", at[i]);
		rc = json_get_bool(j, key, tie, e);
		free(key);
		key = xstrf("%svocab_size", at[i]);
		if (rc == 0)
			rc = json_get_int(j, key, vocab, e);
		free(key);
	}
	json_free(j);
	return j ? rc : -1;
}

static int
fits(const struct st_tensor *in, const struct st_tensor *out, int64_t vocab,
     struct err *e)
{
	if (is_matrix(in, e) || is_matrix(out, e))
		return -1;
	if (in->shape[0] != out->shape[0] || in->shape[1] != out->shape[1])
		return err_set(e, "%s: %s has %" PRIu64 " rows and %" PRIu64
			       " columns, %s has %" PRIu64 " and %" PRIu64,
			       out->file, in->name, in->shape[0], in->shape[1],
			       out->name, out->shape[0], out->shape[1]);
	if (vocab >= 0 && (uint64_t)vocab != in->shape[0])
		return err_set(e, "%s: %s has %" PRIu64 " rows, but "
			       "vocab_size in config.json is %" PRId64,
			       in->file, in->name, in->shape[0], vocab);
	return 0;
}

/* The bias of an output matrix NAME.weight is NAME.bias. */
static const struct st_tensor *
find_bias(const struct st *s, const char *head, size_t V)
{
	size_t n = head ? strlen(head) : 0;
	char *module = xstrf("%.*s", n > 7 ? (int)n - 7 : 0,
			     head ? head : "");
	const char *one[] = {module, NULL};
	const struct st_tensor *t = NULL;

	if (!head)
		t = find(s, head_names, ".bias");
	else if (n > 7 && !strcmp(head + n - 7, ".weight"))
		t = find(s, one, ".bias");
	free(module);
	return t && t->ndim == 1 && t->shape[0] == V ? t : NULL;
}

static int
load(struct rare_model *m, const char *dir, const char *embed,
     const char *head, struct err *e)
{
	const struct st *s = m->st;
	int64_t vocab;
	int tie;
	size_t i;

	if (config(dir, &tie, &vocab, e))
		return -1;
	m->in = embed ? st_find(s, embed) : find(s, embed_names, ".weight");
	m->out = head ? st_find(s, head) : find(s, head_names, ".weight");
	if (!m->in)
		return err_set(e, "%s: no tensor %s: name the one that is the "
			       "input matrix", dir,
			       embed ? embed : "model.embed_tokens.weight");
	if (!m->out && (head || tie == 0))
		return err_set(e, "%s: no tensor %s: name the one that is the "
			       "output matrix", dir,
			       head ? head : "lm_head.weight");
	m->tied = head ? 0 : tie >= 0 ? tie : !m->out;
	if (m->tied)
		m->out = m->in;
	if (fits(m->in, m->out, vocab, e))
		return -1;
	m->V = m->in->shape[0];
	m->C = m->in->shape[1];
	for (i = 0; i < s->n; i++)
		m->params += s->v[i].n;
	m->bias = find_bias(s, head, m->V);
	return 0;
}

int
rare_model_load(struct rare_model *m, const char *dir, const char *embed,
		const char *head, struct err *e)
{
	memset(m, 0, sizeof(*m));
	m->st = st_open(dir, e);
	if (!m->st)
		return -1;
	if (load(m, dir, embed, head, e)) {
		rare_model_clear(m);
		return -1;
	}
	return 0;
}

void
rare_model_clear(struct rare_model *m)
{
	indicators_clear(&m->ind);
	st_close(m->st);
	memset(m, 0, sizeof(*m));
}

/* ---- the scan ---- */

/* That share of the rows of category OK is at or below it. */
static int
threshold(struct rare_model *m, const struct rare *r, double frac,
	  struct err *e)
{
	double *x = xreallocarray(NULL, m->V, sizeof(double));
	size_t i, n = 0;

	for (i = 0; i < m->V; i++)
		if (r->category[i] == RARE_CAT_OK)
			x[n++] = m->ind.v[m->which][i];
	if (n)
		m->threshold = indicators_percentile(x, n, 100 * frac);
	free(x);
	return n ? 0 : err_set(e, "no token has category OK: is this the "
			       "model's tokenizer?");
}

/* All indicators of all rows. */
static int
indicators(struct rare_model *m, const struct rare *r, int threads,
	   struct err *e)
{
	const struct st_tensor *t;
	struct matrix in, out, bias;
	uint8_t *unused;
	size_t i;
	int rc;

	if (as_matrix(m->in, m->C, &in, e) ||
	    as_matrix(m->out, m->C, &out, e) ||
	    (m->bias && as_matrix(m->bias, 1, &bias, e)))
		return -1;
	unused = xcalloc(m->V + 1, 1);
	for (i = 0; i < m->V; i++)
		unused[i] = (uint8_t)rare_is(r, (uint32_t)i, RARE_UNUSED);
	rc = indicators_get(&m->ind, &out, &in, m->bias ? &bias : NULL, unused,
			    threads);
	free(unused);
	if (rc == 0)
		return 0;
	t = m->ind.bad == &in ? m->in : m->ind.bad == &out ? m->out : m->bias;
	return err_set(e, "%s: tensor %s: row %zu is not finite", t->file,
		       t->name, m->ind.bad_row);
}

int
rare_model_scan(struct rare_model *m, struct rare *r, int which,
		double frac, int threads, struct err *e)
{
	size_t i;

	m->which = which >= 0 ? (enum indicator)which :
		   m->tied ? IND_COS : IND_IN_NORM;
	if (indicators(m, r, threads, e))
		return -1;
	if (!m->ind.v[m->which] && m->which == IND_BIAS)
		return err_set(e, "%s: the output has no bias", m->out->file);
	if (!m->ind.v[m->which])
		return err_set(e, "indicator %s needs ids known to be unused, "
			       "and there are none%s: name some with "
			       "--unused",
			       indicator_names[m->which], m->tied ?
			       " (input and output share a matrix)" : "");
	if (threshold(m, r, frac, e))
		return -1;
	for (i = 0; i < m->V; i++)
		if (r->category[i] <= RARE_CAT_OK_SPECIAL &&
		    !rare_is(r, (uint32_t)i, RARE_UNUSED) &&
		    m->ind.v[m->which][i] <= m->threshold)
			r->flags[i] |= RARE_SUSPICIOUS;
	r->model = m;
	return 0;
}
