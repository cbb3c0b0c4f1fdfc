/*
 * recent.h - the names of the last calls that a table was given
 *
 * A call that fails on a device is noticed at a later wait.  A table that
 * queues notes each call, so that the message of sync() names the suspects.
 */
#ifndef ASSAY_RECENT_H
#define ASSAY_RECENT_H

#include <stddef.h>

#include "base/err.h"

enum { K_RECENT = 8 };

struct k_recent {
	const char *name[K_RECENT];	/* a ring; static strings */
	size_t n;			/* calls noted */
};

static inline void
k_recent_add(struct k_recent *r, const char *name)
{
	r->name[r->n++ % K_RECENT] = name;
}

/* "TABLE: WHAT; the last calls were A, B, C", oldest first; returns -1. */
int k_recent_error(const struct k_recent *r, const char *table,
		   const char *what, struct err *e);

#endif
