/*
 * setup.c - job_open(): from a command line to a model in place (job.h)
 *
 * Everything that can be wrong is looked at in the order in which a person
 * would want to hear of it: options (here), tokenizer, shards, windows
 * (setup_data.c), the shape, the weights (setup_model.c); the run folder is
 * touched last, here again.  A resume reads the stored options first and lets
 * the command line speak only where it may.
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
#include "base/progress.h"
#include "train/setup.h"
#include "record/ckpt.h"

int
setup_exists(const char *dir, const char *name)
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
	return absolute(&o->init_from, e);
}

static int
fresh_options(struct job *j, const struct options *cmd, struct err *e)
{
	char *tok;

	j->o = *cmd;
	if (cmd->config && options_load(&j->o, cmd->config, e) < 0)
		return -1;
	options_mark_derived(&j->o);
	if (!j->o.out)
		return err_set(e, "no folder for the run: give -o DIR");
	j->run = xstrdup(j->o.out);
	if (j->o.init_from && !j->o.tokenizer &&
	    setup_exists(j->o.init_from, "tokenizer.json")) {
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
	struct err why = {0};

	if (n <= 0)
		return (int)n;
	j->from = ckpt_newest(j->run, passed_over, NULL, &why);
	return j->from ? 0 : err_set(e, "%s (--init-from a checkpoint starts"
				     " anew from its weights alone)", why.msg);
}

/* What a killed run left; it must not keep this one from going on. */
static void
sweep(const struct job *j)
{
	struct err why = {0};

	if (ckpt_sweep(j->run, &why) < 0)
		warn("%s", why.msg);
}

void
job_prune(const struct job *j)
{
	struct err why = {0};

	if (ckpt_prune(j->run, (size_t)j->o.keep, j->at.step, &why) == 0)
		return;
	progress_erase();
	warn("%s", why.msg);
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
	struct options given = *cmd;
	int rc;

	if (cmd->out || cmd->config) {
		free(path);
		return err_set(e, "--resume takes no -o and no --config");
	}
	if (setup_exists(cmd->resume, "train_state.json")) {
		free(path);
		return err_set(e, "%s: a checkpoint, --resume takes the folder"
			       " of its run", cmd->resume);
	}
	j->run = xstrdup(cmd->resume);
	options_init(&j->o);
	rc = options_restore(&j->o, path, e);
	free(path);
	j->stored = j->o;
	j->resumed = 1;
	if (rc < 0 || absolute_paths(&given, e) < 0 ||
	    options_override(&j->o, &given, &j->changed, e) < 0 ||
	    lock_run(j, e) < 0)
		return -1;
	sweep(j);
	if (find_checkpoint(j, e) < 0)
		return -1;
	if (j->from && setup_exists(j->from, "tokenizer.json") &&
	    !cmd->tokenizer)
		j->tok_path = xstrf("%s/tokenizer.json", j->from);
	return 0;
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

/* A run that could not be saved is not begun. */
static int
check_room(const struct job *j, struct err *e)
{
	struct state_src src = {.m = j->m, .tok = &j->tok};

	return j->at.step < (uint64_t)j->o.steps ?
		state_room(j->run, &src, e) : 0;
}

static int
make_run(struct job *j, struct err *e)
{
	int made = mkdir(j->run, 0777) == 0;
	int64_t n;

	if (!made && errno != EEXIST)
		return err_sys(e, errno, "%s: cannot make", j->run);
	if (check_room(j, e) < 0) {
		if (made)
			rmdir(j->run);
		return -1;
	}
	if (lock_run(j, e) < 0)
		return -1;
	n = ckpt_count(j->run, e);
	if (n < 0)
		return -1;
	if (n || setup_exists(j->run, "train.jsonl"))
		return err_set(e, "%s: holds a run already (--resume goes on"
			       " with it)", j->run);
	sweep(j);
	return 0;
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
	struct schedule was = options_schedule(&j->stored);
	double old = schedule_lr(&was, (int64_t)j->at.step);
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
	if (take_options(j, cmd, e) < 0 || setup_tokenizer(j, e) < 0 ||
	    setup_data(j, e) < 0 || setup_shape(j, e) < 0 ||
	    (j->vocab && setup_token_config(j, e) < 0) ||
	    setup_model(j, e) < 0)
		return -1;
	j->peak = j->o.peak_tflops > 0 ? j->o.peak_tflops * 1e12 :
		k->peak ? k->peak(k, (enum kdtype)j->o.dtype) : 0;
	if ((cmd->resume ? check_room(j, e) : make_run(j, e)) < 0)
		return -1;
	set_loaders(j);
	add_history(j);
	if (write_config(j, e) < 0 || open_log(j, e) < 0)
		return -1;
	if (!j->from)
		return 0;
	if (ckpt_link(j->run, j->from, e) < 0 || log_resume(j, e) < 0 ||
	    log_lr_restart(j, e) < 0)
		return -1;
	job_prune(j);	/* a kill may have come between a save and this */
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
