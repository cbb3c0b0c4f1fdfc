/*
 * llama.c - see llama.h
 *
 * The lists of parameters and of tensors are built together, so that loading,
 * saving, initialization and weight decay are each one loop over a list.
 * Tensors move between files and device in blocks of BLOCK elements: the host
 * never holds a whole tensor.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "model/llama.h"

enum { BLOCK = 1 << 20 };

/* Places in flat arrays: multiples of 256 bytes in every type. */
enum { GAP = 128 };

/* ---- the lists ---- */

static size_t
add_param(struct llama *m, enum param_kind kind, int64_t rows, int64_t cols)
{
	struct param *p = &m->param[m->nparams];

	p->kind = kind;
	p->rows = rows;
	p->cols = cols;
	p->n = rows * cols;
	p->at = m->flat;
	m->flat += (p->n + GAP - 1) / GAP * GAP;
	return m->nparams++;
}

static void
add_tensor(struct llama *m, size_t param, int64_t row, int64_t rows,
	   int residual, int layer, const char *name)
{
	struct tensor *t = &m->tensor[m->ntensors++];
	const struct param *p = &m->param[param];

	if (layer >= 0)
		snprintf(t->name, sizeof t->name, "model.layers.%d.%s.weight",
			 layer, name);
	else
		snprintf(t->name, sizeof t->name, "%s.weight", name);
	t->param = param;
	t->row = row;
	t->rows = rows;
	t->cols = p->cols;
	t->vector = p->kind == PARAM_NORM;
	t->residual = residual;
}

static void
list_attention(struct llama *m, struct llama_layer *l, int i)
{
	const struct model_config *c = &m->c;
	int64_t q = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;

	l->qkv = add_param(m, PARAM_MATRIX, m->q, c->hidden);
	add_tensor(m, l->qkv, 0, q, 0, i, "self_attn.q_proj");
	add_tensor(m, l->qkv, q, kv, 0, i, "self_attn.k_proj");
	add_tensor(m, l->qkv, q + kv, kv, 0, i, "self_attn.v_proj");
	if (c->qk_norm) {
		l->qnorm = add_param(m, PARAM_NORM, 1, c->head_dim);
		l->knorm = add_param(m, PARAM_NORM, 1, c->head_dim);
		add_tensor(m, l->qnorm, 0, 1, 0, i, "self_attn.q_norm");
		add_tensor(m, l->knorm, 0, 1, 0, i, "self_attn.k_norm");
	}
	l->o = add_param(m, PARAM_MATRIX, c->hidden, q);
	add_tensor(m, l->o, 0, c->hidden, 1, i, "self_attn.o_proj");
}

static void
list_layer(struct llama *m, struct llama_layer *l, int i)
{
	const struct model_config *c = &m->c;

	l->norm1 = add_param(m, PARAM_NORM, 1, c->hidden);
	add_tensor(m, l->norm1, 0, 1, 0, i, "input_layernorm");
	list_attention(m, l, i);
	l->norm2 = add_param(m, PARAM_NORM, 1, c->hidden);
	add_tensor(m, l->norm2, 0, 1, 0, i, "post_attention_layernorm");
	l->gu = add_param(m, PARAM_MATRIX, 2 * c->inter, c->hidden);
	add_tensor(m, l->gu, 0, c->inter, 0, i, "mlp.gate_proj");
	add_tensor(m, l->gu, c->inter, c->inter, 0, i, "mlp.up_proj");
	l->down = add_param(m, PARAM_MATRIX, c->hidden, c->inter);
	add_tensor(m, l->down, 0, c->hidden, 1, i, "mlp.down_proj");
}

static void
list_all(struct llama *m)
{
	const struct model_config *c = &m->c;
	int i;

	m->embed = add_param(m, PARAM_EMBED, m->vp, c->hidden);
	add_tensor(m, m->embed, 0, c->vocab, 0, -1, "model.embed_tokens");
	for (i = 0; i < c->layers; i++)
		list_layer(m, &m->layer[i], i);
	m->norm = add_param(m, PARAM_NORM, 1, c->hidden);
	add_tensor(m, m->norm, 0, 1, 0, -1, "model.norm");
	m->head = m->embed;
	if (!c->tie) {
		m->head = add_param(m, PARAM_HEAD, m->vp, c->hidden);
		add_tensor(m, m->head, 0, c->vocab, 0, -1, "lm_head");
	}
}

/* An untied embedding is only looked up, not used in a matmul. */
static int
is_weight(const struct llama *m, size_t i)
{
	return m->param[i].kind == PARAM_MATRIX || i == m->head;
}

static int
alloc_params(struct llama *m, int use, struct err *e)
{
	struct kernels *k = m->k;
	size_t i;

	for (i = 0; i < m->nparams; i++) {
		struct param *p = &m->param[i];

		if (is_weight(m, i)) {
			p->w = k->weight_new(k, &(struct k_weight_new){
				.dt = m->dt, .out = p->rows, .in = p->cols,
				.use = use}, e);
			p->data = p->w ? p->w->data : NULL;
		} else
			p->data = k->alloc(k, (size_t)p->n *
					   kdtype_size(m->dt), e);
		if (!p->data)
			return -1;
	}
	return 0;
}

/* cos and sin of every position, in double, rounded once. */
static int
make_angles(struct llama *m, struct err *e)
{
	struct kernels *k = m->k;
	int64_t half = m->c.head_dim / 2, p, i;
	size_t bytes = (size_t)(m->positions * half) * sizeof(float);
	float *c = xmalloc(bytes), *s = xmalloc(bytes);
	double *freq = xmalloc((size_t)half * sizeof *freq);
	double scale = rope_frequencies(&m->c, m->positions, freq);
	int rc = -1;

	for (p = 0; p < m->positions; p++)
		for (i = 0; i < half; i++) {
			double a = (double)p * freq[i];

			c[p * half + i] = (float)(scale * cos(a));
			s[p * half + i] = (float)(scale * sin(a));
		}
	free(freq);
	m->cos = k->alloc(k, bytes, e);
	m->sin = m->cos ? k->alloc(k, bytes, e) : NULL;
	if (m->sin) {
		kernels_upload(k, m->cos, c, bytes);
		kernels_upload(k, m->sin, s, bytes);
		rc = k->sync(k, e);
	}
	free(c);
	free(s);
	return rc;
}

struct llama *
llama_new(struct kernels *k, const struct model_config *c, enum kdtype dt,
	  int use, int64_t positions, struct err *e)
{
	struct llama *m = xcalloc(1, sizeof *m);

	m->k = k;
	m->c = *c;
	m->dt = dt;
	m->vp = config_vocab_padded(c);
	m->q = config_qkv_rows(c);
	m->positions = positions;
	m->layer = xcalloc((size_t)c->layers, sizeof *m->layer);
	m->param = xcalloc((size_t)c->layers * 8 + 3, sizeof *m->param);
	m->tensor = xcalloc((size_t)c->layers * 11 + 3, sizeof *m->tensor);
	list_all(m);
	if (alloc_params(m, use, e) < 0 || make_angles(m, e) < 0) {
		llama_free(m);
		return NULL;
	}
	return m;
}

void
llama_free(struct llama *m)
{
	struct kernels *k;
	size_t i;

	if (!m)
		return;
	k = m->k;
	for (i = 0; i < m->nparams; i++)
		if (m->param[i].w)
			kernels_weight_free(k, m->param[i].w);
		else
			kernels_release(k, m->param[i].data);
	kernels_release(k, m->cos);
	kernels_release(k, m->sin);
	free(m->param);
	free(m->tensor);
	free(m->layer);
	free(m);
}

const char *
llama_param_name(const struct llama *m, size_t param)
{
	size_t i;

	for (i = 0; i < m->ntensors; i++)
		if (m->tensor[i].param == param)
			return m->tensor[i].name;
	return "?";
}

/* ---- matching a file ---- */

static const struct tensor *
find_tensor(const struct llama *m, const char *name)
{
	size_t i;

	for (i = 0; i < m->ntensors; i++)
		if (!strcmp(m->tensor[i].name, name))
			return &m->tensor[i];
	return NULL;
}

/* The tensor of s named prefix + name; NULL: error. */
static const struct st_tensor *
match_one(const struct tensor *t, const struct st *s, const char *prefix,
	  struct err *e)
{
	char name[100];
	const struct st_tensor *f;
	int dims = t->vector ? 1 : 2;
	int64_t rows = t->vector ? t->cols : t->rows;

	snprintf(name, sizeof name, "%s%s", prefix, t->name);
	f = st_find(s, name);
	if (!f)
		err_set(e, "%s: tensor %s is missing", s->n ? s->v[0].file :
			"file without tensors", name);
	else if (f->ndim != dims || f->shape[0] != (uint64_t)rows ||
		 (dims == 2 && f->shape[1] != (uint64_t)t->cols))
		err_set(e, "%s: tensor %s has %d dimensions of %" PRIu64
			" x %" PRIu64 ", but config.json needs %" PRId64
			" x %" PRId64, f->file, name, f->ndim,
			f->ndim > 0 ? f->shape[0] : 0,
			f->ndim > 1 ? f->shape[1] : 1, rows,
			t->vector ? 1 : t->cols);
	else if (f->dtype != ST_F32 && f->dtype != ST_BF16 &&
		 f->dtype != ST_F16 && f->dtype != ST_F64)
		err_set(e, "%s: tensor %s: dtype %s is not supported", f->file,
			name, st_dtype_name(f->dtype));
	else
		return f;
	return NULL;
}

/* A weight or bias, but not a mask that was stored as "attn.bias". */
static int
is_parameter(const char *name)
{
	return str_ends(name, ".weight") ||
		(str_ends(name, ".bias") && !str_ends(name, "attn.bias") &&
		 !str_ends(name, "attention.bias"));
}

/* 1: ignored.  Buffers of a module are, and a tied lm_head; parameters not. */
static int
match_extra(const struct llama *m, const struct st *s,
	    const struct st_tensor *f, struct err *e)
{
	const struct st_tensor *emb;

	if (!is_parameter(f->name))
		return 1;
	if (!strcmp(f->name, "lm_head.weight") && m->c.tie) {
		emb = st_find(s, "model.embed_tokens.weight");
		if (emb && emb->dtype == f->dtype && emb->bytes == f->bytes &&
		    !memcmp(emb->data, f->data, f->bytes))
			return 0;
		return err_set(e, "%s: tensor lm_head.weight differs from"
			       " model.embed_tokens.weight, although"
			       " config.json ties them", f->file);
	}
	return err_set(e, "%s: tensor %s is not part of this model", f->file,
		       f->name);
}

enum { NAMED = 3 };	/* tensors of a warning */

static void
warn_ignored(const struct st_tensor *const *v, size_t n)
{
	struct buf b = {0};
	size_t i;

	for (i = 0; i < n && i < NAMED; i++)
		buf_printf(&b, "%s%s", i ? ", " : "", v[i]->name);
	buf_putc(&b, '\0');
	if (n > NAMED)
		warn("%s: %zu tensors are not part of the model and ignored:"
		     " %s, ...", v[0]->file, n, b.p);
	else
		warn("%s: not part of the model and ignored: %s", v[0]->file,
		     b.p);
	buf_clear(&b);
}

int
llama_match(const struct llama *m, const struct st *s, struct err *e)
{
	const struct st_tensor *ignored[NAMED];
	size_t n = 0, i;

	for (i = 0; i < m->ntensors; i++)
		if (!match_one(&m->tensor[i], s, "", e))
			return -1;
	for (i = 0; i < s->n; i++) {
		int rc = find_tensor(m, s->v[i].name) ? 0 :
			match_extra(m, s, &s->v[i], e);

		if (rc < 0)
			return -1;
		if (rc && n++ < NAMED)
			ignored[n - 1] = &s->v[i];
	}
	if (n)
		warn_ignored(ignored, n);
	return 0;
}

/* ---- files to device ---- */

static int
check_finite(const struct st_tensor *f, uint64_t at, const float *x, size_t n,
	     struct err *e)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return err_set(e, "%s: tensor %s: element %" PRIu64
				       " of %" PRIu64 " is %s: the model is"
				       " broken", f->file, f->name, at + i,
				       f->n, isnan(x[i]) ? "NaN" : "infinite");
	return 0;
}

/* Copy f to dst, as float or bf16; weights must be finite. */
static int
send_tensor(const struct llama *m, const struct st_tensor *f, int weights,
	    char *dst, enum kdtype dt, struct err *e)
{
	struct kernels *k = m->k;
	float *x = xmalloc(BLOCK * sizeof *x);
	uint16_t *h = (uint16_t *)x;	/* converted in place, front to back */
	uint64_t at;
	size_t i, n;
	int rc = 0;

	for (at = 0; at < f->n && rc == 0; at += n) {
		n = f->n - at < BLOCK ? (size_t)(f->n - at) : BLOCK;
		rc = st_f32(f, at, n, x, e);
		if (rc == 0 && weights)
			rc = check_finite(f, at, x, n, e);
		if (rc == 0 && dt == K_BF16)
			for (i = 0; i < n; i++) {
				float v;

				memcpy(&v, x + i, sizeof v);
				h[i] = bf16_from_f32(v);
			}
		if (rc == 0) {
			kernels_upload(k, dst + at * kdtype_size(dt), x,
				       n * kdtype_size(dt));
			rc = k->sync(k, e);
		}
		st_drop(f, at, n);
	}
	free(x);
	return rc;
}

/* Read a tensor into flat, or into the weights if flat is NULL. */
static int
load_tensor(const struct llama *m, const struct tensor *t, const struct st *s,
	    const char *prefix, float *flat, struct err *e)
{
	const struct st_tensor *f = match_one(t, s, prefix, e);
	const struct param *p = &m->param[t->param];
	int64_t at = t->row * t->cols;

	if (!f)
		return -1;
	if (flat)
		return send_tensor(m, f, !*prefix,
				   (char *)(flat + p->at + at), K_F32, e);
	return send_tensor(m, f, 1, (char *)p->data +
			   (size_t)at * kdtype_size(m->dt), m->dt, e);
}

int
llama_load(struct llama *m, const struct st *s, struct err *e)
{
	size_t size = kdtype_size(m->dt), i;

	if (llama_match(m, s, e) < 0 ||
	    llama_flat_load(m, s, "", NULL, e) < 0)
		return -1;
	for (i = 0; i < m->nparams; i++) {
		const struct param *p = &m->param[i];
		int64_t real = m->c.vocab * p->cols;

		if ((p->kind == PARAM_EMBED || p->kind == PARAM_HEAD) &&
		    real < p->n)
			kernels_zero(m->k,
				     (char *)p->data + (size_t)real * size,
				     (size_t)(p->n - real) * size);
		if (p->w)
			kernels_weight_update(m->k, p->w);
	}
	return m->k->sync(m->k, e);
}

float *
llama_flat_new(const struct llama *m, struct err *e)
{
	size_t bytes = (size_t)m->flat * sizeof(float);
	float *p = m->k->alloc(m->k, bytes, e);

	if (p)
		kernels_zero(m->k, p, bytes);
	return p;
}

int
llama_flat_load(const struct llama *m, const struct st *s, const char *prefix,
		float *flat, struct err *e)
{
	size_t i;

	for (i = 0; i < m->ntensors; i++)
		if (load_tensor(m, &m->tensor[i], s, prefix, flat, e) < 0)
			return -1;
	return 0;
}

static void
fill_normal(float *x, size_t n, uint64_t seed, uint64_t stream, uint64_t at,
	    double std, int threads)
{
	size_t i;

#pragma omp parallel for schedule(static) num_threads(threads)
	for (i = 0; i < n; i++)
		x[i] = (float)(std * rng_normal(seed, stream, at + i));
}

int
llama_flat_init(const struct llama *m, uint64_t seed, double std,
		double embed_scale, float *flat, struct err *e)
{
	struct kernels *k = m->k;
	float *x = xmalloc(BLOCK * sizeof *x);
	double out = 1 / sqrt(2.0 * (double)m->c.layers);
	size_t i, j;
	int rc = 0;

	for (i = 0; i < m->ntensors && rc == 0; i++) {
		const struct tensor *t = &m->tensor[i];
		const struct param *p = &m->param[t->param];
		float *dst = flat + p->at + t->row * t->cols;
		size_t n, total = (size_t)(t->rows * t->cols), at;
		double s = std * (t->residual ? out : 1) *
			(p->kind == PARAM_EMBED ? embed_scale : 1);

		for (at = 0; at < total && rc == 0; at += n) {
			n = total - at < BLOCK ? total - at : BLOCK;
			fill_normal(x, n, seed, RNG_INIT |
				    (uint64_t)(i + 1) << 32, at, s,
				    k->threads);
			for (j = 0; t->vector && j < n; j++)
				x[j] = 1;
			kernels_upload(k, dst + at, x, n * sizeof *x);
			rc = k->sync(k, e);
		}
	}
	free(x);
	return rc;
}

void
llama_set(struct llama *m, const float *flat)
{
	struct kernels *k = m->k;
	size_t i;

	for (i = 0; i < m->nparams; i++) {
		struct param *p = &m->param[i];

		k->cast(k, &(struct k_cast){.n = p->n, .src = flat + p->at,
			.sdt = K_F32, .dst = p->data, .ddt = m->dt});
		if (p->w)
			kernels_weight_update(k, p->w);
	}
}

/* ---- device to files ---- */

static const char *
tensor_data(const struct llama *m, const struct tensor *t, const float *flat)
{
	const struct param *p = &m->param[t->param];
	const char *src = flat ? (const char *)(flat + p->at) : p->data;

	return src + (size_t)(t->row * t->cols) *
		(flat ? sizeof *flat : kdtype_size(m->dt));
}

size_t
llama_tensor_bytes(const struct llama *m, const struct tensor *t,
		   const float *flat)
{
	return (size_t)(t->rows * t->cols) *
		(flat ? sizeof *flat : kdtype_size(m->dt));
}

void
llama_copy(const struct llama *m, const struct tensor *t, const float *flat,
	   void *to)
{
	kernels_fetch(m->k, to, tensor_data(m, t, flat),
		      llama_tensor_bytes(m, t, flat));
}

int
llama_read(const struct llama *m, const struct tensor *t, const float *flat,
	   tensor_sink fn, void *ctx, struct err *e)
{
	size_t total = llama_tensor_bytes(m, t, flat), at, k;
	const char *src = tensor_data(m, t, flat);
	size_t block = BLOCK * sizeof(float);
	char *x = xmalloc(block);
	int rc = 0;

	for (at = 0; at < total && rc == 0; at += k) {
		k = total - at < block ? total - at : block;
		rc = kernels_download(m->k, x, src + at, k, e);
		if (rc == 0)
			rc = fn(ctx, x, k, e);
	}
	free(x);
	return rc;
}
