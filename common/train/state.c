/*
 * state.c - see state.h
 *
 * Tensors are streamed from the device to the file.  Moments and master
 * weights are float in both, so a resume restores the same bits.  A resume
 * computes the weights from the master weights and only compares them with
 * model.safetensors, to detect that one of the two files was replaced.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "record/ckpt.h"
#include "train/state.h"

static const char *const flats[] = {"master.", "m.", "v."};

static const float *
flat_of(const struct optim *o, int which)
{
	return which == 0 ? o->master : which == 1 ? o->m1 : o->m2;
}

/* About the number of bytes that state_save() writes. */
static uint64_t
state_bytes(const struct state_src *s)
{
	uint64_t n = (uint64_t)config_params(&s->m->c);

	return n * (kdtype_size(s->m->dt) + 12) + s->tok->tokenizer.n +
		s->tok->config.n + s->m->ntensors * 1000 + (1 << 20);
}

static int
to_ckpt(void *ctx, const void *p, size_t bytes, struct err *e)
{
	return ckpt_write(ctx, p, bytes, e);
}

/* The header of a file with `sets` tensors per tensor of the model. */
static int
put_header(struct ckpt_writer *w, const struct llama *m,
	   const char *const *prefix, size_t sets, enum st_dtype d,
	   struct err *e)
{
	size_t n = m->ntensors, i;
	struct st_tensor *v = xcalloc(n * sets, sizeof *v);
	char (*name)[100] = xcalloc(n * sets, sizeof *name);
	struct buf b = {0};
	int rc;

	for (i = 0; i < n * sets; i++) {
		const struct tensor *t = &m->tensor[i % n];

		snprintf(name[i], sizeof *name, "%s%s", prefix[i / n],
			 t->name);
		st_describe(&v[i], name[i], d,
			    (uint64_t)(t->vector ? t->cols : t->rows),
			    (uint64_t)(t->vector ? 0 : t->cols));
	}
	st_header(v, n * sets, &b);
	rc = ckpt_write(w, b.p, b.n, e);
	buf_clear(&b);
	free(v);
	free(name);
	return rc;
}

static int
put_model(struct ckpt_writer *w, const struct llama *m, struct err *e)
{
	static const char *const none[] = {""};
	size_t i;

	if (ckpt_open(w, "model.safetensors", e) < 0 ||
	    put_header(w, m, none, 1, m->dt == K_BF16 ? ST_BF16 : ST_F32,
		       e) < 0)
		return -1;
	for (i = 0; i < m->ntensors; i++)
		if (llama_read_weights(m, &m->tensor[i], to_ckpt, w, e) < 0)
			return -1;
	return ckpt_close(w, e);
}

static int
put_optimizer(struct ckpt_writer *w, const struct state_src *s, struct err *e)
{
	const struct llama *m = s->m;
	size_t i;
	int k;

	if (ckpt_open(w, "optimizer.safetensors", e) < 0 ||
	    put_header(w, m, flats, 3, ST_F32, e) < 0)
		return -1;
	for (k = 0; k < 3; k++)
		for (i = 0; i < m->ntensors; i++)
			if (llama_read_flat(m, &m->tensor[i],
					    flat_of(s->opt, k), to_ckpt, w,
					    e) < 0)
				return -1;
	return ckpt_close(w, e);
}

static void
state_json(const struct state_src *s, struct buf *b)
{
	const struct run_state *at = s->at;
	const struct data_id *d = s->data;
	uint64_t next = at->step * (uint64_t)s->o->batch_size;
	struct schedule lr = options_schedule(s->o);

	buf_printf(b, "{\n  \"step\": %" PRIu64 ",\n  \"updates\": %" PRIu64
		   ",\n  \"tokens\": %" PRIu64 ",\n", at->step, at->updates,
		   at->tokens);
	buf_printf(b, "  \"next_sample\": %" PRIu64 ",\n  \"epoch\": %" PRIu64
		   ",\n  \"last_eval\": %" PRId64 ",\n  \"last_sample\": %"
		   PRId64 ",\n  \"next_lr\": ", next, next / d->windows,
		   at->last_eval, at->last_sample);
	json_put_real(b, schedule_lr(&lr, (int64_t)at->step));
	buf_printf(b, ",\n  \"seed\": %" PRId64 ",\n  \"data_hash\": \"%016"
		   PRIx64 "\",\n  \"data_tokens\": %" PRIu64
		   ",\n  \"data_windows\": %" PRIu64 ",\n", s->o->seed,
		   d->hash, d->tokens, d->windows);
	buf_printf(b, "  \"val_hash\": \"%016" PRIx64
		   "\",\n  \"tokenizer_fingerprint\": \"%016" PRIx64
		   "\",\n  \"config\": {\n  ", d->val_hash, d->fingerprint);
	options_json(s->o, b);
	buf_puts(b, "\n  },\n  \"history\": [");
	buf_put(b, s->history.p, s->history.n);
	buf_puts(b, "]\n}\n");
}

static int
put_small(struct ckpt_writer *w, const struct state_src *s, struct err *e)
{
	struct buf config = {0}, gen = {0}, state = {0};
	const struct token_files *t = s->tok;
	int rc = 0;

	config_json(&s->m->c, &config);
	config_generation_json(&s->m->c, &gen);
	state_json(s, &state);
	if (ckpt_put(w, "config.json", buf_span(&config), e) < 0 ||
	    ckpt_put(w, "generation_config.json", buf_span(&gen), e) < 0 ||
	    (t->tokenizer.n && ckpt_put(w, "tokenizer.json",
					buf_span(&t->tokenizer), e) < 0) ||
	    (t->config.n && ckpt_put(w, "tokenizer_config.json",
				     buf_span(&t->config), e) < 0) ||
	    ckpt_put(w, "train_state.json", buf_span(&state), e) < 0)
		rc = -1;
	buf_clear(&config);
	buf_clear(&gen);
	buf_clear(&state);
	return rc;
}

int
state_room(const char *run, const struct state_src *s, struct err *e)
{
	return ckpt_room(run, state_bytes(s), e);
}

int
state_save(const char *run, const struct state_src *s, struct err *e)
{
	struct ckpt_writer *w;

	w = ckpt_begin(run, s->at->step, state_bytes(s), e);
	if (!w)
		return -1;
	if (put_small(w, s, e) < 0 || put_model(w, s->m, e) < 0 ||
	    put_optimizer(w, s, e) < 0) {
		ckpt_abort(w);
		return -1;
	}
	return ckpt_commit(w, e);
}

/* ---- reading ---- */

static int
get_count(const struct json *j, const char *key, uint64_t *to,
	  const char *path, struct err *e)
{
	const struct json *v = json_get(j, key);

	if (!v || !v->is_int || v->i < 0)
		return err_set(e, "%s: %s is missing or not a count", path, key);
	*to = (uint64_t)v->i;
	return 0;
}

static int
get_hash(const struct json *j, const char *key, uint64_t *to,
	 const char *path, struct err *e)
{
	const struct json *v = json_get(j, key);
	char hex[17] = "", *end;

	if (v && v->type == JSON_STRING && v->str.n == 16)
		memcpy(hex, v->str.p, 16);
	*to = strtoull(hex, &end, 16);
	if (end != hex + 16)
		return err_set(e, "%s: %s is missing or not a hash", path, key);
	return 0;
}

static int
get_last(const struct json *j, const char *key, int64_t *to, const char *path,
	 struct err *e)
{
	const struct json *v = json_get(j, key);

	if (!v || !v->is_int)
		return err_set(e, "%s: %s is missing or not an integer", path,
			       key);
	*to = v->i;
	return 0;
}

/* Write a JSON value again as text: history is copied, not interpreted. */
static void
put_json(const struct json *j, struct buf *b)
{
	static const char *const words[] = {"null", "false", "true"};
	int object = j->type == JSON_OBJECT;
	size_t i;

	if (j->type <= JSON_TRUE)
		buf_puts(b, words[j->type]);
	else if (j->type == JSON_STRING)
		json_put_str(b, j->str);
	else if (j->type == JSON_NUMBER && j->is_int)
		json_put_int(b, j->i);
	else if (j->type == JSON_NUMBER)
		json_put_real(b, j->num);
	else {
		buf_putc(b, object ? '{' : '[');
		for (i = 0; i < j->n; i++) {
			buf_puts(b, i ? ", " : "");
			if (object) {
				json_put_str(b, j->kids[i].key);
				buf_puts(b, ": ");
			}
			put_json(&j->kids[i], b);
		}
		buf_putc(b, object ? '}' : ']');
	}
}

static void
get_history(const struct json *root, struct buf *out)
{
	const struct json *h = json_get(root, "history");
	size_t i;

	for (i = 0; h && h->type == JSON_ARRAY && i < h->n; i++) {
		buf_puts(out, i ? ",\n    " : "\n    ");
		put_json(&h->kids[i], out);
	}
}

int
state_load(const char *dir, struct run_state *at, struct data_id *d,
	   struct buf *history, struct err *e)
{
	char *path = xstrf("%s/train_state.json", dir);
	struct json *j = json_load(path, e);
	int rc = -1;

	if (j && get_count(j, "step", &at->step, path, e) == 0 &&
	    get_count(j, "updates", &at->updates, path, e) == 0 &&
	    get_count(j, "tokens", &at->tokens, path, e) == 0 &&
	    get_last(j, "last_eval", &at->last_eval, path, e) == 0 &&
	    get_last(j, "last_sample", &at->last_sample, path, e) == 0 &&
	    get_hash(j, "data_hash", &d->hash, path, e) == 0 &&
	    get_count(j, "data_tokens", &d->tokens, path, e) == 0 &&
	    get_count(j, "data_windows", &d->windows, path, e) == 0 &&
	    get_hash(j, "val_hash", &d->val_hash, path, e) == 0 &&
	    get_hash(j, "tokenizer_fingerprint", &d->fingerprint, path,
		     e) == 0)
		rc = 0;
	if (rc == 0 && history)
		get_history(j, history);
	json_free(j);
	free(path);
	return rc;
}

struct compare {
	const char *file;	/* bytes of the stored tensor, unaligned */
	size_t at;
};

static int
same_bytes(void *ctx, const void *p, size_t bytes, struct err *e)
{
	struct compare *c = ctx;

	if (memcmp(p, c->file + c->at, bytes))
		return err_set(e, "differs");
	c->at += bytes;
	return 0;
}

static int
check_weights(const char *dir, const struct llama *m, struct err *e)
{
	char *path = xstrf("%s/model.safetensors", dir);
	struct st *s = st_open(path, e);
	enum st_dtype d = m->dt == K_BF16 ? ST_BF16 : ST_F32;
	size_t i;
	int rc = s ? llama_match(m, s, e) : -1;

	for (i = 0; rc == 0 && i < m->ntensors; i++) {
		const struct st_tensor *t = st_find(s, m->tensor[i].name);
		struct compare c = {t->data, 0};
		struct err why = {0};

		if (t->dtype != d)
			continue;	/* --dtype was changed */
		if (llama_read_weights(m, &m->tensor[i], same_bytes, &c,
				       &why) < 0)
			rc = err_set(e, "%s: tensor %s is not the rounded"
				     " master.%s of optimizer.safetensors",
				     path, t->name, t->name);
	}
	st_close(s);
	free(path);
	return rc;
}

int
state_load_tensors(const char *dir, struct llama *m, struct optim *opt,
		   struct err *e)
{
	char *path = xstrf("%s/optimizer.safetensors", dir);
	struct st *s = st_open(path, e);
	int rc = s ? 0 : -1;

	if (rc == 0 &&
	    (llama_flat_load(m, s, "master.", opt->master, e) < 0 ||
	     llama_flat_load(m, s, "m.", opt->m1, e) < 0 ||
	     llama_flat_load(m, s, "v.", opt->m2, e) < 0))
		rc = -1;
	st_close(s);
	free(path);
	if (rc < 0)
		return -1;
	llama_set(m, opt->master);
	return check_weights(dir, m, e);
}
