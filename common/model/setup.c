/*
 * setup.c - job_open(): from a command line to a model in place (job.h)
 *
 * Everything that can be wrong is looked at in the order in which a person
 * would want to hear of it: options, tokenizer, shards, windows, the shape,
 * the weights; the run folder is touched last.  A resume reads the stored
 * options first and lets the command line speak only where it may.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/input.h"
#include "base/mem.h"
#include "base/output.h"
#include "model/job.h"
#include "record/ckpt.h"

static int
exists(const char *dir, const char *name)
{
	char *p = xstrf("%s/%s", dir, name);
	int yes = access(p, F_OK) == 0;

	free(p);
	return yes;
}

/* ---- options ---- */

static int
absolute(const char **path, struct err *e)
{
	char *full;

	if (!*path || **path == '/')
		return 0;
	full = realpath(*path, NULL);
	if (!full)
		return err_sys(e, errno, "%s: cannot open", *path);
	*path = full;
	return 0;
}

/* A resume works from another folder, and decode-batch --run too. */
static int
absolute_paths(struct options *o, struct err *e)
{
	size_t i;

	for (i = 0; i < o->data.n; i++)
		if (absolute(&o->data.v[i], e) < 0)
			return -1;
	for (i = 0; i < o->val_data.n; i++)
		if (absolute(&o->val_data.v[i], e) < 0)
			return -1;
	if (absolute(&o->tokenizer, e) < 0 || absolute(&o->prompts, e) < 0)
		return -1;
	return 0;
}

static int
fresh_options(struct job *j, const struct options *cmd, struct err *e)
{
	char *tok;

	j->o = *cmd;
	if (cmd->config && options_load(&j->o, cmd->config, e) < 0)
		return -1;
	if (!j->o.out)
		return err_set(e, "no folder for the run: give -o DIR");
	j->run = xstrdup(j->o.out);
	if (j->o.init_from && absolute(&j->o.init_from, e) < 0)
		return -1;
	if (j->o.init_from && !j->o.tokenizer &&
	    exists(j->o.init_from, "tokenizer.json")) {
		tok = xstrf("%s/tokenizer.json", j->o.init_from);
		j->o.tokenizer = tok;
	}
	return 0;
}

static void
passed_over(void *ctx, const char *msg)
{
	(void)ctx;
	warn("%s: passing over this checkpoint", msg);
}

/* Without any checkpoint a run was killed before its first: begin again. */
static int
find_checkpoint(struct job *j, struct err *e)
{
	int64_t n = ckpt_count(j->run, e);

	if (n <= 0)
		return (int)n;
	j->from = ckpt_newest(j->run, passed_over, NULL, e);
	return j->from ? 0 : -1;
}

static int
lock_run(struct job *j, struct err *e)
{
	j->lock = open(j->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (j->lock < 0)
		return err_sys(e, errno, "%s: cannot open", j->run);
	if (flock(j->lock, LOCK_EX | LOCK_NB) < 0)
		return err_sys(e, errno, "%s: another lm-train works here",
			       j->run);
	return 0;
}

static int
resume_options(struct job *j, const struct options *cmd, struct err *e)
{
	char *path = xstrf("%s/config.json", cmd->resume);
	int rc;

	if (cmd->out || cmd->config) {
		free(path);
		return err_set(e, "--resume takes no -o and no --config");
	}
	if (exists(cmd->resume, "train_state.json")) {
		free(path);
		return err_set(e, "%s: a checkpoint, --resume takes the folder"
			       " of its run", cmd->resume);
	}
	j->run = xstrdup(cmd->resume);
	options_init(&j->o);
	rc = options_load(&j->o, path, e);
	free(path);
	j->was = options_schedule(&j->o);
	if (rc < 0 || options_override(&j->o, cmd, &j->changed, e) < 0 ||
	    lock_run(j, e) < 0 || ckpt_sweep(j->run, e) < 0 ||
	    find_checkpoint(j, e) < 0)
		return -1;
	if (j->from && exists(j->from, "tokenizer.json") &&
	    !cmd->tokenizer)
		j->tok_path = xstrf("%s/tokenizer.json", j->from);
	return 0;
}

/* ---- tokenizer ---- */

static int
read_token_config(struct job *j, struct err *e)
{
	char *dir = xstrdup(j->tok_path), *slash = strrchr(dir, '/'), *p;
	size_t n;
	int rc = 0;

	if (slash)
		*slash = '\0';
	if (exists(slash ? dir : ".", "tokenizer_config.json")) {
		char *path = xstrf("%s/%s", slash ? dir : ".",
				     "tokenizer_config.json");

		rc = input_slurp(path, &p, &n, e);
		if (rc == 0) {
			buf_put(&j->tok.config, p, n);
			free(p);
		}
		free(path);
	} else
		vocab_config_json(j->vocab, j->o.seq_len, &j->tok.config);
	free(dir);
	return rc;
}

static int
open_tokenizer(struct job *j, struct err *e)
{
	if (!j->tok_path && j->o.tokenizer)
		j->tok_path = xstrdup(j->o.tokenizer);
	if (!j->tok_path)
		return 0;
	j->vocab = vocab_load(j->tok_path, j->o.split, e);
	if (!j->vocab)
		return -1;
	vocab_json(j->vocab, &j->tok.tokenizer);
	j->id.fingerprint = j->vocab->fingerprint;
	return 0;
}

/* ---- shards ---- */

/* Ids of the shards must be below: 0 and no error, nobody says. */
static int
id_limit(const struct job *j, uint32_t *limit, struct err *e)
{
	const char *folder = j->from ? j->from : j->o.init_from;
	struct model_config c;

	*limit = 0;
	if (j->o.vocab_size)
		*limit = (uint32_t)j->o.vocab_size;
	else if (j->vocab)
		*limit = j->vocab->n;
	else if (folder) {
		if (config_load(&c, folder, e) < 0)
			return -1;
		*limit = (uint32_t)c.vocab;
	}
	return 0;
}

static struct shards *
open_shards(struct job *j, const struct arg_list *paths, struct err *e)
{
	const struct shard_info *i;
	struct shard_hint h;
	struct shards *s;

	shard_hint_init(&h);
	h.format = (enum shard_format)j->o.shard_format;
	if (j->vocab) {
		h.bos = j->vocab->bos;
		h.eos = j->vocab->eos;
	}
	if (id_limit(j, &h.vocab, e) < 0)
		return NULL;
	h.limit = h.vocab > 0;
	s = shards_open_hint(paths->v, paths->n, &h, e);
	if (!s)
		return NULL;
	i = shards_info(s);
	if (i->fingerprint && j->vocab &&
	    i->fingerprint != j->vocab->fingerprint) {
		err_set(e, "%s: packed with another tokenizer (fingerprint %016"
			PRIx64 ", that of %s is %016" PRIx64 ")", paths->v[0],
			i->fingerprint, j->tok_path,
			j->vocab->fingerprint);
		shards_close(s);
		return NULL;
	}
	return s;
}

static int
check_windows(const struct job *j, const struct shards *s, const char *what,
	      struct err *e)
{
	const struct shard_info *i = shards_info(s);
	int64_t t = j->o.seq_len;

	if (shards_windows(s, (uint32_t)t))
		return 0;
	if (i->windows && i->seq_len != t)
		return err_set(e, "%s: cut into windows of %" PRIu32
			       " tokens, --seq-len is %" PRId64, what,
			       i->seq_len, t);
	return err_set(e, "%s: need >= T+1 = %" PRId64 " tokens, have %" PRIu64,
		       what, t + 1, i->tokens);
}

static int
open_data(struct job *j, struct err *e)
{
	const struct shard_info *i;

	if (!j->o.data.n)
		return err_set(e, "no data: give --data PATH");
	j->data = open_shards(j, &j->o.data, e);
	if (!j->data)
		return -1;
	i = shards_info(j->data);
	if (!j->o.seq_len)
		j->o.seq_len = i->seq_len ? i->seq_len : 1024;
	if (check_windows(j, j->data, j->o.data.v[0], e) < 0)
		return -1;
	j->id.hash = i->hash;
	j->id.tokens = i->tokens;
	j->id.windows = shards_windows(j->data, (uint32_t)j->o.seq_len);
	if (!j->o.val_data.n) {
		if (j->o.eval_every)
			return err_set(e, "--eval-every without --val-data");
		return 0;
	}
	j->val = open_shards(j, &j->o.val_data, e);
	if (!j->val ||
	    check_windows(j, j->val, j->o.val_data.v[0], e) < 0)
		return -1;
	j->id.val_hash = shards_info(j->val)->hash;
	return 0;
}

/* ---- shape ---- */

static int64_t
data_vocab(const struct job *j)
{
	int64_t n = shards_info(j->data)->vocab;

	if (j->val && shards_info(j->val)->vocab > n)
		n = shards_info(j->val)->vocab;
	if (j->vocab && j->vocab->n > n)
		n = j->vocab->n;
	return n;
}

/*
 * Prompts get a BOS later exactly when the training data has them: what pack
 * put there counts, also where the tokenizer's file names no such token.
 */
static void
set_special_ids(struct job *j)
{
	const struct shard_info *i = shards_info(j->data);
	struct vocab *v = j->vocab;

	if (j->o.init_from)
		return;
	if (i->format == SHARD_ASSAY) {
		j->c.bos = i->has_bos ? i->bos : -1;
		j->c.eos = i->has_eos ? i->eos : -1;
	} else {
		j->c.bos = v ? v->bos : i->bos;
		j->c.eos = v ? v->eos : i->eos;
	}
	if (v && v->bos < 0)
		v->bos = j->c.bos;
	if (v && v->eos < 0)
		v->eos = j->c.eos;
}

static int
check_schedule(const struct options *o, struct err *e)
{
	struct schedule s = options_schedule(o);

	if (s.warmup > s.steps)
		warn("--warmup-steps %" PRId64 " of %" PRId64 " steps: the"
		     " peak is never reached", s.warmup, s.steps);
	return schedule_check(&s, e);
}

static int
resolve(struct job *j, struct err *e)
{
	const char *folder = j->from ? j->from : j->o.init_from;

	if (options_resolve(&j->o, folder, data_vocab(j), &j->c, e) < 0 ||
	    check_schedule(&j->o, e) < 0)
		return -1;
	if (!j->from)
		set_special_ids(j);
	if (folder && j->o.seq_len > j->c.max_pos)
		return err_set(e, "--seq-len %" PRId64 ": the model was made"
			       " for %" PRId64 " positions", j->o.seq_len,
			       j->c.max_pos);
	if ((j->o.prompts || j->o.prompt.n) && !j->vocab)
		return err_set(e, "prompts need --tokenizer");
	if (j->c.bos >= j->c.vocab)
		return err_set(e, "%s: bos_token_id is %" PRId64 ", the model"
			       " has %" PRId64 " ids", folder ? folder :
			       j->o.data.v[0], j->c.bos, j->c.vocab);
	if (j->o.sample_every && !j->o.prompts && !j->o.prompt.n)
		return err_set(e, "--sample-every without --prompts or"
			       " --prompt");
	return 0;
}

/* ---- memory ---- */

int64_t
job_bytes(const struct options *o, const struct model_config *c)
{
	enum kdtype dt = (enum kdtype)o->dtype;
	int64_t s = (int64_t)kdtype_size(dt), head;

	head = s * o->micro_batch * o->seq_len * config_vocab_padded(c);
	return config_params(c) * (s + 16) +
		pass_bytes(c, dt, o->micro_batch, o->seq_len, 1) +
		o->batch_size * o->seq_len * 52 +
		(head < 64 << 20 ? head : 64 << 20) + 24000000;
}

static void
warn_memory(const struct job *j)
{
	int64_t need = job_bytes(&j->o, &j->c);
	int64_t have = (int64_t)sysconf(_SC_PHYS_PAGES) *
		sysconf(_SC_PAGESIZE);

	if (have > 0 && need > have)
		warn("the run needs about %" PRId64 " MB, this machine has %"
		     PRId64 " MB", need / 1000000, have / 1000000);
}

static void
alloc_step(struct job *j)
{
	size_t n = (size_t)(j->o.batch_size * j->o.seq_len) * 4;

	j->tok_d = j->k->alloc(j->k, n);
	j->target_d = j->k->alloc(j->k, n);
	j->start_d = j->k->alloc(j->k, n);
	j->loss_d = j->k->alloc(j->k, n);
	j->logz_d = j->k->alloc(j->k, n);
	j->loss = xmalloc(n);
	j->logz = xmalloc(n);
}

/* ---- weights ---- */

static int
start_weights(struct job *j, struct err *e)
{
	struct st *s;
	int rc;

	if (!j->o.init_from) {
		llama_flat_init(j->m, (uint64_t)j->o.seed, j->o.init_std,
				j->o.embed_scale, j->opt.master);
		llama_set(j->m, j->opt.master);
		return 0;
	}
	s = st_open(j->o.init_from, e);
	rc = s ? llama_match(j->m, s, e) : -1;
	if (rc == 0)
		rc = llama_flat_load(j->m, s, "", j->opt.master, e);
	st_close(s);
	if (rc == 0)
		llama_set(j->m, j->opt.master);
	return rc;
}

static int
same_data(const struct job *j, const struct data_id *was, struct err *e)
{
	if (j->o.allow_changed_data)
		return 0;
	if (was->hash != j->id.hash || was->windows != j->id.windows)
		return err_set(e, "%s: the shards are not those of the run:"
			       " hash %016" PRIx64 " (%" PRIu64 " windows),"
			       " the checkpoint has %016" PRIx64 " (%" PRIu64
			       "); --allow-changed-data goes on",
			       j->o.data.v[0], j->id.hash, j->id.windows,
			       was->hash, was->windows);
	if (was->val_hash && was->val_hash != j->id.val_hash)
		return err_set(e, "%s: the evaluation shards are not those of"
			       " the run: hash %016" PRIx64 ", the checkpoint"
			       " has %016" PRIx64 "; --allow-changed-data goes"
			       " on", j->val ? j->o.val_data.v[0] :
			       "--val-data", j->id.val_hash, was->val_hash);
	if (was->fingerprint && was->fingerprint != j->id.fingerprint)
		return err_set(e, "the tokenizer is not that of the run;"
			       " --allow-changed-data goes on");
	return 0;
}

static int
restore(struct job *j, struct err *e)
{
	struct data_id was;

	if (state_load(j->from, &j->at, &was, &j->history, e) < 0 ||
	    same_data(j, &was, e) < 0)
		return -1;
	if ((int64_t)j->at.step != ckpt_step(j->from))
		return err_set(e, "%s/train_state.json: step is %" PRIu64,
			       j->from, j->at.step);
	j->saved = (int64_t)j->at.step;
	return state_load_tensors(j->from, j->m, &j->opt, e);
}

static int
make_model(struct job *j, struct err *e)
{
	const struct options *o = &j->o;
	struct optim_conf oc = {o->beta1, o->beta2, o->eps, o->weight_decay,
		o->decay_embeddings, o->clip};

	warn_memory(j);
	j->m = llama_new(j->k, &j->c, (enum kdtype)o->dtype, K_USE_TRAIN,
			 o->seq_len);
	optim_init(&j->opt, j->m, &oc);
	j->pass = pass_new(j->m, o->micro_batch, o->seq_len, 1);
	alloc_step(j);
	j->at = (struct run_state){.last_eval = -1, .last_sample = -1};
	j->saved = -1;
	if (j->from)
		return restore(j, e);
	return start_weights(j, e);
}

/* ---- the run folder ---- */

static int
write_config(const struct job *j, struct err *e)
{
	char *path = xstrf("%s/config.json", j->run);
	struct output *out = output_open(path, e);
	struct buf b = {0};
	int rc = -1;

	buf_puts(&b, "{\n  ");
	options_json(&j->o, &b);
	buf_printf(&b, ",\n  \"world_size\": 1,\n  \"data_hash\": \"%016" PRIx64
		   "\",\n  \"val_hash\": \"%016" PRIx64
		   "\",\n  \"version\": \"%s\"\n}\n", j->id.hash,
		   j->id.val_hash, ASSAY_VERSION);
	if (out && output_write(out, b.p, b.n, e) == 0)
		rc = output_commit(out, e);
	else
		output_abort(out);
	buf_clear(&b);
	free(path);
	return rc;
}

static int
make_run(struct job *j, struct err *e)
{
	int64_t n;

	if (mkdir(j->run, 0777) < 0 && errno != EEXIST)
		return err_sys(e, errno, "%s: cannot make", j->run);
	if (lock_run(j, e) < 0)
		return -1;
	n = ckpt_count(j->run, e);
	if (n < 0)
		return -1;
	if (n || exists(j->run, "train.jsonl"))
		return err_set(e, "%s: holds a run already (--resume goes on"
			       " with it)", j->run);
	return ckpt_sweep(j->run, e);
}

static int
open_log(struct job *j, struct err *e)
{
	int64_t step = (int64_t)j->at.step;
	struct trainlog_mark at = {j->at.step, j->at.last_eval == step,
		j->at.last_sample == step};
	char *path = xstrf("%s/train.jsonl", j->run);

	if (trainlog_cut(path, &at, e) == 0)
		j->log = trainlog_open(path, e);
	free(path);
	return j->log ? 0 : -1;
}

static void
add_history(struct job *j)
{
	char when[32];
	time_t now = time(NULL);
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
	buf_printf(&j->history, "%s{\"step\": %" PRIu64 ", \"time\": \"%s\","
		   " \"version\": \"%s\", \"kernels\": \"%s %s\","
		   " \"threads\": %d, \"peak_tflops\": ",
		   j->history.n ? ",\n    " : "\n    ", j->at.step, when,
		   ASSAY_VERSION, j->k->name, j->k->isa, j->k->threads);
	json_put_real(&j->history, j->peak / 1e12);
	buf_puts(&j->history, ", \"changed\": ");
	json_put_str(&j->history, buf_span(&j->changed));
	buf_putc(&j->history, '}');
}

static int
log_resume(struct job *j, struct err *e)
{
	trainlog_event(j->log, "resume", j->at.step);
	trainlog_str(j->log, "checkpoint", span_str(strrchr(j->from, '/') +
						    1));
	trainlog_str(j->log, "changed", buf_span(&j->changed));
	return trainlog_end(j->log, e);
}

/* Another schedule than the run had: its next rate jumps. */
static int
log_lr_restart(struct job *j, struct err *e)
{
	struct schedule now = options_schedule(&j->o);
	double old = schedule_lr(&j->was, (int64_t)j->at.step);
	double lr = schedule_lr(&now, (int64_t)j->at.step);

	if (old == lr)
		return 0;
	trainlog_event(j->log, "lr_restart", j->at.step);
	trainlog_real(j->log, "lr_before", old);
	trainlog_real(j->log, "lr", lr);
	return trainlog_end(j->log, e);
}

static void
set_loaders(struct job *j)
{
	j->train = (struct loader_conf){.shards = j->data,
		.t = (uint32_t)j->o.seq_len, .b = (uint32_t)j->o.batch_size,
		.order = (enum order_kind)j->o.order,
		.seed = (uint64_t)j->o.seed, .doc_mask = j->o.doc_mask,
		.vocab = j->c.vocab};
	j->eval = j->train;
	j->eval.shards = j->val;
}

static int
take_options(struct job *j, const struct options *cmd, struct err *e)
{
	int rc = cmd->resume ? resume_options(j, cmd, e) :
		fresh_options(j, cmd, e);

	return rc < 0 ? rc : absolute_paths(&j->o, e);
}

int
job_open(struct job *j, const struct options *cmd, struct kernels *k,
	 struct err *e)
{
	memset(j, 0, sizeof *j);
	j->lock = -1;
	j->k = k;
	if (take_options(j, cmd, e) < 0 || open_tokenizer(j, e) < 0 ||
	    open_data(j, e) < 0 || resolve(j, e) < 0 ||
	    (j->vocab && read_token_config(j, e) < 0) ||
	    make_model(j, e) < 0)
		return -1;
	j->peak = j->o.peak_tflops > 0 ? j->o.peak_tflops * 1e12 :
		k->peak ? k->peak(k, (enum kdtype)j->o.dtype) : 0;
	if (!cmd->resume && make_run(j, e) < 0)
		return -1;
	set_loaders(j);
	add_history(j);
	if (write_config(j, e) < 0 || open_log(j, e) < 0)
		return -1;
	if (j->from && (ckpt_link(j->run, j->from, e) < 0 ||
			log_resume(j, e) < 0 || log_lr_restart(j, e) < 0))
		return -1;
	return 0;
}

int
job_close(struct job *j, struct err *e)
{
	int rc = j->log ? trainlog_close(j->log, e) : 0;
	struct kernels *k = j->k;

	pass_free(j->pass);
	if (j->m)
		optim_clear(&j->opt);
	llama_free(j->m);
	k->release(k, j->tok_d);
	k->release(k, j->target_d);
	k->release(k, j->start_d);
	k->release(k, j->loss_d);
	k->release(k, j->logz_d);
	free(j->loss);
	free(j->logz);
	if (j->data)
		shards_close(j->data);
	if (j->val)
		shards_close(j->val);
	if (j->vocab)
		vocab_free(j->vocab);
	buf_clear(&j->tok.tokenizer);
	buf_clear(&j->tok.config);
	buf_clear(&j->history);
	buf_clear(&j->changed);
	if (j->lock >= 0)
		close(j->lock);
	free(j->run);
	free(j->from);
	free(j->tok_path);
	return rc;
}
