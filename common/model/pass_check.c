/*
 * pass_check.c - pass_first_bad(): where a number stopped being finite
 *
 * A forward pass keeps what every module computed, except silu(gate) * up,
 * which is computed again.  So the search is a walk over these arrays in the
 * order in which they were computed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/pass_priv.h"

enum { BLOCK = 1 << 18 };

struct search {
	struct pass *p;
	int64_t n;		/* rows */
	char *host;		/* BLOCK numbers */
	char *name;
	int failed;		/* the table did, with *e */
	struct err *e;
};

/* The column of the first bad number of x (n, cols), or -1. */
static int64_t
bad_column(struct search *s, const void *x, enum kdtype dt, int64_t cols)
{
	struct kernels *k = s->p->k;
	int64_t total = s->n * cols, at, n, i;
	size_t size = kdtype_size(dt);
	int ok = 1;

	for (at = 0; at < total && !s->failed; at += n) {
		n = total - at < BLOCK ? total - at : BLOCK;
		if (kernels_download(k, s->host,
				     (const char *)x + (size_t)at * size,
				     (size_t)n * size, s->e) < 0) {
			s->failed = 1;
			break;
		}
		for (i = 0; i < n; i++) {
			ok = isfinite(kdtype_get(s->host, dt, i));
			if (!ok)
				return (at + i) % cols;
		}
	}
	return -1;
}

/* Whether x is bad; if so the name is that of the module. */
static int
is_bad(struct search *s, const void *x, enum kdtype dt, int64_t cols,
       int64_t layer, const char *module)
{
	if (bad_column(s, x, dt, cols) < 0)
		return 0;
	if (layer < 0)
		snprintf(s->name, PASS_NAME, "%s", module);
	else
		snprintf(s->name, PASS_NAME, "model.layers.%d.%s", (int)layer,
			 module);
	return 1;
}

/* The same for queries, keys and values; what: "proj" or "norm". */
static int
qkv_is_bad(struct search *s, const void *x, int64_t layer, const char *what)
{
	const struct model_config *c = &s->p->m->c;
	int64_t q = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;
	int64_t at = bad_column(s, x, s->p->m->dt, q + 2 * kv);

	if (at < 0)
		return 0;
	snprintf(s->name, PASS_NAME, "model.layers.%d.self_attn.%c_%s",
		 (int)layer, at < q ? 'q' : at < q + kv ? 'k' : 'v', what);
	return 1;
}

static int
mlp_is_bad(struct search *s, const struct acts *a, int64_t layer)
{
	struct pass *p = s->p;
	const struct model_config *c = &p->m->c;
	int64_t at = bad_column(s, a->gu, p->m->dt, 2 * c->inter);

	if (at >= 0) {
		snprintf(s->name, PASS_NAME, "model.layers.%d.mlp.%s_proj",
			 (int)layer, at < c->inter ? "gate" : "up");
		return 1;
	}
	p->k->swiglu_fwd(p->k, &(struct k_swiglu_fwd){ .n = s->n,
		.f = c->inter, .dt = p->m->dt, .gu = a->gu, .a = p->act });
	return is_bad(s, p->act, p->m->dt, c->inter, layer, "mlp");
}

static int
layer_is_bad(struct search *s, int64_t i)
{
	const struct pass *p = s->p;
	const struct model_config *c = &p->m->c;
	const struct acts *a = &p->a[i];
	const float *out = i + 1 < c->layers ? p->a[i + 1].x : p->x;
	enum kdtype dt = p->m->dt;

	return is_bad(s, a->h1, dt, c->hidden, i, "input_layernorm") ||
		qkv_is_bad(s, a->qkv0, i, "proj") ||
		(c->qk_norm && qkv_is_bad(s, a->qkv, i, "norm")) ||
		is_bad(s, a->o, dt, c->heads * c->head_dim, i, "self_attn") ||
		is_bad(s, a->xm, K_F32, c->hidden, i, "self_attn.o_proj") ||
		is_bad(s, a->h2, dt, c->hidden, i,
		       "post_attention_layernorm") ||
		mlp_is_bad(s, a, i) ||
		is_bad(s, out, K_F32, c->hidden, i, "mlp.down_proj");
}

int
pass_first_bad(struct pass *p, const struct pass_batch *b,
	       char name[PASS_NAME], struct err *e)
{
	struct search s = {.p = p, .n = b->b * p->t, .name = name, .e = e};
	struct pass_batch forward = *b;
	const struct model_config *c = &p->m->c;
	int64_t i;
	int bad;

	forward.grad = NULL;
	pass_run(p, &forward);
	s.host = xmalloc(BLOCK * sizeof(float));
	bad = is_bad(&s, p->a[0].x, K_F32, c->hidden, -1,
		     "model.embed_tokens");
	for (i = 0; i < c->layers && !bad; i++)
		bad = layer_is_bad(&s, i);
	bad = bad || is_bad(&s, p->h, p->m->dt, c->hidden, -1, "model.norm") ||
		is_bad(&s, b->loss, K_F32, 1, -1, "lm_head");
	free(s.host);
	return s.failed ? -1 : bad;
}
