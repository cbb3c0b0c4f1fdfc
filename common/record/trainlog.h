/*
 * trainlog.h - the training log: one JSON object per line (trainlog.5)
 *
 * Step lines and events.  A complete line is written by one write(), so after a
 * crash the log is readable to its last whole line.
 * Numbers that are not finite become null and their keys are listed in
 * "nonfinite".  One thread.
 */
#ifndef ASSAY_TRAINLOG_H
#define ASSAY_TRAINLOG_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "stream/json.h"

struct trainlog;

/* Open for appending; created if missing.  NULL: error. */
struct trainlog *trainlog_open(const char *path, struct err *e);
int trainlog_close(struct trainlog *t, struct err *e);	/* fsyncs; frees t */

struct trainlog_step {
	uint64_t step;		/* updates made before this batch */
	uint64_t tokens;	/* trained on, with this step */
	double loss;		/* mean over target tokens, nats */
	double grad_norm;	/* before clipping */
	double lr;
	double tokens_per_s;	/* since the program started */
	double mfu;		/* the same; negative: peak unknown */
	double step_s, data_wait_s;
	double ln_vocab;	/* written if > 0, with the first loss */
	double z_loss;		/* written if >= 0 */
	size_t sources;		/* of a mixture, else 0 */
	const double *shares;	/* [sources] of the windows trained on */
	const double *epochs;	/* [sources] passes over its windows */
};
int trainlog_step(struct trainlog *t, const struct trainlog_step *s,
		  struct err *e);

/*
 * An event in three steps: start with its type and step, add members, end.
 * trainlog_real() writes null if x is not finite, and remembers the key.
 */
struct buf *trainlog_event(struct trainlog *t, const char *type, uint64_t step);
void trainlog_real(struct trainlog *t, const char *key, double x);
void trainlog_null(struct trainlog *t, const char *key);
void trainlog_int(struct trainlog *t, const char *key, uint64_t x);
void trainlog_str(struct trainlog *t, const char *key, struct span s);
int trainlog_end(struct trainlog *t, struct err *e);

/* fsync, before a checkpoint: a resume from it needs the lines so far. */
int trainlog_sync(struct trainlog *t, struct err *e);

/* The state of the log at a checkpoint. */
struct trainlog_mark {
	uint64_t step;
	int evaluated, sampled;	/* in this state, not to be repeated */
};

/*
 * Truncate the log to a checkpoint: remove everything from the first line of a
 * later state (step lines >= step; evals, samples and checkpoints > step; evals
 * and samples of the step itself that will be repeated), and an incomplete
 * last line.  A missing file is fine.
 */
int trainlog_cut(const char *path, const struct trainlog_mark *at,
		 struct err *e);

/* The last lines of a log; a missing file has none. */
struct trainlog_tail {
	int64_t step;		/* of the last step line; -1: none */
	int64_t saved;		/* of the last checkpoint line; -1: none */
	struct json *resume;	/* the last resume line, or NULL */
};

/* Lines that are damaged are skipped; trainlog_tail_clear() is due. */
int trainlog_last(const char *path, struct trainlog_tail *last, struct err *e);
void trainlog_tail_clear(struct trainlog_tail *last);

#endif
