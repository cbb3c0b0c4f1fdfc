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

#include "base/mem.h"
#include "base/path.h"
#include "record/ckpt.h"
#include "stream/json.h"
#include "train/state.h"

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

/* Write sets of tensors: from flat arrays, or the weights if flat is NULL. */
static int
put_tensors(struct ckpt_writer *w, const char *file, const struct llama *m,
	    const char *const *prefix, size_t sets, float *const *flat,
	    struct err *e)
{
	enum st_dtype d = flat || m->dt == K_F32 ? ST_F32 : ST_BF16;
	size_t i, k;

	if (ckpt_open(w, file, e) < 0 ||
	    put_header(w, m, prefix, sets, d, e) < 0)
		return -1;
	for (k = 0; k < sets; k++)
		for (i = 0; i < m->ntensors; i++)
			if (llama_read(m, &m->tensor[i], flat ? flat[k] : NULL,
				       to_ckpt, w, e) < 0)
				return -1;
	return ckpt_close(w, e);
}

static void
put_id(struct buf *b, const char *key, int64_t id)
{
	if (id >= 0)
		buf_printf(b, "  \"%s\": %" PRId64 ",\n", key, id);
	else
		buf_printf(b, "  \"%s\": null,\n", key);
}

static void
state_json(const struct state_src *s, struct buf *b)
{
	const struct run_state *at = s->at;
	const struct data_id *d = s->data;
	uint64_t next = plan_sample(plan_at(s->plan, at->step), at->step);
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
		   "\",\n", d->val_hash, d->fingerprint);
	buf_puts(b, "  \"config\": {\n  ");
	options_json(s->o, b);
	buf_puts(b, "\n  },\n");
	put_id(b, "bos_token_id", d->bos);
	put_id(b, "eos_token_id", d->eos);
	buf_puts(b, "  \"batches\": ");
	plan_json(s->plan, b);
	buf_puts(b, ",\n  \"history\": [");
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
	return s->at->step < (uint64_t)s->o->steps ?
		ckpt_room(run, state_bytes(s), e) : 0;
}

int
state_save(const char *run, const struct state_src *s, struct err *e)
{
	static const char *const weights[] = {""}, *const state[] = {
		"master.", "m.", "v."};
	float *const flat[] = {s->opt->master, s->opt->m1, s->opt->m2};
	struct ckpt_writer *w;

	w = ckpt_begin(run, s->at->step, state_bytes(s), e);
	if (!w)
		return -1;
	if (put_small(w, s, e) < 0 ||
	    put_tensors(w, "model.safetensors", s->m, weights, 1, NULL,
			e) < 0 ||
	    put_tensors(w, "optimizer.safetensors", s->m, state, 3, flat,
			e) < 0) {
		ckpt_abort(w);
		return -1;
	}
	return ckpt_commit(w, e);
}

/* ---- reading ---- */

enum kind { COUNT, INTEGER, HASH };

static int
get(const struct json *j, const char *key, enum kind kind, void *to,
    const char *path, struct err *e)
{
	static const char *const names[] = {"a count", "an integer", "a hash"};
	const struct json *v = json_get(j, key);
	char hex[17] = "", *end = hex;
	int ok;

	if (kind == HASH) {
		if (v && v->type == JSON_STRING && v->str.n == 16)
			memcpy(hex, v->str.p, 16);
		*(uint64_t *)to = strtoull(hex, &end, 16);
		ok = end == hex + 16;
	} else {
		ok = v && v->is_int && (kind == INTEGER || v->i >= 0);
		*(int64_t *)to = ok ? v->i : 0;
	}
	return ok ? 0 : err_set(e, "%s: %s is missing or not %s", path, key,
				names[kind]);
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

/* A state without "batches", from before they were kept, has one part. */
static int
get_plan(const struct json *root, const struct data_id *d, struct plan *plan,
	 const char *path, struct err *e)
{
	const struct json *batches = json_get(root, "batches");
	const struct json *config = json_get(root, "config");
	struct plan_part only;

	if (batches)
		return plan_read(plan, batches, path, e);
	if (!config)
		return err_set(e, "%s: batches is missing", path);
	if (plan_part_read(&only, config, path, e) < 0)
		return -1;
	only.hash = d->hash;
	only.windows = d->windows;
	plan_continue(plan, 0, &only);
	plan_part_clear(&only);
	return 0;
}

int
state_load(const char *dir, struct run_state *at, struct data_id *d,
	   struct plan *plan, struct buf *history, struct err *e)
{
	const struct {
		const char *key;
		enum kind kind;
		void *to;
	} want[] = {
		{"step", COUNT, &at->step},
		{"updates", COUNT, &at->updates},
		{"tokens", COUNT, &at->tokens},
		{"last_eval", INTEGER, &at->last_eval},
		{"last_sample", INTEGER, &at->last_sample},
		{"data_hash", HASH, &d->hash},
		{"data_tokens", COUNT, &d->tokens},
		{"data_windows", COUNT, &d->windows},
		{"val_hash", HASH, &d->val_hash},
		{"tokenizer_fingerprint", HASH, &d->fingerprint},
	};
	char *path = path_join(dir, "train_state.json");
	struct json *j = json_load(path, e);
	int rc = j ? 0 : -1;
	size_t i;

	for (i = 0; j && rc == 0 && i < sizeof want / sizeof *want; i++)
		rc = get(j, want[i].key, want[i].kind, want[i].to, path, e);
	if (rc == 0)
		rc = get_plan(j, d, plan, path, e);
	if (rc == 0)
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
	char *path = path_join(dir, "model.safetensors");
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
		if (llama_read(m, &m->tensor[i], NULL, same_bytes, &c,
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
	char *path = path_join(dir, "optimizer.safetensors");
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
