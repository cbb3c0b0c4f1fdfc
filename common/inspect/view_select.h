/*
 * view_select.h - write selected windows or documents of a shard
 */
#ifndef ASSAY_VIEW_SELECT_H
#define ASSAY_VIEW_SELECT_H

#include "inspect/window_view.h"
#include "order/plan.h"
#include "stream/output.h"

struct view_select {
	struct window_view view;
	enum window_view_form form;
	struct output *out;
	struct buf buf;		/* text to be written */
};

/* All return 0 or -1.  Windows first to first + count; first must exist. */
int view_select_windows(struct view_select *w, uint64_t first, uint64_t count,
		    struct err *e);

/* n different windows, or all if there are fewer. */
int view_select_random(struct view_select *w, uint64_t seed, uint64_t n,
		   struct err *e);

/*
 * Windows from to `to` (exclusive) of the batch of a step.  shards: one per
 * source of a mixture.
 */
int view_select_step(struct view_select *w, const struct plan_part *p,
		     struct shards *const *shards, uint64_t step,
		     uint64_t from, uint64_t to, struct err *e);

/* Every document with this id; none is an error. */
int view_select_doc(struct view_select *w, const char *id, struct err *e);

#endif
