/*
 * setup.c - job_open(): from a command line to a model ready to train (job.h)
 *
 * Checks run in the order in which a user wants to see them fail: options,
 * tokenizer, shards, shape, weights.  A resume reads the stored options first
 * and applies the command line to them.  Nothing is written here: start.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "record/ckpt.h"
#include "train/job_priv.h"

/* The path DIR/NAME if it exists, to free(); else NULL. */
static char *
existing(const char *dir, const char *name)
{
	char *p = path_join(dir, name);

	if (access(p, F_OK) == 0)
		return p;
	free(p);
	return NULL;
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

/* The path of PATH:WEIGHT becomes absolute. */
static int
absolute_source(const char **spec, struct err *e)
{
	struct span path, weight;
	char *p;
	const char *full;
	int rc = mixture_split(*spec, &path, &weight, e);

	if (rc <= 0)
		return rc < 0 ? -1 : absolute(spec, e);
	full = p = xmemdup0(path.p, path.n);
	rc = absolute(&full, e);
	if (rc == 0)
		*spec = xstrf("%s:%s", full, weight.p);
	if (full != p)
		free((char *)(uintptr_t)full);
	free(p);
	return rc;
}

/* So that --resume and decode-batch --run work from any folder. */
static int
absolute_paths(struct options *o, struct err *e)
{
	size_t i;

	for (i = 0; i < o->data.n; i++)
		if (absolute_source(&o->data.v[i], e) < 0)
			return -1;
	for (i = 0; i < o->val_data.n; i++)
		if (absolute(&o->val_data.v[i], e) < 0)
			return -1;
	if (absolute(&o->tokenizer, e) < 0 || absolute(&o->prompts, e) < 0)
		return -1;
	return absolute(&o->init_from, e);
}

/* Files that are read must not be in the run that is replaced. */
static int
check_overwrite(const struct options *o, struct err *e)
{
	char *run = o->overwrite ? realpath(o->out, NULL) : NULL;
	size_t n = run ? strlen(run) : 0;
	int inside = run && o->init_from && !strncmp(o->init_from, run, n) &&
		(o->init_from[n] == '/' || !o->init_from[n]);

	free(run);
	return !inside ? 0 : err_set(e, "%s: --init-from %s is in this folder,"
				     " so that --overwrite would remove it",
				     o->out, o->init_from);
}

static int
new_options(struct job *j, const struct options *cmd, struct err *e)
{
	j->o = *cmd;
	if ((cmd->config && options_load(&j->o, cmd->config, 0, e) < 0) ||
	    options_prefer_folder(&j->o, e) < 0)
		return -1;
	options_mark_derived(&j->o);
	if (!j->o.out)
		return err_set(e, "no run folder: use -o DIR");
	run_dir_init(&j->run, j->o.out);
	if (j->o.init_from)
		j->o.init_from = ckpt_model(j->o.init_from);
	if (j->o.init_from && !j->o.tokenizer)
		j->o.tokenizer = existing(j->o.init_from, "tokenizer.json");
	if (absolute_paths(&j->o, e) < 0)
		return -1;
	return check_overwrite(&j->o, e);
}

static int
stored_options(struct job *j, const struct options *cmd, struct err *e)
{
	char *path = existing(cmd->resume, "train_state.json");
	int rc;

	if (path) {
		free(path);
		return err_set(e, "%s: is a checkpoint; resume the folder of"
			       " its run", cmd->resume);
	}
	if (path_is_dir(cmd->resume) && run_dir_lock(&j->run, e) < 0)
		return -1;
	path = path_join(cmd->resume, "config.json");
	options_init(&j->o);
	rc = options_load(&j->o, path, 1, e);
	free(path);
	j->stored = j->o;
	return rc;
}

static int
resume_options(struct job *j, const struct options *cmd, struct err *e)
{
	struct options given = *cmd;

	run_dir_init(&j->run, cmd->resume);
	if (stored_options(j, cmd, e) < 0 || absolute_paths(&given, e) < 0 ||
	    options_override(&j->o, &given, &j->run.changed, e) < 0 ||
	    run_dir_find(&j->run, e) < 0)
		return -1;
	return absolute_paths(&j->o, e);
}

/* A resume uses the tokenizer of the checkpoint, unless another is given. */
static char *
tokenizer_path(const struct job *j, const struct options *cmd)
{
	char *p = NULL;

	if (j->run.from && !cmd->tokenizer)
		p = existing(j->run.from, "tokenizer.json");
	return p || !j->o.tokenizer ? p : xstrdup(j->o.tokenizer);
}

/* ---- position ---- */

static int
load_position(struct job *j, struct err *e)
{
	const char *from = j->run.from;
	struct data_id was;

	if (state_load(from, &j->at, &was, &j->plan, &j->run.history, e) < 0 ||
	    dataset_check(&j->data, &j->o, &was,
			  plan_at(&j->plan, j->at.step)->seq_len,
			  &j->run.changed, e) < 0)
		return -1;
	j->run.saved = (int64_t)j->at.step;
	return (int64_t)j->at.step == ckpt_step(from) ? 0 :
		err_set(e, "%s/train_state.json: step is %" PRIu64 ", which is"
			" not that of the folder's name", from, j->at.step);
}

/* Weights that sum to 0.9 may be a mistake. */
static void
warn_if_scaled(const struct dataset *d)
{
	struct buf shares = {0};
	size_t s;

	if (!d->mix || fabs(d->weights - 1) < 1e-9)
		return;
	for (s = 0; s < d->mix->n; s++)
		buf_printf(&shares, "%s%.6g", s ? ", " : "",
			   mixture_share(d->mix, s));
	warn("the weights of the sources sum to %.6g; their shares are %.*s",
	     d->weights, (int)shares.n, shares.p);
	buf_clear(&shares);
}

/* From this step on, the batches are those of the options and the shards. */
static void
continue_plan(struct job *j)
{
	const struct options *o = &j->o;
	const struct plan_part now = {
		.batch_size = (uint64_t)o->batch_size,
		.order = (enum order_kind)o->order,
		.seed = (uint64_t)o->seed, .seq_len = (uint32_t)o->seq_len,
		.doc_mask = o->doc_mask,
		.format = (enum shard_format)o->shard_format,
		.id_bytes = o->id_bytes,
		.windows = j->data.id.windows, .hash = j->data.id.hash,
		.data = j->data.paths, .ndata = o->data.n,
		.mix = j->data.mix};

	plan_continue(&j->plan, j->at.step, &now);
}

/* Where the run is, and where it ends. */
static int
set_position(struct job *j, const struct options *cmd, struct err *e)
{
	j->at = (struct run_state){.last_eval = -1, .last_sample = -1};
	if (j->run.from && load_position(j, e) < 0)
		return -1;
	if (!cmd->resume)
		warn_if_scaled(&j->data);
	continue_plan(j);
	if (options_set_epochs(&j->o, cmd, j->data.id.windows, j->at.step,
			       plan_sample(plan_at(&j->plan, j->at.step),
					   j->at.step),
			       &j->run.changed, e) < 0)
		return -1;
	return j->at.step <= (uint64_t)j->o.steps ? 0 :
		err_set(e, "%s: %" PRIu64 " steps are done, more than the %"
			PRId64 " of the run", j->run.path, j->at.step,
			j->o.steps);
}

/* ---- shape ---- */

static int
check_schedule(const struct options *o, struct err *e)
{
	struct schedule s = options_schedule(o);

	if (s.warmup > s.steps)
		warn("warmup takes %" PRId64 " of %" PRId64 " steps: the"
		     " peak is never reached", s.warmup, s.steps);
	return schedule_check(&s, e);
}

static int
check_samples(const struct job *j, struct err *e)
{
	int prompts = j->o.prompts || j->o.prompt.n;

	if (prompts && !j->data.vocab)
		return err_set(e, "prompts need a tokenizer");
	if (j->o.sample_every && !prompts)
		return err_set(e, "samples need prompts");
	return 0;
}

static int
set_shape(struct job *j, const char *folder, struct err *e)
{
	if (options_resolve(&j->o, folder, dataset_vocab(&j->data), &j->c,
			    e) < 0 || check_schedule(&j->o, e) < 0)
		return -1;
	if (j->o.resume)
		options_note_derived(&j->o, &j->stored, &j->run.changed);
	if (dataset_special_ids(&j->data, &j->c, e) < 0)
		return -1;
	if (j->c.bos >= j->c.vocab)
		return err_set(e, "%s: bos_token_id is %" PRId64 ", but the"
			       " model has %" PRId64 " ids", folder ? folder :
			       j->o.data.v[0], j->c.bos, j->c.vocab);
	if (options_check_effects(&j->o, e) < 0)
		return -1;
	return check_samples(j, e);
}

/* ---- weights ---- */

/* Memory for the run; the message says which options need less. */
static int
set_trainer(struct job *j, struct kernels *k, struct err *e)
{
	static const char less[] = "a smaller --micro-batch or --seq-len, or"
		" --dtype bf16, needs less";
	struct trainer_conf tc = options_trainer(&j->o);
	int64_t need = trainer_bytes(k, &tc, &j->c);
	struct err why = {0};
	size_t unused, total;

	if (k->memory(k, &unused, &total) == 0 && (size_t)need > total)
		return err_set(e, "the run needs about %" PRId64 " MB of"
			       " memory, and there are %zu MB: %s",
			       need / 1000000, total / 1000000, less);
	if (trainer_reserve(k, &tc, &j->c, &why) < 0 ||
	    trainer_init(&j->tr, k, &j->c, &tc, &why) < 0)
		return err_set(e, "%s; the run needs about %" PRId64 " MB: %s",
			       why.msg, need / 1000000, less);
	return 0;
}

static int
first_weights(struct job *j, struct err *e)
{
	struct llama *m = j->tr.m;
	float *master = j->tr.opt.master;
	struct st *s;
	int rc = 0;

	if (j->o.init_from) {
		s = st_open(j->o.init_from, e);
		rc = s ? llama_match(m, s, e) : -1;
		if (rc == 0)
			rc = llama_flat_load(m, s, "", master, e);
		st_close(s);
	} else
		rc = llama_flat_init(m, (uint64_t)j->o.seed, j->o.init_std,
				     j->o.embed_scale, master, e);
	if (rc == 0)
		llama_set(m, master);
	return rc;
}

static int
restore(struct job *j, struct err *e)
{
	const char *from = j->run.from;
	struct err why = {0};

	if (state_load_tensors(from, j->tr.m, &j->tr.opt, &why) == 0)
		return 0;
	return err_set(e, "%s (use --init-from %s to start a new run from its"
		       " weights)", why.msg, from);
}

static int
set_model(struct job *j, struct kernels *k, struct err *e)
{
	if (set_trainer(j, k, e) < 0)
		return -1;
	return j->run.from ? restore(j, e) : first_weights(j, e);
}

static int
prepare(struct job *j, const struct options *cmd, struct kernels *k,
	struct err *e)
{
	const char *folder = j->run.from ? j->run.from : j->o.init_from;
	char *tok = tokenizer_path(j, cmd);
	int rc = dataset_open(&j->data, &j->o, tok, folder, e);

	if (rc == 0)
		rc = set_position(j, cmd, e);
	if (rc == 0)
		rc = set_shape(j, folder, e);
	if (rc == 0 && tok)
		rc = dataset_token_files(&j->data, tok, &j->c, j->o.seq_len,
					 e);
	free(tok);
	return rc < 0 ? -1 : set_model(j, k, e);
}

struct state_src
job_state(const struct job *j)
{
	return (struct state_src){j->tr.m, &j->tr.opt, &j->o, &j->data.id,
		&j->data.files, &j->at, &j->plan, buf_span(&j->run.history)};
}

struct batch_source
job_source(const struct job *j, const struct shards *s)
{
	return (struct batch_source){s, (uint32_t)j->o.seq_len,
		j->o.doc_mask, j->c.vocab};
}

/* What MFU is relative to: as the user says, as the maker, as measured. */
static void
find_peak(struct job *j, struct kernels *k)
{
	enum kdtype dt = (enum kdtype)j->o.dtype;

	j->peak.nominal = k->nominal(k, dt);
	j->peak.used = j->o.peak_tflops * 1e12;
	if (j->peak.used > 0)
		return;
	j->peak.measured = k->peak(k, dt);
	j->peak.used = j->peak.nominal > 0 ? j->peak.nominal :
		j->peak.measured;
}

int
job_open(struct job *j, const struct options *cmd, struct kernels *k,
	 struct err *e)
{
	struct state_src src;

	memset(j, 0, sizeof *j);
	j->run.lock = -1;
	if ((cmd->resume ? resume_options(j, cmd, e) :
	     new_options(j, cmd, e)) < 0 || prepare(j, cmd, k, e) < 0)
		return -1;
	find_peak(j, k);
	src = job_state(j);
	return cmd->resume ? state_room(j->run.path, &src, e) : 0;
}

int
job_close(struct job *j, struct err *e)
{
	int rc = run_dir_close(&j->run, e);

	trainer_clear(&j->tr);
	dataset_close(&j->data);
	plan_clear(&j->plan);
	return rc;
}
