/*
 * outdir.h - a folder of output files that appears whole
 *
 * The files are written in a new folder beside the target, under the names
 * that they will have.  At the commit the two folders change places in one
 * step (renameat2, RENAME_EXCHANGE), so that at any moment, also after a kill
 * or a power cut, the target holds all old files or all new ones.  Files of
 * the target that are not part of the set are linked into the new folder
 * first.
 *
 * Where folders cannot change places (the target is a mount point, has folders
 * in it, is the working directory, has access control lists; a file system
 * without the call), the files are renamed one by one.  Until the last
 * one has its name the target holds a file OUTDIR_UNFINISHED, which stays there
 * after a kill.
 *
 * One process at a time writes to a folder; a second one fails at its start.
 *
 * What a killed process has left beside the target is removed by the next one
 * with that target; a lock shows whether its owner is alive.
 */
#ifndef ASSAY_OUTDIR_H
#define ASSAY_OUTDIR_H

#include "base/err.h"
#include "stream/output.h"

#define OUTDIR_UNFINISHED ".unfinished-set"

struct outdir;

/* Does an entry of the target belong to the set that is replaced? */
typedef int outdir_is_old(void *ctx, const char *name);

/* dir and its parents are made if missing.  NULL: error */
struct outdir *outdir_open(const char *dir, outdir_is_old *is_old, void *ctx,
			   struct err *e);

/* The target as given, for messages. */
const char *outdir_name(const struct outdir *d);

/* A new file of the set; outdir_done() closes it, output_abort() gives up. */
struct output *outdir_file(struct outdir *d, const char *name, struct err *e);
int outdir_done(struct outdir *d, struct output *o, struct err *e);

/*
 * The sets take the places of the old ones, in this order.  All are on the
 * device before the first appears.  Frees them in any case.
 */
int outdir_commit_all(struct outdir **d, size_t n, struct err *e);
void outdir_abort(struct outdir *d);		/* NULL is fine */

/* Refuse a folder whose files were being renamed when a process was killed. */
int outdir_check(const char *dir, struct err *e);

#endif
