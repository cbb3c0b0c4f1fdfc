/*
 * state_save.c - writing a checkpoint (state.h)
 *
 * All that the files hold is fixed when the save begins.  The small files are
 * made at once.  Tensors are copied to the host, in the order of the files,
 * and a thread writes them while training goes on; where memory does not allow
 * a copy, they are streamed from the device before the save returns.  Moments
 * and master weights are float on the device and in the file, so a resume
 * restores the same bits.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "record/ckpt.h"
#include "stream/json.h"
#include "train/state.h"

static const char *const small_names[] = {"config.json",
	"generation_config.json", "tokenizer.json", "tokenizer_config.json",
	"train_state.json"};

enum { SMALL = 5, SETS = 3 };

static const char *const set_names[SETS] = {"master.", "m.", "v."};

struct state_save {
	struct ckpt_writer *w;
	const struct llama *m;	/* only its lists, which do not change */
	const float *set[SETS];
	uint64_t shard_bytes;
	struct buf small[SMALL];	/* empty: no such file */
	char *copy;		/* of all tensors, or NULL */
	size_t at;		/* in copy: the next one written */
	pthread_t thread;
	int running, done;	/* done: set by the thread */
	int rc;
	struct err err;
	double start, seconds;
};

/* About the number of bytes that a checkpoint writes. */
static uint64_t
state_bytes(const struct state_src *s)
{
	uint64_t n = (uint64_t)config_params(&s->m->c);

	return n * (kdtype_size(s->m->dt) + 12) + s->tok->tokenizer.n +
		s->tok->config.n + s->m->ntensors * 1000 + (1 << 20);
}

/* ---- the small files ---- */

/* Only what bos_token_id does not say. */
static void
put_front(struct buf *b, const struct vocab_around *front)
{
	size_t i;

	if (front->n < 2)
		return;
	buf_puts(b, "  \"front_token_ids\": ");
	for (i = 0; i < front->n; i++)
		buf_printf(b, "%s%" PRIu32, i ? ", " : "[", front->id[i]);
	buf_puts(b, "],\n");
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
	config_put_id(b, "bos_token_id", d->bos);
	config_put_id(b, "eos_token_id", d->eos);
	put_front(b, &d->front);
	buf_puts(b, "  \"batches\": ");
	plan_json(s->plan, b);
	buf_puts(b, ",\n  \"history\": [");
	buf_put(b, s->history.p, s->history.n);
	buf_puts(b, "]\n}\n");
}

static void
make_small(struct state_save *x, const struct state_src *s)
{
	const struct token_files *t = s->tok;

	config_json(&s->m->c, &x->small[0]);
	config_generation_json(&s->m->c, &x->small[1]);
	buf_put(&x->small[2], t->tokenizer.p, t->tokenizer.n);
	buf_put(&x->small[3], t->config.p, t->config.n);
	state_json(s, &x->small[4]);
}

static int
put_small(struct state_save *x, struct err *e)
{
	size_t i;

	for (i = 0; i < SMALL; i++)
		if (x->small[i].n &&
		    ckpt_put(x->w, small_names[i], buf_span(&x->small[i]),
			     e) < 0)
			return -1;
	return 0;
}

/* ---- tensors ---- */

/* Those of a file: tensors [from, to) of the weights, or of all sets. */
struct part {
	size_t from, to;
	int weights;
};

static const float *
source(const struct state_save *x, const struct part *p, size_t set)
{
	return p->weights ? NULL : x->set[set];
}

static int
to_ckpt(void *ctx, const void *p, size_t bytes, struct err *e)
{
	return ckpt_write(ctx, p, bytes, e);
}

static int
put_header(struct state_save *x, const struct part *p, struct err *e)
{
	enum st_dtype d = p->weights ? state_dtype(x->m->dt) : ST_F32;
	size_t n = p->to - p->from, sets = p->weights ? 1 : SETS, i;
	struct st_tensor *v = xcalloc(n * sets, sizeof *v);
	char (*name)[100] = xcalloc(n * sets, sizeof *name);
	struct buf b = {0};
	int rc;

	for (i = 0; i < n * sets; i++) {
		const struct tensor *t = &x->m->tensor[p->from + i % n];

		snprintf(name[i], sizeof *name, "%s%s",
			 p->weights ? "" : set_names[i / n], t->name);
		st_describe(&v[i], name[i], d,
			    (uint64_t)(t->vector ? t->cols : t->rows),
			    (uint64_t)(t->vector ? 0 : t->cols));
	}
	st_header(v, n * sets, &b);
	rc = ckpt_write(x->w, b.p, b.n, e);
	buf_clear(&b);
	free(v);
	free(name);
	return rc;
}

static int
put_tensor(struct state_save *x, const struct tensor *t, const float *flat,
	   struct err *e)
{
	size_t n = llama_tensor_bytes(x->m, t, flat);

	if (!x->copy)
		return llama_read(x->m, t, flat, to_ckpt, x->w, e);
	x->at += n;
	return ckpt_write(x->w, x->copy + x->at - n, n, e);
}

static int
put_file(struct state_save *x, const char *file, const struct part *p,
	 struct err *e)
{
	size_t sets = p->weights ? 1 : SETS, i, k;

	if (ckpt_open(x->w, file, e) < 0 || put_header(x, p, e) < 0)
		return -1;
	for (k = 0; k < sets; k++)
		for (i = p->from; i < p->to; i++)
			if (put_tensor(x, &x->m->tensor[i], source(x, p, k),
				       e) < 0)
				return -1;
	return ckpt_close(x->w, e);
}

/* The end of the shard that begins with tensor `from`. */
static size_t
shard_end(const struct state_save *x, size_t from)
{
	uint64_t n = 0;
	size_t i;

	for (i = from; i < x->m->ntensors; i++) {
		n += llama_tensor_bytes(x->m, &x->m->tensor[i], NULL);
		if (n > x->shard_bytes && i > from)
			break;
	}
	return i;
}

/* As transformers writes it: keys sorted, two spaces. */
static int
put_index(struct state_save *x, const char *const *file, struct err *e)
{
	struct buf b = {0};
	uint64_t total = 0;
	size_t n = x->m->ntensors, i;
	int rc;

	for (i = 0; i < n; i++)
		total += llama_tensor_bytes(x->m, &x->m->tensor[i], NULL);
	buf_printf(&b, "{\n  \"metadata\": {\n    \"total_parameters\": %"
		   PRId64 ",\n    \"total_size\": %" PRIu64
		   "\n  },\n  \"weight_map\": {\n",
		   config_params(&x->m->c), total);
	for (i = 0; i < n; i++)
		buf_printf(&b, "    \"%s\": \"%s\"%s\n",
			   x->m->tensor[i].name, file[i],
			   i + 1 < n ? "," : "");
	buf_puts(&b, "  }\n}\n");
	rc = ckpt_put(x->w, "model.safetensors.index.json", buf_span(&b), e);
	buf_clear(&b);
	return rc;
}

static int
put_shards(struct state_save *x, struct err *e)
{
	size_t n = x->m->ntensors, count = 0, i, k, end;
	char (*name)[48] = xcalloc(n, sizeof *name);
	const char **file = xcalloc(n, sizeof *file);
	int rc = 0;

	for (i = 0; i < n; i = shard_end(x, i))
		count++;
	for (i = k = 0; i < n && rc == 0; i = end, k++) {
		struct part p = {i, end = shard_end(x, i), 1};

		snprintf(name[k], sizeof *name,
			 "model-%05zu-of-%05zu.safetensors", k + 1, count);
		for (; i < end; i++)
			file[i] = name[k];
		rc = put_file(x, name[k], &p, e);
	}
	if (rc == 0)
		rc = put_index(x, file, e);
	free(file);
	free(name);
	return rc;
}

static int
put_all(struct state_save *x, struct err *e)
{
	struct part model = {0, x->m->ntensors, 1}, state = {0, model.to, 0};

	if (put_small(x, e) < 0 ||
	    (shard_end(x, 0) < model.to ? put_shards(x, e) :
	     put_file(x, "model.safetensors", &model, e)) < 0 ||
	    put_file(x, "optimizer.safetensors", &state, e) < 0) {
		ckpt_abort(x->w);
		return -1;
	}
	return ckpt_commit(x->w, e);
}

/* ---- the copy and the thread ---- */

/* All tensors in the order of put_all(), where memory allows it. */
static int
make_copy(struct state_save *x, uint64_t limit, struct err *e)
{
	const struct llama *m = x->m;
	uint64_t total = 0;
	size_t at = 0, k, i;

	for (k = 0; k <= SETS; k++)
		for (i = 0; i < m->ntensors; i++)
			total += llama_tensor_bytes(m, &m->tensor[i],
					k ? x->set[k - 1] : NULL);
	if (total > limit || total > SIZE_MAX)
		return 0;
	x->copy = malloc(total);
	if (!x->copy)
		return 0;
	for (k = 0; k <= SETS; k++)
		for (i = 0; i < m->ntensors; i++) {
			const float *flat = k ? x->set[k - 1] : NULL;

			llama_copy(m, &m->tensor[i], flat, x->copy + at);
			at += llama_tensor_bytes(m, &m->tensor[i], flat);
		}
	return m->k->sync(m->k, e);
}

static void *
run(void *arg)
{
	struct state_save *x = arg;

	x->rc = put_all(x, &x->err);
	x->seconds = clock_s() - x->start;
	__atomic_store_n(&x->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void
save_free(struct state_save *x)
{
	int i;

	for (i = 0; i < SMALL; i++)
		buf_clear(&x->small[i]);
	free(x->copy);
	free(x);
}

struct state_save *
state_save_begin(const char *dir, const struct state_src *s,
		 const struct save_conf *c, struct err *e)
{
	struct state_save *x = xcalloc(1, sizeof *x);

	x->start = clock_s();
	x->m = s->m;
	x->set[0] = s->opt->master;
	x->set[1] = s->opt->m1;
	x->set[2] = s->opt->m2;
	x->shard_bytes = c->shard_bytes ? c->shard_bytes : SAVE_SHARD;
	x->w = ckpt_begin(dir, s->at->step, state_bytes(s), e);
	if (x->w)
		make_small(x, s);
	if (!x->w ||
	    make_copy(x, c->no_copy ? 0 : mem_available() / 2, e) < 0) {
		ckpt_abort(x->w);
		save_free(x);
		return NULL;
	}
	if (x->copy && pthread_create(&x->thread, NULL, run, x) == 0)
		x->running = 1;
	else
		run(x);
	return x;
}

int
state_save_is_done(const struct state_save *x)
{
	return __atomic_load_n(&x->done, __ATOMIC_ACQUIRE);
}

int
state_save_end(struct state_save *x, double *seconds, struct err *e)
{
	int rc;

	if (x->running)
		pthread_join(x->thread, NULL);
	rc = x->rc < 0 ? err_set(e, "%s", x->err.msg) : 0;
	*seconds = x->seconds;
	save_free(x);
	return rc;
}

int
state_room(const char *run, const struct state_src *s, struct err *e)
{
	return s->at->step < (uint64_t)s->o->steps ?
		ckpt_room(run, state_bytes(s), e) : 0;
}
