/*
 * ckpt.h - a checkpoint is a folder that appears whole or not at all (ckpt.5)
 *
 * run/step-00000500/ is written as run/.step-00000500.PID.tmp: every file is
 * hashed while it is written and fsynced, manifest.json (size and XXH3-64 of
 * every other file) is written last, the folder is fsynced, renamed, and
 * run/ is fsynced; then run/latest points to it.  A kill at any moment leaves
 * the older checkpoints as they were, and a folder with a temporary name that
 * ckpt_sweep() takes away.
 *
 * This module knows files and bytes, not models: what stands in them is the
 * business of train/state.h.  One writer at a time in a process.
 */
#ifndef ASSAY_CKPT_H
#define ASSAY_CKPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct ckpt_writer;

/* -1 where the file system of the folder run has less than bytes free. */
int ckpt_room(const char *run, uint64_t bytes, struct err *e);

/*
 * Start the checkpoint of `step` in the folder run (which exists).  bytes is
 * what will be written; when the file system has less free, that is the
 * error, before anything is touched.  NULL: error.
 */
struct ckpt_writer *ckpt_begin(const char *run, uint64_t step, uint64_t bytes,
			       struct err *e);

/* One file after the other: open, write any number of times, close. */
int ckpt_open(struct ckpt_writer *w, const char *name, struct err *e);
int ckpt_write(struct ckpt_writer *w, const void *p, size_t n, struct err *e);
int ckpt_close(struct ckpt_writer *w, struct err *e);

/* The three in one. */
int ckpt_put(struct ckpt_writer *w, const char *name, struct span bytes,
	     struct err *e);

/*
 * Manifest, fsync, rename, link; frees w whatever happens.  An older folder
 * of the same step is replaced.  On error nothing is left behind.
 */
int ckpt_commit(struct ckpt_writer *w, struct err *e);
void ckpt_abort(struct ckpt_writer *w);		/* NULL is fine */

/*
 * Remove what the open writer has put on disk.  Async-signal-safe; die()
 * calls it by itself.
 */
void ckpt_cleanup(void);

/* Every file of the manifest has its size and hash: 0, or -1 and which not. */
int ckpt_verify(const char *dir, struct err *e);

/* The step in a folder's name "…/step-00000500", or -1. */
int64_t ckpt_step(const char *dir);

/* How many checkpoints run has, valid or not; -1: it cannot be read. */
int64_t ckpt_count(const char *run, struct err *e);

/*
 * The newest checkpoint of run that ckpt_verify() accepts, as a path to
 * free(); note(ctx, message) is called for each newer one passed over (NULL:
 * silent).  NULL with e set: there is none, or run cannot be read.
 */
char *ckpt_newest(const char *run, void (*note)(void *, const char *),
		  void *ctx, struct err *e);

/*
 * run/latest points to the checkpoint dir of run from now on: done by
 * ckpt_commit(), and by a resume, for a kill or a broken folder may have left
 * the link on another one.
 */
int ckpt_link(const char *run, const char *dir, struct err *e);

/*
 * Remove all but the newest `keep` checkpoints (0: all stay) of those up to
 * `step`, the one just written.  Later ones were passed over as broken when
 * the run was resumed: they neither count nor go.
 */
int ckpt_prune(const char *run, size_t keep, uint64_t step, struct err *e);

/* Remove what has a temporary name, left by a killed run. */
int ckpt_sweep(const char *run, struct err *e);

#endif
