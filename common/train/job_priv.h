/*
 * job_priv.h - what job.c uses from setup.c, eval.c and monitor.c
 */
#ifndef ASSAY_JOB_PRIV_H
#define ASSAY_JOB_PRIV_H

#include "train/job.h"

/* What a checkpoint of this state is made from; borrows everything. */
struct state_src job_state(const struct job *j);

struct batch_source job_source(const struct job *j, const struct shards *s);

/* 0, or 1 if a signal interrupted it (nothing is logged), or -1. */
int job_evaluate(struct job *j, struct err *e);
int job_sample(struct job *j, struct err *e);

/* monitor.c: what a person sees, by j->report. */
void monitor_start(const struct job *j);
void monitor_step(const struct job *j, const struct trainlog_step *l);
/* bits: per byte; negative: unknown */
void monitor_eval(const struct job *j, double loss, double bits,
		  uint64_t windows, double seconds);
void monitor_sample(const struct job *j, const struct job_prompt *p,
		    const uint32_t *ids, size_t n);

#endif
