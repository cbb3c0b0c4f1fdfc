/*
 * ckpt.h - checkpoint folders that appear complete or not at all (ckpt.5)
 *
 * run/step-00000500/ is written as run/.step-00000500.PID.tmp: every file is
 * hashed while it is written and fsynced, manifest.json (size and XXH3-64 of
 * every other file) is written last, the folder is fsynced, renamed, and
 * run/ is fsynced; then run/latest points to it.  If the process is killed at
 * any moment, older checkpoints are unchanged, and ckpt_sweep() removes the
 * folder with the temporary name.
 *
 * This module handles files and bytes; their contents are in train/state.h.
 * One writer at a time in a process, which any thread may use.
 */
#ifndef ASSAY_CKPT_H
#define ASSAY_CKPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct ckpt_writer;

/* -1 if the file system of the folder run has less than `bytes` free. */
int ckpt_room(const char *run, uint64_t bytes, struct err *e);

/*
 * Start the checkpoint of `step` in the existing folder run.  bytes is its
 * size; less free space is an error before anything is written.  NULL: error.
 */
struct ckpt_writer *ckpt_begin(const char *run, uint64_t step, uint64_t bytes,
			       struct err *e);

/* One file at a time: open, write any number of times, close. */
int ckpt_open(struct ckpt_writer *w, const char *name, struct err *e);
int ckpt_write(struct ckpt_writer *w, const void *p, size_t n, struct err *e);
int ckpt_close(struct ckpt_writer *w, struct err *e);

/* All three. */
int ckpt_put(struct ckpt_writer *w, const char *name, struct span bytes,
	     struct err *e);

/*
 * Manifest, fsync, rename, link; frees w in any case.  Replaces an older folder
 * of the same step.  On error nothing remains.
 */
int ckpt_commit(struct ckpt_writer *w, struct err *e);
void ckpt_abort(struct ckpt_writer *w);		/* NULL is fine */

/*
 * Remove the files of the open writer.  Async-signal-safe; die() calls it.
 */
void ckpt_cleanup(void);

/* Has every file of the manifest its size and hash?  0, or -1: which not. */
int ckpt_verify(const char *dir, struct err *e);

/*
 * The folder to read a model from: dir, or if that is a run folder the
 * checkpoint that its link `latest` names.  To free().
 */
char *ckpt_model(const char *dir);

/* The step in a folder's name "…/step-00000500", or -1. */
int64_t ckpt_step(const char *dir);

/* Number of checkpoints in run, valid or not; -1: error. */
int64_t ckpt_count(const char *run, struct err *e);

/*
 * The newest checkpoint of run that ckpt_verify() accepts, as a path to
 * free(); note(ctx, message), unless NULL, is called for each newer one that
 * is skipped.  NULL: there is none, or run cannot be read.
 */
char *ckpt_newest(const char *run, void (*note)(void *, const char *),
		  void *ctx, struct err *e);

/*
 * Point run/latest to the checkpoint dir of run.  ckpt_commit() does this, and
 * so does a resume, since a killed run or a damaged folder may have left the
 * link on another one.
 */
int ckpt_link(const char *run, const char *dir, struct err *e);

/*
 * Remove all but the newest `keep` checkpoints (0: keep all) up to `step`, the
 * one just written.  Later ones were skipped as damaged when the run was
 * resumed; they are not counted and not removed.
 */
int ckpt_prune(const char *run, size_t keep, uint64_t step, struct err *e);

/* Remove folders with temporary names, left by a killed run. */
int ckpt_sweep(const char *run, struct err *e);

#endif
