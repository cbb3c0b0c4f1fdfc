/*
 * view_select.h - some windows or documents of a shard, to an output
 */
#ifndef ASSAY_VIEW_SELECT_H
#define ASSAY_VIEW_SELECT_H

#include "base/output.h"
#include "inspect/window_view.h"
#include "record/order.h"

struct lookout {
	struct look look;
	enum look_form form;
	struct output *out;
	struct buf buf;		/* what goes out next */
};

/* All: 0 or -1.  Windows first to first + count; only the first has to be. */
int lookout_windows(struct lookout *w, uint64_t first, uint64_t count,
		    struct err *e);

/* n different ones, or all. */
int lookout_random(struct lookout *w, uint64_t seed, uint64_t n,
		   struct err *e);

/* Samples first to first + count of a run, in its order (order.h). */
int lookout_samples(struct lookout *w, enum order_kind order, uint64_t seed,
		    uint64_t first, uint64_t count, struct err *e);

/* Every document of this id; none is an error. */
int lookout_doc(struct lookout *w, const char *id, struct err *e);

#endif
