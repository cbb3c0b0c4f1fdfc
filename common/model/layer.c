/*
 * layer.c - see layer.h
 */
#include "model/layer.h"

void
layer_embed(const struct llama *m, int64_t n, const int32_t *tok, float *x)
{
	m->k->embed_fwd(m->k, &(struct k_embed_fwd){
		.n = n, .c = m->c.hidden, .dt = m->dt,
		.w = m->param[m->embed].data, .tok = tok,
		.y = x});
}

void
layer_norm(const struct llama *m, size_t w, int64_t n, const float *x,
	   void *y, float *rstd)
{
	m->k->rmsnorm_fwd(m->k, &(struct k_rmsnorm_fwd){
		.n = n, .c = m->c.hidden, .dt = m->dt, .x = x,
		.w = m->param[w].data, .eps = (float)m->c.norm_eps, .y = y,
		.rstd = rstd});
}

void
layer_matmul(const struct llama *m, size_t w, int64_t n, const void *x,
	     void *y)
{
	m->k->matmul_fwd(m->k, &(struct k_matmul_fwd){
		.w = m->param[w].w, .n = n, .x = x, .y = y, .ydt = m->dt});
}

void
layer_matmul_add(const struct llama *m, size_t w, int64_t n, const void *x,
		 float *y, const float *add)
{
	m->k->matmul_fwd(m->k, &(struct k_matmul_fwd){
		.w = m->param[w].w, .n = n, .x = x, .y = y, .ydt = K_F32,
		.add = add});
}

struct k_rope_fwd
layer_rope(const struct llama *m, const struct llama_layer *l, int64_t n,
	   const void *in, void *out, const int32_t *pos)
{
	int norm = m->c.qk_norm;

	return (struct k_rope_fwd){
		.n = n, .h = m->c.heads, .g = m->c.kv_heads,
		.d = m->c.head_dim, .dt = m->dt, .in = in, .out = out,
		.pos = pos, .cos = m->cos, .sin = m->sin,
		.qw = norm ? m->param[l->qnorm].data : NULL,
		.kw = norm ? m->param[l->knorm].data : NULL,
		.eps = (float)m->c.norm_eps};
}

float
layer_attn_scale(const struct llama *m)
{
	return 1 / __builtin_sqrtf((float)m->c.head_dim);
}

void
layer_mlp(const struct llama *m, const struct llama_layer *l, int64_t n,
	  const float *x, void *h, float *rstd, void *gu, void *act, float *y)
{
	layer_norm(m, l->norm2, n, x, h, rstd);
	layer_matmul(m, l->gu, n, h, gu);
	m->k->swiglu_fwd(m->k, &(struct k_swiglu_fwd){
		.n = n, .f = m->c.inter, .dt = m->dt, .gu = gu, .a = act});
	layer_matmul_add(m, l->down, n, act, y, x);
}
