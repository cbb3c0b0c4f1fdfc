/*
 * run_dir.h - the folder of a run: lock, config.json, train.jsonl, checkpoints
 */
#ifndef ASSAY_RUN_DIR_H
#define ASSAY_RUN_DIR_H

#include "kernels/kernels.h"
#include "record/trainlog.h"
#include "train/state.h"

struct run_dir {
	char *path;
	char *from;		/* checkpoint resumed from, or NULL */
	char *aside;		/* folder with the run that is replaced */
	int lock;		/* descriptor of path, locked; -1: not open */
	int64_t saved;		/* newest checkpoint, written or begun; -1 */
	struct save_conf save;	/* zero: as users have it */
	struct state_save *saving;	/* being written, or NULL */
	uint64_t saving_step;
	int64_t keep;
	double stall_s;		/* for which training waited for it */
	struct trainlog *log;
	struct buf history;	/* members of a JSON array: one per start */
	struct buf changed;	/* lines "key old new" of a resume */
};

/* Copies path. */
void run_dir_init(struct run_dir *r, const char *path);
int run_dir_close(struct run_dir *r, struct err *e);	/* -1: log not saved */

/* No other lm-train uses the folder, and it holds a whole run. */
int run_dir_lock(struct run_dir *r, struct err *e);

/*
 * For a resume: set r->from to the newest valid checkpoint.  It stays NULL if
 * the run was killed before its first checkpoint and starts over; if it had one
 * that is gone, that is an error.
 */
int run_dir_find(struct run_dir *r, struct err *e);

/* Remove what a killed run left; a failure is only a warning. */
void run_dir_sweep(const struct run_dir *r);

/*
 * For a new run: make the folder and lock it.  If it holds a run, that is an
 * error or, if s->o->overwrite is set, the old run is set aside.
 */
int run_dir_make(struct run_dir *r, const struct state_src *s, struct err *e);

/* Move the files of the run in r->path to r->aside, and back. */
int run_dir_set_aside(struct run_dir *r, struct err *e);
/* Put back what a killed start has set aside. */
int run_dir_recover(const struct run_dir *r, struct err *e);
void run_dir_put_back(struct run_dir *r);

/* Operations per second, 0: unknown; used: what MFU is relative to. */
struct peaks {
	double used, nominal, measured;
};

/* Append this start to the history. */
void run_dir_add_history(struct run_dir *r, uint64_t step, struct kernels *k,
			 const struct peaks *peak);

/* now: the part of the plan that these options give. */
int run_dir_config(const struct run_dir *r, const struct options *o,
		   const struct data_id *id, const struct plan_part *now,
		   struct err *e);

/* Open the log, truncated to the state `at`. */
int run_dir_log(struct run_dir *r, const struct run_state *at, struct err *e);

/*
 * Begin to write a checkpoint, unless this step has one; none may be begun and
 * not taken by run_dir_saved().  wait: the caller does, so a copy is no use.
 */
int run_dir_save(struct run_dir *r, const struct state_src *s, int wait,
		 struct err *e);

/*
 * Is the checkpoint written that was begun?  Then write its line to the log,
 * remove checkpoints beyond the newest `keep`, and return 1, else 0.  wait: do
 * not return 0 before it is.
 */
int run_dir_saved(struct run_dir *r, int wait, struct err *e);

/* Remove old checkpoints; a failure is only a warning. */
void run_dir_prune(const struct run_dir *r, int64_t keep, uint64_t step);

#endif
