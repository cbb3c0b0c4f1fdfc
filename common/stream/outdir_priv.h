/*
 * outdir_priv.h - what outdir.c and outdir_stage.c share
 *
 * The stage is the folder in which the new files are written:
 * ".BASE.HEX.set" in the parent of the target, or ".HEX.set" in the target
 * itself if the parent does not take it.
 */
#ifndef ASSAY_OUTDIR_PRIV_H
#define ASSAY_OUTDIR_PRIV_H

#include "stream/outdir.h"

enum { OUTDIR_UNSYNCED = 64 };

struct outdir {
	char *label;			/* the target as given */
	char *target, *parent;		/* resolved */
	char *stage;			/* the new folder */
	int fd;				/* of it, locked */
	int lock;			/* of the target, locked, or -1 */
	int beside;			/* it is in parent, not in target */
	int made;			/* the target is new */
	int marked;			/* the last mark() put it there */
	int live;			/* its place in live[], or -1 */
	int unsynced[OUTDIR_UNSYNCED];	/* descriptors of whole files */
	size_t nunsynced;
	outdir_is_old *is_old;
	void *ctx;
};

/* Make the stage in a folder and lock it.  -1: errno says why. */
int stage_make(struct outdir *d, const char *in, const char *base);

/* It is no longer removed when the process ends. */
void stage_keep(struct outdir *d);

/* Remove the stage and its files, unless stage_keep() was called. */
void stage_remove(struct outdir *d);

/* Has this process a stage for the target of d? */
int stage_taken(const struct outdir *d);

/* Remove what killed processes have left: folders that nobody has locked. */
void stage_remove_dead(const char *in, const char *base);

#endif
