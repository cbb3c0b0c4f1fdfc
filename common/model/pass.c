/*
 * pass.c - see pass.h
 *
 * The residual stream x is float.  Both of its values in a layer are kept,
 * because the backward pass of RMSNorm reads them; other activations are kept
 * in the compute type.  Short-lived activations are in scratch memory that all
 * layers share.  The backward pass reuses memory: d(gate,up) overwrites
 * gate,up, and silu(gate)*up is recomputed instead of kept.
 *
 *	x0 = embed                             h1 = norm(x)   qkv = h1 Wqkv'
 *	layer: x -> xm = x + attn(rope(qkv)) Wo'    h2 = norm(xm)  gu = h2 Wgu'
 *	       xm -> x' = xm + swiglu(gu) Wdown'
 */
#include <stdlib.h>

#include "base/mem.h"
#include "model/carve.h"
#include "model/layer.h"
#include "model/pass_priv.h"

static void
carve_layer(struct acts *a, struct carve *v, const struct model_config *c,
	    size_t s, int64_t n)
{
	int64_t hd = c->heads * c->head_dim, q = config_qkv_rows(c);

	a->x = carve(v, n * c->hidden, 4);
	a->xm = carve(v, n * c->hidden, 4);
	a->rstd1 = carve(v, n, 4);
	a->rstd2 = carve(v, n, 4);
	a->h1 = carve(v, n * c->hidden, s);
	a->h2 = carve(v, n * c->hidden, s);
	a->qkv = carve(v, n * q, s);
	a->qkv0 = c->qk_norm ? carve(v, n * q, s) : a->qkv;
	a->o = carve(v, n * hd, s);
	a->lse = carve(v, n * c->heads, 4);
	a->gu = carve(v, n * 2 * c->inter, s);
}

static void
carve_scratch(struct pass *p, struct carve *v, const struct model_config *c,
	      size_t s, int64_t n)
{
	int64_t hd = c->heads * c->head_dim, q = config_qkv_rows(c);

	p->x = carve(v, n * c->hidden, 4);
	p->rstd = carve(v, n, 4);
	p->h = carve(v, n * c->hidden, s);
	p->act = carve(v, n * c->inter, s);
	p->pos = carve(v, n, 4);
	p->dact = carve(v, n * (c->inter > hd ? c->inter : hd), s);
	p->dqkv = carve(v, n * q, s);
	p->dh = carve(v, n * c->hidden, s);
	p->dx = carve(v, n * c->hidden, 4);
	p->dxc = s == 2 ? carve(v, n * c->hidden, 2) : (void *)p->dx;
}

static size_t
carve_all(struct pass *p, const struct model_config *c, size_t s, char *base)
{
	struct carve v = {base, 0};
	int64_t n = p->max_b * p->t, i;

	for (i = 0; i < c->layers; i++)
		carve_layer(&p->a[i], &v, c, s, n);
	carve_scratch(p, &v, c, s, n);
	return v.at;
}

int64_t
pass_bytes(const struct model_config *c, enum kdtype dt, int64_t max_b,
	   int64_t t)
{
	struct pass p = {.max_b = max_b, .t = t};
	size_t n;

	p.a = xcalloc((size_t)c->layers, sizeof *p.a);
	n = carve_all(&p, c, kdtype_size(dt), NULL);
	free(p.a);
	return (int64_t)n;
}

static int
make_positions(struct pass *p, struct err *e)
{
	int64_t n = p->max_b * p->t, i;
	int32_t *pos = xmalloc((size_t)n * sizeof *pos);
	int rc;

	for (i = 0; i < n; i++)
		pos[i] = (int32_t)(i % p->t);
	kernels_upload(p->k, p->pos, pos, (size_t)n * sizeof *pos);
	rc = p->k->sync(p->k, e);
	free(pos);
	return rc;
}

struct pass *
pass_new(struct llama *m, int64_t max_b, int64_t t, struct err *e)
{
	struct pass *p = xcalloc(1, sizeof *p);
	size_t s = kdtype_size(m->dt);

	p->m = m;
	p->k = m->k;
	p->max_b = max_b;
	p->t = t;
	p->a = xcalloc((size_t)m->c.layers, sizeof *p->a);
	p->block = p->k->alloc(p->k, carve_all(p, &m->c, s, NULL), e);
	if (p->block) {
		carve_all(p, &m->c, s, p->block);
		if (make_positions(p, e) == 0)
			return p;
	}
	pass_free(p);
	return NULL;
}

void
pass_free(struct pass *p)
{
	if (!p)
		return;
	kernels_release(p->k, p->block);
	free(p->a);
	free(p);
}

/* ---- forward ---- */

static void
layer_fwd(struct pass *p, int64_t i, float *out, const struct pass_batch *b)
{
	const struct llama_layer *l = &p->m->layer[i];
	struct acts *a = &p->a[i];
	const struct llama *m = p->m;
	struct kernels *k = p->k;
	int64_t n = b->b * p->t;
	struct k_rope_fwd rope = layer_rope(m, l, n, a->qkv0, a->qkv, p->pos);

	layer_norm(m, l->norm1, n, a->x, a->h1, a->rstd1);
	layer_matmul(m, l->qkv, n, a->h1, a->qkv0);
	k->rope_fwd(k, &rope);
	k->attn_fwd(k, &(struct k_attn_fwd){
		.b = b->b, .t = p->t, .h = m->c.heads, .g = m->c.kv_heads,
		.d = m->c.head_dim, .dt = m->dt, .qkv = a->qkv,
		.start = b->start, .window = config_window(&m->c, i),
		.scale = layer_attn_scale(m), .o = a->o, .lse = a->lse});
	layer_matmul_add(m, l->o, n, a->o, a->xm, a->x);
	layer_mlp(m, l, n, a->xm, a->h2, a->rstd2, a->gu, p->act, out);
}

/* ---- backward ---- */

static float *
grad_of(const struct pass *p, const struct pass_batch *b, size_t param)
{
	return b->grad + p->m->param[param].at;
}

static void
weight_bwd(struct pass *p, const struct pass_batch *b, size_t w,
	   const void *dy, const void *x)
{
	const struct param *q = &p->m->param[w];

	p->k->matmul_dw(p->k, &(struct k_matmul_dw){
		.n = b->b * p->t, .out = q->rows, .in = q->cols,
		.dt = p->m->dt, .dy = dy, .x = x, .dw = grad_of(p, b, w),
		.accumulate = b->accumulate});
}

static void
input_bwd(struct pass *p, const struct pass_batch *b, size_t w,
	  const void *dy, void *dx)
{
	p->k->matmul_dx(p->k, &(struct k_matmul_dx){
		.w = p->m->param[w].w, .n = b->b * p->t, .dy = dy, .dx = dx});
}

static void
norm_bwd(struct pass *p, const struct pass_batch *b, size_t w,
	 const float *x, const float *rstd, int dx_accumulate)
{
	p->k->rmsnorm_bwd(p->k, &(struct k_rmsnorm_bwd){
		.n = b->b * p->t, .c = p->m->c.hidden, .dt = p->m->dt,
		.dy = p->dh, .x = x, .w = p->m->param[w].data, .rstd = rstd,
		.dx = p->dx, .dx_accumulate = dx_accumulate,
		.dxc = p->m->dt != K_F32 ? p->dxc : NULL,
		.dw = grad_of(p, b, w), .dw_accumulate = b->accumulate});
}

static void
mlp_bwd(struct pass *p, const struct llama_layer *l,
		 const struct acts *a, const struct pass_batch *b)
{
	struct kernels *k = p->k;

	input_bwd(p, b, l->down, p->dxc, p->dact);
	k->swiglu_bwd(k, &(struct k_swiglu_bwd){
		.n = b->b * p->t, .f = p->m->c.inter, .dt = p->m->dt,
		.gu = a->gu, .da = p->dact, .dgu = a->gu, .a = p->act});
	weight_bwd(p, b, l->down, p->dxc, p->act);
	input_bwd(p, b, l->gu, a->gu, p->dh);
	weight_bwd(p, b, l->gu, a->gu, a->h2);
	norm_bwd(p, b, l->norm2, a->xm, a->rstd2, 1);
}

static void
rope_bwd(struct pass *p, const struct llama_layer *l, const struct acts *a,
	 const struct pass_batch *b)
{
	struct k_rope_fwd f = layer_rope(p->m, l, b->b * p->t, a->qkv0,
					 a->qkv, p->pos);
	int norm = p->m->c.qk_norm;

	p->k->rope_bwd(p->k, &(struct k_rope_bwd){
		.n = f.n, .h = f.h, .g = f.g, .d = f.d, .dt = f.dt,
		.dqkv = p->dqkv, .pos = f.pos, .cos = f.cos, .sin = f.sin,
		.qw = f.qw, .kw = f.kw, .in = norm ? f.in : NULL,
		.eps = f.eps,
		.dqw = norm ? grad_of(p, b, l->qnorm) : NULL,
		.dkw = norm ? grad_of(p, b, l->knorm) : NULL,
		.accumulate = b->accumulate});
}

static void
attention_bwd(struct pass *p, int64_t i, const struct pass_batch *b)
{
	const struct llama_layer *l = &p->m->layer[i];
	const struct acts *a = &p->a[i];
	const struct model_config *c = &p->m->c;
	struct kernels *k = p->k;

	input_bwd(p, b, l->o, p->dxc, p->dact);
	weight_bwd(p, b, l->o, p->dxc, a->o);
	k->attn_bwd(k, &(struct k_attn_bwd){
		.b = b->b, .t = p->t, .h = c->heads, .g = c->kv_heads,
		.d = c->head_dim, .dt = p->m->dt, .qkv = a->qkv,
		.start = b->start, .window = config_window(c, i),
		.scale = layer_attn_scale(p->m), .o = a->o,
		.lse = a->lse, .dout = p->dact, .dqkv = p->dqkv});
	rope_bwd(p, l, a, b);
	input_bwd(p, b, l->qkv, p->dqkv, p->dh);
	weight_bwd(p, b, l->qkv, p->dqkv, a->h1);
	norm_bwd(p, b, l->norm1, a->x, a->rstd1, 1);
}

/* If tied, the gradient of the lookup is added to that of the head. */
static void
backward(struct pass *p, const struct pass_batch *b)
{
	const struct llama *m = p->m;
	int64_t i;

	norm_bwd(p, b, m->norm, p->x, p->rstd, 0);
	for (i = m->c.layers - 1; i >= 0; i--) {
		mlp_bwd(p, &m->layer[i], &p->a[i], b);
		attention_bwd(p, i, b);
	}
	p->k->embed_bwd(p->k, &(struct k_embed_bwd){
		.n = b->b * p->t, .c = m->c.hidden, .v = m->vp, .tok = b->tok,
		.order = b->order, .dx = p->dx, .dw = grad_of(p, b, m->embed),
		.accumulate = m->c.tie || b->accumulate});
}

void
pass_run(struct pass *p, const struct pass_batch *b)
{
	const struct llama *m = p->m;
	int64_t n = b->b * p->t, i;

	layer_embed(m, n, b->tok, p->a[0].x);
	for (i = 0; i < m->c.layers; i++)
		layer_fwd(p, i, i + 1 < m->c.layers ? p->a[i + 1].x : p->x,
			  b);
	layer_norm(m, m->norm, n, p->x, p->h, p->rstd);
	p->k->ce_head(p->k, &(struct k_ce_head){
		.w = m->param[m->head].w, .n = n, .v = m->c.vocab,
		.h = p->h, .target = b->target, .scale = b->scale,
		.zcoef = b->zcoef, .loss = b->loss, .logz = b->logz,
		.argmax = b->argmax, .dh = b->grad ? p->dh : NULL,
		.dw = b->grad ? grad_of(p, b, m->head) : NULL,
		.accumulate = b->accumulate});
	if (b->grad)
		backward(p, b);
}
