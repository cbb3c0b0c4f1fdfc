/*
 * view_select.h - write selected windows or documents of a shard
 */
#ifndef ASSAY_VIEW_SELECT_H
#define ASSAY_VIEW_SELECT_H

#include "inspect/window_view.h"
#include "record/order.h"
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

/* Samples first to first + count of a run, in its order (order.h). */
int view_select_samples(struct view_select *w, enum order_kind order,
			uint64_t seed,
		    uint64_t first, uint64_t count, struct err *e);

/* Every document with this id; none is an error. */
int view_select_doc(struct view_select *w, const char *id, struct err *e);

#endif
