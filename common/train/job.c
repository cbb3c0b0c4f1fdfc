/*
 * job.c - job_run(): the loop (job.h)
 *
 * An update whose loss or gradient is not finite is skipped: weights, moments
 * and the count of updates stay as they are, the log names the place where the
 * first such number was computed, and training continues with the next batch.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/progress.h"
#include "train/interrupt.h"
#include "train/job_priv.h"
#include "train/loader.h"

/* ---- one step ---- */

static int
skip(struct job *j, uint64_t step, const struct trainer_result *r,
     struct err *e)
{
	trainlog_event(j->run.log, "skip", step);
	trainlog_str(j->run.log, "reason", span_str(r->skipped));
	if (*r->tensor) {
		trainlog_str(j->run.log, "phase",
			     span_str(r->forward ? "forward" :
				      "backward"));
		trainlog_str(j->run.log, "tensor", span_str(r->tensor));
	}
	if (trainlog_end(j->run.log, e) < 0)
		return -1;
	progress_erase();
	if (*r->tensor)
		warn("step %" PRIu64 ": update skipped: %s, first in the %s of"
		     " %s", step, r->skipped,
		     r->forward ? "output" : "gradient", r->tensor);
	else
		warn("step %" PRIu64 ": update skipped: %s", step, r->skipped);
	if (++j->skipped < JOB_MAX_SKIPPED)
		return 0;
	return err_set(e, "step %" PRIu64 ": %d updates in a row were skipped"
		       " (the last: %s)", step, j->skipped, r->skipped);
}

/* Windows of source s trained on, after all steps before this one. */
static uint64_t
taken(const struct plan_part *p, size_t s, uint64_t step)
{
	return mixture_taken(p->mix, s, plan_sample(p, step));
}

static int
log_sources(struct job *j, struct trainlog_step *l, struct err *e)
{
	const struct plan_part *p = plan_at(&j->plan, l->step);
	double shares[MIXTURE_MAX], epochs[MIXTURE_MAX], samples;
	const struct mixture *m = p->mix;
	size_t s;

	samples = (double)(plan_sample(p, l->step + 1) - m->from);
	for (s = 0; s < m->n; s++) {
		uint64_t n = taken(p, s, l->step + 1);

		shares[s] = (double)(n - m->v[s].start) / samples;
		epochs[s] = (double)n / (double)m->v[s].windows;
	}
	l->sources = m->n;
	l->shares = shares;
	l->epochs = epochs;
	if (trainlog_step(j->run.log, l, e) < 0)
		return -1;
	for (s = 0; s < m->n; s++) {
		uint64_t now = taken(p, s, l->step + 1) / m->v[s].windows;

		if (now == taken(p, s, l->step) / m->v[s].windows)
			continue;
		trainlog_event(j->run.log, "epoch", l->step);
		trainlog_str(j->run.log, "source", span_str(p->data[s]));
		trainlog_int(j->run.log, "epoch", now);
		if (trainlog_end(j->run.log, e) < 0)
			return -1;
	}
	return 0;
}

static int
log_step(struct job *j, struct trainlog_step *l, struct err *e)
{
	j->seconds += l->step_s;
	j->last_loss = l->loss;
	l->tokens_per_s = (double)j->tokens / j->seconds;
	l->mfu = j->peak.used > 0 ? j->flops / j->seconds / j->peak.used : -1;
	if (l->step == 0)
		l->ln_vocab = log((double)j->c.vocab);
	if ((j->data.mix ? log_sources(j, l, e) :
	     trainlog_step(j->run.log, l, e)) < 0)
		return -1;
	monitor_step(j, l);
	return 0;
}

/* With default initial weights the first loss is close to ln V. */
static void
check_first_loss(const struct job *j, double loss)
{
	double want = log((double)j->c.vocab);

	if (j->o.init_from || j->o.embed_scale != 1 ||
	    j->o.init_std != 0.02 || !(fabs(loss - want) > 0.5))
		return;
	progress_erase();
	warn("first loss is %.3f, but ln(vocabulary) is %.3f: check the data"
	     " and the initialization", loss, want);
}

static int
one_step(struct job *j, struct loader *l, struct err *e)
{
	struct schedule schedule = options_schedule(&j->o);
	uint64_t tokens = (uint64_t)(j->o.batch_size * j->o.seq_len);
	struct trainlog_step line = {.step = j->at.step};
	struct trainer_result r;
	double start = clock_s();
	const struct batch *b = loader_next(l, &line.data_wait_s, e);

	if (!b)
		return -1;
	line.lr = schedule_lr(&schedule, (int64_t)b->step);
	if (trainer_step(&j->tr, b, line.lr, j->at.updates + 1, &r, e) < 0)
		return -1;
	if (!r.skipped) {
		j->at.updates++;
		j->skipped = 0;
	}
	j->at.step++;
	j->at.tokens += tokens;
	j->tokens += tokens;
	j->flops += config_flops(&j->c, j->o.batch_size, j->o.seq_len,
				 b->start);
	if (b->step == 0)
		check_first_loss(j, r.loss);
	line.tokens = j->at.tokens;
	line.loss = r.loss;
	line.z_loss = r.z_loss;
	line.grad_norm = r.grad_norm;
	line.step_s = clock_s() - start;
	if (log_step(j, &line, e) < 0)
		return -1;
	return r.skipped ? skip(j, b->step, &r, e) : 0;
}

/* ---- between steps ---- */

/*
 * Like system(), but INT is not ignored in this process meanwhile: Ctrl-C must
 * end the training, not only the command.
 */
static int
run_shell(const char *cmd)
{
	char *argv[] = {"sh", "-c", (char *)(uintptr_t)cmd, NULL};
	int status, rc;
	pid_t pid;

	rc = posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ);
	if (rc != 0) {
		warn("/bin/sh: %s", strerror(rc));
		return 127;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) :
		128 + WTERMSIG(status);
}

static void
run_after_save(const struct job *j)
{
	char step[24], *path;
	int rc;

	path = xstrf("%s/step-%08" PRIu64, j->run.path, j->run.saving_step);
	snprintf(step, sizeof step, "%" PRIu64, j->run.saving_step);
	setenv("ASSAY_CHECKPOINT", path, 1);
	setenv("ASSAY_STEP", step, 1);
	free(path);
	progress_erase();
	rc = run_shell(j->o.after_save);
	if (rc != 0)
		warn("the command after a save exited with status %d", rc);
}

/* Finish the checkpoint that is being written, if it is done or must be. */
static int
finish_save(struct job *j, int wait, struct err *e)
{
	int rc = run_dir_saved(&j->run, wait, e);

	if (rc > 0 && j->o.after_save)
		run_after_save(j);
	return rc < 0 ? -1 : 0;
}

static int
save(struct job *j, int wait, struct err *e)
{
	struct state_src src = job_state(j);

	if (j->run.saved != (int64_t)j->at.step &&
	    (finish_save(j, 1, e) < 0 ||
	     run_dir_save(&j->run, &src, wait, e) < 0))
		return -1;
	return finish_save(j, wait, e);
}

static int
due(int64_t every, uint64_t step, int64_t last, uint64_t end)
{
	if (last == (int64_t)step)
		return 0;
	return step == end || (every && step && step % (uint64_t)every == 0);
}

/*
 * Evaluate, sample and save this state: 0, 1 interrupted, -1.  A command after
 * the save stops training anyway.
 */
static int
between_steps(struct job *j, struct err *e)
{
	uint64_t end = (uint64_t)j->o.steps, step = j->at.step;
	int wanted = interrupt_save_wanted();
	int rc = finish_save(j, 0, e);

	if (rc == 0 && j->data.val &&
	    due(j->o.eval_every, step, j->at.last_eval, end))
		rc = job_evaluate(j, e);
	if (rc == 0 && j->nprompts &&
	    due(j->o.sample_every, step, j->at.last_sample, end))
		rc = job_sample(j, e);
	if (rc == 0 &&
	    (wanted || due(j->o.save_every, step, j->run.saved, end)))
		rc = save(j, step == end || j->o.after_save, e);
	return rc;
}

static int
is_over(const struct job *j)
{
	uint64_t here = j->at.step - j->first_step;

	return j->at.step >= (uint64_t)j->o.steps ||
		(j->o.stop_after && here >= (uint64_t)j->o.stop_after);
}

static int
end_by(struct job *j, int sig, struct err *e)
{
	trainlog_event(j->run.log, "signal", j->at.step);
	trainlog_int(j->run.log, "signal", (uint64_t)sig);
	if (trainlog_end(j->run.log, e) < 0 || save(j, 1, e) < 0)
		return -1;
	return sig;
}

static int
loop(struct job *j, struct loader *l, struct err *e)
{
	for (;;) {
		int rc = between_steps(j, e);

		if (rc < 0)
			return -1;
		if (interrupt_pending())
			return end_by(j, interrupt_pending(), e);
		if (is_over(j))
			return save(j, 1, e);
		if (one_step(j, l, e) < 0)
			return -1;
	}
}

static void
warn_idle(const struct job *j)
{
	warn("%s: %" PRIu64 " of %" PRId64 " steps are done: nothing to train"
	     " (more steps train further)", j->run.path, j->at.step,
	     j->o.steps);
	if (j->run.changed.n)
		warn("%s: changed options are not stored, since no step would"
		     " use them", j->run.path);
}

int
job_run(struct job *j, struct err *e)
{
	struct loader_conf conf = {
		.source = job_source(j, NULL), .shards = j->data.train,
		.part = plan_at(&j->plan, j->at.step),
		.micro_batch = (uint32_t)j->o.micro_batch};
	struct loader *l;
	int rc;

	if (job_is_idle(j)) {
		warn_idle(j);
		return 0;
	}
	l = loader_new(&conf, j->at.step);
	j->first_step = j->at.step;
	j->tokens = 0;
	j->flops = 0;
	j->seconds = 0;
	j->began = clock_s();
	monitor_start(j);
	rc = loop(j, l, e);
	progress_stop();
	loader_free(l);
	return rc;
}
