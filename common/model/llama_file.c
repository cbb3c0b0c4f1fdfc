/*
 * llama_file.c - tensors from files and to files (llama.h)
 *
 * Tensors move between files and device in blocks of BLOCK elements: the host
 * never holds a whole tensor.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/llama.h"

enum { BLOCK = 1 << 20 };

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

/* Copy f to dst, in type dt; weights must be finite. */
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
		if (rc == 0 && dt != K_F32)
			for (i = 0; i < n; i++) {
				float v;

				memcpy(&v, x + i, sizeof v);
				kdtype_set(h, dt, (int64_t)i, v);
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
			   (size_t)at * kdtype_size(p->dt), p->dt, e);
}

/* The padding rows of the vocabulary are zero, as the whole arena was. */
int
llama_load(struct llama *m, const struct st *s, struct err *e)
{
	if (llama_match(m, s, e) < 0 ||
	    llama_flat_load(m, s, "", NULL, e) < 0)
		return -1;
	llama_pack(m);
	return 0;
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

/* ---- device to files ---- */

static const char *
tensor_data(const struct llama *m, const struct tensor *t, const float *flat)
{
	const struct param *p = &m->param[t->param];
	const char *src = flat ? (const char *)(flat + p->at) : p->data;

	return src + (size_t)(t->row * t->cols) *
		(flat ? sizeof *flat : kdtype_size(p->dt));
}

size_t
llama_tensor_bytes(const struct llama *m, const struct tensor *t,
		   const float *flat)
{
	return (size_t)(t->rows * t->cols) *
		(flat ? sizeof *flat : kdtype_size(m->param[t->param].dt));
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
