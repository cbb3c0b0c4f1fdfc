/*
 * decode.c - see decode.h
 *
 * A layer is the forward half of pass.c with two differences: keys and values
 * of the rows are stored in the cache, and attention reads the cache.  All
 * layers share one set of activations; the residual stream is updated in
 * place.  With one row, speed is limited by reading the weights once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/carve.h"
#include "model/decode.h"
#include "model/layer.h"

struct decoder {
	struct llama *m;
	struct kernels *k;
	int64_t slots, positions, max_rows;
	void **kc, **vc;	/* (L) of (slots, G, P, D) */
	float *x;		/* (N, C) */
	void *h;		/* (N, C) */
	void *qkv;		/* (N, Q) */
	void *o;		/* (N, H D) */
	void *gu;		/* (N, 2F) */
	void *act;		/* (N, F) */
	int32_t *tok, *slot, *pos;	/* (N) device */
	int32_t *host;		/* (4, N): source of their upload; first rows
				   of runs */
	struct k_runs runs;	/* of the rows sent last */
	int pending;		/* uploads of host memory since the last wait */
	int64_t length;		/* decoder_length() */
	double *freq;		/* dynamic RoPE only: (D/2), */
	float *angles;		/* (2, N, D/2) source of cos and sin, */
	float *cos, *sin;	/* (N, D/2) */
	int32_t *row;		/* (N) 0, 1, ... in place of positions */
	float *logits;		/* (logit_rows, Vp), allocated on demand, */
	float *seen;		/* and their copy on the host */
	int64_t logit_rows;
	float *loss, *logz;	/* (N) */
	int32_t *target, *argmax;	/* (N) */
	void *block;
};

static size_t
carve_all(struct decoder *d, const struct model_config *c, size_t s,
	  char *base)
{
	struct carve v = {base, 0};
	int64_t n = d->max_rows, hd = c->heads * c->head_dim, i;
	int64_t cache = d->slots * c->kv_heads * d->positions * c->head_dim;

	for (i = 0; i < c->layers; i++) {
		void *kc = carve(&v, cache, s), *vc = carve(&v, cache, s);

		if (d->kc) {
			d->kc[i] = kc;
			d->vc[i] = vc;
		}
	}
	d->x = carve(&v, n * c->hidden, 4);
	d->h = carve(&v, n * c->hidden, s);
	d->qkv = carve(&v, n * config_qkv_rows(c), s);
	d->o = carve(&v, n * hd, s);
	d->gu = carve(&v, n * 2 * c->inter, s);
	d->act = carve(&v, n * c->inter, s);
	d->tok = carve(&v, n, 4);
	d->slot = carve(&v, n, 4);
	d->pos = carve(&v, n, 4);
	d->loss = carve(&v, n, 4);
	d->logz = carve(&v, n, 4);
	d->target = carve(&v, n, 4);
	d->argmax = carve(&v, n, 4);
	if (llama_is_dynamic(d->m)) {
		d->cos = carve(&v, n * c->head_dim / 2, 4);
		d->sin = carve(&v, n * c->head_dim / 2, 4);
		d->row = carve(&v, n, 4);
	}
	return v.at;
}

/* Everything queued is done after it, uploads of d's host memory included. */
static int
wait_all(struct decoder *d, struct err *e)
{
	d->pending = 0;
	return d->k->sync(d->k, e);
}

static void
dynamic_new(struct decoder *d)
{
	int64_t half = d->m->c.head_dim / 2, i;

	d->freq = xmalloc((size_t)half * sizeof *d->freq);
	d->angles = xmalloc((size_t)(2 * d->max_rows * half) *
			    sizeof *d->angles);
	for (i = 0; i < d->max_rows; i++)
		d->host[i] = (int32_t)i;
	kernels_upload(d->k, d->row, d->host, (size_t)d->max_rows * 4);
	d->pending = 1;
}

struct decoder *
decoder_new(struct llama *m, int64_t slots, int64_t positions,
	    int64_t max_rows, struct err *e)
{
	struct decoder *d = xcalloc(1, sizeof *d);
	size_t s = kdtype_size(m->dt);

	d->m = m;
	d->k = m->k;
	d->slots = slots;
	d->positions = positions;
	d->max_rows = max_rows;
	d->kc = xcalloc((size_t)m->c.layers, sizeof *d->kc);
	d->vc = xcalloc((size_t)m->c.layers, sizeof *d->vc);
	d->host = xmalloc((size_t)max_rows * 4 * sizeof *d->host);
	d->block = d->k->alloc(d->k, carve_all(d, &m->c, s, NULL), e);
	if (d->block) {
		carve_all(d, &m->c, s, d->block);
		if (llama_is_dynamic(m))
			dynamic_new(d);
		return d;
	}
	decoder_free(d);
	return NULL;
}

void
decoder_free(struct decoder *d)
{
	struct err e = {0};

	if (!d)
		return;
	if (d->pending)
		wait_all(d, &e);
	kernels_release(d->k, d->logits);
	kernels_release(d->k, d->block);
	free(d->kc);
	free(d->vc);
	free(d->host);
	free(d->seen);
	free(d->freq);
	free(d->angles);
	free(d);
}

/* Where rows of one slot with rising positions begin; the longest position. */
static void
find_runs(struct decoder *d, int64_t n, const int32_t *slot,
	  const int32_t *pos)
{
	int32_t *first = d->host + 3 * n;
	int64_t runs = 0, last = 0;

	for (int64_t i = 0; i < n; i++) {
		if (i == 0 || slot[i] != slot[i - 1] ||
		    pos[i] != pos[i - 1] + 1)
			first[runs++] = (int32_t)i;
		last = pos[i] > last ? pos[i] : last;
	}
	d->runs = (struct k_runs){ last + 1, runs, first };
}

/* The previous upload must finish before its source changes. */
static int
send_rows(struct decoder *d, int64_t n, const int32_t *tok,
	  const int32_t *slot, const int32_t *pos, struct err *e)
{
	size_t bytes = (size_t)n * sizeof *tok;
	int32_t *h = d->host;

	if (d->pending && wait_all(d, e) < 0)
		return -1;
	d->pending = 1;
	memcpy(h, tok, bytes);
	memcpy(h + n, slot, bytes);
	memcpy(h + 2 * n, pos, bytes);
	kernels_upload(d->k, d->tok, h, bytes);
	kernels_upload(d->k, d->slot, h + n, bytes);
	kernels_upload(d->k, d->pos, h + 2 * n, bytes);
	find_runs(d, n, slot, pos);
	return 0;
}

void
decoder_length(struct decoder *d, int64_t length)
{
	d->length = length;
}

/* cos and sin of each row, by its position and the length of its text. */
static void
send_angles(struct decoder *d, int64_t n, const int32_t *pos)
{
	int64_t half = d->m->c.head_dim / 2, i, j;
	size_t bytes = (size_t)(n * half) * sizeof(float);
	float *c = d->angles, *s = c + n * half;
	int64_t length, last = -1;

	for (i = 0; i < n; i++) {
		length = d->length ? d->length : pos[i] + 1;
		if (length != last)
			rope_frequencies(&d->m->c, length, d->freq);
		last = length;
		for (j = 0; j < half; j++) {
			c[i * half + j] = (float)cos(pos[i] * d->freq[j]);
			s[i * half + j] = (float)sin(pos[i] * d->freq[j]);
		}
	}
	kernels_upload(d->k, d->cos, c, bytes);
	kernels_upload(d->k, d->sin, s, bytes);
}

static void
attention(struct decoder *d, const struct llama_layer *l, int64_t layer,
	  int64_t n)
{
	const struct llama *m = d->m;
	const struct model_config *c = &m->c;
	struct k_rope_fwd rope = layer_rope(m, l, n, d->qkv, d->qkv, d->pos);
	struct kernels *k = d->k;

	if (llama_is_dynamic(m)) {
		rope.pos = d->row;
		rope.cos = d->cos;
		rope.sin = d->sin;
	}
	k->rope_fwd(k, &rope);
	k->kv_put(k, &(struct k_kv_put){
		.n = n, .h = c->heads, .g = c->kv_heads, .d = c->head_dim,
		.p = d->positions, .dt = m->dt, .qkv = d->qkv,
		.slot = d->slot, .pos = d->pos, .runs = d->runs,
		.kc = d->kc[layer], .vc = d->vc[layer]});
	k->attn_cache(k, &(struct k_attn_cache){
		.n = n, .h = c->heads, .g = c->kv_heads, .d = c->head_dim,
		.p = d->positions, .dt = m->dt, .qkv = d->qkv,
		.slot = d->slot, .pos = d->pos, .runs = d->runs,
		.kc = d->kc[layer], .vc = d->vc[layer],
		.window = config_window(c, layer),
		.scale = layer_attn_scale(m), .o = d->o});
}

static void
layer_run(struct decoder *d, int64_t layer, int64_t n)
{
	const struct llama *m = d->m;
	const struct llama_layer *l = &m->layer[layer];

	layer_norm(m, l->norm1, n, d->x, d->h, NULL);
	layer_matmul(m, l->qkv, n, d->h, d->qkv);
	attention(d, l, layer, n);
	layer_matmul_add(m, l->o, n, d->o, d->x, d->x);
	layer_mlp(m, l, n, d->x, d->h, NULL, d->gu, d->act, d->x);
}

int
decoder_run(struct decoder *d, int64_t n, const int32_t *tok,
	    const int32_t *slot, const int32_t *pos, struct err *e)
{
	const struct llama *m = d->m;
	int64_t i;

	if (send_rows(d, n, tok, slot, pos, e) < 0)
		return -1;
	if (llama_is_dynamic(m))
		send_angles(d, n, pos);
	layer_embed(m, n, d->tok, d->x);
	for (i = 0; i < m->c.layers; i++)
		layer_run(d, i, n);
	layer_norm(m, m->norm, n, d->x, d->h, NULL);
	return 0;
}

int
decoder_feed(struct decoder *d, const uint32_t *id, int64_t n, int32_t slot,
	     int64_t at, int64_t *last, struct err *e)
{
	int64_t max = d->max_rows < DECODER_PIECE ? d->max_rows :
		DECODER_PIECE, k = 0, i;
	int32_t tok[DECODER_PIECE], in[DECODER_PIECE], pos[DECODER_PIECE];

	for (; n > 0; n -= k, id += k) {
		k = n < max ? n : max;
		for (i = 0; i < k; i++) {
			tok[i] = (int32_t)id[i];
			in[i] = slot;
			pos[i] = (int32_t)at++;
		}
		if (decoder_run(d, k, tok, in, pos, e) < 0)
			return -1;
	}
	*last = k - 1;
	return 0;
}

static const void *
hidden(const struct decoder *d, int64_t row)
{
	return (const char *)d->h + (size_t)(row * d->m->c.hidden) *
		kdtype_size(d->m->dt);
}

const float *
decoder_logits(struct decoder *d, int64_t first, int64_t n, struct err *e)
{
	const struct llama *m = d->m;
	size_t bytes = (size_t)(n * m->vp) * sizeof *d->logits;

	if (n > d->logit_rows) {
		kernels_release(d->k, d->logits);
		d->logit_rows = 0;
		d->logits = d->k->alloc(d->k, bytes, e);
		if (!d->logits)
			return NULL;
		d->seen = xreallocarray(d->seen, (size_t)(n * m->vp),
					sizeof *d->seen);
		d->logit_rows = n;
	}
	d->k->matmul_fwd(d->k, &(struct k_matmul_fwd){
		.w = m->param[m->head].w, .n = n, .x = hidden(d, first),
		.y = d->logits, .ydt = K_F32});
	kernels_fetch(d->k, d->seen, d->logits, bytes);
	return wait_all(d, e) < 0 ? NULL : d->seen;
}

int
decoder_score(struct decoder *d, int64_t first, int64_t n,
	      const int32_t *target, float *loss, int32_t *argmax,
	      struct err *e)
{
	const struct llama *m = d->m;
	size_t bytes = (size_t)n * 4;

	kernels_upload(d->k, d->target, target, bytes);
	d->k->ce_head(d->k, &(struct k_ce_head){
		.w = m->param[m->head].w, .n = n, .v = m->c.vocab,
		.h = hidden(d, first), .target = d->target, .loss = d->loss,
		.logz = d->logz, .argmax = argmax ? d->argmax : NULL});
	kernels_fetch(d->k, loss, d->loss, bytes);
	if (argmax)
		kernels_fetch(d->k, argmax, d->argmax, bytes);
	return wait_all(d, e);
}
