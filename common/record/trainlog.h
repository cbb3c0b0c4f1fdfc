/*
 * trainlog.h - the training log: one JSON object a line (trainlog.5)
 *
 * Step lines and events.  A line is handed to the system in one write() when
 * it is complete, so a crash leaves a log that reads to its last whole line.
 * Numbers that are not finite become null and their keys are listed in
 * "nonfinite".  One thread.
 */
#ifndef ASSAY_TRAINLOG_H
#define ASSAY_TRAINLOG_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct trainlog;

/* Open for appending (made when missing).  NULL: error. */
struct trainlog *trainlog_open(const char *path, struct err *e);
int trainlog_close(struct trainlog *t, struct err *e);	/* fsyncs; frees t */

struct trainlog_step {
	uint64_t step;		/* updates made before this batch */
	uint64_t tokens;	/* trained on up to and with this step */
	double loss;		/* mean over target tokens, nats */
	double grad_norm;	/* before clipping */
	double lr;
	double tokens_per_s;	/* since this start */
	double mfu;		/* since this start; negative: no peak known */
	double step_s, data_wait_s;
	double ln_vocab;	/* written when > 0: beside the first loss */
	double z_loss;		/* written when >= 0 */
};
int trainlog_step(struct trainlog *t, const struct trainlog_step *s,
		  struct err *e);

/*
 * An event in three steps: start with its type and step, add members, end.
 * trainlog_real() writes null and remembers the key when x is not finite.
 */
struct buf *trainlog_event(struct trainlog *t, const char *type, uint64_t step);
void trainlog_real(struct trainlog *t, const char *key, double x);
void trainlog_null(struct trainlog *t, const char *key);
void trainlog_int(struct trainlog *t, const char *key, uint64_t x);
void trainlog_str(struct trainlog *t, const char *key, struct span s);
int trainlog_end(struct trainlog *t, struct err *e);

/* On disk: before a checkpoint, for a resume from it needs the lines so far. */
int trainlog_sync(struct trainlog *t, struct err *e);

/* What a checkpoint knows of the log. */
struct trainlog_mark {
	uint64_t step;
	int evaluated, sampled;	/* in this state: it will not be done again */
};

/*
 * Cut the log back to a checkpoint: everything from the first line that
 * belongs to a later state is removed (step lines >= step; evals, samples and
 * checkpoints > step; evals and samples of the step itself that are to be done
 * again), and a last line without its end.  A missing file is fine.
 */
int trainlog_cut(const char *path, const struct trainlog_mark *at,
		 struct err *e);

#endif
