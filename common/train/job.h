/*
 * job.h - a training run: open, start, run, close
 *
 * job_open() checks everything that can be checked before the first step and
 * writes nothing.  job_start() makes or continues the run folder.  job_run()
 * is the loop: in the state after s updates it evaluates, samples and saves
 * (each if due), then trains on batch s and logs that step.
 *
 * The caller owns the table of kernels, so that a test can wrap it.
 */
#ifndef ASSAY_JOB_H
#define ASSAY_JOB_H

#include "train/dataset.h"
#include "train/run_dir.h"
#include "train/trainer.h"

enum { JOB_MAX_SKIPPED = 10 };	/* updates in a row; then the run ends */

enum job_report {		/* lines on stderr */
	JOB_REPORT_NONE,	/* only a progress line at a terminal */
	JOB_REPORT_EVENTS,	/* evaluations and samples */
	JOB_REPORT_STEPS	/* steps, too */
};

struct job_prompt {
	struct span text;
	uint32_t *ids;		/* without BOS */
	size_t n;
};

struct job {
	struct options o;
	struct options stored;	/* of the run, if resumed */
	struct model_config c;
	struct dataset data;
	struct trainer tr;
	struct run_dir run;
	struct run_state at;
	struct plan plan;	/* of all steps; the last part is now */
	const struct job_prompt *prompts;	/* borrowed; for job_start() */
	size_t nprompts;
	enum job_report report;	/* for job_run() */
	struct peaks peak;
	/* since this start */
	uint64_t first_step, tokens;
	double began;		/* clock_s() */
	double flops;		/* config_flops() of the steps */
	double seconds, last_loss;
	int skipped;		/* updates in a row */
};

/*
 * cmd: the command line (options_init(), then args_parse()).  Returns with
 * the weights set.  -1: error; job_close() is still due.
 */
int job_open(struct job *j, const struct options *cmd, struct kernels *k,
	     struct err *e);

/*
 * Write config.json and open the log.  A resume with nothing left to do
 * (job_is_idle()) writes neither, so that options given by mistake leave no
 * trace.
 */
int job_start(struct job *j, struct err *e);
int job_is_idle(const struct job *j);

/* 0: done; a signal number: saved, end by it; -1: error. */
int job_run(struct job *j, struct err *e);

/* -1 if the log could not be written. */
int job_close(struct job *j, struct err *e);

#endif
