/*
 * start.c - job_start(): the first writes to the run folder (job.h)
 *
 * A resume logs itself before it replaces config.json, so that the log is right
 * about every step whenever the process is killed.
 */
#include <string.h>

#include "record/ckpt.h"
#include "train/job_priv.h"

static int
log_resume(struct job *j, struct err *e)
{
	struct buf *line = trainlog_event(j->run.log, "resume", j->at.step);

	trainlog_str(j->run.log, "checkpoint",
		     span_str(strrchr(j->run.from, '/') + 1));
	trainlog_str(j->run.log, "changed", buf_span(&j->run.changed));
	buf_puts(line, ",\"batches\":");
	plan_json(&j->plan, line);
	return trainlog_end(j->run.log, e);
}

/* With a changed schedule the learning rate jumps here. */
static int
log_lr_restart(struct job *j, struct err *e)
{
	struct schedule now = options_schedule(&j->o);
	struct schedule was = options_schedule(&j->stored);
	double old = schedule_lr(&was, (int64_t)j->at.step);
	double lr = schedule_lr(&now, (int64_t)j->at.step);

	if (old == lr)
		return 0;
	trainlog_event(j->run.log, "lr_restart", j->at.step);
	trainlog_real(j->run.log, "lr_before", old);
	trainlog_real(j->run.log, "lr", lr);
	return trainlog_end(j->run.log, e);
}

/* Is an evaluation or a sample of this state due, although it was saved? */
static int
is_incomplete(const struct job *j)
{
	int64_t step = (int64_t)j->at.step;

	return (j->data.val && j->at.last_eval != step) ||
		(j->nprompts && j->at.last_sample != step);
}

int
job_is_idle(const struct job *j)
{
	return j->run.from && j->at.step == (uint64_t)j->o.steps &&
		!is_incomplete(j);
}

static int
write_config(const struct job *j, struct err *e)
{
	return run_dir_config(&j->run, &j->o, &j->data.id,
			      plan_at(&j->plan, j->at.step), e);
}

static int
start_new(struct job *j, struct kernels *k, struct err *e)
{
	struct state_src src = job_state(j);

	if (!j->o.resume && run_dir_make(&j->run, &src, e) < 0) {
		run_dir_put_back(&j->run);
		return -1;
	}
	run_dir_add_history(&j->run, j->at.step, k, &j->peak);
	if (write_config(j, e) < 0 ||
	    run_dir_log(&j->run, &j->at, e) < 0) {
		run_dir_put_back(&j->run);
		return -1;
	}
	if (j->run.aside)
		run_dir_sweep(&j->run);
	return 0;
}

static int
start_again(struct job *j, struct kernels *k, struct err *e)
{
	if (ckpt_link(j->run.path, j->run.from, e) < 0)
		return -1;
	if (!job_is_idle(j)) {
		run_dir_add_history(&j->run, j->at.step, k, &j->peak);
		if (run_dir_log(&j->run, &j->at, e) < 0 ||
		    log_resume(j, e) < 0 || log_lr_restart(j, e) < 0 ||
		    write_config(j, e) < 0)
			return -1;
	}
	/* a kill may have come between a save and this */
	run_dir_prune(&j->run, j->o.keep, j->at.step);
	return 0;
}

int
job_start(struct job *j, struct err *e)
{
	if (j->o.resume)
		run_dir_sweep(&j->run);
	return j->run.from ? start_again(j, j->tr.k, e) :
		start_new(j, j->tr.k, e);
}
