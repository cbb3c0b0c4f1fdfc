/*
 * table.c - the ref table
 */
#include "kernels/ref/ref.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

void
ref_upload(struct kernels *k, const struct k_upload *a)
{
	(void)k;
	memcpy(a->dst, a->src, a->n);
}

void
ref_fetch(struct kernels *k, const struct k_fetch *a)
{
	(void)k;
	memcpy(a->dst, a->src, a->n);
}

void
ref_copy(struct kernels *k, const struct k_copy *a)
{
	(void)k;
	memcpy(a->dst, a->src, a->n);
}

void
ref_zero(struct kernels *k, const struct k_zero *a)
{
	(void)k;
	memset(a->dst, 0, a->n);
}

void
ref_release(struct kernels *k, const struct k_release *a)
{
	k->mem_put(k->mem_ctx, a->p);
}

void
ref_weight_update(struct kernels *k, const struct k_weight_update *a)
{
	(void)k;
	(void)a;
}

void
ref_weight_free(struct kernels *k, const struct k_weight_free *a)
{
	host_weight_free(k, a->w);
}

/* --- scratch --- */

struct scratch {
	double *p;
	int64_t n, want;
};

double *
ref_scratch(struct kernels *k, int64_t n)
{
	struct scratch *s = k->priv;

	if (n > s->n) {
		free(s->p);
		s->p = xmalloc((size_t)n * sizeof *s->p);
		s->n = n;
	}
	return s->p;
}

static size_t
ref_copies(struct kernels *k, enum kdtype dt, int64_t out, int64_t in,
	   int use)
{
	(void)k;
	(void)dt;
	(void)out;
	(void)in;
	(void)use;
	return 0;
}

static void
want(struct scratch *s, int64_t n)
{
	s->want = s->want < n ? n : s->want;
}

/* As the entries in attn.c and matmul.c say. */
static size_t
ref_need(struct kernels *k, const struct k_need *s)
{
	struct scratch *r = k->priv;
	int grad = s->use & K_USE_BWD;

	want(r, s->vp + (grad ? s->vp * s->c : 0));
	want(r, s->positions);
	for (int64_t i = 0; i < s->nlayers; i++) {
		const struct k_need_layer *l = &s->layer[i];

		want(r, s->t * (grad ? (l->h + 2 * l->g) * l->d : 1));
	}
	return (size_t)r->want * sizeof *r->p;
}

static int
ref_reserve(struct kernels *k, size_t bytes, struct err *e)
{
	struct scratch *r = k->priv;
	double *p;

	if (bytes <= (size_t)r->n * sizeof *p)
		return 0;
	p = malloc(bytes);
	if (!p)
		return err_set(e, "ref: cannot allocate %zu bytes of scratch",
			       bytes);
	free(r->p);
	r->p = p;
	r->n = (int64_t)(bytes / sizeof *p);
	return 0;
}

/* Every call is done when it returns. */
static int
ref_sync(struct kernels *k, struct err *e)
{
	(void)k;
	(void)e;
	return 0;
}

static double
ref_peak(struct kernels *k, enum kdtype dt)
{
	(void)k;
	(void)dt;
	return 0;
}

static void
ref_record(struct kernels *k, struct buf *json)
{
	host_record(k, json);
	buf_putc(json, '}');
}

static void
ref_close(struct kernels *k)
{
	free(((struct scratch *)k->priv)->p);
	free(k->priv);
	free(k);
}

struct kernels *
ref_open(void)
{
	struct kernels *k = xcalloc(1, sizeof *k);

	k->abi = K_ABI;
	k->name = "ref";
	k->isa = "c";
	k->threads = 1;
	k->sync = ref_sync;
	k->weight_new = host_weight_new;
	k->copies = ref_copies;
	k->need = ref_need;
	k->reserve = ref_reserve;
	k->priv = xcalloc(1, sizeof(struct scratch));
	k->peak = ref_peak;
	k->record = ref_record;
	k->close = ref_close;
#define X(op) k->op = ref_##op;
	KERNEL_OPS(X)
#undef X
	return k;
}
