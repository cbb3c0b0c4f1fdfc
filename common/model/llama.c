/*
 * llama.c - see llama.h
 *
 * The lists of parameters and of tensors are built together, so that loading,
 * saving, initialization and weight decay are each one loop over a list.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "model/llama.h"

enum { BLOCK = 1 << 20 };

/* Places in flat arrays: multiples of 256 bytes in every type. */
enum { GAP = 128 };

/* ---- the lists ---- */

static int64_t
padded(int64_t n)
{
	return (n + GAP - 1) / GAP * GAP;
}

static size_t
add_param(struct llama *m, enum param_kind kind, int64_t rows, int64_t cols)
{
	struct param *p;

	GROW(m->param, m->param_cap, m->nparams + 1);
	p = &m->param[m->nparams];
	*p = (struct param){0};
	p->kind = kind;
	p->rows = rows;
	p->cols = cols;
	p->n = rows * cols;
	p->at = m->flat;
	p->dt = m->dt;
	m->flat += padded(p->n);
	return m->nparams++;
}

static void
add_tensor(struct llama *m, size_t param, int64_t row, int64_t rows,
	   int residual, int layer, const char *name)
{
	const struct param *p = &m->param[param];
	struct tensor *t;

	GROW(m->tensor, m->tensor_cap, m->ntensors + 1);
	t = &m->tensor[m->ntensors++];
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

/* Places of parameters in the arena, and its ranges of one type. */
static size_t
place_params(struct llama *m)
{
	size_t bytes = 0, i;

	for (i = 0; i < m->nparams; i++) {
		struct param *p = &m->param[i];
		struct llama_range *r;

		if (i == 0 || p->dt != p[-1].dt) {
			GROW(m->range, m->range_cap, m->nranges + 1);
			m->range[m->nranges++].first = i;
		}
		r = &m->range[m->nranges - 1];
		r->end = i + 1;
		p->offset = bytes;
		bytes += (size_t)padded(p->n) * kdtype_size(p->dt);
	}
	return bytes;
}

static int
alloc_params(struct llama *m, int use, struct err *e)
{
	struct kernels *k = m->k;
	size_t bytes = place_params(m), i;

	m->arena = k->alloc(k, bytes, e);
	if (!m->arena)
		return -1;
	kernels_zero(k, m->arena, bytes);
	for (i = 0; i < m->nparams; i++) {
		struct param *p = &m->param[i];

		p->data = (char *)m->arena + p->offset;
		if (!is_weight(m, i))
			continue;
		p->w = k->weight_new(k, &(struct k_weight_new){.dt = p->dt,
			.out = p->rows, .in = p->cols, .use = use,
			.data = p->data}, e);
		if (!p->w)
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
		kernels_weight_free(k, m->param[i].w);
	kernels_release(k, m->arena);
	kernels_release(k, m->cos);
	kernels_release(k, m->sin);
	free(m->param);
	free(m->range);
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

/* ---- flat arrays ---- */

float *
llama_flat_new(const struct llama *m, struct err *e)
{
	size_t bytes = (size_t)m->flat * sizeof(float);
	float *p = m->k->alloc(m->k, bytes, e);

	if (p)
		kernels_zero(m->k, p, bytes);
	return p;
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
	float *one = xmalloc(BLOCK * sizeof *one);
	double out = 1 / sqrt(2.0 * (double)m->c.layers);
	size_t i, blocks = 0;
	int rc = 0;

	for (i = 0; i < BLOCK; i++)
		one[i] = 1;
	for (i = 0; i < m->ntensors && rc == 0; i++) {
		const struct tensor *t = &m->tensor[i];
		const struct param *p = &m->param[t->param];
		float *dst = flat + p->at + t->row * t->cols;
		size_t n, total = (size_t)(t->rows * t->cols), at;
		double s = std * (t->residual ? out : 1) *
			(p->kind == PARAM_EMBED ? embed_scale : 1);

		for (at = 0; at < total && rc == 0; at += n) {
			n = total - at < BLOCK ? total - at : BLOCK;
			if (t->vector) {
				kernels_upload(k, dst + at, one,
					       n * sizeof *one);
				continue;
			}
			/* the upload of the last block must have read it */
			if (blocks++ && (rc = k->sync(k, e)) < 0)
				break;
			fill_normal(x, n, seed, RNG_INIT |
				    (uint64_t)(i + 1) << 32, at, s,
				    k->threads);
			kernels_upload(k, dst + at, x, n * sizeof *x);
		}
	}
	if (rc == 0)
		rc = k->sync(k, e);
	free(one);
	free(x);
	return rc;
}

void
llama_pack(struct llama *m)
{
	size_t i;

	for (i = 0; i < m->nparams; i++)
		if (m->param[i].w)
			kernels_weight_update(m->k, m->param[i].w);
}

void
llama_set(struct llama *m, const float *flat)
{
	struct kernels *k = m->k;
	size_t i;

	for (i = 0; i < m->nranges; i++) {
		const struct param *p = &m->param[m->range[i].first];
		const struct param *last = &m->param[m->range[i].end - 1];

		k->cast(k, &(struct k_cast){.n = last->at + last->n - p->at,
			.src = flat + p->at, .sdt = K_F32, .dst = p->data,
			.ddt = p->dt});
	}
	llama_pack(m);
}
