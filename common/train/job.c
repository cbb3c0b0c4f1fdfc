/*
 * job.c - job_run(): the loop (job.h)
 *
 * A step is: take the batch, queue its micro-batches, wait for the norm of
 * the gradient (the only wait), update, write the line.  Every micro-batch is
 * scaled by one over the targets of the whole batch, so its weight is its
 * share of them and the sum does not depend on how the batch was cut.
 *
 * An update whose loss or norm is not finite is refused: weights, moments and
 * the count of updates stay as they are, the event names the first tensor
 * whose gradient is bad, and the data goes on.
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

#include "base/progress.h"
#include "base/clock.h"
#include "train/interrupt.h"
#include "train/job.h"
#include "record/ckpt.h"

struct step {
	const struct batch *b;
	double start, wait;	/* seconds */
	double loss, zloss, norm, lr;
};

/* ---- one step ---- */

static void
queue_batch(struct job *j, const struct batch *b)
{
	int64_t t = j->o.seq_len, at, n;
	float scale = b->targets ? (float)(1.0 / (double)b->targets) : 0;

	job_upload(j, b, j->o.batch_size);
	for (at = 0; at < j->o.batch_size; at += n) {
		n = j->o.batch_size - at < j->o.micro_batch ?
			j->o.batch_size - at : j->o.micro_batch;
		pass_run(j->pass, &(struct pass_batch){.b = n,
			.tok = j->tok_d + at * t,
			.target = j->target_d + at * t,
			.start = j->o.doc_mask ? j->start_d + at * t : NULL,
			.scale = scale, .zcoef = (float)j->o.z_loss,
			.loss = j->loss_d + at * t,
			.logz = j->logz_d + at * t,
			.grad = j->opt.grad, .accumulate = at > 0});
	}
}

static void
mean_loss(struct job *j, struct step *s)
{
	size_t n = (size_t)(j->o.batch_size * j->o.seq_len), i;
	double sum = 0, z = 0;

	j->k->download(j->k, j->loss, j->loss_d, n * sizeof *j->loss);
	if (j->o.z_loss > 0)
		j->k->download(j->k, j->logz, j->logz_d, n * sizeof *j->logz);
	for (i = 0; i < n; i++) {
		if (s->b->target[i] < 0)
			continue;
		sum += j->loss[i];
		if (j->o.z_loss > 0)
			z += (double)j->logz[i] * j->logz[i];
	}
	s->loss = sum / (double)s->b->targets;
	s->zloss = j->o.z_loss > 0 ?
		j->o.z_loss * z / (double)s->b->targets : -1;
}

static int
refuse(struct job *j, const struct step *s, struct err *e)
{
	size_t bad = optim_first_bad(&j->opt);
	const char *tensor = bad < j->m->nparams ? param_name(j->m, bad) : "";
	const char *why = !s->b->targets ? "no target tokens" :
		!isfinite(s->loss) ? "loss is not finite" :
		"gradient is not finite";

	trainlog_event(j->log, "skip", s->b->step);
	trainlog_str(j->log, "reason", span_str(why));
	if (*tensor)
		trainlog_str(j->log, "tensor", span_str(tensor));
	if (trainlog_end(j->log, e) < 0)
		return -1;
	progress_erase();
	warn("step %" PRIu64 ": %s%s%s: update refused", s->b->step, why,
	     *tensor ? ", first in " : "", tensor);
	if (++j->refused < JOB_MAX_REFUSED)
		return 0;
	return err_set(e, "step %" PRIu64 ": %d updates in a row were refused"
		       " (the last: %s)", s->b->step, j->refused, why);
}

static int
log_step(struct job *j, const struct step *s, struct err *e)
{
	struct trainlog_step l = {.step = s->b->step, .tokens = j->at.tokens,
		.loss = s->loss, .grad_norm = s->norm, .lr = s->lr,
		.step_s = clock_s() - s->start, .data_wait_s = s->wait,
		.mfu = -1, .z_loss = s->zloss};

	j->seconds += l.step_s;
	j->last_loss = s->loss;
	l.tokens_per_s = (double)j->tokens / j->seconds;
	if (j->peak > 0)
		l.mfu = l.tokens_per_s *
			config_flops_per_token(&j->c, j->o.seq_len) / j->peak;
	if (s->b->step == 0)
		l.ln_vocab = log((double)j->c.vocab);
	return trainlog_step(j->log, &l, e);
}

/* With these initial weights the first loss cannot be far from ln V. */
static void
check_first_loss(const struct job *j, const struct step *s)
{
	double want = log((double)j->c.vocab);

	if (s->b->step || j->o.init_from || j->o.embed_scale != 1 ||
	    j->o.init_std != 0.02 || !(fabs(s->loss - want) > 0.5))
		return;
	progress_erase();
	warn("first loss is %.3f, ln(vocabulary) is %.3f: something is wrong"
	     " with the data or the initialization", s->loss, want);
}

static int
one_step(struct job *j, struct loader *l, struct err *e)
{
	struct schedule lr = options_schedule(&j->o);
	struct step s = {.start = clock_s()};
	uint64_t tokens = (uint64_t)(j->o.batch_size * j->o.seq_len);
	int ok;

	s.b = loader_next(l, &s.wait, e);
	if (!s.b)
		return -1;
	s.lr = schedule_lr(&lr, (int64_t)s.b->step);
	queue_batch(j, s.b);
	s.norm = optim_norm(&j->opt);
	mean_loss(j, &s);
	ok = isfinite(s.loss) && isfinite(s.norm);
	if (ok) {
		j->at.updates++;
		j->refused = 0;
		optim_step(&j->opt, s.lr, s.norm, (int64_t)j->at.updates);
		j->k->sync(j->k);
	}
	j->at.step++;
	j->at.tokens += tokens;
	j->tokens += tokens;
	check_first_loss(j, &s);
	if (log_step(j, &s, e) < 0 || (!ok && refuse(j, &s, e) < 0))
		return -1;
	return 0;
}

/* ---- between steps ---- */

/*
 * As system(), which is no choice: it ignores INT in this process while it
 * waits, so that a Ctrl-C would end the command and not the training.
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
run_after_save(struct job *j, const char *path)
{
	char step[24];
	int rc;

	snprintf(step, sizeof step, "%" PRIu64, j->at.step);
	setenv("ASSAY_CHECKPOINT", path, 1);
	setenv("ASSAY_STEP", step, 1);
	progress_erase();
	rc = run_shell(j->o.after_save);
	if (rc != 0)
		warn("--after-save: command ended with status %d", rc);
}

static int
save(struct job *j, struct err *e)
{
	struct state_src src = {j->m, &j->opt, &j->o, &j->id, &j->tok, &j->at,
		buf_span(&j->history)};
	double start = clock_s();
	struct buf path = {0};
	int rc;

	if (j->saved == (int64_t)j->at.step)
		return 0;
	if (trainlog_sync(j->log, e) < 0 || state_save(j->run, &src, e) < 0)
		return -1;
	j->saved = (int64_t)j->at.step;
	buf_printf(&path, "step-%08" PRIu64, j->at.step);
	trainlog_event(j->log, "checkpoint", j->at.step);
	trainlog_str(j->log, "path", buf_span(&path));
	trainlog_real(j->log, "save_s", clock_s() - start);
	rc = trainlog_end(j->log, e);
	if (rc == 0)
		job_prune(j);
	if (rc == 0 && j->o.after_save) {
		buf_reset(&path);
		buf_printf(&path, "%s/step-%08" PRIu64, j->run, j->at.step);
		buf_putc(&path, '\0');
		run_after_save(j, path.p);
	}
	buf_clear(&path);
	return rc;
}

static int
due(int64_t every, uint64_t step, int64_t last, uint64_t end)
{
	if (last == (int64_t)step)
		return 0;
	return step == end || (every && step && step % (uint64_t)every == 0);
}

/* Evaluation, samples, checkpoint of this state: 0, 1 interrupted, -1. */
static int
between_steps(struct job *j, struct err *e)
{
	uint64_t end = (uint64_t)j->o.steps;
	int wanted = interrupt_save_wanted(), rc = 0;

	if (j->val && due(j->o.eval_every, j->at.step, j->at.last_eval, end))
		rc = job_evaluate(j, e);
	if (rc == 0 && j->nprompts &&
	    due(j->o.sample_every, j->at.step, j->at.last_sample, end))
		rc = job_sample(j, e);
	if (rc == 0 && (wanted || due(j->o.save_every, j->at.step, j->saved,
				      end)))
		rc = save(j, e);
	return rc;
}

static int
is_over(const struct job *j)
{
	uint64_t here = j->at.step - j->first_step;

	return j->at.step >= (uint64_t)j->o.steps ||
		(j->o.stop_after && here >= (uint64_t)j->o.stop_after);
}

/* Saved by a signal: the run must be found where it was left. */
static int
end_by(struct job *j, int sig, struct err *e)
{
	trainlog_event(j->log, "signal", j->at.step);
	trainlog_int(j->log, "signal", (uint64_t)sig);
	if (trainlog_end(j->log, e) < 0 || save(j, e) < 0)
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
			return save(j, e);
		if (one_step(j, l, e) < 0)
			return -1;
		progress_set(j->at.step);
	}
}

int
job_run(struct job *j, struct err *e)
{
	struct loader *l = loader_new(&j->train, j->at.step);
	int rc;

	j->first_step = j->at.step;
	j->tokens = 0;
	j->seconds = 0;
	if (j->at.step >= (uint64_t)j->o.steps)
		warn("%s: %llu of %lld steps are done: nothing to train,"
		     " --steps asks for more", j->run,
		     (unsigned long long)j->at.step, (long long)j->o.steps);
	progress_start("training", "steps", (uint64_t)j->o.steps);
	progress_set(j->at.step);
	rc = loop(j, l, e);
	progress_stop();
	loader_free(l);
	return rc;
}
