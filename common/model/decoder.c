/*
 * decoder.c - see decoder.h
 *
 * The same calls as a forward pass of training, but attention reads the
 * cache, and only the rows that are asked for reach the head.  Nothing is
 * known on the host before the download at the end, so a queue on the device
 * never waits for the host between layers.
 */
#include "model/decoder.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

struct decoder {
	struct llama *m;
	int64_t slots, positions, max_rows, max_logits;
	/* device, for max_rows rows */
	int32_t *tok, *slot, *pos, *target, *best;
	float *x;		/* (n, C) residual stream */
	void *h;		/* (n, max(C, H*D)) operand of the products */
	void *qkv;		/* (n, Q) */
	void *gu, *a;		/* (n, 2F), (n, F) */
	float *loss, *logz;
	float *logits;		/* (max_logits, Vp) */
	char *kc, *vc;		/* (L, slots, G, P, D) */
	float *row;		/* host, (max_logits, Vp) */
};

static int64_t
max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Bytes of one layer's keys. */
static size_t
layer_bytes(const struct decoder *d)
{
	const struct model_config *c = &d->m->c;

	return (size_t)(d->slots * c->kv_heads * d->positions * c->head_dim) *
	       kdtype_size(d->m->dt);
}

struct decoder *
decoder_new(struct llama *m, int64_t slots, int64_t positions,
	    int64_t max_rows, int64_t max_logits)
{
	struct decoder *d = xcalloc(1, sizeof(*d));
	struct kernels *k = m->k;
	const struct model_config *c = &m->c;
	size_t n = (size_t)max_rows, s = kdtype_size(m->dt);
	size_t ints = n * sizeof(int32_t), floats = n * sizeof(float);

	d->m = m;
	d->slots = slots;
	d->positions = positions;
	d->max_rows = max_rows;
	d->max_logits = max_logits;
	d->tok = k->alloc(k, ints);
	d->slot = k->alloc(k, ints);
	d->pos = k->alloc(k, ints);
	d->target = k->alloc(k, ints);
	d->best = k->alloc(k, ints);
	d->x = k->alloc(k, floats * (size_t)c->hidden);
	d->h = k->alloc(k, n * s * (size_t)max64(c->hidden,
						 c->heads * c->head_dim));
	d->qkv = k->alloc(k, n * s * (size_t)m->q);
	d->gu = k->alloc(k, n * s * (size_t)(2 * c->inter));
	d->a = k->alloc(k, n * s * (size_t)c->inter);
	d->loss = k->alloc(k, floats);
	d->logz = k->alloc(k, floats);
	d->logits = k->alloc(k, (size_t)(max_logits * m->vp) * sizeof(float));
	d->kc = k->alloc(k, layer_bytes(d) * (size_t)c->layers);
	d->vc = k->alloc(k, layer_bytes(d) * (size_t)c->layers);
	d->row = xreallocarray(NULL, (size_t)(max_logits * m->vp),
			       sizeof(float));
	return d;
}

void
decoder_free(struct decoder *d)
{
	void *mine[14];
	struct kernels *k;

	if (!d)
		return;
	memcpy(mine, (void *[]){d->tok, d->slot, d->pos, d->target, d->best,
		d->x, d->h, d->qkv, d->gu, d->a, d->loss, d->logz, d->logits,
		d->kc}, sizeof(mine));
	k = d->m->k;
	for (size_t i = 0; i < sizeof(mine) / sizeof(*mine); i++)
		k->release(k, mine[i]);
	k->release(k, d->vc);
	free(d->row);
	free(d);
}

static void
norm(struct decoder *d, int64_t n, const float *x, size_t param, void *y)
{
	struct llama *m = d->m;

	m->k->rmsnorm_fwd(m->k, &(struct k_rmsnorm_fwd){
		.n = n, .c = m->c.hidden, .dt = m->dt, .x = x,
		.w = m->param[param].data, .eps = (float)m->c.norm_eps,
		.y = y });
}

/* x += product of in with a matrix that writes into the residual stream */
static void
add_product(struct decoder *d, int64_t n, size_t param, const void *in)
{
	struct llama *m = d->m;

	m->k->matmul_fwd(m->k, &(struct k_matmul_fwd){
		.w = m->param[param].w, .n = n, .x = in, .y = d->x,
		.ydt = K_F32, .add = d->x });
}

static void
attention(struct decoder *d, int64_t n, const struct llama_layer *l,
	  char *kc, char *vc)
{
	struct llama *m = d->m;
	struct kernels *k = m->k;
	const struct model_config *c = &m->c;
	int64_t h = c->heads, g = c->kv_heads, dim = c->head_dim;

	norm(d, n, d->x, l->norm1, d->h);
	k->matmul_fwd(k, &(struct k_matmul_fwd){
		.w = m->param[l->qkv].w, .n = n, .x = d->h, .y = d->qkv,
		.ydt = m->dt });
	k->rope_fwd(k, &(struct k_rope_fwd){
		.n = n, .h = h, .g = g, .d = dim, .dt = m->dt, .in = d->qkv,
		.out = d->qkv, .pos = d->pos, .cos = m->cos, .sin = m->sin,
		.qw = c->qk_norm ? m->param[l->qnorm].data : NULL,
		.kw = c->qk_norm ? m->param[l->knorm].data : NULL,
		.eps = (float)c->norm_eps });
	k->kv_put(k, &(struct k_kv_put){
		.n = n, .h = h, .g = g, .d = dim, .p = d->positions,
		.dt = m->dt, .qkv = d->qkv, .slot = d->slot, .pos = d->pos,
		.kc = kc, .vc = vc });
	k->attn_cache(k, &(struct k_attn_cache){
		.n = n, .h = h, .g = g, .d = dim, .p = d->positions,
		.dt = m->dt, .qkv = d->qkv, .slot = d->slot, .pos = d->pos,
		.kc = kc, .vc = vc, .scale = (float)(1 / sqrt((double)dim)),
		.o = d->h });
	add_product(d, n, l->o, d->h);
}

static void
feed_forward(struct decoder *d, int64_t n, const struct llama_layer *l)
{
	struct llama *m = d->m;
	struct kernels *k = m->k;

	norm(d, n, d->x, l->norm2, d->h);
	k->matmul_fwd(k, &(struct k_matmul_fwd){
		.w = m->param[l->gu].w, .n = n, .x = d->h, .y = d->gu,
		.ydt = m->dt });
	k->swiglu_fwd(k, &(struct k_swiglu_fwd){
		.n = n, .f = m->c.inter, .dt = m->dt, .gu = d->gu,
		.a = d->a });
	add_product(d, n, l->down, d->a);
}

/* All layers; the rows' residual stream is then in x. */
static void
layers(struct decoder *d, const struct decoder_rows *r)
{
	struct llama *m = d->m;
	struct kernels *k = m->k;
	size_t ints = (size_t)r->n * sizeof(int32_t);

	k->upload(k, d->tok, r->tok, ints);
	k->upload(k, d->slot, r->slot, ints);
	k->upload(k, d->pos, r->pos, ints);
	k->embed_fwd(k, &(struct k_embed_fwd){
		.n = r->n, .c = m->c.hidden, .dt = m->dt,
		.w = m->param[m->embed].data, .tok = d->tok, .scale = 1,
		.y = d->x });
	for (int64_t i = 0; i < m->c.layers; i++) {
		attention(d, r->n, &m->layer[i],
			  d->kc + layer_bytes(d) * (size_t)i,
			  d->vc + layer_bytes(d) * (size_t)i);
		feed_forward(d, r->n, &m->layer[i]);
	}
}

void
decoder_feed(struct decoder *d, const struct decoder_rows *r, int64_t want,
	     float *logits)
{
	struct llama *m = d->m;
	struct kernels *k = m->k;
	int64_t v = m->c.vocab;

	layers(d, r);
	if (!logits || want == 0) {
		k->sync(k);
		return;
	}
	norm(d, want, d->x + (r->n - want) * m->c.hidden, m->norm, d->h);
	k->matmul_fwd(k, &(struct k_matmul_fwd){
		.w = m->param[m->head].w, .n = want, .x = d->h,
		.y = d->logits, .ydt = K_F32 });
	k->download(k, d->row, d->logits,
		    (size_t)(want * m->vp) * sizeof(float));
	for (int64_t i = 0; i < want; i++)
		memcpy(logits + i * v, d->row + i * m->vp,
		       (size_t)v * sizeof(float));
}

void
decoder_score(struct decoder *d, const struct decoder_rows *r,
	      const int32_t *target, float *logprob, int32_t *best)
{
	struct llama *m = d->m;
	struct kernels *k = m->k;
	size_t n = (size_t)r->n;

	layers(d, r);
	k->upload(k, d->target, target, n * sizeof(int32_t));
	norm(d, r->n, d->x, m->norm, d->h);
	k->ce_head(k, &(struct k_ce_head){
		.w = m->param[m->head].w, .n = r->n, .v = m->c.vocab,
		.h = d->h, .target = d->target, .scale = 1, .loss = d->loss,
		.logz = d->logz, .argmax = d->best });
	k->download(k, logprob, d->loss, n * sizeof(float));
	k->download(k, best, d->best, n * sizeof(int32_t));
	for (size_t i = 0; i < n; i++)
		logprob[i] = -logprob[i];
}
