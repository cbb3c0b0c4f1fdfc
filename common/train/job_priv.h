/*
 * job_priv.h - what job.c uses from setup.c and eval.c
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

#endif
