/*
 * pipeline.h - read in order, work in any order, write in order
 *
 * read() and write() are called by one thread at a time and in input order,
 * work() by `threads` workers.  At most 4 * threads items exist at once.  With
 * one thread everything runs in the caller, without a lock.  The output is the
 * same for any number of threads if work() depends on its item alone.
 *
 * An error in an item is reported after all items before it were written, and
 * none after it are: the message is the same as with one thread.
 */
#ifndef ASSAY_PIPELINE_H
#define ASSAY_PIPELINE_H

#include "base/err.h"

struct pipeline {
	void *ctx;
	/* Next item, or NULL: at the end, or e is set. */
	void *(*read)(void *ctx, struct err *e);
	/* 0 or -1.  worker is 0..threads-1: index per-thread state with it. */
	int (*work)(void *ctx, void *item, int worker, struct err *e);
	/* 0, or -1 on error, or 1: enough, stop without an error. */
	int (*write)(void *ctx, void *item, struct err *e);
	/* Free an item; called once for every item, from any thread. */
	void (*drop)(void *ctx, void *item);
};

int pipeline_run(const struct pipeline *p, int threads, struct err *e);

#endif
