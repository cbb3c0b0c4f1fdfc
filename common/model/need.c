/*
 * need.c - see need.h
 */
#include "model/need.h"

size_t
need_scratch(struct kernels *k, const struct model_config *c, enum kdtype dt,
	     const struct run_shape *r)
{
	struct k_need_layer l = {.h = c->heads, .g = c->kv_heads,
		.d = c->head_dim, .f = c->inter, .dt = dt};
	int train = r->use & K_USE_BWD;

	return k->need(k, &(struct k_need){.c = c->hidden, .v = c->vocab,
		.vp = config_vocab_padded(c), .dt = dt, .use = r->use,
		.nlayers = 1, .layer = &l, .b = r->b, .last_b = r->last_b,
		.t = r->t, .rows = r->rows, .positions = r->positions,
		.flat = train ? 2 * config_params(c) : 0,
		.nseg = train ? 16 * (c->layers + 1) : 0});
}

size_t
need_copies(struct kernels *k, const struct model_config *c, enum kdtype dt,
	    int use)
{
	int64_t hd = c->heads * c->head_dim;
	size_t layer = k->copies(k, dt, config_qkv_rows(c), c->hidden, use) +
		k->copies(k, dt, c->hidden, hd, use) +
		k->copies(k, dt, 2 * c->inter, c->hidden, use) +
		k->copies(k, dt, c->hidden, c->inter, use);

	return (size_t)c->layers * layer +
		k->copies(k, dt, config_vocab_padded(c), c->hidden, use);
}

int
need_reserve(struct kernels *k, const struct model_config *c, enum kdtype dt,
	     const struct run_shape *r, struct err *e)
{
	return k->reserve(k, need_scratch(k, c, dt, r), e);
}
