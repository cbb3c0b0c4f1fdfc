/*
 * state.c - see state.h
 *
 * Reading a checkpoint; state_save.c writes them.  A resume computes the
 * weights from the master weights and only compares them with those of the
 * model's files, to detect that one was replaced.
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
	struct st *s = st_open(dir, e);
	enum st_dtype d = state_dtype(m->dt);
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
				     t->file, t->name, t->name);
	}
	st_close(s);
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
